/* One dispatch from bare registers, as emulators of tinygrad's mock AMD driver take it. Guest addresses are
 * host addresses. A caller may pass the first nine arguments only: what the others would say is then taken as
 * described below. */
#ifndef LOCKSTEP_RUN_ASM_H
#define LOCKSTEP_RUN_ASM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LOCKSTEP_RUN_ASM_API __attribute__((visibility("default")))
#else
#define LOCKSTEP_RUN_ASM_API
#endif

/* Without a list of ranges (run_asm_set_mem_ranges) the code may reach everything in the process.
 *
 * Runs the code at `code` on gx * gy * gz work-groups of lx * ly * lz work-items and returns 0; or not 0 on a
 * fault or a bad argument, with a message on the standard error. kernargs: in s[0:1] when there is no
 * user_data. rsrc2: COMPUTE_PGM_RSRC2. rsrc1: COMPUTE_PGM_RSRC1 (float mode); when it was not passed, round
 * to nearest even, f16 and f64 denormals on. arch: "rdna3". user_data: s[0..n). */
LOCKSTEP_RUN_ASM_API int32_t run_asm(const void* code, uint32_t code_bytes, uint32_t gx, uint32_t gy,
                                     uint32_t gz, uint32_t lx, uint32_t ly, uint32_t lz, const void* kernargs,
                                     uint32_t rsrc2, uint32_t scratch_bytes_per_lane, uint32_t rsrc1,
                                     const char* arch, const uint32_t* user_data, uint32_t n_user_data);

/* (address, size) pairs that kernels may access from now on. Null or 0, which is the default, is no list:
 * kernels may then read and write ALL OF THE PROCESS's memory, and an address that is not mapped ends the
 * process. Give a list before running code that is not your own. */
LOCKSTEP_RUN_ASM_API void run_asm_set_mem_ranges(const uint64_t* pairs, uint32_t n);

#ifdef __cplusplus
}
#endif
#endif /* LOCKSTEP_RUN_ASM_H */
