// Parameters and results of the bodies of VOP1, VOP2, VOPC, VOP3, VOP3SD and VINTERP are the operands of
// their rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "isa/row.h"
#include "semantics/cross_lane.h"
#include "semantics/dot_float.h"
#include "semantics/missing.h"
#include "semantics/vector_alu.h"
#include "semantics/vop3p_float.h"
#include "semantics/vop3p_integer.h"

#define VOP1(name, ...) LOCKSTEP_ROW(name)
#define VOP1_ONLY(name, ...) LOCKSTEP_ROW(name)
#define VOP2(name, ...) LOCKSTEP_ROW(name)
#define VOP2_CARRY(name, ...) LOCKSTEP_ROW(name)
#define VOP2_ONLY(name, ...) LOCKSTEP_ROW(name)
#define VOPC(name, ...) LOCKSTEP_ROW(name)
#define VOP3(name, ...) LOCKSTEP_ROW(name)
#define VOP3SD(name, ...) LOCKSTEP_ROW(name)
#define VINTERP(name, ...) LOCKSTEP_ROW(name)

namespace lockstep::semantics {
namespace {

using isa::Encoding;
using isa::Type;

enum class Shape {
  word,
  number,
  half,
  half_number,
  pair,
  pair_number,
  words,
  packed,
  mask,
  lanes,
  mode,
  other
};

template <class T>
constexpr Shape shape_of() {
  if constexpr (std::is_same_v<T, U32> || std::is_same_v<T, I32>)
    return Shape::word;
  else if constexpr (std::is_same_v<T, F32>)
    return Shape::number;
  else if constexpr (std::is_same_v<T, U16> || std::is_same_v<T, I16>)
    return Shape::half;
  else if constexpr (std::is_same_v<T, F16>)
    return Shape::half_number;
  else if constexpr (std::is_same_v<T, U64> || std::is_same_v<T, I64>)
    return Shape::pair;
  else if constexpr (std::is_same_v<T, F64>)
    return Shape::pair_number;
  else if constexpr (std::is_same_v<T, Words<4>>)
    return Shape::words;
  else if constexpr (std::is_same_v<T, PairF16>)
    return Shape::packed;
  else if constexpr (std::is_same_v<T, Mask>)
    return Shape::mask;
  else if constexpr (std::is_same_v<T, Lanes>)
    return Shape::lanes;
  else if constexpr (std::is_same_v<T, RuntimeFloatMode>)
    return Shape::mode;
  else
    return Shape::other;
}

struct Signature {
  std::vector<Shape> parameters;
  Shape result = Shape::other;
  bool has_mask = false;  // WithMask
  bool saturates = false;
};

template <class T>
struct ResultShape {
  static constexpr Shape shape = shape_of<T>();
  static constexpr bool has_mask = false;
};
template <class T>
struct ResultShape<WithMask<T>> {
  static constexpr Shape shape = shape_of<T>();
  static constexpr bool has_mask = true;
};
template <class Result, class... Parameters>
Signature signature_of(Result (*)(Parameters...)) {
  return {{shape_of<Parameters>()...}, ResultShape<Result>::shape, ResultShape<Result>::has_mask};
}

template <class Body>
concept TakesMode = requires { &Body::template eval<RuntimeFloatMode>; };
template <class Body>
concept Plain = requires { &Body::eval; };
template <class Body>
concept Saturates = requires { &Body::saturated; };

template <class Body>
void note(std::map<std::string_view, Signature>& signatures, std::string_view name) {
  if constexpr (has_body<Body>) {
    Signature& signature = signatures[name];
    if constexpr (TakesMode<Body>)
      signature = signature_of(&Body::template eval<RuntimeFloatMode>);
    else if constexpr (Plain<Body>)
      signature = signature_of(&Body::eval);
    signature.saturates = Saturates<Body>;
  }
}

const std::map<std::string_view, Signature>& signatures() {
  static const auto all = [] {
    std::map<std::string_view, Signature> result;
#define LOCKSTEP_ROW(name) note<semantics::name>(result, #name);
#include "isa/rows/vinterp.inc"
#include "isa/rows/vop1.inc"
#include "isa/rows/vop2.inc"
#include "isa/rows/vop3.inc"
#include "isa/rows/vopc.inc"
#undef LOCKSTEP_ROW
    return result;
  }();
  return all;
}

// Whether its body stands in valu.h and its kin: not VOP3P and VOPD.
bool is_plain_valu(const isa::Row& row) {
  return isa::is_vector_alu(row.encoding) && row.encoding != Encoding::vop3p &&
         row.encoding != Encoding::vopd;
}

bool fits(Shape shape, Type type) {
  switch (type) {
    case Type::f32:
      return shape == Shape::number;
    case Type::f64:
      return shape == Shape::pair_number;
    case Type::f16:
      return shape == Shape::half_number;
    case Type::b16:
    case Type::u16:
    case Type::i16:
      return shape == Shape::half;
    case Type::b64:
    case Type::u64:
    case Type::i64:
      return shape == Shape::pair;
    case Type::b128:
      return shape == Shape::words;
    case Type::mask:
      return shape == Shape::mask;
    case Type::pk_f16:
      return shape == Shape::packed;
    default:
      return shape == Shape::word;
  }
}

TEST(ValuSignatures, ParametersAreTheOperands) {
  unsigned checked = 0;
  for (const isa::Row& row : isa::rows()) {
    const auto found = signatures().find(row.name);
    if (!is_plain_valu(row) || found == signatures().end()) continue;
    const Signature& signature = found->second;
    // Whole-wave bodies and dot products have other shapes, and tests of their own.
    if (row.flags & isa::kCrossLane || signature.result == Shape::other ||
        std::ranges::count(signature.parameters, Shape::other))
      continue;
    if (signature.parameters.empty()) continue;

    std::vector<Type> expected;
    for (const isa::OperandSpec& operand : row.operands)
      if (operand.read && !operand.written) expected.push_back(operand.type);
    for (const isa::OperandSpec& operand : row.operands)
      if (operand.read && operand.written) expected.push_back(operand.type);
    if (row.implicit_reads & isa::kVcc && !std::ranges::count(expected, Type::mask))
      expected.push_back(Type::mask);

    ++checked;
    std::vector<Shape> parameters = signature.parameters;
    if (!parameters.empty() && parameters.back() == Shape::mode) {
      parameters.pop_back();
      EXPECT_TRUE(row.implicit_reads & isa::kMode)
          << row.name << ": the body depends on MODE, the row does not say so";
    }
    if (!parameters.empty() && parameters.back() == Shape::lanes) parameters.pop_back();
    ASSERT_EQ(parameters.size(), expected.size()) << row.name;
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_TRUE(fits(parameters[i], expected[i])) << row.name << " parameter " << i;

    const isa::OperandSpec& destination = row.operands.front();
    EXPECT_TRUE(fits(signature.result, destination.type)) << row.name << " result";
    const bool second = std::ranges::any_of(row.operands, [](auto& o) { return o.role == isa::Role::dst2; });
    EXPECT_EQ(signature.has_mask, second) << row.name << " mask result";
  }
  EXPECT_GT(checked, 700u);
}

// CLAMP saturates integers, unless the result cannot leave the range of its type, or the bit is ignored
// (guide 7.2.3.1).
TEST(ValuSignatures, ClampedIntegersSaturate) {
  const auto needs_none = [](std::string_view name) {
    static constexpr std::string_view kInRange[] = {"v_cvt_", "v_frexp_exp", "v_min3_", "v_max3_", "v_med3_"};
    static constexpr std::string_view kIgnored[] = {"v_perm",
                                                    "v_add3_u32",
                                                    "v_add_lshl_u32",
                                                    "v_alignbit_b32",
                                                    "v_alignbyte_b32",
                                                    "v_and_",
                                                    "v_or_",
                                                    "v_xor_",
                                                    "v_xnor_",
                                                    "v_not_",
                                                    "v_bfi_b32",
                                                    "v_or3_b32",
                                                    "v_xor3_b32",
                                                    "v_lshl_or_b32",
                                                    "v_dot2_bf16_bf16",
                                                    "v_readlane_b32",
                                                    "v_readfirstlane_b32",
                                                    "v_writelane_b32"};
    const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
    return std::ranges::any_of(kInRange, begins) || std::ranges::any_of(kIgnored, begins);
  };
  for (const isa::Row& row : isa::rows()) {
    const auto found = signatures().find(row.name);
    if (!is_plain_valu(row) || found == signatures().end() || !(row.flags & isa::kCanClamp)) continue;
    const Shape result = found->second.result;
    if (result != Shape::word && result != Shape::half && result != Shape::pair && result != Shape::words)
      continue;
    if (!needs_none(row.name)) EXPECT_TRUE(found->second.saturates) << row.name;
  }
}

}  // namespace
}  // namespace lockstep::semantics
