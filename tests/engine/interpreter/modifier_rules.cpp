#include "tests/engine/interpreter/modifier_rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace lockstep::interpreter {

namespace {

using Kind = Value::Kind;

constexpr Value kFloat16{Kind::floating, 16}, kFloat32{Kind::floating, 32}, kFloat64{Kind::floating, 64},
    kPackedFloat{Kind::floating, 16, true}, kInt16{Kind::integer, 16}, kInt32{Kind::integer, 32},
    kInt64{Kind::integer, 64}, kPackedInt{Kind::integer, 16, true}, kMask{Kind::mask, 1};

bool has(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

// The types at the end of a name, the last one first: v_cvt_f32_i32 gives i32, f32.
std::vector<std::string_view> suffixes(std::string_view name) {
  std::vector<std::string_view> types;
  for (;;) {
    const size_t at = name.rfind('_');
    if (at == std::string_view::npos) return types;
    const std::string_view word = name.substr(at + 1);
    const size_t digits = word.find_first_of("0123456789");
    const std::string_view letters = word.substr(0, digits);
    if (digits == std::string_view::npos || (letters != "f" && letters != "i" && letters != "u" &&
                                             letters != "b" && letters != "bf" && letters != "iu"))
      return types;
    types.push_back(word);
    name = name.substr(0, at);
  }
}

Value value_of(std::string_view type) {
  const bool is_float = type[0] == 'f' || type.starts_with("bf");
  const std::string_view digits = type.substr(type.find_first_of("0123456789"));
  if (digits == "64") return is_float ? kFloat64 : kInt64;
  if (digits == "16") return is_float ? kFloat16 : kInt16;
  return is_float ? kFloat32 : kInt32;  // 24 bits, bytes and nibbles stand in a register
}

unsigned source_count(const isa::Row& row) {
  return static_cast<unsigned>(std::ranges::count_if(row.operands, [](const isa::OperandSpec& operand) {
    return operand.role >= isa::Role::src0 && operand.role <= isa::Role::src2;
  }));
}

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> prefixes) {
  return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

Form form_of(const isa::Row& row) {
  const std::string_view name = row.name;
  const unsigned count = source_count(row);
  const std::vector<std::string_view> types = suffixes(name);
  Form form;
  const auto of = [&](Value result, std::vector<Value> sources) {
    form.result = result;
    form.sources = std::move(sources);
    form.sources.resize(count, kInt32);
    return form;
  };
  if (name.starts_with("v_cvt_f32_ubyte")) return of(kFloat32, {kInt32});
  if (starts_with_any(name, {"v_sad_", "v_msad_"})) return of(kInt32, {});
  if (starts_with_any(name, {"v_qsad_", "v_mqsad_pk_"})) return of(kInt64, {kInt64, kInt32, kInt64});
  if (types.empty()) return of(kInt32, {});
  const Value last = value_of(types.front()), before = types.size() > 1 ? value_of(types[1]) : last;
  const std::vector<Value> all(count, last);
  if (starts_with_any(name, {"v_mov_b", "v_movrel"})) return of(last, {{Kind::moved, last.bits}});
  if (name.starts_with("v_cndmask_b"))
    return of(last, {{Kind::moved, last.bits}, {Kind::moved, last.bits}, kMask});
  if (has(name, "_co_ci_")) return of(last, {last, last, kMask});
  if (has(name, "_class_")) return of(kMask, {last, last.bits == 16 ? kInt16 : kInt32});
  if (name.starts_with("v_cmp")) return of(kMask, all);
  if (name.starts_with("v_pk_")) {
    const Value packed = last.kind == Kind::floating ? kPackedFloat : kPackedInt;
    return of(packed, std::vector<Value>(count, packed));
  }
  if (name == "v_cvt_pk_rtz_f16_f32") return of(kPackedFloat, all);
  if (name == "v_pack_b32_f16") return of(kPackedFloat, all);
  if (name.starts_with("v_cvt_pk_u8_f32")) return of(kInt32, {kFloat32, kInt32, kInt32});
  if (name.starts_with("v_cvt_pk_")) return of(kPackedInt, all);
  if (name == "v_sat_pk_u8_i16") return of(kInt16, {kPackedInt});
  if (name.starts_with("v_ldexp_")) return of(last, {last, last.bits == 16 ? kInt16 : kInt32});
  if (name == "v_trig_preop_f64") return of(kFloat64, {kFloat64, kInt32});
  if (name == "v_interp_p10_f16_f32" || name == "v_interp_p10_rtz_f16_f32")
    return of(kFloat32, {kFloat16, kFloat32, kFloat16});
  if (name == "v_interp_p2_f16_f32" || name == "v_interp_p2_rtz_f16_f32")
    return of(kFloat16, {kFloat16, kFloat32, kFloat32});
  if (name.starts_with("v_fma_mix")) return of(last, std::vector<Value>(count, kFloat32));
  if (name.starts_with("v_dot2")) {
    if (row.encoding == isa::Encoding::vop3p) return of(before, {kPackedFloat, kPackedFloat, kFloat32});
    return of(before, {kPackedFloat, kPackedFloat, last});
  }
  if (name.starts_with("v_dot")) return of(kInt32, {kPackedInt, kPackedInt, kInt32});
  if (starts_with_any(name, {"v_mad_u32_u16", "v_mad_i32_i16"})) return of(before, {last, last, before});
  if (starts_with_any(name, {"v_mad_u64_u32", "v_mad_i64_i32"})) return of(before, {last, last, before});
  if (starts_with_any(name, {"v_lshlrev_b64", "v_lshrrev_b64", "v_ashrrev_i64"}))
    return of(last, {kInt32, last});
  if (starts_with_any(name, {"v_alignbit_b32", "v_alignbyte_b32"}))
    return of(kInt32, {kInt32, kInt32, kInt16});
  // Conversions and the like: result, then source.
  return of(before, all);
}

bool takes_dpp(const isa::Row& row) {
  const std::string_view name = row.name;
  switch (row.encoding) {
    case isa::Encoding::vinterp:
    case isa::Encoding::vopd:
      return false;
    case isa::Encoding::vop3p:
      return starts_with_any(name, {"v_fma_mix", "v_dot2_f32_"});
    default:
      break;
  }
  if (has(name, "64") || name == "v_illegal") return false;
  if (name == "v_mul_hi_u32" || name == "v_mul_hi_i32") return false;
  if (starts_with_any(name,
                      {"v_mul_lo_u32", "v_qsad", "v_mqsad", "v_readlane", "v_readfirstlane", "v_writelane",
                       "v_permlane", "v_swap", "v_pipeflush", "v_fmamk", "v_fmaak", "v_nop"}))
    return false;
  return true;
}

bool ignores_clamp(std::string_view name) {
  if (starts_with_any(name, {"v_dot2", "v_permlane", "v_add3_", "v_add_lshl_", "v_align", "v_cmp",
                             "v_readlane", "v_readfirstlane", "v_writelane", "v_cvt_pk_rtz_"}))
    return true;
  static constexpr std::array<std::string_view, 16> kBitwise = {
      "v_perm_b32",   "v_and_b32", "v_or_b32",      "v_xor_b32",  "v_xnor_b32",
      "v_not_b32",    "v_not_b16", "v_bfi_b32",     "v_xor3_b32", "v_or3_b32",
      "v_and_or_b32", "v_and_b16", "v_lshl_or_b32", "v_or_b16",   "v_xor_b16"};
  return std::ranges::find(kBitwise, name) != kBitwise.end();
}

uint64_t with_sign(uint64_t bits, unsigned width, bool abs, bool neg) {
  const uint64_t sign = uint64_t{1} << (width - 1);
  if (abs) bits &= ~sign;
  if (neg) bits ^= sign;
  return bits;
}

namespace {

struct Layout {
  unsigned width, fraction;
  uint64_t sign() const { return uint64_t{1} << (width - 1); }
  uint64_t infinity() const { return (sign() - 1) & ~((uint64_t{1} << fraction) - 1); }
  uint64_t least_normal() const { return uint64_t{1} << fraction; }
};

Layout layout_of(unsigned width) {
  return {width, width == 16 ? 10u : width == 32 ? 23u : 52u};
}

}  // namespace

uint64_t scaled(uint64_t bits, unsigned width, unsigned omod, uint32_t mode, bool forces_flush) {
  const bool ieee = mode >> 9 & 1, keeps_denormals = mode >> (width == 32 ? 5 : 7) & 1;
  if (omod == 0 || ieee || (keeps_denormals && !forces_flush)) return bits;
  const Layout layout = layout_of(width);
  const uint64_t sign = bits & layout.sign(), size = bits & ~layout.sign();
  if (size > layout.infinity()) return bits;
  if (size == 0) return 0;
  if (size == layout.infinity()) return bits;
  // As a number of units of the least denormal, which a long double holds with room to spare.
  const auto exponent = static_cast<int>(size >> layout.fraction);
  const uint64_t significand = (size & (layout.least_normal() - 1)) | (exponent ? layout.least_normal() : 0);
  const int shift = omod == 3 ? -1 : static_cast<int>(omod);
  const int scale = (exponent ? exponent - 1 : 0) + shift;
  const long double units = std::ldexp(static_cast<long double>(significand), scale);
  if (units < std::ldexp(1.0L, static_cast<int>(layout.fraction))) return sign;  // below the normal numbers
  int power = 0;
  const long double fraction = std::frexp(units, &power);  // in [0.5, 1)
  const int encoded = power - static_cast<int>(layout.fraction);
  if (encoded >= static_cast<int>(layout.infinity() >> layout.fraction)) {
    const unsigned round = mode >> (width == 32 ? 0 : 2) & 3;
    const bool to_infinity = round == 0 || (round == 1 && !sign) || (round == 2 && sign);
    const bool clamps_halves = width == 16 && (mode >> 23 & 1);
    return sign | (to_infinity && !clamps_halves ? layout.infinity() : layout.infinity() - 1);
  }
  const auto kept = static_cast<uint64_t>(std::ldexp(fraction, static_cast<int>(layout.fraction) + 1));
  return sign | static_cast<uint64_t>(encoded) << layout.fraction | (kept & (layout.least_normal() - 1));
}

uint64_t clamped_float(uint64_t bits, unsigned width, uint32_t mode) {
  const Layout layout = layout_of(width);
  const uint64_t size = bits & ~layout.sign();
  if (size > layout.infinity()) return mode >> 8 & 1 ? 0 : bits;
  if (bits & layout.sign()) return 0;
  const uint64_t one = (layout.infinity() >> 1) & ~(layout.least_normal() - 1);
  return std::min(size, one);
}

namespace {

int64_t extended(uint64_t bits, unsigned width) {
  return static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
}
uint64_t part(uint64_t bits, unsigned first, unsigned width) {
  return bits >> first & ((uint64_t{1} << width) - 1);
}
int64_t distance(uint64_t a, uint64_t b) {
  return static_cast<int64_t>(a > b ? a - b : b - a);
}

}  // namespace

std::optional<Exact> exact_integer(std::string_view name, const uint64_t (&sources)[3], bool carry,
                                   unsigned neg) {
  const std::vector<std::string_view> types = suffixes(name);
  if (types.empty()) return std::nullopt;
  const std::string_view result_type = types.size() > 1 ? types[1] : types[0];
  const bool is_signed = result_type[0] == 'i';
  const unsigned bits = value_of(result_type).bits;
  const __int128 one = 1;
  const auto range = [&](__int128 value) {
    return Exact{value, is_signed ? -(one << (bits - 1)) : 0,
                 is_signed ? (one << (bits - 1)) - 1 : (one << bits) - 1};
  };
  // Operands as numbers: of the last suffix's width, the addend of a multiply-add of the result's.
  const std::string_view source_type = types.front();
  const unsigned width = source_type.ends_with("24") ? 24 : value_of(source_type).bits;
  const auto number = [&](unsigned i, unsigned of_width) -> __int128 {
    return source_type[0] == 'i' ? __int128{extended(sources[i], of_width)}
                                 : __int128{part(sources[i], 0, of_width == 64 ? 63 : of_width) |
                                            (of_width == 64 ? sources[i] & (uint64_t{1} << 63) : 0)};
  };
  const __int128 a = number(0, width), b = number(1, width);
  if (starts_with_any(name, {"v_add_nc_", "v_add_co_", "v_pk_add_"})) return range(a + b + carry);
  if (starts_with_any(name, {"v_subrev_"})) return range(b - a - carry);
  if (starts_with_any(name, {"v_sub_nc_", "v_sub_co_", "v_pk_sub_"})) return range(a - b - carry);
  if (starts_with_any(name, {"v_mad_", "v_pk_mad_"})) return range(a * b + number(2, bits));
  if (starts_with_any(name, {"v_mul_i32_i24", "v_mul_u32_u24", "v_pk_mul_lo_u16"})) return range(a * b);
  const auto sum_of_distances = [&](unsigned element, bool masked) {
    int64_t sum = 0;
    for (unsigned first = 0; first < 32; first += element)
      if (!masked || part(sources[1], first, element) != 0)
        sum += distance(part(sources[0], first, element), part(sources[1], first, element));
    return sum;
  };
  const __int128 addend = sources[2];
  const auto unsigned_word = [&](__int128 value) { return Exact{value, 0, (one << 32) - 1}; };
  if (name == "v_sad_u8") return unsigned_word(sum_of_distances(8, false) + addend);
  if (name == "v_msad_u8") return unsigned_word(sum_of_distances(8, true) + addend);
  if (name == "v_sad_hi_u8") return unsigned_word((__int128{sum_of_distances(8, false)} << 16) + addend);
  if (name == "v_sad_u16") return unsigned_word(sum_of_distances(16, false) + addend);
  if (name == "v_sad_u32") return unsigned_word(sum_of_distances(32, false) + addend);
  if (name.starts_with("v_dot4") || name.starts_with("v_dot8")) {
    const unsigned element = name.starts_with("v_dot4") ? 8 : 4;
    const bool is_mixed = source_type.starts_with("iu");
    const auto item = [&](unsigned i, unsigned first) -> int64_t {
      const uint64_t raw = part(sources[i], first, element);
      return is_mixed && (neg >> i & 1) ? extended(raw, element) : static_cast<int64_t>(raw);
    };
    __int128 sum = is_mixed ? __int128{extended(sources[2], 32)} : addend;
    for (unsigned first = 0; first < 32; first += element) sum += item(0, first) * item(1, first);
    if (!is_mixed) return unsigned_word(sum);
    return Exact{sum, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
  }
  return std::nullopt;
}

DppLane dpp16_lane(unsigned control, unsigned lane) {
  const unsigned row = lane & ~15u, place = lane & 15, amount = control & 15;
  if (control < 0x100) return {false, (lane & ~3u) | (control >> (lane & 3) * 2 & 3)};
  switch (control & 0x1f0) {
    case 0x100:
      return {place + amount > 15, row | ((place + amount) & 15)};
    case 0x110:
      return {place < amount, row | ((place - amount) & 15)};
    case 0x120:
      return {false, row | ((place - amount) & 15)};
    case 0x140:
      return {false, control == 0x140 ? row | (15 - place) : (lane & ~7u) | (7 - (lane & 7))};
    case 0x150:
      return {false, row | amount};
    default:
      return {false, row | (place ^ amount)};
  }
}

}  // namespace lockstep::interpreter
