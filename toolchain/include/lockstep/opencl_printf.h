// Put before OpenCL C source that uses printf. LLVM lowers printf late, to calls of __printf_alloc; by then
// the device library's own definition is no longer linked in. Buffer: word 0 bytes used, word 1 capacity,
// data from byte 8 on. It is the hidden argument hidden_printf_buffer: byte 72 of the implicit arguments from
// code object version 5 on, byte 24 before.
extern constant int __oclc_ABI_version;

__attribute__((weak, used, visibility("protected"))) global char* __printf_alloc(uint bytes) {
  constant ulong* const implicit = (constant ulong*)__builtin_amdgcn_implicitarg_ptr();
  global uint* const buffer = (global uint*)implicit[__oclc_ABI_version < 500 ? 3 : 9];
  global atomic_uint* const used = (global atomic_uint*)buffer;
  const uint capacity = buffer[1] - 8;
  uint offset = __opencl_atomic_load(used, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE);
  uint next;
  do {
    if (offset > capacity) return 0;
    next = bytes <= capacity - offset ? offset + bytes : capacity + 1;
  } while (!__opencl_atomic_compare_exchange_strong(used, &offset, next, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                                    __OPENCL_MEMORY_SCOPE_DEVICE));
  // What does not fit ends the output: more is used than there is, which tells the host, and a record of no
  // format stands where it would have been.
  if (next > capacity) {
    if (capacity - offset >= 4) *(global uint*)((global char*)buffer + 8 + offset) = ~0u;
    return 0;
  }
  return (global char*)buffer + 8 + offset;
}
