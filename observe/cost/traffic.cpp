#include "observe/cost/traffic.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

namespace lockstep::observe {

namespace {

constexpr unsigned kBanks = 32;
constexpr uint64_t kLine = 128;

bool is_made(const MemoryAccess& access) {
  return access.reach == Reach::inside || access.reach == Reach::filled_up;
}

size_t count_different(std::vector<uint64_t>& values) {
  std::sort(values.begin(), values.end());
  return static_cast<size_t>(std::unique(values.begin(), values.end()) - values.begin());
}

}  // namespace

Traffic bank_clocks(std::span<const MemoryAccess> accesses) {
  // Dwords of a lane: of one access that is wide, or of two.
  std::array<uint32_t, 64> dwords_of{};
  for (const MemoryAccess& access : accesses)
    if (access.space == MemorySpace::lds && is_made(access) && access.lane >= 0)
      dwords_of[access.lane] += std::max(1u, access.bytes / 4);
  const uint32_t most = *std::max_element(dwords_of.begin(), dwords_of.end());
  if (most == 0) return {};
  const unsigned lanes = kBanks / std::bit_ceil(std::min(most, kBanks));
  Traffic traffic;
  std::array<std::vector<uint64_t>, kBanks> wanted;
  for (unsigned first = 0; first < dwords_of.size(); first += lanes) {
    for (auto& bank : wanted) bank.clear();
    size_t all = 0;
    for (const MemoryAccess& access : accesses) {
      if (access.space != MemorySpace::lds || !is_made(access) || access.lane < static_cast<int>(first) ||
          access.lane >= static_cast<int>(first + lanes))
        continue;
      for (uint64_t dword = access.address / 4; dword <= (access.address + access.bytes - 1) / 4;
           ++dword, ++all)
        wanted[dword % kBanks].push_back(dword);
    }
    if (all == 0) continue;
    size_t clocks = 0;
    for (auto& bank : wanted) clocks = std::max(clocks, count_different(bank));
    traffic.taken += clocks;
    ++traffic.needed;
  }
  return traffic;
}

Traffic cache_lines(std::span<const MemoryAccess> accesses) {
  std::vector<uint64_t> lines, dwords;
  for (const MemoryAccess& access : accesses) {
    if (access.space != MemorySpace::global || !is_made(access) || access.bytes == 0) continue;
    const uint64_t last = access.address + access.bytes - 1;
    for (uint64_t line = access.address / kLine; line <= last / kLine; ++line) lines.push_back(line);
    for (uint64_t dword = access.address / 4; dword <= last / 4; ++dword) dwords.push_back(dword);
  }
  if (lines.empty()) return {};
  return {count_different(lines), (4 * count_different(dwords) + kLine - 1) / kLine};
}

}  // namespace lockstep::observe
