/* NVTX: names for stretches of a program, which only NVIDIA's profilers show. Here they do nothing. */
#ifndef SIMT_NVTOOLSEXT_H
#define SIMT_NVTOOLSEXT_H

#include <stddef.h>
#include <stdint.h>

#define NVTX_VERSION 3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))
typedef uint64_t nvtxRangeId_t;
typedef enum { NVTX_COLOR_UNKNOWN, NVTX_COLOR_ARGB } nvtxColorType_t;
typedef enum {
    NVTX_MESSAGE_UNKNOWN,
    NVTX_MESSAGE_TYPE_ASCII,
    NVTX_MESSAGE_TYPE_UNICODE,
    NVTX_MESSAGE_TYPE_REGISTERED
} nvtxMessageType_t;
typedef struct nvtxDomainRegistration *nvtxDomainHandle_t;
typedef struct nvtxStringRegistration *nvtxStringHandle_t;
typedef union {
    const char *ascii;
    const wchar_t *unicode;
    nvtxStringHandle_t registered;
} nvtxMessageValue_t;
typedef struct {
    uint16_t version, size;
    uint32_t category;
    int32_t colorType;
    uint32_t color;
    int32_t payloadType, reserved0;
    union {
        uint64_t ullValue;
        int64_t llValue;
        double dValue;
        uint32_t uiValue;
        int32_t iValue;
        float fValue;
    } payload;
    int32_t messageType;
    nvtxMessageValue_t message;
} nvtxEventAttributes_t;

#define SIMT_NVTX(TYPE, NAME, ...) \
    static inline TYPE NAME(__VA_ARGS__) { return (TYPE)0; }
#define SIMT_NVTX_NOTHING(NAME, ...) \
    static inline void NAME(__VA_ARGS__) {}
SIMT_NVTX(int, nvtxRangePushA, const char *message)
SIMT_NVTX(int, nvtxRangePushW, const wchar_t *message)
SIMT_NVTX(int, nvtxRangePushEx, const nvtxEventAttributes_t *attributes)
SIMT_NVTX(int, nvtxRangePop, void)
SIMT_NVTX(nvtxRangeId_t, nvtxRangeStartA, const char *message)
SIMT_NVTX(nvtxRangeId_t, nvtxRangeStartEx, const nvtxEventAttributes_t *attributes)
SIMT_NVTX_NOTHING(nvtxRangeEnd, nvtxRangeId_t id)
SIMT_NVTX_NOTHING(nvtxMarkA, const char *message)
SIMT_NVTX_NOTHING(nvtxMarkEx, const nvtxEventAttributes_t *attributes)
SIMT_NVTX_NOTHING(nvtxNameOsThreadA, uint32_t thread, const char *name)
SIMT_NVTX_NOTHING(nvtxNameCategoryA, uint32_t category, const char *name)
SIMT_NVTX_NOTHING(nvtxNameCudaDeviceA, int device, const char *name)
SIMT_NVTX_NOTHING(nvtxNameCudaStreamA, struct CUstream_st *stream, const char *name)
SIMT_NVTX_NOTHING(nvtxNameCudaEventA, struct CUevent_st *event, const char *name)
SIMT_NVTX(nvtxDomainHandle_t, nvtxDomainCreateA, const char *name)
SIMT_NVTX_NOTHING(nvtxDomainDestroy, nvtxDomainHandle_t domain)
SIMT_NVTX(int, nvtxDomainRangePushEx, nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
SIMT_NVTX(int, nvtxDomainRangePop, nvtxDomainHandle_t domain)
#undef SIMT_NVTX
#undef SIMT_NVTX_NOTHING

#define nvtxRangePush nvtxRangePushA
#define nvtxRangeStart nvtxRangeStartA
#define nvtxMark nvtxMarkA
#define nvtxNameOsThread nvtxNameOsThreadA
#define nvtxNameCategory nvtxNameCategoryA
#define nvtxNameCudaDevice nvtxNameCudaDeviceA
#define nvtxNameCudaStream nvtxNameCudaStreamA
#define nvtxNameCudaEvent nvtxNameCudaEventA
#define nvtxDomainCreate nvtxDomainCreateA

#endif
