#include "fuzz/kernels/emit.h"

#include <cctype>

#include "fuzz/kernels/operations.h"

namespace lockstep::kernel_fuzz {

namespace {

std::string hex(uint64_t value) {
  char text[32];
  snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string number(uint64_t value) {
  return std::to_string(value);
}

constexpr const char* kAtomicNames[kAtomicOperations] = {"add", "sub", "and", "or", "xor", "min", "max"};

constexpr char kDevicePrelude[] = R"(#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32; typedef unsigned u32;
typedef long i64; typedef unsigned long u64; typedef half f16; typedef float f32; typedef double f64;
#define AS(T, x) __builtin_astype((x), T)
#define HIDE(x) __asm__("" : "+v"(x));
#define PIN(x) __asm__ volatile("" : "+v"(x));
#define LDS __local
#define GLOBAL __global
/* LLVM makes a plain load of an atomic that changes nothing, as the sum with zero. For checkers of races that
   is one. */
#ifdef CHECKED
#define OPERAND(x) ({ __typeof__((x) + 0) operand = (x); HIDE(operand) operand; })
#else
#define OPERAND(x) x
#endif
#define ATOMIC_add(p, x, s) __scoped_atomic_fetch_add(p, OPERAND(x), __ATOMIC_RELAXED, s)
#define ATOMIC_sub(p, x, s) __scoped_atomic_fetch_sub(p, OPERAND(x), __ATOMIC_RELAXED, s)
#define ATOMIC_and(p, x, s) __scoped_atomic_fetch_and(p, OPERAND(x), __ATOMIC_RELAXED, s)
#define ATOMIC_or(p, x, s) __scoped_atomic_fetch_or(p, OPERAND(x), __ATOMIC_RELAXED, s)
#define ATOMIC_xor(p, x, s) __scoped_atomic_fetch_xor(p, OPERAND(x), __ATOMIC_RELAXED, s)
#define ATOMIC_min(p, x, s) __scoped_atomic_fetch_min(p, OPERAND(x), __ATOMIC_RELAXED, s)
#define ATOMIC_max(p, x, s) __scoped_atomic_fetch_max(p, OPERAND(x), __ATOMIC_RELAXED, s)
#define DEVICE_SCOPE __MEMORY_SCOPE_DEVICE
#define GROUP_SCOPE __MEMORY_SCOPE_WRKGRP
#define BARRIER \
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); \
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
#if WAVE == 64
#define PERMLANE64(x) __builtin_amdgcn_permlane64(x)
#define BALLOT(x) (__builtin_amdgcn_ballot_w64(((x) & 1) != 0))
#else
#define PERMLANE64(x) (x) /* the instruction does nothing, not even a copy */
#define BALLOT(x) ((u64)__builtin_amdgcn_ballot_w32(((x) & 1) != 0))
#endif
)";

constexpr char kHostPrelude[] = R"(typedef signed char i8; typedef unsigned char u8; typedef short i16;
typedef unsigned short u16; typedef int i32; typedef unsigned u32; typedef long i64; typedef unsigned long u64;
typedef _Float16 f16; typedef float f32; typedef double f64;
// By value: clang 19 reads the wrong bytes when __builtin_bit_cast is given an element of a vector.
template <class To, class From>
static inline To as_type(From value) {
  return __builtin_bit_cast(To, value);
}
#define AS(T, x) as_type<T>(x)
#define HIDE(x)
#define LDS
#define GLOBAL
#define ATOMIC_add(p, x, s) (*(p) += (x))
#define ATOMIC_sub(p, x, s) (*(p) -= (x))
#define ATOMIC_and(p, x, s) (*(p) &= (x))
#define ATOMIC_or(p, x, s) (*(p) |= (x))
#define ATOMIC_xor(p, x, s) (*(p) ^= (x))
#define ATOMIC_min(p, x, s) (*(p) = *(p) < (x) ? *(p) : (x))
#define ATOMIC_max(p, x, s) (*(p) = *(p) > (x) ? *(p) : (x))
static inline int dpp_source(u32 lane, u32 control) {  // -1: no lane
  u32 row = lane & ~15u, in = lane & 15u, n = control & 15;
  if (control < 0x100) return (int)((lane & ~3u) | (control >> (2 * (lane & 3)) & 3));
  if (control < 0x110) return in + n > 15 ? -1 : (int)(lane + n);
  if (control < 0x120) return in < n ? -1 : (int)(lane - n);
  if (control < 0x130) return (int)(row | ((in - n) & 15));
  if (control == 0x140) return (int)(row | (15 - in));
  if (control == 0x141) return (int)((lane & ~7u) | (7 - (lane & 7)));
  if (control < 0x160) return (int)(row | n);
  return (int)(row | (in ^ n));
}
)";

