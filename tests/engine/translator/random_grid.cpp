#include "tests/engine/translator/random_grid.h"

#include <random>

namespace lockstep::translator {
namespace {

// Registers: v5 the item's number in the grid, v3 v4 its coordinates, v1 v2 those in the group, v16 that in
// the group as one; v6 to v15 hold data, v17 to v31 what statements need. s[40:43] addresses of functions,
// s[24:27] a buffer resource of the input.
class Writer {
 public:
  Writer(uint64_t seed, unsigned wave_size) : random_(seed * 2 + wave_size / 64), wave64_(wave_size == 64) {
    grid_.wave_size = wave_size;
  }

  RandomGrid write() {
    constexpr std::array<uint32_t, 2> kGroups[] = {{32, 1}, {64, 1}, {16, 4}, {8, 8},  {128, 1}, {33, 2},
                                                   {96, 1}, {32, 8}, {1, 1},  {20, 3}, {256, 1}, {64, 2},
                                                   {4, 16}, {16, 1}, {8, 2},  {5, 3},  {30, 1}};
    const auto [x, y] = kGroups[below(std::size(kGroups))];
    grid_.group = {x, y, 1};
    grid_.is_plain = chance(2);
    if (grid_.is_plain) grid_.registers = 5;
    grid_.grid = {x * (1 + below(grid_.is_plain ? kMostGroups : 5)), y * (1 + below(3)), 1};
    if (chance(4) && grid_.grid[0] > x) grid_.grid[0] -= 1 + below(x / 2 + 1);
    if (chance(6) && y > 1) grid_.grid[1] -= 1;
    grid_.float_mode = chance(2) ? 0xc0 : below(256);
    const bool has_functions = !grid_.is_plain && chance(3);
    if (has_functions) write_functions();
    const unsigned count = grid_.is_plain ? 1 + below(5) : 6 + below(14);
    for (unsigned i = 0; i < count; ++i) {
      text_.clear();
      if (has_functions && chance(6))
        call();
      else if (!grid_.is_plain && chance(6))
        exchange();
      else
        statement(0);
      grid_.statements.push_back(std::move(text_));
    }
    return std::move(grid_);
  }

 private:
  using Random = std::mt19937_64;
  uint32_t below(size_t count) { return static_cast<uint32_t>(random_() % count); }
  bool chance(unsigned one_of) { return below(one_of) == 0; }
  static std::string n(uint64_t number) { return std::to_string(number); }
  std::string data() { return "v" + n(6 + below(grid_.registers)); }
  std::string source() {
    switch (below(8)) {
      case 0:
        return n(below(64));
      case 1:
        return chance(2) ? "1.0" : "-4.0";
      case 2:
        return "s" + n(4 + below(2));
      case 3:
        return "v" + n(1 + below(5));
      default:
        return data();
    }
  }
  std::string group_of(unsigned words) {  // of data registers
    const unsigned first = 6 + below(grid_.registers + 1 - words);
    return words == 1 ? "v" + n(first) : "v[" + n(first) + ":" + n(first + words - 1) + "]";
  }
  std::string mask(unsigned first) const {
    return wave64_ ? "s[" + n(first) + ":" + n(first + 1) + "]" : "s" + n(first);
  }
  const char* vcc() const { return wave64_ ? "vcc" : "vcc_lo"; }
  const char* exec() const { return wave64_ ? "exec" : "exec_lo"; }
  const char* b() const { return wave64_ ? "_b64 " : "_b32 "; }
  void line(const std::string& text) { text_ += text + "\n"; }
  std::string label() { return "l" + n(labels_++); }

  template <size_t kCount>
  std::string one_of(const char* const (&names)[kCount]) {
    return names[below(kCount)];
  }

