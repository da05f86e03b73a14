#define _POSIX_C_SOURCE 200809L  // popen
#include "environment.h"

#include "exit.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

// The first line that a shell command prints; empty if it fails.
static void first_line_of(const char *command, char *line, int size)
{
    FILE *pipe = popen(command, "r");
    if (!pipe || !fgets(line, size, pipe))
        line[0] = '\0';
    if (pipe)
        pclose(pipe);
    line[strcspn(line, "\n")] = '\0';
}

static void ask_nvidia_smi(struct environment *environment, const struct device *device)
{
    char command[256], line[128];
    snprintf(command, sizeof command,
             "nvidia-smi --id=%s --format=csv,noheader,nounits "
             "--query-gpu=temperature.gpu,clocks.sm,driver_version 2>/dev/null",
             device->bus_id);
    first_line_of(command, line, sizeof line);
    sscanf(line, "%d , %d , %31s", &environment->temperature_c, &environment->sm_clock_mhz, environment->gpu_driver);
}

struct environment environment_now(const struct device *device)
{
    struct environment environment = {.temperature_c = -1, .sm_clock_mhz = -1};
    CUDA(cudaDriverGetVersion(&environment.driver));
    CUDA(cudaRuntimeGetVersion(&environment.cuda));
    if (!device->emulated)
        ask_nvidia_smi(&environment, device);
    // The shell's parent is this program, and the program lies inside the clone that it was built in.
    first_line_of("git -C \"$(dirname \"$(readlink /proc/$PPID/exe)\")\" describe --always --dirty --exclude='*' "
                  "2>/dev/null",
                  environment.commit, sizeof environment.commit);
    time_t now = time(NULL);
    strftime(environment.date, sizeof environment.date, "%Y-%m-%d", gmtime(&now));
    return environment;
}
