// Rows of memory that each item reads and writes step by step, as work-items do that have a row of a matrix
// each: in loops of one block, which the translator loads and stores ahead.
#include <algorithm>
#include <array>

#include "tests/engine/translator/random_statements.h"

namespace lockstep::translator {
namespace {

struct Element {
  const char *load, *store;
  unsigned words, bytes;
};
constexpr Element kElements[] = {{"b32", "b32", 1, 4}, {"b32", "b32", 1, 4},
                                 {"b32", "b32", 1, 4}, {"b64", "b64", 2, 8},
                                 {"b64", "b64", 2, 8}, {"u8", "b8", 1, 1},
                                 {"i8", "b8", 1, 1},   {"u16", "b16", 1, 2},
                                 {"i16", "b16", 1, 2}, {"d16_hi_b16", "d16_hi_b16", 1, 2}};

// Where an item is in its row: an address, or an offset from a pair of SGPRs.
struct Place {
  unsigned vgpr, base;
  bool is_wide;
};

// Of a group of registers.
std::string first_of(const std::string& words) {
  if (words[1] != '[') return words;
  return "v" + words.substr(2, words.find(':') - 2);
}

}  // namespace

// Rounds of all items alike, from the code or the launch, or each item's own, of which a few may be many.
// Most go on by an element.
void RandomStatements::rows() {
  const Element element = kElements[below(std::size(kElements))];
  // What the item has written comes to be read later, or it does not read there.
  const bool is_in_place = chance(4);
  const uint32_t start = below(2), ahead = below(3), step = chance(6) ? 2 : 1;
  const uint32_t fitting = grid_.row_bytes / element.bytes;
  const uint32_t most = fitting > start + ahead ? (fitting - start - ahead + step - 1) / step : 0;
  if (most == 0) return;
  const bool loads = !chance(5), stores = !chance(4);
  const bool are_of_launch = grid_.rounds <= most && chance(2);
  const Place from{32, is_in_place ? 2u : 0u, chance(2)}, to{34, 2, chance(2)};
  const auto begin = [&](const Place& place, uint32_t pitch, uint32_t first) {
    const std::string low = "v" + n(place.vgpr), high = "v" + n(place.vgpr + 1);
    line("v_mul_u32_u24 " + low + ", " + n(pitch) + ", v5");
    if (first != 0) line("v_add_nc_u32 " + low + ", " + n(first) + ", " + low);
    if (!place.is_wide) return;
    line("v_add_co_u32 " + low + ", " + vcc() + ", s" + n(place.base) + ", " + low);
    line("v_add_co_ci_u32 " + high + ", " + vcc() + ", 0, s" + n(place.base + 1) + ", " + vcc());
  };
  const auto address = [&](const Place& place) {
    if (!place.is_wide) return "v" + n(place.vgpr);
    return "v[" + n(place.vgpr) + ":" + n(place.vgpr + 1) + "]";
  };
  const auto base = [&](const Place& place) {
    return place.is_wide ? std::string(", off") : ", s[" + n(place.base) + ":" + n(place.base + 1) + "]";
  };
  const auto go_on = [&](const Place& place) {
    const std::string low = "v" + n(place.vgpr), high = "v" + n(place.vgpr + 1),
                      bytes = n(uint64_t{element.bytes} * step);
    if (!place.is_wide) return line("v_add_nc_u32 " + low + ", " + bytes + ", " + low);
    line("v_add_co_u32 " + low + ", " + vcc() + ", " + low + ", " + bytes);
    line("v_add_co_ci_u32 " + high + ", " + vcc() + ", 0, " + high + ", " + vcc());
  };
  constexpr uint32_t kInputPitches[] = {4, 16, 24, 36, 60};
  const uint32_t in_row = start * element.bytes, row = grid_.rows_at() + in_row;
  begin(from, is_in_place ? grid_.row_bytes : kInputPitches[below(std::size(kInputPitches))],
        is_in_place ? row : in_row);
  begin(to, grid_.row_bytes, row + ahead * element.bytes);
  // The items' own numbers of rounds in v36.
  const bool leave_one_by_one = chance(2);
  if (leave_one_by_one) {
    const std::string longest = are_of_launch ? "s7" : n(most);
    line("v_and_b32 v36, " + n(below(8)) + ", v5");
    line("v_and_b32 v37, " + n((1u << below(4)) - 1) + ", v5");
    line("v_cmp_eq_u32 " + std::string(vcc()) + ", 0, v37");
    line("v_mov_b32 v37, " + longest);
    line("v_cndmask_b32 v36, v36, v37, " + std::string(vcc()));
    line("v_min_u32 v36, " + longest + ", v36");
    line("v_mov_b32 v38, 0");
    line("s_mov" + std::string(b()) + mask(92) + ", " + exec());
    line("s_mov" + std::string(b()) + mask(94) + ", 0");
  } else {
    line("s_mov_b32 s90, " + (are_of_launch ? "s7" : n(1 + below(most))));
  }
  const std::string again = label(), words = group_of(element.words);
  line(again + ":");
  if (loads) {
    line("global_load_" + std::string(element.load) + " " + words + ", " + address(from) + base(from));
    wait();
  }
  if (chance(2)) line("v_fmac_f32 " + data() + ", " + data() + ", " + first_of(words));
  for (unsigned i = below(4); i > 0; --i) in_lane();
  if (stores)
    line("global_store_" + std::string(element.store) + " " + address(to) + ", " +
         (chance(2) ? words : group_of(element.words)) + base(to));
  go_on(from);
  go_on(to);
  if (leave_one_by_one) {
    line("v_add_nc_u32 v38, 1, v38");
    line("v_cmp_ge_u32 " + std::string(vcc()) + ", v38, v36");
    line("s_or" + std::string(b()) + mask(94) + ", " + vcc() + ", " + mask(94));
    line("s_and_not1" + std::string(b()) + exec() + ", " + exec() + ", " + mask(94));
    line("s_cbranch_execnz " + again);
    line("s_mov" + std::string(b()) + exec() + ", " + mask(92));
  } else {
    line("s_add_i32 s90, s90, -1");
    line("s_cmp_lg_u32 s90, 0");
    line("s_cbranch_scc1 " + again);
  }
  wait();
}

}  // namespace lockstep::translator
