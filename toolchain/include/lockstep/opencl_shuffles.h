// Put before OpenCL C source that exchanges values between lanes (cl_khr_subgroup_shuffle,
// cl_khr_subgroup_shuffle_relative and the older names of Intel's extension): clang declares them for no AMD
// device.
#define cl_khr_subgroup_shuffle 1
#define cl_khr_subgroup_shuffle_relative 1
#define LOCKSTEP_LANES static inline __attribute__((overloadable, always_inline, convergent, unused))

LOCKSTEP_LANES uint lockstep_lane(void) {
  return __builtin_amdgcn_wavefrontsize() == 64
             ? __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0))
             : __builtin_amdgcn_mbcnt_lo(~0u, 0);
}
// ds_bpermute reaches only the 32 lanes of the reader's half (guide 12.5.2): in waves of 64 the other half is
// brought over first.
LOCKSTEP_LANES int lockstep_word_of_lane(int word, uint lane) {
  const int same_half = __builtin_amdgcn_ds_bpermute((int)(lane << 2), word);
  if (__builtin_amdgcn_wavefrontsize() == 32) return same_half;
  const int other_half = __builtin_amdgcn_ds_bpermute((int)(lane << 2), __builtin_amdgcn_permlane64(word));
  return ((lane ^ lockstep_lane()) & 32) ? other_half : same_half;
}
#define LOCKSTEP_SHUFFLES(T, Word)                                                    \
  LOCKSTEP_LANES T sub_group_shuffle(T x, uint lane) {                                \
    return LOCKSTEP_READ_##Word(T, x, lane);                                          \
  }                                                                                   \
  LOCKSTEP_LANES T sub_group_shuffle_xor(T x, uint mask) {                            \
    return sub_group_shuffle(x, lockstep_lane() ^ mask);                              \
  }                                                                                   \
  LOCKSTEP_LANES T sub_group_shuffle_up(T x, uint delta) {                            \
    return sub_group_shuffle(x, lockstep_lane() - delta);                             \
  }                                                                                   \
  LOCKSTEP_LANES T sub_group_shuffle_down(T x, uint delta) {                          \
    return sub_group_shuffle(x, lockstep_lane() + delta);                             \
  }                                                                                   \
  LOCKSTEP_LANES T intel_sub_group_shuffle(T x, uint lane) {                          \
    return sub_group_shuffle(x, lane);                                                \
  }                                                                                   \
  LOCKSTEP_LANES T intel_sub_group_shuffle_xor(T x, uint mask) {                      \
    return sub_group_shuffle_xor(x, mask);                                            \
  }                                                                                   \
  LOCKSTEP_LANES T intel_sub_group_shuffle_up(T before, T x, uint delta) {            \
    const uint lane = lockstep_lane();                                                \
    const T far = sub_group_shuffle(before, lane + get_max_sub_group_size() - delta); \
    const T near = sub_group_shuffle_up(x, delta);                                    \
    return lane < delta ? far : near;                                                 \
  }                                                                                   \
  LOCKSTEP_LANES T intel_sub_group_shuffle_down(T x, T behind, uint delta) {          \
    const uint lane = lockstep_lane();                                                \
    const T far = sub_group_shuffle(behind, lane + delta - get_max_sub_group_size()); \
    const T near = sub_group_shuffle_down(x, delta);                                  \
    return lane + delta >= get_max_sub_group_size() ? far : near;                     \
  }
#define LOCKSTEP_READ_small(T, x, lane) ((T)lockstep_word_of_lane((int)(x), (lane)))
#define LOCKSTEP_READ_int(T, x, lane) \
  __builtin_astype(lockstep_word_of_lane(__builtin_astype((x), int), (lane)), T)
#define LOCKSTEP_READ_long(T, x, lane)                                                   \
  __builtin_astype((int2)(lockstep_word_of_lane(__builtin_astype((x), int2).x, (lane)),  \
                          lockstep_word_of_lane(__builtin_astype((x), int2).y, (lane))), \
                   T)
LOCKSTEP_SHUFFLES(char, small)
LOCKSTEP_SHUFFLES(uchar, small)
LOCKSTEP_SHUFFLES(short, small)
LOCKSTEP_SHUFFLES(ushort, small)
LOCKSTEP_SHUFFLES(int, int)
LOCKSTEP_SHUFFLES(uint, int)
LOCKSTEP_SHUFFLES(float, int)
LOCKSTEP_SHUFFLES(long, long)
LOCKSTEP_SHUFFLES(ulong, long)
LOCKSTEP_SHUFFLES(double, long)
#undef LOCKSTEP_READ_small
#undef LOCKSTEP_READ_int
#undef LOCKSTEP_READ_long
#undef LOCKSTEP_SHUFFLES
#undef LOCKSTEP_LANES
