// Every row of the instruction set in generated variants, against LLVM: validity, text, size, and the way
// back through LLVM's assembler.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "tests/isa/comparison.h"
#include "tests/isa/encodings.h"
#include "tests/sweep.h"

namespace lockstep::test {
namespace {

constexpr unsigned kMaxDwords = 5;

struct Bytes {
  std::array<uint32_t, kMaxDwords> words{};
  std::span<const std::byte> view() const { return std::as_bytes(std::span(words)); }
};

// What one row's variants came to.
struct RowResult {
  uint64_t variants = 0;
  uint64_t both_valid = 0;
  uint64_t round_trips = 0;
  std::set<Difference> differences;
  std::vector<std::string> failures;
};

class RowTester {
 public:
  RowTester(LlvmOracle& oracle, unsigned wave_size, const isa::Row& row, RowResult& result)
      : oracle_(oracle),
        wave_size_(wave_size),
        row_(row),
        result_(result),
        turn_(static_cast<unsigned>(&row - isa::rows().data()) + wave_size / 32),
        rows_of_encoding_(
            static_cast<unsigned>(std::ranges::count(isa::rows(), row.encoding, &isa::Row::encoding))),
        random_(row.number * 64 + wave_size) {}

  void run() {
    const EncodingLayout& layout = layout_of(row_.encoding);
    for (const std::vector<uint32_t>& start : starting_points(row_)) {
      Bytes bytes;
      // What follows the instruction: a literal or DPP dword that is plausible as both.
      for (uint32_t& word : bytes.words) word = 0x2f003a07;
      std::copy(start.begin(), start.end(), bytes.words.begin());
      if (!check(bytes)) continue;
      sweep_fields(layout, bytes);
      sweep_bits(bytes, std::min(layout.dwords, 2u));
      sweep_literals(layout, bytes);
      sweep_dpp(bytes);
      break;
    }
  }

 private:
  // True if the bytes are this row's and at least we or LLVM take them.
  bool check(const Bytes& bytes) {
    if (crashes_llvm(bytes.view())) return false;
    compare(oracle_, bytes.view(), wave_size_, outcome_);
    ++result_.variants;
    if (outcome_.difference != Difference::none) result_.differences.insert(outcome_.difference);
    if (!outcome_.agreed && result_.failures.size() < 5)
      result_.failures.push_back(report(outcome_, bytes.view(), wave_size_));
    if (outcome_.both_valid && outcome_.agreed && !outcome_.llvm.has_remark) {
      ++result_.both_valid;
      if (random_() % kRoundTripEvery == 0) round_trip(bytes);
    }
    return outcome_.error == isa::DecodeError::none || !outcome_.llvm.text.empty();
  }

  // The assembler may choose another encoding of the same meaning (an inline constant for a literal, zeros in
  // fields that do not matter): then its bytes have to print as the same text.
  void round_trip(const Bytes& bytes) {
    if (outcome_.ours.find("/*") != std::string::npos) return;  // a value that has no spelling
    std::string error;
    const std::string text = outcome_.ours;
    const auto assembled = oracle_.assemble(text, error);
    ++result_.round_trips;
    if (!assembled) {
      // The assembler has operand rules that the disassembler lacks (two scalar values at most, VOPD register
      // banks and the like). Then our text is LLVM's own and nothing is wrong with it.
      if (outcome_.llvm.text != text) fail("LLVM does not assemble \"" + text + "\": " + error);
      return;
    }
    if (assembled->size() == outcome_.instruction.size &&
        std::memcmp(assembled->data(), bytes.words.data(), assembled->size()) == 0)
      return;
    Outcome again;
    compare(oracle_, *assembled, wave_size_, again);
    // A literal in a 64-bit or 16-bit integer operand can print as a number that the assembler takes for an
    // inline constant.
    if (again.ours != text && !has_ambiguous_literal())
      fail("\"" + text + "\" (" + hex(bytes.view().first(outcome_.instruction.size)) + ") assembles to " +
           hex(*assembled) + ", which is \"" + again.ours + "\"");
  }

  static bool is_half_integer(isa::Type type) {
    return type == isa::Type::b16 || type == isa::Type::u16 || type == isa::Type::i16;
  }
  bool has_ambiguous_literal() const {
    for (unsigned i = 0; i < outcome_.instruction.operand_count; ++i) {
      const isa::Operand& operand = outcome_.instruction.operands[i];
      if (operand.is_literal() && (operand.words > 1 || is_half_integer(operand.type))) return true;
    }
    return false;
  }

  void sweep_fields(const EncodingLayout& layout, const Bytes& start) {
    for (const BitField& field : layout.fields) {
      for (uint32_t value = 0; value < 1u << field.width; ++value) {
        if (field.width > 4 && !is_in_turn(value, 8)) continue;
        Bytes bytes = start;
        put(bytes, field, value);
        check(bytes);
      }
    }
  }

  void sweep_bits(const Bytes& start, unsigned dwords) {
    for (unsigned first = 0; first < 32 * dwords; ++first) {
      for (unsigned second = first; second < 32 * dwords; ++second) {
        if (second != first && !is_in_turn(first * 65 + second, 64)) continue;
        Bytes bytes = start;
        flip(bytes, first);
        if (second != first) flip(bytes, second);
        check(bytes);
      }
    }
  }

