// Random dwords, against LLVM: no crash, and agreement except for the written differences.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "tests/isa/comparison.h"
#include "tests/isa/encodings.h"
#include "tests/sweep.h"

namespace lockstep::test {
namespace {

constexpr uint64_t kWords = kIsSanitized ? 200'000 : 10'000'000;
constexpr uint64_t kWordsOfShare = 500'000;
constexpr uint64_t kBatch = 50'000;
constexpr size_t kMaxFailures = 20;

using Dwords = std::array<uint32_t, 5>;

// Half of the words are as they come; the others begin with an encoding's prefix and are nudged towards
// validity, because the fields of long encodings are rarely all legal by chance.
Dwords make_words(std::mt19937_64& random) {
  Dwords words;
  for (uint32_t& word : words) word = static_cast<uint32_t>(random());
  if (random() & 1) return words;
  const std::span<const EncodingLayout> all = layouts();
  const EncodingLayout& layout = all[random() % all.size()];
  const std::span<const isa::Row> rows = isa::rows();
  const isa::Row& row = rows[random() % rows.size()];
  if (random() & 1) {
    words[0] |= layout.prefix;
    words[1] &= static_cast<uint32_t>(random() | random());
    return words;
  }
  const EncodingLayout& exact = layout_of(row.encoding);
  const uint32_t start = exact.prefix | uint32_t{row.number} << exact.op_shift;
  const uint32_t operands = static_cast<uint32_t>(random());
  switch (random() % 3) {
    case 0:
      words[0] = start | (operands & ~start & 0xff);
      break;
    case 1:
      words[0] = start | (operands & ~start & 0x78ff);
      break;
    default:
      words[0] = (words[0] & ~(0xfffu << exact.op_shift)) | start;
      break;
  }
  for (unsigned i = 0; i < 3; ++i) words[1] &= random() & 1 ? ~(0x1ffu << (9 * i)) : ~0u;
  if (random() & 1) words[1] &= 0x07ffffff;
  if (random() % 8 == 0) words[1] = (words[1] & ~0x1ffu) | (random() & 1 ? 250 : 233);
  return words;
}

class RandomWords : public testing::TestWithParam<unsigned> {};

TEST_P(RandomWords, AgreeWithLlvm) {
  const unsigned wave_size = GetParam();
  std::atomic<uint64_t> next_batch = 0;
  std::array<std::atomic<uint64_t>, static_cast<size_t>(Difference::count)> differences{};
  std::atomic<uint64_t> both_valid = 0;
  std::mutex mutex;
  std::vector<std::string> failures;
  // Each wave size has half of the words.
  const uint64_t batches = of_sweep(kWords, std::min(kWords, kWordsOfShare)) / 2 / kBatch;
  const auto work = [&] {
    LlvmOracle oracle(wave_size);
    Outcome outcome;
    for (uint64_t batch = next_batch++; batch < batches; batch = next_batch++) {
      std::mt19937_64 random(batch * 2 + wave_size);
      for (uint64_t i = 0; i < kBatch; ++i) {
        const Dwords words = make_words(random);
        const std::span<const std::byte> bytes = std::as_bytes(std::span(words));
        if (crashes_llvm(bytes)) continue;
        compare(oracle, bytes, wave_size, outcome);
        ++differences[static_cast<size_t>(outcome.difference)];
        both_valid += outcome.both_valid;
        if (outcome.agreed) continue;
        std::lock_guard lock(mutex);
        if (failures.size() < kMaxFailures) failures.push_back(report(outcome, bytes, wave_size));
      }
    }
  };
  std::vector<std::thread> threads;
  const unsigned count = std::max(1u, std::thread::hardware_concurrency());
  for (unsigned i = 0; i < count; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();

  for (const std::string& failure : failures) ADD_FAILURE() << failure;
  std::printf("%lu words, %lu valid", batches * kBatch, both_valid.load());
  for (size_t i = 1; i < differences.size(); ++i)
    std::printf(", %s %lu", std::string(describe(static_cast<Difference>(i)).name).c_str(),
                differences[i].load());
  std::printf("\n");
}

INSTANTIATE_TEST_SUITE_P(Wave, RandomWords, testing::Values(32u, 64u));

}  // namespace
}  // namespace lockstep::test
