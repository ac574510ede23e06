// A program outside the project: assembles a kernel, runs it and checks the result.
#include <lockstep/run_asm.h>

#include <cstdio>
#include <lockstep.hpp>

int main() {
  auto code = lockstep::CodeObject::compile(LOCKSTEP_ASSEMBLY,
                                            "s_load_b64 s[4:5], s[0:1], 0x0\n"
                                            "v_and_b32 v0, 0x3ff, v0\n"
                                            "v_lshlrev_b32 v1, 2, v0\n"
                                            "s_waitcnt lgkmcnt(0)\n"
                                            "global_store_b32 v1, v0, s[4:5]\n"
                                            "s_endpgm\n",
                                            "consumer.s");
  lockstep::Device device;
  auto out = device.allocate<uint32_t>(32, "out");
  lockstep::Kernel kernel = code.kernels().at(0);
  lockstep::Arguments arguments(kernel);
  uint64_t address = out.address();
  arguments.set_raw(std::as_bytes(std::span(&address, 1)));
  device.run(kernel, arguments, {32}, {32});
  for (uint32_t i = 0; i < 32; ++i)
    if (out[i] != i) return std::printf("out[%u] is %u\n", i, out[i]), 1;
  std::printf("lockstep %s: good\n", lockstep_version());
  run_asm_set_mem_ranges(nullptr, 0);
  return 0;
}