class Emitter {
 public:
  explicit Emitter(Target target) : host_(target == Target::host), helpers_(!host_) {}

  void kernel(const Kernel& kernel, unsigned number);
  std::string source() const;

 private:
  std::string local(const std::string& name) const { return host_ && in_kernel_ ? "me->" + name : name; }
  std::string constant(const Expression& expression);
  std::string arguments(const Expression& expression);
  std::string memory(Type type, const std::string& base, const std::string& index, unsigned bytes_there);
  std::string observed(Type type, const std::string& value) {
    return is_float(type.base) ? helpers_.canonical(type) + "(" + value + ")" : value;
  }
  std::string text(const Expression& expression);
  std::string lds_index(const std::string& index, bool own) const;
  void line(const std::string& text) { body_ += std::string(indent_ * 2, ' ') + text + "\n"; }
  void statements(const std::vector<Statement>& list) {
    ++indent_;
    for (const Statement& statement : list) emit(statement);
    --indent_;
  }
  void emit(const Statement& statement);
  void emit_phase(const Statement& phase);
  void emit_exchange(const Statement& exchange);
  void function(const Function& function, unsigned number);
  void open_items();
  void declare(const Kernel& kernel, const std::string& body);
  void start(const Kernel& kernel, const std::string& body);
  std::string variable(uint32_t index) const { return local("v" + std::to_string(index)); }
  std::string function_name(uint32_t index) const {
    return "f" + std::to_string(kernel_number_) + "_" + std::to_string(index);
  }

  bool host_;
  bool in_kernel_ = false;
  unsigned indent_ = 1;
  unsigned kernel_number_ = 0;
  const Kernel* kernel_ = nullptr;
  const Statement* phase_ = nullptr;
  Helpers helpers_;
  std::string body_;
};

std::string Emitter::constant(const Expression& expression) {
  const Type type = expression.type, scalar{type.base, 1};
  const auto lane = [&](unsigned i) {
    const uint64_t value = expression.lanes[i];
    const std::string digits = hex(value) + (bits(type.base) == 64 ? "ul" : "u");
    if (is_float(type.base))
      return "AS(" + name(scalar) + ", (" + name({unsigned_of(bits(type.base)), 1}) + ")" + digits + ")";
    return "(" + name(scalar) + ")" + digits;
  };
  if (type.lanes == 1) return lane(0);
  std::string result = "((" + name(type) + "){";
  for (unsigned i = 0; i < type.lanes; ++i) result += (i ? ", " : "") + lane(i);
  return result + "})";
}

std::string Emitter::arguments(const Expression& expression) {
  std::string result;
  for (const Expression& operand : expression.operands)
    result += (result.empty() ? "" : ", ") + text(operand);
  return result;
}

// An element in a power-of-two number of bytes.
std::string Emitter::memory(Type type, const std::string& base, const std::string& index,
                            unsigned bytes_there) {
  return "((GLOBAL " + std::string(base == "input" ? "const " : "") + name(type) + "*)" +
         (base == "input" ? "input" : "mine") + ")[(" + index + ") & " +
         number(bytes_there / bytes(type) - 1) + "]";
}

std::string Emitter::lds_index(const std::string& index, bool own) const {
  if (own) return "local_id * " + number(kLdsSlice) + " + ((" + index + ") & " + number(kLdsSlice - 1) + ")";
  return "(" + index + ") % " + number(kernel_->local() * kLdsSlice);
}

