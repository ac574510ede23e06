// Cooperative groups where no ROCm is installed: the group, tiles and coalesced lanes of a wave, and the
// grid.
#pragma once
#include "hip/hip_runtime.h"

namespace cooperative_groups {

#define LOCKSTEP_CG __device__ inline __attribute__((always_inline, unused))
#define LOCKSTEP_CG_MEMBER __device__ inline __attribute__((always_inline))

namespace internal {
LOCKSTEP_CG unsigned rank_in_block() {
  return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
LOCKSTEP_CG unsigned lanes_below(unsigned long long mask) {
  return (unsigned)__builtin_popcountll(mask & ((1ull << __lane_id()) - 1));
}
// Of the barrier of the grid: groups that have come, and how often all had.
inline __device__ unsigned grid_arrived, grid_passed;
}  // namespace internal

// What a group is where its type says no more: the lanes of a wave in `mask`, or the whole work-group.
class thread_group {
 public:
  LOCKSTEP_CG_MEMBER unsigned thread_rank() const {
    return is_block_ ? internal::rank_in_block() : internal::lanes_below(mask_);
  }
  LOCKSTEP_CG_MEMBER unsigned size() const { return size_; }
  LOCKSTEP_CG_MEMBER unsigned num_threads() const { return size_; }
  LOCKSTEP_CG_MEMBER bool is_valid() const { return size_ > 0; }
  LOCKSTEP_CG_MEMBER void sync() const {
    if (is_block_)
      __syncthreads();
    else
      __syncwarp();
  }

 protected:
  LOCKSTEP_CG_MEMBER thread_group(bool is_block, unsigned size, unsigned long long mask)
      : mask_(mask), size_(size), is_block_(is_block) {}
  friend __device__ thread_group tiled_partition(const thread_group& parent, unsigned size);

  unsigned long long mask_;
  unsigned size_;
  bool is_block_;
};

class thread_block : public thread_group {
 public:
  static LOCKSTEP_CG_MEMBER unsigned thread_rank() { return internal::rank_in_block(); }
  static LOCKSTEP_CG_MEMBER unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  static LOCKSTEP_CG_MEMBER unsigned num_threads() { return size(); }
  static LOCKSTEP_CG_MEMBER void sync() { __syncthreads(); }
  static LOCKSTEP_CG_MEMBER dim3 group_index() { return blockIdx; }
  static LOCKSTEP_CG_MEMBER dim3 thread_index() { return threadIdx; }
  static LOCKSTEP_CG_MEMBER dim3 group_dim() { return blockDim; }
  static LOCKSTEP_CG_MEMBER dim3 dim_threads() { return blockDim; }

