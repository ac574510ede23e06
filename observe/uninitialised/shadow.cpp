#include "observe/uninitialised/shadow.h"

namespace lockstep::observe {

namespace code = isa::code;

namespace {

std::array<Origin, 2 * kMaxVgprs> of_themselves() {
  std::array<Origin, 2 * kMaxVgprs> origins;
  for (unsigned i = 0; i < origins.size(); ++i)
    origins[i] = i < code::kVgpr0 ? Origin{Origin::Kind::scalar, false, i}
                                  : Origin{Origin::Kind::vgpr, false, i - code::kVgpr0};
  return origins;
}

}  // namespace

void WaveShadow::begin(const Wave& wave, unsigned initial_sgprs) {
  wave_size_ = wave.wave_size;
  bits_.resize(size_t{kMaxVgprs} * wave_size_);
  whole_.fill(~uint64_t{0});
  lanes_.fill(wave.lane_mask);
  lanes_[0] = 0;  // the work-item's number
  scalars_.fill(0);
  for (unsigned i = initial_sgprs; i < code::kTtmp0; ++i) scalars_[i] = ~0u;
  scalars_[code::kM0] = ~0u;
  scalars_[code::kScc] = 1;
  static const std::array<Origin, 2 * kMaxVgprs> kOfThemselves = of_themselves();
  origins_ = kOfThemselves;
  scratch_.clear();
}

void WaveShadow::grow_scratch(uint32_t dword) {
  for (auto next = static_cast<uint32_t>(scratch_.size() / wave_size_); next <= dword; ++next)
    scratch_.resize(scratch_.size() + wave_size_, {~0u, {Origin::Kind::scratch, false, 4 * next}});
}

void make_fresh(GroupShadow& lds, uint32_t bytes) {
  lds.resize((bytes + 3) / 4);
  for (size_t i = 0; i < lds.size(); ++i)
    lds[i] = {~0u, {Origin::Kind::lds, false, static_cast<uint32_t>(4 * i)}};
}

}  // namespace lockstep::observe