std::string Emitter::text(const Expression& e) {
  using Kind = Expression::Kind;
  const auto operand = [&](size_t i) { return text(e.operands[i]); };
  switch (e.kind) {
    case Kind::constant:
      return constant(e);
    case Kind::variable:
      return variable(e.index);
    case Kind::local_id:
      return "local_id";
    case Kind::group_id:
      return "group_id";
    case Kind::counter:
      return "n" + number(e.index);
    case Kind::argument:
      return "a" + number(e.index);
    case Kind::load_input:
      return observed(e.type, memory(e.type, "input", operand(0), kInputBytes));
    case Kind::load_output:
      return observed(e.type, memory(e.type, "output", operand(0), kDynamicBytes));
    case Kind::load_lds:
      return observed(
          e.type, "lds" + number(e.index) + "[" + lds_index(operand(0), phase_->modes[e.index] == 0) + "]");
    case Kind::load_private:
      return local("array" + number(e.index)) + "[(" + operand(0) + ") & " + number(kPrivateElements - 1) +
             "]";
    case Kind::load_pointer:
      return "pointer[(" + operand(0) + ") & mask]";
    case Kind::operation: {
      Type main = e.type;
      for (unsigned i = 0; i < operand_count(*e.operation); ++i)
        if (e.operation->signature[i + 2] == 'T') main = e.operands[i].type;
      return helpers_.call(*e.operation, main) + "(" + arguments(e) + ")";
    }
    case Kind::convert:
      if (e.type.base == Base::f16) name({Base::f32, e.type.lanes});
      return helpers_.convert(e.operands[0].type, e.type) + "(" + operand(0) + ")";
    case Kind::bitcast:
      return observed(e.type, "AS(" + name(e.type) + ", " + observed(e.operands[0].type, operand(0)) + ")");
    case Kind::element:
      return operand(0) + ".s" + number(e.index);
    case Kind::any_element: {
      const Type vector = e.operands[0].type;
      // LLVM 19 makes one scalar load of an element of a vector in memory, whatever the lanes' indices are
      // (scalarizeExtractedVectorLoad forgets the pointer, isUniformMMO takes that for uniform).
      const std::string from =
          bits(vector.base) < 32 ? operand(0) : helpers_.hidden(vector) + "(" + operand(0) + ")";
      return from + "[(" + operand(1) + ") & " + number(vector.lanes - 1) + "]";
    }
    case Kind::swizzle: {
      std::string result = operand(0) + ".s";
      for (unsigned i = 0; i < e.type.lanes; ++i)
        result += char('0' + (e.index >> (4 * i) & (e.operands[0].type.lanes - 1u)));
      return result;
    }
    case Kind::build:
      return "((" + name(e.type) + "){" + arguments(e) + "})";
    case Kind::splat:
      return "((" + name(e.type) + ")(" + operand(0) + "))";
    case Kind::call:
      return function_name(e.index) + "(" + arguments(e) + ")";
  }
  return {};
}

