/* The tables of instructions, one of each subject: the file of its name has it, and words.c looks into all of them. */
#ifndef SIMT_PTX_ROWS_H
#define SIMT_PTX_ROWS_H

#include "ptx/ptx.h"

extern const struct row ptx_move_rows[], ptx_integer_rows[], ptx_float_rows[], ptx_convert_rows[], ptx_memory_rows[],
    ptx_warp_rows[], ptx_matrix_rows[], ptx_sync_rows[], ptx_mbarrier_rows[], ptx_bulk_rows[], ptx_tensor_rows[],
    ptx_video_rows[], ptx_wgmma_rows[];

#endif