  void arithmetic() {
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
    switch (below(10)) {
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
        return line("v_add_co_ci_u32 " + data() + ", " + vcc() + ", " + data() + ", " + data() + ", " +
                    vcc());
      case 6:
        line("v_cmp_" + std::string(chance(2) ? "lt_u32 " : "gt_f32 ") + vcc() + ", " + source() + ", " +
             data());
        return line("v_cndmask_b32 " + data() + ", " + data() + ", " + data() + ", " + vcc());
      case 7:
        return lanes();
      default:
        return line(one_of(kTwo) + " " + data() + ", " + source() + ", " + data());
    }
  }

  void lanes() {
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
  void offset() {
    bool is_masked = chance(8);
    switch (below(10)) {
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
      default:
        line("v_lshlrev_b32 v17, " + n(chance(2) ? 2 : 1 + below(4)) + ", v5");
        if (chance(3)) line("v_add_nc_u32 v17, " + n(below(16)) + ", v17");
    }
    if (is_masked) line("v_and_b32 v17, 0x3fff, v17");
  }

  void load() {
    struct Width {
      const char* name;
      unsigned words;
    };
    static constexpr Width kWidths[] = {{"b32", 1},     {"b32", 1},       {"b64", 2}, {"b96", 3},
                                        {"b128", 4},    {"u8", 1},        {"i8", 1},  {"u16", 1},
                                        {"d16_b16", 1}, {"d16_hi_b16", 1}};
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
  void wait() { line("s_waitcnt vmcnt(0) lgkmcnt(0)"); }

  // To where no other wave writes.
  void store() {
    struct Width {
      const char* name;
      unsigned words, bytes;
    };
    static constexpr Width kWidths[] = {{"b32", 1, 4},   {"b32", 1, 4}, {"b64", 2, 8},        {"b96", 3, 12},
                                        {"b128", 4, 16}, {"b8", 1, 1},  {"d16_hi_b16", 1, 2}, {"b16", 1, 2}};
    const Width width = kWidths[below(std::size(kWidths))];
    const std::string from = group_of(width.words);
    switch (below(4)) {
      case 0: {  // columns
        const std::string column = n(grid_.columns_at() + below(RandomGrid::kColumns) * grid_.items() * 4);
        line("v_lshlrev_b32 v17, 2, v5");
        line("v_add_nc_u32 v17, " + column + ", v17");
        line("global_store_b32 v17, " + data() + ", s[2:3]");
        break;
      }
      case 1:  // lanes that overlap: all of one wave
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

  void atomic() {
    static constexpr const char* kNames[] = {"add_u32", "or_b32", "and_b32", "xor_b32", "min_u32", "max_i32"};
    const std::string name = one_of(kNames);
    if (chance(3)) {  // of its own
      line("v_lshlrev_b32 v17, 6, v5");
      line("global_atomic_" + name + " " + data() + ", v17, " + data() +
           ", s[2:3] offset:" + n(4 * below(16)) + " glc");
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
  void local_memory() {
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

  void scratch() {
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

  void scalar() {
    line("s_load_b32 s54, s[0:1], " + n(4 * below(4096)));
    wait();
    static constexpr const char* kNames[] = {"s_add_u32",  "s_xor_b32", "s_mul_i32",
                                             "s_lshl_b32", "s_bfe_u32", "s_min_i32"};
    line(one_of(kNames) + " s54, s54, " + (chance(2) ? "s5" : n(below(64))));
    line("v_add_nc_u32 " + data() + ", s54, " + data());
  }

  // Some items, then perhaps the others.
  void branch(unsigned depth) {
    const unsigned saved = 60 + 4 * depth;
    const std::string behind = label(), otherwise = label();
    const bool jumps = chance(2), has_else = chance(2);
    switch (below(4)) {
      case 0:
        line("v_cmp_gt_u32 " + std::string(vcc()) + ", " + n(below(grid_.items() + 1)) + ", v5");
        break;
      case 1:
        line("v_and_b32 v17, " + n(1 + below(7)) + ", v5");
        line("v_cmp_eq_u32 " + std::string(vcc()) + ", 0, v17");
        break;
      case 2:
        line("v_cmp_lt_f32 " + std::string(vcc()) + ", " + data() + ", " + data());
        break;
      default:
        line("v_cmp_lt_i32 " + std::string(vcc()) + ", " + source() + ", " + data());
    }
    line("s_and_saveexec" + std::string(b()) + mask(saved) + ", " + vcc());
    if (jumps) line("s_cbranch_execz " + (has_else ? otherwise : behind));
    block(depth + 1);
    if (has_else) {
      line(otherwise + ":");
      line("s_xor" + std::string(b()) + exec() + ", " + exec() + ", " + mask(saved));
      if (jumps) line("s_cbranch_execz " + behind);
      block(depth + 1);
    }
    line(behind + ":");
    line("s_mov" + std::string(b()) + exec() + ", " + mask(saved));
  }

  // So many rounds for all, or each item its own number of them; some walk through memory.
  void loop(unsigned depth) {
    const unsigned saved = 60 + 4 * depth, counter = 80 + depth;
    const std::string begin = label(), own = "v" + n(24 + 2 * depth), walker = "v" + n(25 + 2 * depth);
    const bool diverges = chance(2), walks = chance(2);
    const std::string stride = n((chance(4) ? 1 : 4) * (1 + below(5)));
    if (walks) {
      offset();
      line("v_mov_b32 " + walker + ", v17");
    }
    line("s_mov_b32 s" + n(counter) + ", 0");
    if (diverges) {
      line("v_and_b32 " + own + ", " + n(1 + below(15)) + ", " + (chance(2) ? std::string("v5") : data()));
      line("s_mov" + std::string(b()) + mask(saved) + ", " + exec());
    }
    line(begin + ":");
    if (walks) {
      const unsigned words = chance(3) ? 2 : 1;
      line("global_load_b" + n(32 * words) + " " + group_of(words) + ", " + walker + ", s[0:1]");
      wait();
      line("v_add_nc_u32 " + walker + ", " + stride + ", " + walker);
    }
    if (!walks || chance(2)) block(depth + 1);
    line("s_add_u32 s" + n(counter) + ", s" + n(counter) + ", 1");
    if (diverges) {
      line("v_cmp_gt_u32 " + std::string(vcc()) + ", " + own + ", s" + n(counter));
      line("s_and" + std::string(b()) + exec() + ", " + exec() + ", " + vcc());
      line("s_cbranch_execnz " + begin);
      line("s_mov" + std::string(b()) + exec() + ", " + mask(saved));
    } else {
      line("s_cmp_lt_u32 s" + n(counter) + ", " + n(1 + below(12)));
      line("s_cbranch_scc1 " + begin);
    }
  }

  void block(unsigned depth) {
    const unsigned count = 1 + below(4);
    for (unsigned i = 0; i < count; ++i) statement(depth);
  }

  void short_statement(unsigned depth) {
    switch (below(depth == 0 ? 9 : 7)) {
      case 0:
      case 1:
      case 2:
        return load();
      case 3:
      case 4:
        return store();
      case 7:
        return branch(depth);
      case 8:
        return chance(2) ? loop(depth) : atomic();
      default:
        return arithmetic();
    }
  }

  void statement(unsigned depth) {
    if (grid_.is_plain) return short_statement(depth);
    constexpr unsigned kDeepest = 3;
    switch (below(depth < kDeepest ? 16 : 13)) {
      case 0:
      case 1:
      case 2:
        return load();
      case 3:
      case 4:
        return store();
      case 5:
        return atomic();
      case 6:
        return local_memory();
      case 7:
        return scratch();
      case 8:
        return scalar();
      case 13:
        return branch(depth);
      case 14:
      case 15:
        return loop(depth);
      default:
        return arithmetic();
    }
  }

  // All waves of the group come here: what others wrote to the LDS is read between two barriers.
  void exchange() {
    const uint32_t items = grid_.group[0] * grid_.group[1];
    line("v_mul_u32_u24 v17, " + n(kLdsSlot) + ", v16");
    line("ds_store_b32 v17, " + data());
    wait();
    line("s_barrier");
    line("v_add_nc_u32 v17, " + n(below(items)) + ", v16");
    line("v_cmp_le_u32 " + std::string(vcc()) + ", " + n(items) + ", v17");
    line("v_subrev_nc_u32 v18, " + n(items) + ", v17");
    line("v_cndmask_b32 v17, v17, v18, " + std::string(vcc()));
    line("v_mul_u32_u24 v17, " + n(kLdsSlot) + ", v17");
    line("ds_load_b" + std::string(chance(2) ? "32 " + data() : "64 " + group_of(2)) + ", v17");
    wait();
    line("s_barrier");
  }

  void call() {
    const std::string here = label();
    line("s_getpc_b64 s[40:41]");
    line(here + ":");
    line("s_add_u32 s40, s40, function" + n(below(2)) + "-" + here);
    line("s_addc_u32 s41, s41, 0");
    line("s_swappc_b64 s[42:43], s[40:41]");
  }

  void write_functions() {
    for (unsigned i = 0; i < 2; ++i) {
      text_.clear();
      line("function" + n(i) + ":");
      block(1);
      line("s_setpc_b64 s[42:43]");
      grid_.functions += text_;
    }
  }

  static constexpr uint32_t kMostGroups = 12, kMostItems = 256 * kMostGroups * 3, kLdsSlot = 20;
  Random random_;
  const bool wave64_;
  RandomGrid grid_;
  std::string text_;
  unsigned labels_ = 0;
};

}  // namespace

std::string RandomGrid::text() const {
  const auto n = [](uint32_t number) { return std::to_string(number); };
  std::string text =
      "v_and_b32 v1, 0x3ff, v0\nv_bfe_u32 v2, v0, 10, 10\n"
      "s_mul_i32 s10, s8, " +
      n(group[0]) + "\ns_mul_i32 s11, s9, " + n(group[1]) +
      "\nv_add_nc_u32 v3, s10, v1\nv_add_nc_u32 v4, s11, v2\n"
      "v_mul_lo_u32 v5, v4, s4\nv_add_nc_u32 v5, v5, v3\n"
      "v_mad_u32_u24 v16, v2, " +
      n(group[0]) +
      ", v1\n"
      "s_mov_b32 s5, 0x3f99999a\n"
      "s_mov_b32 s24, s0\ns_mov_b32 s25, s1\ns_mov_b32 s26, " +
      n(kBufferBytes) +
      "\ns_mov_b32 s27, 0x31016000\n"
      "v_mov_b32 v18, 7\nv_mov_b32 v19, 0\n";
  // The place of the wave: that of its first item.
  text += "v_readfirstlane_b32 s54, v5\nv_mov_b32 v23, " + n(waves_at()) +
          "\ns_lshl_b32 s54, s54, 8\nv_add_nc_u32 v23, s54, v23\n";
  for (unsigned i = 6; i < 6 + registers; ++i)
    text += (i % 3 == 0 ? "v_cvt_f32_u32 v" + n(i) + ", v5\nv_mul_f32 v" + n(i) + ", 0x3e4ccccd, v" + n(i)
                        : "v_mul_lo_u32 v" + n(i) + ", v5, " + n(i % 3 == 1 ? i : 0x9e3779b1u + i)) +
            "\n";
  for (const std::string& statement : statements) text += statement;
  for (unsigned i = 6; i < 6 + registers; ++i)
    text += "v_lshlrev_b32 v17, 2, v5\nv_add_nc_u32 v17, " + n(columns_at() + (i - 6) * items() * 4) +
            ", v17\nglobal_store_b32 v17, v" + n(i) + ", s[2:3]\n";
  text += "s_endpgm\n";
  return text + functions;
}

RandomGrid random_grid(uint64_t seed, unsigned wave_size) {
  return Writer(seed, wave_size).write();
}

}  // namespace lockstep::translator