void Emitter::emit(const Statement& s) {
  using Kind = Statement::Kind;
  const auto value = [&](size_t i) { return text(s.expressions[i]); };
  switch (s.kind) {
    case Kind::assign:
      line(variable(s.index) + " = " + value(0) + ";");
      break;
    case Kind::assign_element:
      line(variable(s.index) + ".s" + number(s.value) + " = " + value(0) + ";");
      break;
    case Kind::assign_any:
      line(variable(s.index) + "[(" + value(0) + ") & " + number(s.type.lanes - 1) + "] = " + value(1) + ";");
      break;
    case Kind::store_output:
      line(memory(s.type, "output", value(0), kDynamicBytes) + " = " + observed(s.type, value(1)) + ";");
      break;
    case Kind::store_lds:
      line("lds" + number(s.index) + "[" + lds_index(value(0), true) + "] = " + observed(s.type, value(1)) +
           ";");
      break;
    case Kind::store_private:
      line(local("array" + number(s.index)) + "[(" + value(0) + ") & " + number(kPrivateElements - 1) +
           "] = " + value(1) + ";");
      break;
    case Kind::store_pointer:
      line("pointer[(" + value(0) + ") & mask] = " + value(1) + ";");
      break;
    case Kind::dump:
      line("*(GLOBAL " + name(s.type) + "*)(mine + " + number(s.value) +
           ") = " + observed(s.type, variable(s.index)) + ";");
      break;
    case Kind::branch:
    case Kind::uniform_branch:
      line("if (" + value(0) + ") {");
      statements(s.bodies[0]);
      if (!s.bodies[1].empty()) {
        line("} else {");
        statements(s.bodies[1]);
      }
      line("}");
      break;
    case Kind::loop: {
      const std::string n = "n" + number(s.index), bound = value(0);
      line("for (u32 " + n + " = 0, end" + n + " = (" + bound + ") % " + number(s.value + 1) + "; " + n +
           " < end" + n + "; ++" + n + ") {");
      statements(s.bodies[0]);
      line("}");
      break;
    }
    case Kind::do_loop: {
      const std::string n = "n" + number(s.index);
      line("{ u32 " + n + " = 0; do {");
      statements(s.bodies[0]);
      line("} while (++" + n + " < " + number(s.value) + " && (" + value(0) + ")); }");
      break;
    }
    case Kind::choose:
      line("switch ((" + value(0) + ") % " + number(s.bodies.size() + 1) + ") {");
      for (size_t i = 0; i < s.bodies.size(); ++i) {
        line("case " + number(i) + ": {");
        statements(s.bodies[i]);
        line(s.value >> i & 1 ? "}" : "} break;");
      }
      line("}");
      break;
    case Kind::leave:
      line("if (" + value(0) + ") break;");
      break;
    case Kind::next:
      line("if (" + value(0) + ") continue;");
      break;
    case Kind::give_back:
      line("if (" + value(0) + ") return " + value(1) + ";");
      break;
    case Kind::atomic_global:
      line("ATOMIC_" + std::string(kAtomicNames[s.value]) + "((GLOBAL " + name(s.type) + "*)(atomics + " +
           number(atomic_offset(AtomicOperation(s.value), s.type.base)) + ") + ((" + value(0) + ") & " +
           number(kAtomicSlots - 1) + "), " + value(1) + ", DEVICE_SCOPE);");
      break;
    case Kind::atomic_lds:
      line("ATOMIC_" + std::string(kAtomicNames[phase_->modes[s.index] - 2]) + "(&lds" + number(s.index) +
           "[" + lds_index(value(0), false) + "], " + value(1) + ", GROUP_SCOPE);");
      break;
    case Kind::call_pointer: {
      std::string pointer, mask;
      if (s.place == Statement::Place::private_array) {
        pointer = local("array" + number(s.array));
        mask = number(kPrivateElements - 1);
      } else if (s.place == Statement::Place::lds) {
        pointer = "&lds" + number(s.array) + "[local_id * " + number(kLdsSlice) + "]";
        mask = number(kLdsSlice - 1);
      } else {
        pointer = "(GLOBAL u32*)mine";
        mask = number(kDynamicBytes / 4 - 1);
      }
      std::string call = function_name(s.value) + "(" + pointer + ", " + mask;
      for (const Expression& argument : s.expressions) call += ", " + text(argument);
      line(variable(s.index) + " = " + call + ");");
      break;
    }
    case Kind::phase:
      emit_phase(s);
      break;
    case Kind::uniform_loop: {
      const std::string n = "n" + number(s.index);
      line("for (u32 " + n + " = 0; " + n + " < " + number(s.value) + "; ++" + n + ") {");
      statements(s.bodies[0]);
      line("}");
      break;
    }
    case Kind::exchange:
      emit_exchange(s);
      break;
  }
}

void Emitter::open_items() {
  if (!host_) {
    line("{");
    return;
  }
  line("for (u32 local_id = 0; local_id < " + number(kernel_->local()) + "; ++local_id) {");
  ++indent_;
  line("state* me = &all[local_id]; u8* mine = output + (group_id * " + number(kernel_->local()) +
       " + local_id) * " + number(kernel_->output_bytes) + "ul; (void)me; (void)mine;");
  --indent_;
}

void Emitter::emit_phase(const Statement& phase) {
  phase_ = &phase;
  open_items();
  statements(phase.bodies[0]);
  line("}");
  if (!host_) line("BARRIER");
  phase_ = nullptr;
}

