#include <string>
#include <thread>

#include "api/lockstep.hpp"
#include "cli/commands.h"
#include "cli/common.h"

namespace lockstep::cli {
namespace {

struct Doctor {
  bool is_well = true;

  void tell(lockstep_diagnosis_state state, const std::string& what, const std::string& text) {
    constexpr const char* kStates[] = {"ok", "MISSING", "none"};
    is_well = is_well && state != LOCKSTEP_DIAGNOSIS_MISSING;
    print("{:8} {:20} {}\n", kStates[state], what, text);
  }
};

}  // namespace

int doctor() {
  Doctor doctor;
  __builtin_cpu_init();
  const bool has_avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  const bool has_avx512 = __builtin_cpu_supports("x86-64-v4");
  doctor.tell(has_avx2 ? LOCKSTEP_DIAGNOSIS_GOOD : LOCKSTEP_DIAGNOSIS_MISSING, "processor",
              has_avx2 ? fmt::format("AVX2{}, {} threads", has_avx512 ? " and AVX-512" : "",
                                     std::thread::hardware_concurrency())
                       : "has no AVX2, FMA and F16C (x86-64-v3), which Lockstep needs");
  check(lockstep_diagnose([](void* user, lockstep_diagnosis_state state, const char* what,
                             const char* text) { static_cast<Doctor*>(user)->tell(state, what, text); },
                          &doctor));
  return doctor.is_well ? kDone : kFaulted;
}

}  // namespace lockstep::cli
