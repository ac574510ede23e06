// Put before OpenCL C source that uses AMD's media functions (cl_amd_media_ops, cl_amd_media_ops2): clang
// does not declare what the device library has.
#define LOCKSTEP_AMD(Result, name, ...) Result __attribute__((overloadable, const)) name(__VA_ARGS__)
#define LOCKSTEP_AMD_VECTORS(name, T, A, B, C) \
  LOCKSTEP_AMD(T, name, A, B, C);              \
  LOCKSTEP_AMD(T##2, name, A##2, B##2, C##2);  \
  LOCKSTEP_AMD(T##3, name, A##3, B##3, C##3);  \
  LOCKSTEP_AMD(T##4, name, A##4, B##4, C##4);  \
  LOCKSTEP_AMD(T##8, name, A##8, B##8, C##8);  \
  LOCKSTEP_AMD(T##16, name, A##16, B##16, C##16)
LOCKSTEP_AMD_VECTORS(amd_bitalign, uint, uint, uint, uint);
LOCKSTEP_AMD_VECTORS(amd_bytealign, uint, uint, uint, uint);
LOCKSTEP_AMD_VECTORS(amd_lerp, uint, uint, uint, uint);
LOCKSTEP_AMD_VECTORS(amd_sad, uint, uint, uint, uint);
LOCKSTEP_AMD_VECTORS(amd_sadhi, uint, uint, uint, uint);
LOCKSTEP_AMD_VECTORS(amd_sadw, uint, uint, uint, uint);
LOCKSTEP_AMD_VECTORS(amd_sadd, uint, uint, uint, uint);
LOCKSTEP_AMD_VECTORS(amd_msad, uint, uint, uint, uint);
LOCKSTEP_AMD_VECTORS(amd_qsad, ulong, ulong, uint, ulong);
LOCKSTEP_AMD_VECTORS(amd_mqsad, ulong, ulong, uint, ulong);
LOCKSTEP_AMD_VECTORS(amd_bfe, uint, uint, uint, uint);
LOCKSTEP_AMD_VECTORS(amd_bfe, int, int, uint, uint);
LOCKSTEP_AMD_VECTORS(amd_min3, uint, uint, uint, uint);
LOCKSTEP_AMD_VECTORS(amd_min3, int, int, int, int);
LOCKSTEP_AMD_VECTORS(amd_min3, float, float, float, float);
LOCKSTEP_AMD_VECTORS(amd_max3, uint, uint, uint, uint);
LOCKSTEP_AMD_VECTORS(amd_max3, int, int, int, int);
LOCKSTEP_AMD_VECTORS(amd_max3, float, float, float, float);
LOCKSTEP_AMD_VECTORS(amd_median3, uint, uint, uint, uint);
LOCKSTEP_AMD_VECTORS(amd_median3, int, int, int, int);
LOCKSTEP_AMD_VECTORS(amd_median3, float, float, float, float);
LOCKSTEP_AMD(uint, amd_bfm, uint, uint);
LOCKSTEP_AMD(uint, amd_pack, float4);
LOCKSTEP_AMD(float, amd_unpack0, uint);
LOCKSTEP_AMD(float, amd_unpack1, uint);
LOCKSTEP_AMD(float, amd_unpack2, uint);
LOCKSTEP_AMD(float, amd_unpack3, uint);
LOCKSTEP_AMD(uint, amd_sad4, uint4, uint4, uint);
#undef LOCKSTEP_AMD_VECTORS
#undef LOCKSTEP_AMD
