#include "engine/precise/deferred.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "engine/register_effects.h"
#include "isa/memory_shape.h"

namespace lockstep::precise {

void RegisterValues::take(const Wave& wave, const std::vector<RegisterRange>& vgprs) {
  std::copy_n(wave.scalar, kScalars, scalars_.begin());
  scc_ = wave.scalar[isa::code::kScc];
  mode_ = wave.mode;
  program_ = wave.program;
  ranges_ = vgprs;
  vgprs_.clear();
  for (const RegisterRange& range : ranges_) {
    const auto* values = const_cast<Wave&>(wave).vgpr(range.first - isa::code::kVgpr0);
    vgprs_.insert(vgprs_.end(), values, values + range.count * wave.wave_size);
  }
}

void RegisterValues::put(Wave& wave) const {
  std::copy_n(scalars_.begin(), kScalars, wave.scalar);
  wave.scc() = scc_;
  wave.mode = mode_;
  wave.program = program_;
  const uint32_t* from = vgprs_.data();
  for (const RegisterRange& range : ranges_) {
    const unsigned words = range.count * wave.wave_size;
    std::copy_n(from, words, wave.vgpr(range.first - isa::code::kVgpr0));
    from += words;
  }
}

void RegisterValues::put(Wave& wave, const std::vector<RegisterRange>& ranges) const {
  for (const RegisterRange& range : ranges) {
    if (!range.is_vgpr()) {
      std::copy_n(scalars_.begin() + range.first, range.count, wave.scalar + range.first);
      continue;
    }
    const uint32_t* from = vgprs_.data();
    for (const RegisterRange& taken : ranges_) {
      if (taken.first == range.first && taken.count == range.count) {
        std::copy_n(from, range.count * wave.wave_size, wave.vgpr(range.first - isa::code::kVgpr0));
        break;
      }
      from += taken.count * wave.wave_size;
    }
  }
}

FlatLanes flat_lanes(const Step& step, AccessFinder& accesses) {
  FlatLanes result;
  if (step.instruction.row->encoding != isa::Encoding::flat) return result;
  const Accesses& all = accesses.accesses(step);
  if (all.alike()) return result;  // those that an aperture sends elsewhere never are
  for (const MemoryAccess& access : all) {
    const uint64_t lane = uint64_t{1} << access.lane;
    if (access.space == MemorySpace::lds) result.lds |= lane;
    if (access.space == MemorySpace::scratch) result.scratch |= lane;
  }
  return result;
}

namespace {

// LDSDIR works by quads (guide 12.2.1, 12.4).
uint64_t quads_of(uint64_t lanes) {
  uint64_t quads = lanes | lanes >> 1;
  quads = (quads | quads >> 2) & 0x1111'1111'1111'1111ull;
  return quads * 0xf;
}

}  // namespace

Deferred::Deferred(const Step& step, Share share, uint64_t lanes, const FlatLanes& flat)
    : outstanding(share.amount),
      instruction_(step.instruction),
      pc_(step.pc),
      share_(share),
      lanes_(lanes),
      result_lanes_(lanes) {
  const Wave& wave = step.wave;
  if (instruction_.row->encoding == isa::Encoding::ldsdir) result_lanes_ = quads_of(lanes);
  if (share.kind == Kind::vector_load || share.kind == Kind::vector_store)
    uses_scratch_ = instruction_.row->encoding == isa::Encoding::scratch;
  if (instruction_.row->encoding == isa::Encoding::flat) uses_scratch_ = (lanes & flat.scratch) != 0;
  // The wave may come back with another M0, but no memory instruction is moved by it.
  const isa::RegisterEffects effects = register_effects(wave, instruction_);
  for (const isa::RegisterUse& use : effects.reads)
    if (use.is_vgpr()) vgprs_.push_back(use);
  for (const isa::RegisterUse& use : effects.writes) {
    if (use.is_vgpr()) {
      if (lanes == 0) continue;
      vgprs_.push_back(use);
    }
    destinations_.push_back(use);
  }
}

void Deferred::keep_registers(const Wave& wave) {
  at_issue_.take(wave, vgprs_);
}

bool Deferred::execute(Wave& wave, Executor& executor, uint64_t lanes) {
  at_issue_.put(wave);
  wave.set_exec(lanes);
  return executor.execute(wave, pc_);
}

namespace {

// What stands in for LDS and for the scratch that the machine gave the wave while an instruction is tried.
// Scratch that a trap handler has put elsewhere is guest memory, and the path's.
class StandIns {
 public:
  explicit StandIns(Wave& wave)
      : wave_(wave),
        lds_(wave.lds),
        scratch_base_(wave.scratch_base),
        given_scratch_base_(wave.given_scratch_base) {
    static thread_local std::vector<std::byte> lds, scratch;
    wave.lds = of_size(lds, wave.lds_bytes);
    if (wave.scratch_bytes == 0) return;
    wave.scratch_base = reinterpret_cast<uint64_t>(
        of_size(scratch, (size_t{wave.scratch_bytes} + 3) / 4 * wave.register_bytes));
    wave.given_scratch_base = wave.scratch_base;
  }
  ~StandIns() {
    wave_.lds = lds_;
    wave_.scratch_base = scratch_base_;
    wave_.given_scratch_base = given_scratch_base_;
  }
  StandIns(const StandIns&) = delete;
  StandIns& operator=(const StandIns&) = delete;