// On the host all work-items first give their values, then each takes its own.
void Emitter::emit_exchange(const Statement& s) {
  const std::string type = name(s.type), give = text(s.expressions[0]);
  const std::string other = s.expressions.size() > 1 ? text(s.expressions[1]) : "0u";
  const std::string target = variable(s.index), k = number(s.value);
  const auto old = "v" + number(s.index);
  if (!host_) {
    std::string call;
    switch (s.exchange) {
      case Exchange::ds_bpermute:
        call = "(u32)__builtin_amdgcn_ds_bpermute((i32)(((" + other +
               ") & 31 | local_id & 32) * 4), (i32)given)";
        break;
      case Exchange::ds_permute:
        call = "(u32)__builtin_amdgcn_ds_permute((i32)((local_id & 63 ^ " + k + ") * 4), (i32)given)";
        break;
      case Exchange::ds_swizzle:
        call = "(u32)__builtin_amdgcn_ds_swizzle((i32)given, " + hex(s.value) + ")";
        break;
      case Exchange::dpp:
        call = "(u32)__builtin_amdgcn_update_dpp((i32)" + target + ", (i32)given, " + hex(s.value & 0x1ff) +
               ", " + hex(s.value >> 12 & 15) + ", " + hex(s.value >> 16 & 15) + ", " +
               number(s.value >> 20 & 1) + ")";
        break;
      case Exchange::dpp8:
        call = "__builtin_amdgcn_mov_dpp8(given, " + hex(s.value) + ")";
        break;
      case Exchange::permlane16:
      case Exchange::permlanex16:
        call = std::string("__builtin_amdgcn_") +
               (s.exchange == Exchange::permlane16 ? "permlane16" : "permlanex16") + "(given, given, " +
               hex(s.value * 0x9e3779b9u) + "u, " + hex(s.value * 0x85ebca6bu) + "u, 0, 0)";
        break;
      case Exchange::permlane64:
        call = "PERMLANE64(given)";
        break;
      case Exchange::readlane:
        call = "(u32)__builtin_amdgcn_readlane((i32)given, " + number(s.value & 31) + ")";
        break;
      case Exchange::readfirstlane:
        call = "(u32)__builtin_amdgcn_readfirstlane((i32)given)";
        break;
      case Exchange::ballot:
        call = "BALLOT(given)";
        call = "(u32)(" + call + " ^ " + call + " >> 32)";
        break;
    }
    // LLVM 19 moves these into branches, where fewer lanes are on: their instructions are not marked
    // convergent.
    const bool moves = s.exchange == Exchange::dpp8 || s.exchange == Exchange::permlane16 ||
                       s.exchange == Exchange::permlanex16 || s.exchange == Exchange::permlane64;
    line("{ const u32 given = " + give + "; " + target + " = " + call + "; " +
         (moves ? "PIN(" + target + ") " : "") + "}");
    return;
  }
  open_items();
  line("  me->given = " + give + "; me->wanted = " + other + "; me->old = me->" + old + ";");
  line("}");
  open_items();
  ++indent_;
  line("const u32 lane = local_id & (wave_size - 1), first = local_id - lane; (void)lane; (void)first;");
  std::string source;
  switch (s.exchange) {
    case Exchange::ds_bpermute:
      source = "(lane & 32) | (me->wanted & 31)";
      break;
    case Exchange::ds_permute:
      source = "lane ^ " + k;
      break;
    case Exchange::ds_swizzle:
      source = s.value & 0x8000 ? "(lane & ~3u) | (" + k + " >> (2 * (lane & 3)) & 3)"
                                : "(lane & 32) | ((((lane & 31) & (" + k + " & 31)) | (" + k +
                                      " >> 5 & 31)) ^ (" + k + " >> 10 & 31))";
      break;
    case Exchange::dpp:
      line("const int from = dpp_source(lane, " + hex(s.value & 0x1ff) + ");");
      line("if (" + hex(s.value >> 12 & 15) + " >> (lane / 16 & 3) & " + hex(s.value >> 16 & 15) +
           " >> (lane / 4 & 3) & 1) me->" + old +
           " = from >= 0 ? all[first + from].given : " + (s.value >> 20 & 1 ? "0" : "me->old") + ";");
      break;
    case Exchange::dpp8:
      source = "(lane & ~7u) | (" + k + "u >> (3 * (lane & 7)) & 7)";
      break;
    case Exchange::permlane16:
    case Exchange::permlanex16:
      source = "((lane & ~15u)" + std::string(s.exchange == Exchange::permlanex16 ? " ^ 16" : "") + ") | (" +
               hex(uint64_t(s.value * 0x85ebca6bu) << 32 | s.value * 0x9e3779b9u) +
               "ul >> (4 * (lane & 15)) & 15)";
      break;
    case Exchange::permlane64:
      source = "wave_size == 64 ? lane ^ 32 : lane";
      break;
    case Exchange::readlane:
      source = number(s.value & 31);
      break;
    case Exchange::readfirstlane:
      source = "0";
      break;
    case Exchange::ballot:
      line("u32 sum = 0; for (u32 i = 0; i < wave_size && first + i < " + number(kernel_->local()) +
           "; ++i) sum ^= (all[first + i].given & 1) << (i & 31);");
      line("me->" + old + " = sum;");
      break;
  }
  if (!source.empty()) line("me->" + old + " = all[first + (" + source + ")].given;");
  --indent_;
  line("}");
}

