#define _GNU_SOURCE  // program_invocation_name
#include "report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

struct floor floor_of(const struct job *job, const struct device *device)
{
    bool narrow = job->dtype != FP32;
    double flops = narrow ? device->tensor_flops : device->fp32_flops;
    double arithmetic = flops > 0 ? 1e3 * job->flops / flops : 0, memory = 1e3 * job->bytes / device->dram_bytes;
    if (arithmetic > memory)
        return (struct floor){arithmetic, narrow ? "tensor core arithmetic" : "fp32 arithmetic"};
    return (struct floor){memory, "DRAM"};
}

double figure_value(const struct figure *figure, double ms)
{
    double seconds = 1e-3 * ms;
    return figure->inverse ? seconds / figure->work : figure->work / seconds;
}

void report_title(const struct job *job, const struct device *device)
{
    printf("%s, %s", job->title, dtype_name(job->dtype));
    if (job_out_dtype(job) != job->dtype)
        printf(" in, %s out", dtype_name(job_out_dtype(job)));
    printf(", on %s\n", device->name);
}

// The counters that --profile shows, by ncu's names.
static const char ncu_metrics[] = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum,"
                                  "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum,"
                                  "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum,"
                                  "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum,"
                                  "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,"
                                  "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum,"
                                  "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum,"
                                  "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum";
// And those of ldmatrix and of the tensor cores, for 16-bit inputs.
static const char ncu_matrix_metrics[] = ",smsp__inst_executed_op_ldsm.sum,"
                                         "sm__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldsm.sum,"
                                         "sm__inst_executed_pipe_tensor_op_hmma.sum";

static void report_memory(const struct job *job)
{
    double tensors = job_tensor_bytes(job), workspace = job_workspace_bytes(job);
    if (job->tells_memory)
        printf("memory %.4g MB: %.4g of tensors, %.4g of workspace\n", 1e-6 * (tensors + workspace), 1e-6 * tensors,
               1e-6 * workspace);
}

static void report_parts(const struct job *job)
{
    const struct work *work = &job->work;
    int parts = job->parts ? job->parts(work->context, work->variant) : 1;
    if (parts > 1 && job->blocks)
        printf("keys in %d parts, %d blocks\n", parts, job->blocks(work->context, work->variant));
    else if (parts > 1)
        printf("keys in %d parts\n", parts);
}

void report_variant(const struct job *job, const struct device *device, const struct options *options)
{
    const struct variant *variant = &options->variants[job->work.variant];
    printf("%s: %s\n", variant->name, variant->idea);
    report_memory(job);
    report_parts(job);
    if (options->profile && !device->emulated)
        printf("ncu counts the same on this GPU:\n  ncu --clock-control none --metrics %s%s \\\n"
               "      %s --no-check --no-time --variant %s %s\n",
               ncu_metrics, job->dtype == FP32 ? "" : ncu_matrix_metrics, program_invocation_name, variant->name,
               job->shape_flags);
    fflush(stdout);
}

static void report_check(const struct check *check, size_t rows)
{
    if (check->right)
        printf("right: error %.1e ≤ %.1e, worst row %.1e, largest difference %.1e", check->error, check->bound.all,
               check->worst_row, check->max_abs);
    else
        printf("WRONG: %s\n  error %.1e, to be ≤ %.1e; worst row %.1e, to be ≤ %.1e", check->fault, fabs(check->error),
               check->bound.all, fabs(check->worst_row), check->bound.row);
    if (check->rows < rows)
        printf(" (%zu of %zu rows)", check->rows, rows);
    putchar('\n');
}

static void report_timing(const struct timing *timing, const struct job *job, const struct device *device)
{
    struct floor floor = floor_of(job, device);
    double ms = timing->median_ms;
    printf("time %.4g ms (p10 %.4g, p90 %.4g), %.4g TFLOPS, %.4g GB/s, %.1f %% of what is published, %.4g ms of %s\n",
           ms, timing->p10_ms, timing->p90_ms, 1e-9 * job->flops / ms, 1e-6 * job->bytes / ms, 100 * floor.ms / ms,
           floor.ms, floor.unit);
}

void report_result(const struct result *result)
{
    if (result->checked)
        report_check(&result->check, result->job->outputs[0].tensor->rows);
    else
        puts("not checked");
    if (result->timed)
        report_timing(&result->timing, result->job, result->device);
    fflush(stdout);
}
