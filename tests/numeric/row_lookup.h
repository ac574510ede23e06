#pragma once

#include <cstdint>

// Coefficients that a lookup in registers (AVX-512) finds other than loads do, of all rows of all tables.
extern "C" int32_t lockstep_test_row_lookups();
// Results of V_RCP_F32 and others as AVX-512 computes them that are not the reference's.
extern "C" int32_t lockstep_test_functions_by_masks();
