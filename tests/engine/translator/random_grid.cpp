#include "tests/engine/translator/random_grid.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "tests/engine/translator/random_statements.h"

namespace lockstep::translator {
namespace {

class Writer : RandomStatements {
 public:
  using RandomStatements::RandomStatements;

  RandomGrid write() {
    constexpr std::array<uint32_t, 2> kGroups[] = {{32, 1}, {64, 1}, {16, 4}, {8, 8},  {128, 1}, {33, 2},
                                                   {96, 1}, {32, 8}, {1, 1},  {20, 3}, {256, 1}, {64, 2},
                                                   {4, 16}, {16, 1}, {8, 2},  {5, 3},  {30, 1}};
    // Of which waves have few lanes.
    constexpr std::array<uint32_t, 2> kSmallGroups[] = {{16, 1}, {8, 2}, {8, 1},  {32, 1},
                                                        {24, 1}, {7, 1}, {12, 2}, {33, 1}};
    // Of which a chunk of lanes has several rows.
    constexpr std::array<uint32_t, 2> kShortRows[] = {{8, 8}, {4, 4}, {8, 4}, {4, 8}, {2, 16}, {8, 16}};
    constexpr uint32_t kRowBytes[] = {12, 16, 20, 32, 36, 64, 100, 132, 256};
    const auto [x, y] = chance(3)   ? kSmallGroups[below(std::size(kSmallGroups))]
                        : chance(4) ? kShortRows[below(std::size(kShortRows))]
                                    : kGroups[below(std::size(kGroups))];
    grid_.group = {x, y, 1};
    grid_.is_plain = chance(2);
    if (grid_.is_plain) grid_.registers = 5;
    grid_.grid = {x * (1 + below(grid_.is_plain ? kMostGroups : 5)), y * (1 + below(3)), 1};
    if (chance(4) && grid_.grid[0] > x) grid_.grid[0] -= 1 + below(x / 2 + 1);
    if (chance(6) && y > 1) grid_.grid[1] -= 1;
    grid_.row_bytes = kRowBytes[below(std::size(kRowBytes))];
    grid_.rounds = 1 + below(grid_.row_bytes / 4);
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
    switch (below(depth == 0 ? 15 : 8)) {
      case 0:
      case 1:
      case 2:
        return load();
      case 3:
      case 4:
        return store();
      case 5:
        return keep_offset();
      case 13:
      case 14:
        return branch(depth);
      case 8:
        return chance(2) ? loop(depth) : atomic();
      case 9:
      case 10:
      case 11:
      case 12:
        return rows();
      default:
        return arithmetic();
    }
  }

  void statement(unsigned depth) {
    if (grid_.is_plain) return short_statement(depth);
    constexpr unsigned kDeepest = 3;
    switch (below(depth < kDeepest ? 17 : 14)) {
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
        return chance(2) ? scratch() : keep_offset();
      case 8:
        return scalar();
      case 9:
        return rows();
      case 14:
        return branch(depth);
      case 15:
      case 16:
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
      "v_mov_b32 v18, 7\nv_mov_b32 v19, 0\n"
      "v_mov_b32 v40, 0\nv_lshlrev_b32 v41, 2, v5\nv_lshlrev_b32 v42, 2, v3\nv_lshlrev_b32 v43, 2, v4\n";
  // The place of the wave, that of its first item, where somebody stores there.
  const auto is_of_wave = [](const std::string& each) { return each.find("v23") != std::string::npos; };
  if (std::ranges::any_of(statements, is_of_wave) || is_of_wave(functions))
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