 private:
  static std::byte* of_size(std::vector<std::byte>& memory, size_t bytes) {
    if (memory.size() < bytes) memory.resize(bytes);
    return memory.data();
  }

  Wave& wave_;
  std::byte* const lds_;
  const uint64_t scratch_base_, given_scratch_base_;
};

}  // namespace

bool Deferred::explore(Wave& wave, Executor& executor, MemoryPath& path) {
  if (lanes_ == 0 && share_.kind != Kind::scalar) return true;
  // A load changes nothing where it is tried.
  const isa::AccessShape& shape = isa::access_shape(instruction_.row->opcode);
  std::optional<StandIns> stand_ins;
  if (shape.kind != isa::AccessShape::Kind::load || shape.to_lds) stand_ins.emplace(wave);
  path.begin_trial();
  const bool good = execute(wave, executor, lanes_);
  path.end_trial(reads_, writes_);
  at_issue_.put(wave);
  return good;
}

bool Deferred::access(Wave& wave, Executor& executor, MemoryPath& path) {
  if (lanes_ != 0 || share_.kind == Kind::scalar) {
    RegisterValues present;
    present.take(wave, vgprs_);
    const bool good = execute(wave, executor, lanes_);
    if (good) take_results(wave);
    present.put(wave);
    if (!good) return false;
    path.executed(instruction_);
  }
  accessed = true;
  return true;
}

void Deferred::take_back_results(Wave& wave) {
  take_results(wave);
  at_issue_.put(wave, destinations_);
  accessed = true;
}

void Deferred::take_results(const Wave& wave) {
  results_.clear();
  for (const RegisterRange& range : destinations_) {
    const uint32_t* from = range.is_vgpr() ? const_cast<Wave&>(wave).vgpr(range.first - isa::code::kVgpr0)
                                           : wave.scalar + range.first;
    results_.insert(results_.end(), from, from + range.count * (range.is_vgpr() ? wave.wave_size : 1));
  }
}

void Deferred::write_back(Wave& wave) const {
  if (results_.empty()) return;
  const isa::AccessShape& shape = isa::access_shape(instruction_.row->opcode);
  const uint32_t* from = results_.data();
  for (const RegisterRange& range : destinations_) {
    if (!range.is_vgpr()) {
      std::copy_n(from, range.count, wave.scalar + range.first);
      from += range.count;
      continue;
    }
    for (unsigned i = 0; i < range.count; ++i, from += wave.wave_size) {
      uint32_t* to = wave.vgpr(range.first - isa::code::kVgpr0 + i);
      const uint32_t bits = shape.used_bits(i);
      for (uint64_t lanes = result_lanes_; lanes != 0; lanes &= lanes - 1) {
        const unsigned lane = static_cast<unsigned>(std::countr_zero(lanes));
        to[lane] = (to[lane] & ~bits) | (from[lane] & bits);
      }
    }
  }
}

bool Deferred::must_follow(const Deferred& older) const {
  const auto in_vector_path = [](const Deferred& d) {
    return d.share_.kind == Kind::vector_load || d.share_.kind == Kind::vector_store;
  };
  const auto is_store = [](const Deferred& d) {
    return d.instruction_.row->flags & (isa::kStore | isa::kAtomic);
  };
  const Kind kind = share_.kind, before = older.share_.kind;
  // LDS, GDS and messages take what a wave sends in its order.
  if (kind == before && !in_vector_path(*this) && kind != Kind::scalar) return true;
  // Accesses of one wave to one address keep their order in the vector memory path. So does, for a store
  // behind a scalar load, what compilers rely on (open).
  if (in_vector_path(*this) && in_vector_path(older)) {
    if (uses_scratch_ && older.uses_scratch_ && (is_store(*this) || is_store(older))) return true;
    if (instruction_.lds && older.instruction_.lds) return true;
    return writes_.overlaps(older.writes_) || writes_.overlaps(older.reads_) ||
           reads_.overlaps(older.writes_);
  }
  return kind == Kind::vector_store && before == Kind::scalar && writes_.overlaps(older.reads_);
}

}  // namespace lockstep::precise