 private:
  LOCKSTEP_CG_MEMBER thread_block() : thread_group(true, size(), 0) {}
  friend __device__ thread_block this_thread_block();
};
LOCKSTEP_CG thread_block this_thread_block() {
  return thread_block();
}

class grid_group {
 public:
  static LOCKSTEP_CG_MEMBER unsigned thread_rank() {
    const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    return block * thread_block::size() + internal::rank_in_block();
  }
  static LOCKSTEP_CG_MEMBER unsigned size() { return num_blocks() * thread_block::size(); }
  static LOCKSTEP_CG_MEMBER unsigned num_threads() { return size(); }
  static LOCKSTEP_CG_MEMBER unsigned num_blocks() { return gridDim.x * gridDim.y * gridDim.z; }
  static LOCKSTEP_CG_MEMBER dim3 group_dim() { return gridDim; }
  static LOCKSTEP_CG_MEMBER bool is_valid() { return true; }
  // Work-groups that wait here let others run: all of them need not have places at once.
  static LOCKSTEP_CG_MEMBER void sync() {
    __syncthreads();
    if (internal::rank_in_block() == 0) {
      const unsigned passed =
          __hip_atomic_load(&internal::grid_passed, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
      if (__hip_atomic_fetch_add(&internal::grid_arrived, 1u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT) +
              1 ==
          num_blocks()) {
        __hip_atomic_store(&internal::grid_arrived, 0u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        __hip_atomic_fetch_add(&internal::grid_passed, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
      } else {
        while (__hip_atomic_load(&internal::grid_passed, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) ==
               passed)
          __builtin_amdgcn_s_sleep(1);
      }
    }
    __syncthreads();
  }
};
LOCKSTEP_CG grid_group this_grid() {
  return grid_group();
}

// Lanes of a wave that come to the same place.
class coalesced_group : public thread_group {
 public:
  template <class T>
  LOCKSTEP_CG_MEMBER T shfl(T value, int rank) const {
    return __shfl(value, lane_of((unsigned)rank % size_));
  }
  template <class T>
  LOCKSTEP_CG_MEMBER T shfl_down(T value, unsigned delta) const {
    const unsigned from = thread_rank() + delta;
    return __shfl(value, from < size_ ? lane_of(from) : (int)__lane_id());
  }
  template <class T>
  LOCKSTEP_CG_MEMBER T shfl_up(T value, unsigned delta) const {
    const unsigned rank = thread_rank();
    return __shfl(value, delta <= rank ? lane_of(rank - delta) : (int)__lane_id());
  }
  LOCKSTEP_CG_MEMBER unsigned long long ballot(int predicate) const {
    const unsigned long long lanes = __ballot(predicate) & mask_;
    unsigned long long out = 0;
    for (unsigned rank = 0; rank < size_; ++rank) out |= (lanes >> lane_of(rank) & 1) << rank;
    return out;
  }
  LOCKSTEP_CG_MEMBER int any(int predicate) const { return (__ballot(predicate) & mask_) != 0; }
  LOCKSTEP_CG_MEMBER int all(int predicate) const { return (__ballot(predicate == 0) & mask_) == 0; }
  LOCKSTEP_CG_MEMBER unsigned meta_group_rank() const { return 0; }
  LOCKSTEP_CG_MEMBER unsigned meta_group_size() const { return 1; }

 private:
  LOCKSTEP_CG_MEMBER explicit coalesced_group(unsigned long long mask)
      : thread_group(false, (unsigned)__builtin_popcountll(mask), mask) {}
  LOCKSTEP_CG_MEMBER int lane_of(unsigned rank) const {
    unsigned long long rest = mask_;
    for (; rank != 0; --rank) rest &= rest - 1;
    return __builtin_ctzll(rest);
  }
  friend __device__ coalesced_group coalesced_threads();
  friend __device__ coalesced_group binary_partition(const coalesced_group& group, bool predicate);
};
LOCKSTEP_CG coalesced_group coalesced_threads() {
  return coalesced_group(__activemask());
}
LOCKSTEP_CG coalesced_group binary_partition(const coalesced_group& group, bool predicate) {
  const unsigned long long lanes = __ballot(predicate) & group.mask_;
  return coalesced_group(predicate ? lanes : group.mask_ & ~lanes);
}

// `tile` lanes side by side, a power of two and no more than a wave.
template <unsigned tile, class Parent = void>
class thread_block_tile : public thread_group {
  static_assert(tile > 0 && (tile & (tile - 1)) == 0, "a tile has a power of two of threads");
  static_assert(tile <= __AMDGCN_WAVEFRONT_SIZE, "a tile has no more threads than a wave");

 public:
  static LOCKSTEP_CG_MEMBER unsigned thread_rank() { return internal::rank_in_block() & (tile - 1); }
  static constexpr LOCKSTEP_CG_MEMBER unsigned size() { return tile; }
  static constexpr LOCKSTEP_CG_MEMBER unsigned num_threads() { return tile; }
  static LOCKSTEP_CG_MEMBER void sync() { __syncwarp(); }
  static LOCKSTEP_CG_MEMBER unsigned meta_group_rank() { return internal::rank_in_block() / tile; }
  static LOCKSTEP_CG_MEMBER unsigned meta_group_size() { return (thread_block::size() + tile - 1) / tile; }
  template <class T>
  LOCKSTEP_CG_MEMBER T shfl(T value, int rank) const {
    return __shfl(value, rank, tile);
  }
  template <class T>
  LOCKSTEP_CG_MEMBER T shfl_down(T value, unsigned delta) const {
    return __shfl_down(value, delta, tile);
  }
  template <class T>
  LOCKSTEP_CG_MEMBER T shfl_up(T value, unsigned delta) const {
    return __shfl_up(value, delta, tile);
  }
  template <class T>
  LOCKSTEP_CG_MEMBER T shfl_xor(T value, unsigned mask) const {
    return __shfl_xor(value, (int)mask, tile);
  }
  LOCKSTEP_CG_MEMBER unsigned long long ballot(int predicate) const {
    return (__ballot(predicate) & mask_) >> (__lane_id() & ~(tile - 1));
  }
  LOCKSTEP_CG_MEMBER int any(int predicate) const { return ballot(predicate) != 0; }
  LOCKSTEP_CG_MEMBER int all(int predicate) const { return ballot(predicate == 0) == 0; }
  template <class T>
  LOCKSTEP_CG_MEMBER unsigned long long match_any(T value) const {
    return __match_any_sync(mask_, value) >> (__lane_id() & ~(tile - 1));
  }
  template <class T>
  LOCKSTEP_CG_MEMBER unsigned long long match_all(T value, int& predicate) const {
    return __match_all_sync(mask_, value, &predicate) >> (__lane_id() & ~(tile - 1));
  }

  // A tile is the same one whether its type names the group that it is part of or not.
  template <class Other>
  LOCKSTEP_CG_MEMBER thread_block_tile(const thread_block_tile<tile, Other>&) : thread_block_tile() {}

 private:
  LOCKSTEP_CG_MEMBER thread_block_tile()
      : thread_group(false, tile, (~0ull >> (64 - tile)) << (__lane_id() & ~(tile - 1))) {}
  template <unsigned n, class P>
  friend __device__ thread_block_tile<n, P> tiled_partition(const P& parent);
};
template <unsigned tile, class Parent>
__device__ inline __attribute__((always_inline)) thread_block_tile<tile, Parent> tiled_partition(
    const Parent&) {
  return thread_block_tile<tile, Parent>();
}
// A size that is known only when the kernel runs.
LOCKSTEP_CG thread_group tiled_partition(const thread_group&, unsigned size) {
  return thread_group(false, size, (~0ull >> (64 - size)) << (__lane_id() & ~(size - 1)));
}

template <class Group>
LOCKSTEP_CG_MEMBER void sync(const Group& group) {
  group.sync();
}
template <class Group>
LOCKSTEP_CG_MEMBER unsigned thread_rank(const Group& group) {
  return group.thread_rank();
}
template <class Group>
LOCKSTEP_CG_MEMBER unsigned group_size(const Group& group) {
  return group.size();
}

template <class T>
struct plus {
  LOCKSTEP_CG_MEMBER T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct less {
  LOCKSTEP_CG_MEMBER T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T>
struct greater {
  LOCKSTEP_CG_MEMBER T operator()(T a, T b) const { return a < b ? b : a; }
};
template <unsigned tile, class Parent, class T, class Operation>
LOCKSTEP_CG_MEMBER T reduce(const thread_block_tile<tile, Parent>& group, T value, Operation operation) {
  for (unsigned step = tile / 2; step != 0; step /= 2) value = operation(value, group.shfl_xor(value, step));
  return value;
}

#undef LOCKSTEP_CG
#undef LOCKSTEP_CG_MEMBER
}  // namespace cooperative_groups