void Emitter::function(const Function& f, unsigned number_of) {
  std::string head = "NOINLINE " + name(f.result) + " " + function_name(number_of) + "(";
  if (f.takes_pointer) head += std::string("u32* pointer, u32 mask");
  for (size_t i = 0; i < f.parameters.size(); ++i)
    head += (i || f.takes_pointer ? ", " : "") + name(f.parameters[i]) + " v" + number(i);
  line(head + ") {");
  for (size_t i = 0; i < f.variables.size(); ++i) {
    const std::string type = name(f.variables[i].type);
    line("  " + type + " v" + number(f.parameters.size() + i) + " = (" + type + ")(0);");
  }
  statements(f.body);
  line("  return " + text(f.value) + ";");
  line("}");
}

// Whether the text has the name as a word.
bool mentions(const std::string& text, const std::string& name) {
  const auto is_word = [](char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1))
    if ((at == 0 || !is_word(text[at - 1])) &&
        (at + name.size() == text.size() || !is_word(text[at + name.size()])))
      return true;
  return false;
}

void Emitter::declare(const Kernel& k, const std::string& body) {
  std::string fields, lds;
  for (size_t i = 0; i < k.variables.size(); ++i)
    if (mentions(body, "v" + number(i))) fields += name(k.variables[i].type) + " v" + number(i) + "; ";
  for (size_t i = 0; i < k.private_arrays.size(); ++i)
    if (mentions(body, "array" + number(i)))
      fields +=
          name({k.private_arrays[i].base, 1}) + " array" + number(i) + "[" + number(kPrivateElements) + "]; ";
  for (size_t i = 0; i < k.lds_arrays.size(); ++i)
    if (mentions(body, "lds" + number(i)))
      lds += "LDS " + name({k.lds_arrays[i].base, 1}) + " lds" + number(i) + "[" +
             number(k.local() * kLdsSlice) + "]; ";
  if (host_) {
    line("  struct state { u32 given, wanted, old; " + fields + "};");
    line("  static thread_local state all[" + number(k.local()) + "];");
    line("  for (u32 group_id = 0; group_id < " + number(k.groups) + "; ++group_id) {");
    line("  " + lds);
    return;
  }
  line("  " + lds);
  line("  const u32 local_id = __builtin_amdgcn_workitem_id_x()" +
       (k.local_y > 1 ? " + __builtin_amdgcn_workitem_id_y() * " + number(k.local_x) : std::string()) + ";");
  line("  const u32 group_id = __builtin_amdgcn_workgroup_id_x();");
  line("  GLOBAL u8* mine = output + (group_id * " + number(k.local()) + " + local_id) * " +
       number(k.output_bytes) + "ul;");
  line("  " + fields);
}

