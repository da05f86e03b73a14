/* What each special register holds. A block runs on the SM that its number comes to, round and round. */
#include "run/special.h"
#include "base/gpu.h"
#include "block/cluster.h"
#include "block/launch.h"
#include "run/cluster.h"
#include <string.h>

static unsigned lane(const struct block *b) { return b->cur % WARP; }
static u64 laneid(const struct block *b) { return lane(b); }
static u64 warpid(const struct block *b) { return b->cur / WARP; }
static u64 nwarpid(const struct block *b) { return (void)b, (u64)gpu_described()->threads_per_sm / WARP; }
static u64 smid(const struct block *b) { return b->number % (u64)gpu_sms(); }
static u64 nsmid(const struct block *b) { return (void)b, (u64)gpu_sms(); }
static u64 gridid(const struct block *b) { return b->launch->number; }
static u64 mask_eq(const struct block *b) { return 1u << lane(b); }
static u64 mask_lt(const struct block *b) { return (1u << lane(b)) - 1; }
static u64 mask_le(const struct block *b) { return mask_lt(b) | mask_eq(b); }
static u64 mask_gt(const struct block *b) { return (uint32_t)~mask_le(b); }
static u64 mask_ge(const struct block *b) { return (uint32_t)~mask_lt(b); }
static u64 clock32(const struct block *b) { return (void)b, (uint32_t)simt_clock(); }
static u64 clock_wide(const struct block *b) { return (void)b, (u64)simt_clock(); }
static u64 clock_high(const struct block *b) { return clock_wide(b) >> 32; }
static u64 cluster_rank(const struct block *b) { return b->rank; }
static u64 cluster_ranks(const struct block *b) { return b->cluster->n; }
static u64 is_explicit_cluster(const struct block *b) { return b->launch->has_clusters; }
static u64 dynamic_bytes(const struct block *b) { return b->launch->asked->dynamic_shared; }

#define INDEX(NAME, EXPRESSION) \
    static u64 NAME(const struct block *b) { return (EXPRESSION); }
INDEX(tid_x, b->threads[b->cur].idx[0])
INDEX(tid_y, b->threads[b->cur].idx[1])
INDEX(tid_z, b->threads[b->cur].idx[2])
INDEX(ntid_x, b->launch->asked->block[0])
INDEX(ntid_y, b->launch->asked->block[1])
INDEX(ntid_z, b->launch->asked->block[2])
INDEX(ctaid_x, b->index[0])
INDEX(ctaid_y, b->index[1])
INDEX(ctaid_z, b->index[2])
INDEX(nctaid_x, b->launch->asked->grid[0])
INDEX(nctaid_y, b->launch->asked->grid[1])
INDEX(nctaid_z, b->launch->asked->grid[2])
INDEX(clusterid_x, b->index[0] / b->launch->cluster[0])
INDEX(clusterid_y, b->index[1] / b->launch->cluster[1])
INDEX(clusterid_z, b->index[2] / b->launch->cluster[2])
INDEX(nclusterid_x, b->launch->asked->grid[0] / b->launch->cluster[0])
INDEX(nclusterid_y, b->launch->asked->grid[1] / b->launch->cluster[1])
INDEX(nclusterid_z, b->launch->asked->grid[2] / b->launch->cluster[2])
INDEX(cluster_ctaid_x, b->index[0] % b->launch->cluster[0])
INDEX(cluster_ctaid_y, b->index[1] % b->launch->cluster[1])
INDEX(cluster_ctaid_z, b->index[2] % b->launch->cluster[2])
INDEX(cluster_nctaid_x, b->launch->cluster[0])
INDEX(cluster_nctaid_y, b->launch->cluster[1])
INDEX(cluster_nctaid_z, b->launch->cluster[2])

static const struct {
    const char *name;
    special_register *value;
} registers[] = {
    {"tid.x", tid_x},
    {"tid.y", tid_y},
    {"tid.z", tid_z},
    {"ntid.x", ntid_x},
    {"ntid.y", ntid_y},
    {"ntid.z", ntid_z},
    {"ctaid.x", ctaid_x},
    {"ctaid.y", ctaid_y},
    {"ctaid.z", ctaid_z},
    {"nctaid.x", nctaid_x},
    {"nctaid.y", nctaid_y},
    {"nctaid.z", nctaid_z},
    {"clusterid.x", clusterid_x},
    {"clusterid.y", clusterid_y},
    {"clusterid.z", clusterid_z},
    {"nclusterid.x", nclusterid_x},
    {"nclusterid.y", nclusterid_y},
    {"nclusterid.z", nclusterid_z},
    {"cluster_ctaid.x", cluster_ctaid_x},
    {"cluster_ctaid.y", cluster_ctaid_y},
    {"cluster_ctaid.z", cluster_ctaid_z},
    {"cluster_nctaid.x", cluster_nctaid_x},
    {"cluster_nctaid.y", cluster_nctaid_y},
    {"cluster_nctaid.z", cluster_nctaid_z},
    {"cluster_ctarank", cluster_rank},
    {"cluster_nctarank", cluster_ranks},
    {"is_explicit_cluster", is_explicit_cluster},
    {"laneid", laneid},
    {"warpid", warpid},
    {"nwarpid", nwarpid},
    {"smid", smid},
    {"nsmid", nsmid},
    {"gridid", gridid},
    {"lanemask_eq", mask_eq},
    {"lanemask_lt", mask_lt},
    {"lanemask_le", mask_le},
    {"lanemask_gt", mask_gt},
    {"lanemask_ge", mask_ge},
    {"clock", clock32},
    {"clock64", clock_wide},
    {"clock_hi", clock_high},
    {"globaltimer", clock_wide},
    {"globaltimer_lo", clock32},
    {"globaltimer_hi", clock_high},
    {"dynamic_smem_size", dynamic_bytes},
};

special_register *special_find(const char *name)
{
    for (size_t i = 0; i < sizeof registers / sizeof *registers; i++)
        if (!strcmp(registers[i].name, name))
            return registers[i].value;
    return NULL;
}
