/* Tensor maps: the driver's functions that make them ("Tensor Map Object Management" in the CUDA Driver API). */
#include "async/tensor.h"
#include "base/gpu.h"
#include "base/notes.h"
#include "base/report.h"
#include <string.h>

/* The driver has no words for what is wrong. */
static CUresult refuse(const char *why, const void *pc)
{
    note_once(pc, why);
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *memory,
                                const cuuint64_t *dimensions, const cuuint64_t *strides, const cuuint32_t *box,
                                const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                CUtensorMapFloatOOBfill fill)
{
    const void *pc = CALLER();
    if (gpu_described()->major < 9)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!map || !dimensions || !strides || !box || !element_strides)
        return refuse("A pointer to the map, or to sizes, strides, box or element strides is null.", pc);
    if (rank == 0 || rank > MOST_RANK)
        return refuse("A tensor has 1 to 5 dimensions.", pc);
    struct tensor_map m = {.mark = MAP_MARK,
                           .address = memory,
                           .rank = (uint8_t)rank,
                           .type = (uint8_t)type,
                           .interleave = (uint8_t)interleave,
                           .swizzle = (uint8_t)swizzle,
                           .promotion = (uint8_t)promotion,
                           .fill = (uint8_t)fill};
    if ((unsigned)type > UINT8_MAX || (unsigned)interleave > UINT8_MAX || (unsigned)swizzle > UINT8_MAX ||
        (unsigned)promotion > UINT8_MAX || (unsigned)fill > UINT8_MAX)
        return refuse("There is no such type, interleave, swizzle, promotion or fill.", pc);
    for (unsigned i = 0; i < rank; i++) {
        m.sizes[i] = dimensions[i];
        m.box[i] = box[i];
        m.steps[i] = (uint16_t)(element_strides[i] > UINT16_MAX ? UINT16_MAX : element_strides[i]);
        if (i > 0)
            m.strides[i - 1] = strides[i - 1];
    }
    const char *why = tensor_map_fault(&m);
    if (why)
        return refuse(why, pc);
    memset(map, 0, sizeof *map);
    memcpy(map, &m, sizeof m);
    return CUDA_SUCCESS;
}

/* The driver looks at the address alone. */
CUresult cuTensorMapReplaceAddress(CUtensorMap *map, void *memory)
{
    struct tensor_map m;
    if (!map || !memory || (uintptr_t)memory % 16)
        return refuse("A pointer to the map is null, or the tensor's address is no multiple of 16 bytes.", CALLER());
    memcpy(&m, map, sizeof m);
    m.address = memory;
    memcpy(map, &m, sizeof m);
    return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *memory,
                                 const cuuint64_t *dimensions, const cuuint64_t *strides, const int *lower_corner,
                                 const int *upper_corner, cuuint32_t channels, cuuint32_t pixels,
                                 const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
                                 CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                 CUtensorMapFloatOOBfill fill)
{
    (void)map, (void)type, (void)rank, (void)memory, (void)dimensions, (void)strides, (void)lower_corner;
    (void)upper_corner, (void)channels, (void)pixels, (void)element_strides, (void)interleave, (void)swizzle;
    (void)promotion, (void)fill;
    report_unsupported_at("cuTensorMapEncodeIm2col: of tensor maps, only those of tiles", CALLER());
}
