// Atomic operations against 128-bit integers and the float rules of guide chapter 13, and the memory tables
// against the rows of isa/.
#include "semantics/atomic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "semantics/memory_shape.h"

namespace lockstep::semantics {
namespace {

using Wide = __int128;

template <class T>
std::vector<T> values() {
  constexpr unsigned bits = sizeof(T) * 8;
  std::vector<T> list = {
      0, 1, 2, T(-1), T(-2), T(1) << (bits - 1), (T(1) << (bits - 1)) - 1, (T(1) << (bits - 1)) + 1};
  std::mt19937_64 random(1);
  for (int i = 0; i < 24; ++i) list.push_back(static_cast<T>(random()));
  return list;
}

template <class T>
void check_integers() {
  using Signed = std::make_signed_t<T>;
  for (const T memory : values<T>())
    for (const T data : values<T>()) {
      const Wide m = memory, d = data;
      const Wide sm = static_cast<Signed>(memory), sd = static_cast<Signed>(data);
      const auto expect = [&](AtomicOperation operation, Wide wanted, T second = 0) {
        ASSERT_EQ(apply_atomic<T>(operation, memory, data, second, {}), static_cast<T>(wanted))
            << static_cast<int>(operation) << ' ' << memory << ' ' << data;
      };
      expect(AtomicOperation::swap, d);
      expect(AtomicOperation::add, m + d);
      expect(AtomicOperation::sub, m - d);
      expect(AtomicOperation::rsub, d - m);
      expect(AtomicOperation::csub, std::max<Wide>(0, m - d));
      expect(AtomicOperation::smin, std::min(sm, sd));
      expect(AtomicOperation::smax, std::max(sm, sd));
      expect(AtomicOperation::umin, std::min(m, d));
      expect(AtomicOperation::umax, std::max(m, d));
      expect(AtomicOperation::and_, m & d);
      expect(AtomicOperation::or_, m | d);
      expect(AtomicOperation::xor_, m ^ d);
      expect(AtomicOperation::inc, m + 1 > d ? 0 : m + 1);
      expect(AtomicOperation::dec, m - 1 < 0 || m - 1 >= d ? d : m - 1);
      expect(AtomicOperation::append, m + d);
      expect(AtomicOperation::consume, m - d);
      for (const T second : {T(0), memory, T(5)}) {
        expect(AtomicOperation::cmpswap, memory == second ? d : m, second);
        expect(AtomicOperation::mskor, (m & ~d) | second, second);
        expect(AtomicOperation::wrap, m >= d ? m - d : m + second, second);
      }
    }
}

TEST(Atomic, Integers32) {
  check_integers<uint32_t>();
}
TEST(Atomic, Integers64) {
  check_integers<uint64_t>();
}

TEST(Atomic, ConditionalExchange) {
  EXPECT_EQ(atomic_condxchg32::eval(0x1111111122222222, 0x8000000580000006), 0x0000000500000006u);
  EXPECT_EQ(atomic_condxchg32::eval(0x1111111122222222, 0x0000000580000006), 0x1111111100000006u);
  EXPECT_EQ(atomic_condxchg32::eval(0x1111111122222222, 0x7fffffff7fffffff), 0x1111111122222222u);
}

constexpr AtomicFlush kKeep{false, false}, kFlush{true, true};

TEST(Atomic, FloatAdd) {
  const auto add = [](uint32_t memory, uint32_t data, AtomicFlush flush = kKeep) {
    return atomic_fadd::eval(memory, data, flush);
  };
  EXPECT_EQ(add(0x3f800000, 0x40000000), 0x40400000u);
  EXPECT_EQ(add(0x3f800000, 0x33800000), 0x3f800000u);  // half an ulp, to even
  EXPECT_EQ(add(0x3f800001, 0x33800000), 0x3f800002u);
  EXPECT_EQ(add(0x7f800000, 0xff800000), 0xffc00000u);
  EXPECT_EQ(add(0xff800000, 0x7f800000), 0xffc00000u);
  EXPECT_EQ(add(0x7f800000, 0xbf800000), 0x7f800000u);
  EXPECT_EQ(add(0x80000000, 0x00000000), 0u);
  EXPECT_EQ(add(0x80000000, 0x80000000), 0x80000000u);
  EXPECT_EQ(add(0x7fc00001, 0x7f800002), 0x7fc00002u);  // the data's NaN first, quieted
  EXPECT_EQ(add(0xff800003, 0x3f800000), 0xffc00003u);
  EXPECT_EQ(add(0x7f7fffff, 0x7f7fffff), 0x7f800000u);
  EXPECT_EQ(add(1, 2), 3u);
  EXPECT_EQ(add(1, 2, kFlush), 0u);
  EXPECT_EQ(add(0x80000001, 0x80000002, kFlush), 0x80000000u);
  EXPECT_EQ(add(0x00800001, 0x80800000), 1u);
  EXPECT_EQ(add(0x00800001, 0x80800000, kFlush), 0u);
  EXPECT_EQ(add(0x80800001, 0x00800000, {false, true}), 0x80000000u);
  EXPECT_EQ(atomic_fadd::eval<uint64_t>(0x3ff0000000000000, 0x3ff0000000000000, kKeep), 0x4000000000000000u);
}

// The order of guide 13.3, as a list from smallest to largest.
const std::vector<uint32_t> kOrder = {0xff800000, 0xff7fffff, 0xbf800000, 0x80800000, 0x807fffff,
                                      0x80000001, 0x80000000, 0x00000000, 0x00000001, 0x007fffff,
                                      0x00800000, 0x3f800000, 0x7f7fffff, 0x7f800000};
constexpr uint32_t kQuiet = 0x7fc00007, kSignalling = 0x7f800009;

uint64_t widen(uint32_t bits) {
  if ((bits & 0x7fffffff) == 0x00000001) return uint64_t{bits >> 31} << 63 | 1;
  if ((bits & 0x7fffffff) == 0x007fffff) return uint64_t{bits >> 31} << 63 | 0x000fffffffffffff;
  if ((bits & 0x7fffffff) == 0x00800000) return uint64_t{bits >> 31} << 63 | 0x0010000000000000;
  return std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(bits)));
}

