#include "tests/engine/translator/random_statements.h"

#include <array>

namespace lockstep::translator {

void RandomStatements::arithmetic() {
  if (below(10) == 0) return lanes();
  in_lane();
}

void RandomStatements::in_lane() {
  static constexpr const char* kTwo[] = {"v_add_nc_u32",
                                         "v_sub_nc_u32",
                                         "v_and_b32",
                                         "v_xor_b32",
                                         "v_or_b32",
                                         "v_lshlrev_b32",
                                         "v_lshrrev_b32",
                                         "v_ashrrev_i32",
                                         "v_min_i32",
                                         "v_max_u32",
                                         "v_mul_u32_u24",
                                         "v_add_f32",
                                         "v_sub_f32",
                                         "v_mul_f32",
                                         "v_min_f32",
                                         "v_max_f32",
                                         "v_add_f16",
                                         "v_mul_f16",
                                         "v_cvt_pk_rtz_f16_f32",
                                         "v_fmac_f32"};
  static constexpr const char* kOne[] = {"v_mov_b32",     "v_not_b32",     "v_bfrev_b32",   "v_cvt_f32_u32",
                                         "v_cvt_f32_i32", "v_cvt_u32_f32", "v_cvt_i32_f32", "v_floor_f32",
                                         "v_fract_f32",   "v_rcp_f32",     "v_sqrt_f32",    "v_cvt_f16_f32",
                                         "v_cvt_f32_f16", "v_clz_i32_u32", "v_ctz_i32_b32"};
  static constexpr const char* kThree[] = {"v_mad_u32_u24",  "v_fma_f32",  "v_bfe_u32",  "v_bfi_b32",
                                           "v_alignbit_b32", "v_perm_b32", "v_add3_u32", "v_lshl_add_u32",
                                           "v_med3_i32",     "v_xad_u32",  "v_max3_f32", "v_sad_u32",
                                           "v_and_or_b32"};
  switch (below(9)) {
    case 0:
      return line(one_of(kOne) + " " + data() + ", " + source());
    case 1:
    case 2:
      return line(one_of(kThree) + " " + data() + ", " + data() + ", " + source() + ", " + data());
    case 3:
      return line("v_mul_lo_u32 " + data() + ", " + data() + ", " + source());
    case 4:
      return line("v_mad_u64_u32 " + group_of(2) + ", " + mask(50) + ", " + data() + ", " + data() +
                  ", v[18:19]");
    case 5:
      line("v_add_co_u32 " + data() + ", " + vcc() + ", " + data() + ", " + data());
      return line("v_add_co_ci_u32 " + data() + ", " + vcc() + ", " + data() + ", " + data() + ", " + vcc());
    case 6:
      line("v_cmp_" + std::string(chance(2) ? "lt_u32 " : "gt_f32 ") + vcc() + ", " + source() + ", " +
           data());
      return line("v_cndmask_b32 " + data() + ", " + data() + ", " + data() + ", " + vcc());
    default:
      return line(one_of(kTwo) + " " + data() + ", " + source() + ", " + data());
  }
}

void RandomStatements::lanes() {
  const std::string control[] = {"quad_perm:[1,0,3,2]",
                                 "row_shl:" + n(1 + below(15)),
                                 "row_shr:" + n(1 + below(15)),
                                 "row_ror:" + n(1 + below(15)),
                                 "row_mirror",
                                 "row_half_mirror",
                                 "row_xmask:" + n(below(16)),
                                 "row_share:" + n(below(16))};
  const std::string masks =
      " row_mask:" + n(chance(3) ? below(16) : 15) + " bank_mask:" + n(chance(3) ? below(16) : 15);
  switch (below(7)) {
    case 0:
    case 1:
      return line("v_mov_b32_dpp " + data() + ", " + data() + " " + control[below(std::size(control))] +
                  masks + (chance(2) ? " bound_ctrl:1" : ""));
    case 2:
      return line("v_add_nc_u32_dpp " + data() + ", " + data() + ", " + data() + " " +
                  control[below(std::size(control))] + masks);
    case 3:
      line("v_lshlrev_b32 v20, 2, " + data());
      return line("ds_bpermute_b32 " + data() + ", v20, " + data());
    case 4:
      line("v_readlane_b32 s54, " + data() + ", " + n(below(grid_.wave_size)));
      return line("v_xor_b32 " + data() + ", s54, " + data());
    case 5:
      line("v_readfirstlane_b32 s55, " + data());
      return line("v_add_nc_u32 " + data() + ", s55, " + data());
    default:
      return line("ds_swizzle_b32 " + data() + ", " + data() + " offset:" + n(below(0x8000)));
  }
}

// An offset into the input in v17. Items number at most kMostItems, so that only what comes from data needs
// a mask; a compiler's addresses have none.
void RandomStatements::offset() {
  if (chance(5)) return kept_offset();
  bool is_masked = chance(8);
  constexpr unsigned kOfRow = 8;
  const bool has_short_rows = grid_.group[0] < 16;
  switch (has_short_rows && chance(2) ? kOfRow : below(12)) {
    case 0:
      line("v_mul_u32_u24 v17, " + n(1 + below(20)) + ", v5");
      break;
    case 1:
      line("v_mov_b32 v17, " + n(below(2048)));
      break;
    case 2:
      line("v_lshlrev_b32 v17, 2, v1");
      line("v_mad_u32_u24 v17, v4, " + n(4 * (1 + below(60))) + ", v17");
      break;
    case 3:  // backwards
      line("v_mul_u32_u24 v17, " + n(4 * (1 + below(4))) + ", v5");
      line("v_sub_nc_u32 v17, " + n(16 * kMostItems + below(4096)) + ", v17");
      break;
    case 4:
      line("v_mov_b32 v17, " + data());
      if (!chance(4)) line("v_and_b32 v17, -4, v17");
      is_masked = true;
      break;
    case 5:
      line("v_mul_lo_u32 v17, v4, s4");
      line("v_add_nc_u32 v17, v17, v3");
      line("v_lshlrev_b32 v17, " + n(below(4)) + ", v17");
      break;
    case 6:
      line("v_lshlrev_b32 v17, " + n(below(5)) + ", v16");
      break;
    case 7:
      line("v_add_nc_u32 v17, " + n(below(64)) + ", v5");
      line("v_mul_u32_u24 v17, " + n(uint32_t{1} << below(6)) + ", v17");
      break;
    case kOfRow:  // the same for a row of items, or for a column
      line("v_mul_u32_u24 v17, " + n(chance(2) ? 4 : 1 + below(40)) + ", v" + n(1 + below(4)));
      break;
    case 9:
      line("v_lshlrev_b32 v17, 2, v" + n(chance(2) ? 3 : 1));
      line("v_mad_u32_u24 v17, v" + n(chance(2) ? 4 : 2) + ", " + n(4 * (1 + below(60))) + ", v17");
      break;
    default:
      line("v_lshlrev_b32 v17, " + n(chance(2) ? 2 : 1 + below(4)) + ", v5");
      if (chance(3)) line("v_add_nc_u32 v17, " + n(below(16)) + ", v17");
  }
  if (is_masked) line("v_and_b32 v17, 0x3fff, v17");
}

// Made now for later statements, which may be in other blocks.
void RandomStatements::keep_offset() {
  offset();
  line("v_mov_b32 v" + n(kKept + below(kKeptCount)) + ", v17");
}

// One of those, which may go on for whoever is next.
void RandomStatements::kept_offset() {
  const std::string kept = "v" + n(kKept + below(kKeptCount));
  line("v_mov_b32 v17, " + kept);
  if (chance(2)) line("v_add_nc_u32 " + kept + ", " + n(4 * (1 + below(16))) + ", " + kept);
}

void RandomStatements::load() {
  struct Width {
    const char* name;
    unsigned words;
  };
  static constexpr Width kWidths[] = {{"b32", 1}, {"b32", 1}, {"b64", 2}, {"b96", 3},     {"b128", 4},
                                      {"u8", 1},  {"i8", 1},  {"u16", 1}, {"d16_b16", 1}, {"d16_hi_b16", 1}};
  const Width width = kWidths[below(std::size(kWidths))];
  const std::string to = group_of(width.words);
  offset();
  const std::string at = " offset:" + n(below(2048));
  switch (below(6)) {
    case 0:
      line("v_add_co_u32 v18, " + std::string(vcc()) + ", s0, v17");
      line("v_add_co_ci_u32 v19, " + std::string(vcc()) + ", 0, s1, " + vcc());
      if (chance(3))
        line("flat_load_" + std::string(width.name) + " " + to + ", v[18:19]" + at);
      else
        line("global_load_" + std::string(width.name) + " " + to + ", v[18:19], off" + at);
      return wait();
    case 1:
      line("buffer_load_" + std::string(width.name) + " " + to + ", v17, s[24:27], 0 offen");
      return wait();
    default:
      line("global_load_" + std::string(width.name) + " " + to + ", v17, s[0:1]" + at);
      return wait();
  }
}

// To where no other wave writes.
void RandomStatements::store() {
  struct Width {
    const char* name;
    unsigned words, bytes;
  };
  static constexpr Width kWidths[] = {{"b32", 1, 4},   {"b32", 1, 4}, {"b64", 2, 8},        {"b96", 3, 12},
                                      {"b128", 4, 16}, {"b8", 1, 1},  {"d16_hi_b16", 1, 2}, {"b16", 1, 2}};
  const Width width = kWidths[below(std::size(kWidths))];
  const std::string from = group_of(width.words);
  const unsigned kind = below(6);
  switch (kind) {
    case 0:
    case 1: {  // columns, and what is added to them: to do that twice is seen
      const std::string column = n(grid_.columns_at() + below(RandomGrid::kColumns) * grid_.items() * 4);
      const std::string value = data();
      line("v_lshlrev_b32 v17, 2, v5");
      line("v_add_nc_u32 v17, " + column + ", v17");
      if (kind == 1) {
        line("global_load_b32 " + value + ", v17, s[2:3]");
        wait();
        line("v_add_nc_u32 " + value + ", " + n(1 + below(64)) + ", " + value);
      }
      line("global_store_b32 v17, " + value + ", s[2:3]");
      break;
    }
    case 2:  // lanes that overlap: all of one wave
      line("v_mul_u32_u24 v17, " + n(below(13)) + ", v16");
      line("v_and_b32 v17, 0x7f, v17");
      line("v_add_nc_u32 v17, v23, v17");
      line("global_store_" + std::string(width.name) + " v17, " + from + ", s[2:3]");
      break;
    default: {
      const std::string at = " offset:" + n(below(RandomGrid::kSlotBytes - width.bytes + 1));
      line("v_lshlrev_b32 v17, 6, v5");
      line("global_store_" + std::string(width.name) + " v17, " + from + ", s[2:3]" + at);
      if (chance(2)) {
        wait();
        line("global_load_b32 " + data() + ", v17, s[2:3] offset:" + n(below(RandomGrid::kSlotBytes - 3)));
      }
    }
  }
  wait();
}

// In the wave's own memory: how many rounds it takes is then known.
void RandomStatements::sum_by_exchanges() {
  const std::string again = label(), left = mask(90), saved = mask(88), number = data();
  static constexpr const char* kNames[] = {"v_add_f32", "v_max_f32", "v_add_nc_u32", "v_and_b32"};
  const bool loads_in_loop = chance(2);
  const auto load = [&] {
    line("global_load_b32 v20, v17, s[2:3] glc");
    wait();
  };
  line("v_and_b32 v17, " + n(4 * below(16)) + ", " + data());
  line("v_add_nc_u32 v17, v23, v17");
  line("s_mov" + std::string(b()) + saved + ", " + exec());
  line("s_mov" + std::string(b()) + left + ", 0");
  if (!loads_in_loop) load();
  line(again + ":");
  if (loads_in_loop) load();
  line(one_of(kNames) + " v19, " + number + ", v20");
  line("global_atomic_cmpswap_b32 v18, v17, v[19:20], s[2:3] glc");
  wait();
  line("v_cmp_eq_u32 " + std::string(vcc()) + ", v18, v20");
  if (!loads_in_loop) line("v_mov_b32 v20, v18");
  line("s_or" + std::string(b()) + left + ", " + vcc() + ", " + left);
  line("s_and_not1" + std::string(b()) + exec() + ", " + exec() + ", " + left);
  line("s_cbranch_execnz " + again);
  line("s_mov" + std::string(b()) + exec() + ", " + saved);
  line("s_mov" + std::string(b()) + vcc() + ", 0");
}

void RandomStatements::atomic() {
  if (chance(4)) return sum_by_exchanges();
  static constexpr const char* kNames[] = {"add_u32", "or_b32", "and_b32", "xor_b32", "min_u32", "max_i32"};
  const std::string name = one_of(kNames);
  if (chance(3)) {  // of its own
    line("v_lshlrev_b32 v17, 6, v5");
    line("global_atomic_" + name + " " + data() + ", v17, " + data() + ", s[2:3] offset:" + n(4 * below(16)) +
         " glc");
  } else {
    // One operation for each place: others would not commute.
    const std::string names[] = {"add_u32", "or_b32", "and_b32", "xor_b32"};
    const unsigned which = below(std::size(names));
    line("v_and_b32 v17, " + n(4 * below(16)) + ", " + data());
    line("v_add_nc_u32 v17, " + n(grid_.shared_at() + 64 * which) + ", v17");
    line("global_atomic_" + names[which] + " v17, " + data() + ", s[2:3]");
  }
  wait();
}

// A slot of the LDS for each item, of 16 bytes or more apart.
void RandomStatements::local_memory() {
  const std::string at = " offset:" + n(below(13)), aligned = " offset:" + n(4 * below(4));
  line("v_mul_u32_u24 v17, " + n(kLdsSlot) + ", v16");
  switch (below(6)) {
    case 0:
      line("ds_store_b32 v17, " + data() + at);
      break;
    case 1:
      line("ds_store_b64 v17, " + group_of(2) + (chance(2) ? " offset:8" : ""));
      break;
    case 2:
      line("ds_store_b128 v17, " + group_of(4));
      break;
    case 3:
      line("ds_add_rtn_u32 " + data() + ", v17, " + data() + aligned);
      break;
    case 4:
      line("ds_store_2addr_b32 v17, " + data() + ", " + data() + " offset0:" + n(below(4)) +
           " offset1:" + n(below(4)));
      break;
    default:
      line("ds_store_b8 v17, " + data() + " offset:" + n(below(16)));
  }
  if (chance(2)) line("ds_load_" + std::string(chance(2) ? "b32 " : "u16 ") + data() + ", v17" + at);
  wait();
}

void RandomStatements::scratch() {
  const unsigned words = 1 + below(4);
  const std::string type = words == 1 ? "b32" : "b" + n(32 * words);
  line("scratch_store_" + type + " off, " + group_of(words) + ", off offset:" + n(4 * below(12)));
  wait();
  if (chance(2)) {
    line("v_and_b32 v17, 28, " + data());
    line("scratch_load_b32 " + data() + ", v17, off offset:" + n(4 * below(8)));
  } else {
    line("scratch_load_" + type + " " + group_of(words) + ", off, off offset:" + n(4 * below(12)));
  }
  wait();
}

void RandomStatements::scalar() {
  line("s_load_b32 s54, s[0:1], " + n(4 * below(4096)));
  wait();
  static constexpr const char* kNames[] = {"s_add_u32",  "s_xor_b32", "s_mul_i32",
                                           "s_lshl_b32", "s_bfe_u32", "s_min_i32"};
  line(one_of(kNames) + " s54, s54, " + (chance(2) ? "s5" : n(below(64))));
  line("v_add_nc_u32 " + data() + ", s54, " + data());
}

}  // namespace lockstep::translator
