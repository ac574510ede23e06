// liblockstep.so is loaded when the first of its functions is called: it brings LLVM, whose loading takes
// longer than all that `lockstep exec` does. LAZY_FUNCTIONS, from the interface's header, names the functions
// (CMakeLists.txt).
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace {

constexpr const char* kNames[] = {
#define LAZY_FUNCTION(number, name) #name,
#include LAZY_FUNCTIONS
#undef LAZY_FUNCTION
};
constexpr size_t kCount = sizeof kNames / sizeof *kNames;

}  // namespace

extern "C" {

// Where each function jumps to: at first into the code that looks it up.
[[gnu::visibility("hidden")]] extern void* lockstep_lazy_places[kCount];

[[gnu::visibility("hidden"), gnu::used]] void* lockstep_lazy_find(uint64_t index) {
  static std::once_flag once;
  std::call_once(once, [] {
    void* const library = dlopen(LAZY_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      std::fprintf(stderr, "error: %s (build or install all of Lockstep)\n", dlerror());
      std::_Exit(2);
    }
    for (size_t i = 0; i < kCount; ++i) {
      lockstep_lazy_places[i] = dlsym(library, kNames[i]);
      if (lockstep_lazy_places[i]) continue;
      std::fprintf(stderr,
                   "error: %s has no %s (it is of another version: build or install all of Lockstep)\n",
                   LAZY_LIBRARY, kNames[i]);
      std::_Exit(2);
    }
  });
  return lockstep_lazy_places[index];
}
}

// A function that was not looked up yet has its number in r11; its arguments are kept.
asm(R"(
.text
.type lockstep_lazy_call, @function
lockstep_lazy_call:
  pushq %rbp
  movq %rsp, %rbp
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  pushq %rax
  pushq %r11
  subq $128, %rsp
  movups %xmm0, (%rsp)
  movups %xmm1, 16(%rsp)
  movups %xmm2, 32(%rsp)
  movups %xmm3, 48(%rsp)
  movups %xmm4, 64(%rsp)
  movups %xmm5, 80(%rsp)
  movups %xmm6, 96(%rsp)
  movups %xmm7, 112(%rsp)
  movq %r11, %rdi
  callq lockstep_lazy_find
  movq %rax, %r11
  movups (%rsp), %xmm0
  movups 16(%rsp), %xmm1
  movups 32(%rsp), %xmm2
  movups 48(%rsp), %xmm3
  movups 64(%rsp), %xmm4
  movups 80(%rsp), %xmm5
  movups 96(%rsp), %xmm6
  movups 112(%rsp), %xmm7
  addq $136, %rsp
  popq %rax
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
  popq %rbp
  jmpq *%r11
.size lockstep_lazy_call, .-lockstep_lazy_call
.data
.balign 8
.globl lockstep_lazy_places
.hidden lockstep_lazy_places
lockstep_lazy_places:
.text
)"
#define LAZY_FUNCTION(number, name)                      \
  ".globl " #name "\n.type " #name ", @function\n" #name \
  ":\n"                                                  \
  "  jmpq *lockstep_lazy_places+8*" #number              \
  "(%rip)\n"                                             \
  "1: movl $" #number                                    \
  ", %r11d\n"                                            \
  "  jmp lockstep_lazy_call\n"                           \
  ".data\n.quad 1b\n.text\n"
#include LAZY_FUNCTIONS
);