// Every variable has a value before anything of the kernel reads it, whatever the shrinker took away.
void Emitter::start(const Kernel& k, const std::string& body) {
  open_items();
  ++indent_;
  const std::string item = "(group_id * " + number(k.local()) + " + local_id)";
  const auto initial = [&](Type type, bool zero, const std::string& index) {
    if (zero) return "(" + name(type) + ")(0)";
    return observed(type, memory(type, "input", index, kInputBytes));
  };
  for (size_t i = 0; i < k.variables.size(); ++i)
    if (mentions(body, "v" + number(i)))
      line(variable(uint32_t(i)) + " = " +
           initial(k.variables[i].type, k.variables[i].zero, item + " * 7 + " + number(i * 11)) + ";");
  for (size_t i = 0; i < k.private_arrays.size(); ++i)
    if (mentions(body, "array" + number(i)))
      line("for (u32 i = 0; i < " + number(kPrivateElements) + "; ++i) " + local("array" + number(i)) +
           "[i] = " + initial({k.private_arrays[i].base, 1}, k.private_arrays[i].zero, item + " * 5 + i") +
           ";");
  bool lds = false;
  for (size_t i = 0; i < k.lds_arrays.size(); ++i)
    if (mentions(body, "lds" + number(i))) {
      line("for (u32 i = 0; i < " + number(kLdsSlice) + "; ++i) lds" + number(i) + "[local_id * " +
           number(kLdsSlice) +
           " + i] = " + initial({k.lds_arrays[i].base, 1}, k.lds_arrays[i].zero, item + " * 3 + i") + ";");
      lds = true;
    }
  --indent_;
  line("}");
  if (!host_ && lds) line("BARRIER");
}

void Emitter::kernel(const Kernel& k, unsigned number_of) {
  kernel_ = &k;
  kernel_number_ = number_of;
  std::string before = std::move(body_);
  body_.clear();
  indent_ = 0;
  in_kernel_ = true;
  statements(k.body);
  in_kernel_ = false;
  const std::string body = std::move(body_);

  std::string functions;
  for (size_t i = 0; i < k.functions.size(); ++i) {  // a function is called by earlier ones
    if (!mentions(body, function_name(uint32_t(i))) && !mentions(functions, function_name(uint32_t(i))))
      continue;
    body_.clear();
    indent_ = 0;
    function(k.functions[i], unsigned(i));
    functions = body_ + functions;
  }
  body_ = std::move(before) + functions;
  indent_ = 0;
  std::string head = host_ ? "extern \"C\" void k" + number(number_of) + "("
                           : "__kernel __attribute__((reqd_work_group_size(" + number(k.local_x) + ", " +
                                 number(k.local_y) + ", 1))) void k" + number(number_of) + "(";
  head += "GLOBAL const u8* input, GLOBAL u8* output, GLOBAL u8* atomics";
  for (unsigned i = 0; i < kArguments; ++i)
    head += ", " + std::string(kBaseNames[unsigned(kArgumentTypes[i])]) + " a" + number(i);
  line(head + (host_ ? ", u32 wave_size) {" : ") {"));
  in_kernel_ = true;
  declare(k, body);
  indent_ = 1;
  start(k, body);
  in_kernel_ = false;
  body_ += body + (host_ ? "  }\n}\n\n" : "}\n\n");
}

std::string Emitter::source() const {
  std::string result = host_ ? kHostPrelude : kDevicePrelude;
  for (unsigned base = 0; base < kBaseCount; ++base)
    for (const unsigned lanes : {2u, 4u, 8u}) {
      const std::string scalar = kBaseNames[base];
      result += "typedef " + scalar + " " + scalar + "x" + number(lanes) +
                " __attribute__((ext_vector_type(" + number(lanes) + ")));" + (lanes == 8 ? "\n" : " ");
    }
  result += "#define HELPER static inline __attribute__((always_inline))\n";
  result += "#define NOINLINE static __attribute__((noinline))\n";
  result += helpers_.text();
  return result + body_;
}

}  // namespace

std::string emit(std::span<const Kernel* const> kernels, Target target) {
  Emitter emitter(target);
  for (size_t i = 0; i < kernels.size(); ++i) emitter.kernel(*kernels[i], unsigned(i));
  return emitter.source();
}

}  // namespace lockstep::kernel_fuzz