  // Literals that print as inline constants, and others.
  void sweep_literals(const EncodingLayout& layout, const Bytes& start) {
    static constexpr uint32_t kLiterals[] = {
        0,      1,      64,         65,         0xfffffff0, 0xffffffef, 0x3f000000, 0xbf800000, 0x3e22f983,
        0x3c00, 0x3118, 0x00003c00, 0xffff8000, 0x80000000, 0x3ff00000, 0x40100000, 0x3fe00000, 0xcafe1234};
    for (const BitField& field : layout.fields) {
      if (field.width != 9 && field.width != 8) continue;
      Bytes bytes = start;
      put(bytes, field, 255);
      for (uint32_t literal : kLiterals) {
        for (unsigned i = layout.dwords; i < kMaxDwords; ++i) bytes.words[i] = literal;
        check(bytes);
      }
    }
  }

  void sweep_dpp(const Bytes& start) {
    const bool wide = row_.encoding == isa::Encoding::vop3 || row_.encoding == isa::Encoding::vop3sd ||
                      row_.encoding == isa::Encoding::vop3p;
    const bool narrow = row_.encoding == isa::Encoding::vop1 || row_.encoding == isa::Encoding::vop2 ||
                        row_.encoding == isa::Encoding::vopc;
    if (!wide && !narrow) return;
    const unsigned dwords = wide ? 2 : 1;
    for (unsigned marker : {233u, 234u, 250u}) {
      Bytes bytes = start;
      put(bytes, {wide ? 32u : 0u, 9}, marker);
      bytes.words[dwords] = marker == 250 ? 0xff00e405 : 0x9a31c705;
      check(bytes);
      if (marker == 250) {
        for (uint32_t control = 0; control < 512; ++control) {
          if (!is_in_turn(control, 8)) continue;
          Bytes variant = bytes;
          put(variant, {32 * dwords + 8, 9}, control);
          check(variant);
        }
      }
      for (unsigned bit = 0; bit < 32 * (dwords + 1); ++bit) {
        Bytes variant = bytes;
        flip(variant, bit);
        check(variant);
      }
      for (unsigned i = 0; i < of_sweep(200u, 10u); ++i) {
        Bytes variant = bytes;
        variant.words[dwords] = random_();
        check(variant);
      }
    }
  }

  // In the short run a row has every case of fields up to four bits, every single bit, and one in `every` of
  // the others, another one than the next row of its encoding, where each case is met by some row and wave
  // size.
  bool is_in_turn(unsigned number, unsigned every) const {
    return is_in_share(number + turn_, std::min(every, rows_of_encoding_));
  }

  static void put(Bytes& bytes, const BitField& field, uint32_t value) {
    const uint64_t mask = ((uint64_t{1} << field.width) - 1) << (field.low % 32);
    uint32_t& word = bytes.words[field.low / 32];
    word = static_cast<uint32_t>((word & ~mask) | (uint64_t{value} << (field.low % 32)));
  }
  static void flip(Bytes& bytes, unsigned bit) { bytes.words[bit / 32] ^= 1u << (bit % 32); }

  void fail(std::string text) {
    if (result_.failures.size() < 5) result_.failures.push_back(std::move(text));
  }

  static constexpr unsigned kRoundTripEvery = kIsSanitized ? 400 : 50;

  LlvmOracle& oracle_;
  const unsigned wave_size_;
  const isa::Row& row_;
  RowResult& result_;
  const unsigned turn_, rows_of_encoding_;
  std::mt19937 random_;
  Outcome outcome_;
};

// Rows that LLVM 19 has no encoding for.
bool is_guide_only(const isa::Row& row, unsigned wave_size) {
  switch (row.opcode) {
    case isa::Opcode::s_endpgm_ordered_ps_done:
    case isa::Opcode::v_swap_b16:
    case isa::Opcode::v_dual_dot2acc_f32_bf16:
      return true;
    case isa::Opcode::v_readfirstlane_b32:
    case isa::Opcode::v_mov_b16:
      return row.encoding == isa::Encoding::vop3;
    default:
      return row.encoding == isa::Encoding::vopd && wave_size == 64;
  }
}

class Rows : public testing::TestWithParam<unsigned> {};

TEST_P(Rows, EqualLlvmInEveryVariant) {
  const unsigned wave_size = GetParam();
  const std::span<const isa::Row> rows = isa::rows();
  std::vector<RowResult> results(rows.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    LlvmOracle oracle(wave_size);
    for (size_t i = next++; i < rows.size(); i = next++)
      RowTester(oracle, wave_size, rows[i], results[i]).run();
  };
  std::vector<std::thread> threads;
  const unsigned count = std::max(1u, std::thread::hardware_concurrency());
  for (unsigned i = 0; i < count; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();

  uint64_t variants = 0, valid = 0, round_trips = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const RowResult& result = results[i];
    const std::string name =
        std::string(rows[i].name) + " (" + std::string(isa::name(rows[i].encoding)) + ")";
    for (const std::string& failure : result.failures) ADD_FAILURE() << name << "\n" << failure;
    if (!is_guide_only(rows[i], wave_size)) {
      EXPECT_GT(result.both_valid, 0u) << name << ": no variant that LLVM takes";
    }
    variants += result.variants;
    valid += result.both_valid;
    round_trips += result.round_trips;
  }
  std::printf("%zu rows, %lu variants, %lu valid, %lu assembled again\n", rows.size(), variants, valid,
              round_trips);
}

INSTANTIATE_TEST_SUITE_P(Wave, Rows, testing::Values(32u, 64u));

}  // namespace
}  // namespace lockstep::test
