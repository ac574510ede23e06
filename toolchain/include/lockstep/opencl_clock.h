// The functions of cl_khr_kernel_clock, which clang 19 does not declare. gfx11 has no s_memrealtime: the
// device's time is the answer to a message, and the others are the shader's cycles.
#define LOCKSTEP_CLOCK(scope, time)                                                  \
  __attribute__((overloadable, always_inline)) ulong clock_read_##scope(void) {      \
    return time;                                                                     \
  }                                                                                  \
  __attribute__((overloadable, always_inline)) uint2 clock_read_hilo_##scope(void) { \
    return as_uint2(clock_read_##scope());                                           \
  }
LOCKSTEP_CLOCK(device, __builtin_amdgcn_s_sendmsg_rtnl(/*MSG_RTN_GET_REALTIME*/ 0x83))
LOCKSTEP_CLOCK(work_group, __builtin_readcyclecounter())
LOCKSTEP_CLOCK(sub_group, __builtin_readcyclecounter())
#undef LOCKSTEP_CLOCK
