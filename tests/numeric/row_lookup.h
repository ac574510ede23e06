#pragma once

#include <cstdint>

// Coefficients that a lookup in registers (AVX-512) finds other than loads do, of all rows of all tables.
extern "C" int32_t lockstep_test_row_lookups();
