#include "launch.h"

#include "exit.h"

// what: "the launch". Returns only if there is no error.
static void require(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    if (error == cudaErrorInvalidConfiguration || error == cudaErrorInvalidValue)
        stop(
            EXIT_USAGE,
            "%s was refused: %s (%s): this step cannot take this shape. CUDA's grids end at 2147483647 blocks in x and "
            "65535 in y and z; a smaller shape stays below",
            what, cudaGetErrorString(error), cudaGetErrorName(error));
    if (error == cudaErrorNoKernelImageForDevice)
        stop(EXIT_CANNOT_RUN, "%s was refused: %s: build it on this machine, for its GPU", what,
             cudaGetErrorString(error));
    stop(EXIT_WRONG, "%s was refused: %s (%s)", what, cudaGetErrorString(error), cudaGetErrorName(error));
}

void launch_prepare(const struct work *work)
{
    for (int copy = 0; work->prepare && copy < work->copies; copy++)
        require((cudaError_t)work->prepare(work->context, work->variant, copy), "what prepares the launch");
}

void launch_queue(const struct work *work, int copy, cudaStream_t stream)
{
    require((cudaError_t)work->queue(work->context, work->variant, copy, stream), "the launch");
}

void launch_wait(cudaStream_t stream)
{
    cudaError_t error = cudaStreamSynchronize(stream);
    if (error != cudaSuccess)
        stop(EXIT_WRONG, "the kernel was launched and failed while it ran: %s (%s); `compute-sanitizer` finds the line",
             cudaGetErrorString(error), cudaGetErrorName(error));
}

void launch_once(const struct work *work)
{
    launch_queue(work, 0, NULL);
    launch_wait(NULL);
}
