/* Memory pools. All allocations come from the one memory and go back to it at once, so a pool is no more than what the
 * program has set it to. Only the program calls this. */
#include "base/errors.h"
#include <stdlib.h>

struct CUmemPoolHandle_st {
    int reuse[3]; /* follow events, opportunistic, internal dependencies */
    u64 keeps;    /* the release threshold */
};

static struct CUmemPoolHandle_st usual = {.reuse = {1, 1, 1}};
static cudaMemPool_t current = &usual;

static cudaError_t pool_of_device(cudaMemPool_t *pool, int device, cudaMemPool_t value)
{
    if (device != 0)
        return simt_fail(cudaErrorInvalidDevice);
    if (!pool)
        return simt_fail(cudaErrorInvalidValue);
    *pool = value;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
    return pool_of_device(pool, device, &usual);
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device) { return pool_of_device(pool, device, current); }
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
    return pool_of_device(&current, device, pool ? pool : &usual);
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties)
{
    if (!pool || !properties || properties->allocType != cudaMemAllocationTypePinned)
        return simt_fail(cudaErrorInvalidValue);
    if (properties->location.type != cudaMemLocationTypeDevice || properties->location.id != 0)
        return simt_fail(cudaErrorInvalidValue);
    if (properties->handleTypes != cudaMemHandleTypeNone) /* shared with other processes */
        return simt_fail(cudaErrorNotSupported);
    *pool = malloc(sizeof **pool);
    if (!*pool)
        return simt_fail(cudaErrorMemoryAllocation);
    **pool = (struct CUmemPoolHandle_st){.reuse = {1, 1, 1}};
    return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    if (!pool || pool == &usual)
        return simt_fail(cudaErrorInvalidValue);
    if (pool == current)
        current = &usual;
    free(pool);
    return cudaSuccess;
}

/* The one device has access already, and keeps it. */
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *list, size_t count)
{
    bool fits = pool && list && count;
    for (size_t i = 0; i < count && fits; i++)
        fits = list[i].location.type == cudaMemLocationTypeDevice && list[i].location.id == 0 &&
               list[i].flags == cudaMemAccessFlagsProtReadWrite;
    return fits ? cudaSuccess : simt_fail(cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep)
{
    return (void)keep, pool ? cudaSuccess : simt_fail(cudaErrorInvalidValue);
}

static int *reuse(cudaMemPool_t pool, enum cudaMemPoolAttr attribute)
{
    if (attribute < cudaMemPoolReuseFollowEventDependencies || attribute > cudaMemPoolReuseAllowInternalDependencies)
        return NULL;
    return &pool->reuse[attribute - cudaMemPoolReuseFollowEventDependencies];
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    if (!pool || !value)
        return simt_fail(cudaErrorInvalidValue);
    int *flag = reuse(pool, attribute);
    if (!flag && attribute != cudaMemPoolAttrReleaseThreshold)
        return simt_fail(cudaErrorNotSupported);
    if (flag)
        *flag = *(const int *)value;
    else
        pool->keeps = *(const u64 *)value;
    return cudaSuccess;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    if (!pool || !value)
        return simt_fail(cudaErrorInvalidValue);
    const int *flag = reuse(pool, attribute);
    if (!flag && attribute != cudaMemPoolAttrReleaseThreshold)
        return simt_fail(cudaErrorNotSupported);
    if (flag)
        *(int *)value = *flag;
    else
        *(u64 *)value = pool->keeps;
    return cudaSuccess;
}