TEST(Atomic, FloatMinimumAndMaximumFollowTheOrder) {
  for (size_t i = 0; i < kOrder.size(); ++i)
    for (size_t j = 0; j < kOrder.size(); ++j) {
      EXPECT_EQ(atomic_fmin::eval(kOrder[i], kOrder[j], kKeep), kOrder[std::min(i, j)]);
      EXPECT_EQ(atomic_fmax::eval(kOrder[i], kOrder[j], kKeep), kOrder[std::max(i, j)]);
      EXPECT_EQ(atomic_fmin::eval(widen(kOrder[i]), widen(kOrder[j]), kKeep), widen(kOrder[std::min(i, j)]));
      EXPECT_EQ(atomic_fmax::eval(widen(kOrder[i]), widen(kOrder[j]), kKeep), widen(kOrder[std::max(i, j)]));
    }
  for (const uint32_t number : kOrder) {
    EXPECT_EQ(atomic_fmin::eval(kQuiet, number, kKeep), number);
    EXPECT_EQ(atomic_fmin::eval(number, kQuiet, kKeep), number);
    EXPECT_EQ(atomic_fmax::eval(kQuiet, number, kKeep), number);
    EXPECT_EQ(atomic_fmax::eval(number, kQuiet, kKeep), number);
    EXPECT_EQ(atomic_fmin::eval(kSignalling, number, kKeep), kSignalling | 0x400000);
    EXPECT_EQ(atomic_fmax::eval(number, kSignalling, kKeep), kSignalling | 0x400000);
  }
  EXPECT_EQ(atomic_fmin::eval(kSignalling, kSignalling + 1, kKeep), (kSignalling + 1) | 0x400000);
  EXPECT_EQ(atomic_fmax::eval(kQuiet, kSignalling, kKeep), kSignalling | 0x400000);
}

TEST(Atomic, FlushingComparesZerosAndKeepsOperands) {
  EXPECT_EQ(atomic_fmin::eval(2u, 1u, kFlush), 2u);  // both are +0: memory stays
  EXPECT_EQ(atomic_fmax::eval(1u, 2u, kFlush), 1u);
  EXPECT_EQ(atomic_fmax::eval(0x80000001u, 2u, kFlush), 2u);  // -0 below +0, result as it was
  EXPECT_EQ(atomic_fmin::eval(0x3f800000u, 5u, kFlush), 5u);
}

TEST(Atomic, FloatCompareAndSwap) {
  const auto swap = [](uint32_t memory, uint32_t data, uint32_t compare, AtomicFlush flush = kKeep) {
    return atomic_fcmpswap::eval(memory, data, compare, flush);
  };
  EXPECT_EQ(swap(0x3f800000, 7, 0x3f800000), 7u);
  EXPECT_EQ(swap(0x3f800000, 7, 0x3f800001), 0x3f800000u);
  EXPECT_EQ(swap(0x80000000, 9, 0x00000000), 9u);
  EXPECT_EQ(swap(kQuiet, 9, kQuiet), kQuiet);
  EXPECT_EQ(swap(1, 0x40000000, 2), 1u);
  EXPECT_EQ(swap(1, 0x40000000, 2, kFlush), 0x40000000u);
  EXPECT_EQ(swap(1, 0x80000003, 2, kFlush), 0x80000000u);  // what is stored is flushed
  EXPECT_EQ(swap(1, 9, 0x3f800000, kFlush), 1u);
}

