// Damaged files: real code objects and bundles with bits flipped, bytes changed, inserted, removed and cut
// off. LOCKSTEP_FUZZ_RUNS sets how many; the release of a version runs 1000000 under the address and UB
// sanitizers.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "tests/loader/exercise.h"
#include "tests/loader/fixtures.h"
#include "tests/sweep.h"

namespace lockstep::loader {
namespace {

constexpr long kAllRuns = test::kIsSanitized ? 10'000 : 100'000;

using Random = std::mt19937_64;

size_t pick(Random& random, size_t count) {
  return random() % count;
}

void mutate(FileBytes& bytes, Random& random) {
  size_t edits = 1 + pick(random, 4);
  for (size_t i = 0; i < edits && !bytes.empty(); ++i) {
    // Headers, tables and notes lie at both ends; half of the edits go there.
    size_t reach = pick(random, 2) ? bytes.size() : std::min<size_t>(bytes.size(), 512);
    size_t at = pick(random, reach);
    if (pick(random, 4) == 0) at = bytes.size() - 1 - at;
    switch (pick(random, 7)) {
      case 0:
        bytes[at] ^= std::byte(1u << pick(random, 8));
        break;
      case 1:
        bytes[at] = std::byte(random());
        break;
      case 2:
        bytes.insert(bytes.begin() + at, 1 + pick(random, 16), std::byte(random()));
        break;
      case 3:
        bytes.erase(bytes.begin() + at,
                    bytes.begin() + at + std::min(1 + pick(random, 16), bytes.size() - at));
        break;
      case 4:
        bytes.resize(at);
        break;
      case 5: {  // a length or an offset at its limits
        const uint64_t values[] = {0,           1, 0x7fffffff, 0xffffffff, 0x7fffffffffffffff, ~uint64_t{0},
                                   bytes.size()};
        uint64_t value = values[pick(random, std::size(values))];
        at &= ~size_t{7};
        std::memcpy(bytes.data() + at, &value, std::min<size_t>(pick(random, 2) ? 8 : 4, bytes.size() - at));
        break;
      }
      case 6: {  // a copy of another part
        size_t from = pick(random, bytes.size()), length = 1 + pick(random, 32);
        length = std::min({length, bytes.size() - from, bytes.size() - at});
        std::memmove(bytes.data() + at, bytes.data() + from, length);
        break;
      }
    }
  }
}

TEST(Mutation, DamagedFilesNeverCrash) {
  std::vector<FileBytes> seeds;
  for (const char* name :
       {"kernels_v4.co", "kernels_v5.co", "kernels_v6.co", "kernels_debug.co", "kernels_debug_zlib.co",
        "kernels_debug_v4.co", "kernels_generic.co", "relocations.co", "program_compressed.o"})
    seeds.push_back(read_fixture(name));
  FileBytes small = make_bundle({{"host-x86_64-unknown-linux-gnu-", {}},
                                 {"hipv4-amdgcn-amd-amdhsa--gfx1100", read_fixture("relocations.co")}},
                                16);
  seeds.push_back(small);
  for (unsigned version : {1u, 2u, 3u})
    for (Method method : {Method::zlib, Method::zstd})
      seeds.push_back(compress_bundle(small, version, method));
  seeds.push_back(make_bundle({{"hip-amdgcn-amd-amdhsa--gfx1100", small}}, 16));
  for (const FileBytes& seed : seeds) ASSERT_GT(exercise(seed, true), 0);

  const char* wanted = std::getenv("LOCKSTEP_FUZZ_RUNS");
  long runs = wanted ? std::atol(wanted) : test::of_sweep(kAllRuns, kAllRuns / 2);
  long good = 0;
  for (long i = 0; i < runs; ++i) {
    Random random(i);
    FileBytes bytes = seeds[pick(random, seeds.size())];
    mutate(bytes, random);
    SCOPED_TRACE(i);
    int parsed = exercise(bytes, i % 4 == 0);
    ASSERT_GE(parsed, 0) << "an error without a message";
    good += parsed > 0;
  }
  // A mutation that the loader does not notice is common (code, names); one in fifty at least gets that far.
  EXPECT_GT(good, runs / 50);
  EXPECT_LT(good, runs);
}

}  // namespace
}  // namespace lockstep::loader