TEST(Atomic, FlushRules) {
  using enum AtomicOperation;
  for (bool keep_inputs : {false, true})
    for (bool keep_outputs : {false, true}) {
      const auto memory_add = atomic_flush(fadd, false, keep_inputs, keep_outputs);
      EXPECT_TRUE(memory_add.inputs && memory_add.outputs);
      const auto lds_add = atomic_flush(fadd, true, keep_inputs, keep_outputs);
      EXPECT_EQ(lds_add.inputs, !keep_inputs);
      EXPECT_EQ(lds_add.outputs, !keep_outputs);
      for (bool in_lds : {false, true})
        EXPECT_EQ(atomic_flush(fmin, in_lds, keep_inputs, keep_outputs).inputs, !keep_inputs);
    }
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

// What a mnemonic ends in says how wide the access is.
unsigned width_in(std::string_view name) {
  for (const auto& [text, bytes] : std::initializer_list<std::pair<std::string_view, unsigned>>{{"b512", 64},
                                                                                                {"b256", 32},
                                                                                                {"b128", 16},
                                                                                                {"b96", 12},
                                                                                                {"b64", 8},
                                                                                                {"u64", 8},
                                                                                                {"i64", 8},
                                                                                                {"f64", 8},
                                                                                                {"b32", 4},
                                                                                                {"u32", 4},
                                                                                                {"i32", 4},
                                                                                                {"f32", 4},
                                                                                                {"b16", 2},
                                                                                                {"u16", 2},
                                                                                                {"i16", 2},
                                                                                                {"_b8", 1},
                                                                                                {"_u8", 1},
                                                                                                {"_i8", 1}})
    if (contains(name, text)) return bytes;
  return 0;
}

TEST(MemoryShape, EveryMemoryRowHasAShapeThatItsNameAgreesWith) {
  for (const isa::Row& row : isa::rows()) {
    const bool image = row.encoding == isa::Encoding::mimg;
    const isa::AccessShape access = isa::access_shape(row.opcode);
    const AtomicShape atomic = atomic_shape(row.opcode);
    SCOPED_TRACE(row.name);
    if (!image) EXPECT_EQ(access.kind == isa::AccessShape::Kind::atomic, bool(atomic));
    const bool machine = contains(row.name, "gs_reg") || contains(row.name, "ordered_count") ||
                         contains(row.name, "bvh") || contains(row.name, "lds_param") ||
                         contains(row.name, "lds_direct");
    if (!machine && !image) {
      EXPECT_EQ(access.kind == isa::AccessShape::Kind::load,
                (row.flags & isa::kLoad) && !(row.flags & isa::kAtomic));
      EXPECT_EQ(access.kind == isa::AccessShape::Kind::store,
                (row.flags & isa::kStore) && !(row.flags & isa::kAtomic));
    }
    if (!machine) EXPECT_EQ(bool(atomic), (row.flags & isa::kAtomic) != 0);
    if (access) {
      if (access.format_components == 0 && !contains(row.name, "append") && !contains(row.name, "consume"))
        EXPECT_EQ(access.bytes, width_in(row.name));
      if (!atomic) EXPECT_EQ(access.sign_extend, contains(row.name, "_i8") || contains(row.name, "_i16"));
      EXPECT_EQ(access.addresses, contains(row.name, "2addr") ? 2 : 1);
      EXPECT_EQ(access.add_lane_id, contains(row.name, "addtid"));
      EXPECT_EQ(access.part == isa::RegisterPart::high_half, contains(row.name, "d16_hi"));
      EXPECT_EQ(access.to_lds, contains(row.name, "_lds_"));
      if (access.addresses == 2)
        EXPECT_EQ(access.offset_unit, access.bytes * (contains(row.name, "stride64") ? 64 : 1));
      const size_t format = row.name.find("format_");
      EXPECT_EQ(access.format_components, format == row.name.npos ? 0 : row.name.size() - format - 7);
    }
    if (atomic && !image) {
      const bool counted = contains(row.name, "append") || contains(row.name, "consume");
      EXPECT_EQ(atomic.bytes, counted ? 4 : width_in(row.name));
      EXPECT_EQ(is_float(atomic.operation), contains(row.name, "_f32") || contains(row.name, "_f64"));
      EXPECT_EQ(atomic.addresses, contains(row.name, "2addr") ? 2 : 1);
      if (row.encoding == isa::Encoding::ds)
        EXPECT_EQ(atomic.old_value == OldValue::returned, (row.flags & isa::kReturnsData) != 0);
      if (row.encoding == isa::Encoding::ds && atomic.addresses == 1 && !counted) {
        bool data2 = false;
        for (const isa::OperandSpec& operand : row.operands) data2 |= operand.role == isa::Role::data2;
        EXPECT_EQ(has_second_operand(atomic.operation), data2);
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::semantics
