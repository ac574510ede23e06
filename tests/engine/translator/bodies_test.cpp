// The proof that one body serves both engines: every body as the JIT compiles it from bitcode, against the
// same body compiled natively, on edge and random inputs. Equal bits, except in lanes that the body itself
// casts doubt on.
#include <gtest/gtest.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <array>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine/translator/body_abi.h"
#include "engine/translator/body_library.h"
#include "engine/translator/code_generator.h"
#include "engine/translator/jit.h"

namespace lockstep::translator {

#define LOCKSTEP_OPCODE(mnemonic)                                                                          \
  extern "C" void lockstep_body_##mnemonic(const U32*, const uint16_t*, U32*, uint16_t*, I32*);            \
  extern "C" void lockstep_moded_##mnemonic(const U32*, const uint16_t*, U32*, uint16_t*, I32*, uint32_t); \
  extern "C" void lockstep_nan_##mnemonic(const U32*, const uint16_t*, U32*, uint16_t*, I32*);             \
  extern "C" void lockstep_saturated_##mnemonic(const U32*, const uint16_t*, U32*, uint16_t*, I32*);       \
  extern "C" void lockstep_scalar_##mnemonic(const uint64_t*, ScalarResult*);
#include "isa/opcodes.inc"
#undef LOCKSTEP_OPCODE
extern "C" void lockstep_body_output_f16(const U32*, const uint16_t*, U32*, uint16_t*, I32*);
extern "C" void lockstep_body_output_f32(const U32*, const uint16_t*, U32*, uint16_t*, I32*);
extern "C" void lockstep_body_output_f64(const U32*, const uint16_t*, U32*, uint16_t*, I32*);
extern "C" void lockstep_body_output_pk_f16(const U32*, const uint16_t*, U32*, uint16_t*, I32*);
extern "C" void lockstep_body_quotient_f32(const U32*, const uint16_t*, U32*, uint16_t*, I32*);
extern "C" void lockstep_body_quotient_f64(const U32*, const uint16_t*, U32*, uint16_t*, I32*);
extern "C" void lockstep_body_quotient_u32(const U32*, const uint16_t*, U32*, uint16_t*, I32*);
extern "C" void lockstep_body_square_root_f32(const U32*, const uint16_t*, U32*, uint16_t*, I32*);
extern "C" void lockstep_body_square_root_f64(const U32*, const uint16_t*, U32*, uint16_t*, I32*);
extern "C" void lockstep_body_whole_square_root_f64(const U32*, const uint16_t*, U32*, uint16_t*, I32*);
extern "C" void lockstep_moded_output_f16(const U32*, const uint16_t*, U32*, uint16_t*, I32*, uint32_t);
extern "C" void lockstep_moded_output_f32(const U32*, const uint16_t*, U32*, uint16_t*, I32*, uint32_t);
extern "C" void lockstep_moded_output_f64(const U32*, const uint16_t*, U32*, uint16_t*, I32*, uint32_t);
extern "C" void lockstep_moded_output_pk_f16(const U32*, const uint16_t*, U32*, uint16_t*, I32*, uint32_t);

namespace {

template <class Function>
struct Body {
  std::string name;
  Function native;
};
using VectorBody = Body<VectorFunction>;
using ScalarBody = Body<ScalarFunction>;
// In a mode, as the module's functions have it: a constant.
using ModedBody = Body<ModedFunction>;

std::vector<VectorBody> vector_bodies() {
  std::vector<VectorBody> bodies;
#define LOCKSTEP_OPCODE(mnemonic)                                              \
  if (vector_signature(isa::Opcode::mnemonic).callable)                        \
    bodies.push_back({"lockstep_body_" #mnemonic, &lockstep_body_##mnemonic}); \
  if (vector_signature(isa::Opcode::mnemonic).takes_mode)                      \
    bodies.push_back({"lockstep_nan_" #mnemonic, &lockstep_nan_##mnemonic});   \
  if (vector_signature(isa::Opcode::mnemonic).saturates)                       \
    bodies.push_back({"lockstep_saturated_" #mnemonic, &lockstep_saturated_##mnemonic});
#include "isa/opcodes.inc"
#undef LOCKSTEP_OPCODE
  bodies.push_back({"lockstep_body_output_f16", &lockstep_body_output_f16});
  bodies.push_back({"lockstep_body_output_f32", &lockstep_body_output_f32});
  bodies.push_back({"lockstep_body_output_f64", &lockstep_body_output_f64});
  bodies.push_back({"lockstep_body_output_pk_f16", &lockstep_body_output_pk_f16});
  bodies.push_back({"lockstep_body_quotient_f32", &lockstep_body_quotient_f32});
  bodies.push_back({"lockstep_body_quotient_f64", &lockstep_body_quotient_f64});
  bodies.push_back({"lockstep_body_quotient_u32", &lockstep_body_quotient_u32});
  bodies.push_back({"lockstep_body_square_root_f32", &lockstep_body_square_root_f32});
  bodies.push_back({"lockstep_body_square_root_f64", &lockstep_body_square_root_f64});
  bodies.push_back({"lockstep_body_whole_square_root_f64", &lockstep_body_whole_square_root_f64});
  return bodies;
}
std::vector<ModedBody> moded_bodies() {
  std::vector<ModedBody> bodies;
#define LOCKSTEP_OPCODE(mnemonic)                         \
  if (vector_signature(isa::Opcode::mnemonic).takes_mode) \
    bodies.push_back({"lockstep_moded_" #mnemonic, &lockstep_moded_##mnemonic});
#include "isa/opcodes.inc"
#undef LOCKSTEP_OPCODE
  bodies.push_back({"lockstep_moded_output_f16", &lockstep_moded_output_f16});
  bodies.push_back({"lockstep_moded_output_f32", &lockstep_moded_output_f32});
  bodies.push_back({"lockstep_moded_output_f64", &lockstep_moded_output_f64});
  bodies.push_back({"lockstep_moded_output_pk_f16", &lockstep_moded_output_pk_f16});
  return bodies;
}
std::vector<ScalarBody> scalar_bodies() {
  std::vector<ScalarBody> bodies;
#define LOCKSTEP_OPCODE(mnemonic)                       \
  if (scalar_signature(isa::Opcode::mnemonic).callable) \
    bodies.push_back({"lockstep_scalar_" #mnemonic, &lockstep_scalar_##mnemonic});
#include "isa/opcodes.inc"
#undef LOCKSTEP_OPCODE
  return bodies;
}

// Functions test_<name> that pass their arguments on to the bodies, with a constant behind them if there is
// one, which are inlined into them.
std::unique_ptr<LoadedCode> compile(const std::vector<std::string>& names, unsigned parameters,
                                    std::optional<uint32_t> constant = {}) {
  BodySession session;
  llvm::LLVMContext& context = session.context();
  llvm::Module module("bodies", context);
  llvm::IRBuilder<> ir(context);
  const std::vector<llvm::Type*> types(parameters, ir.getPtrTy());
  auto* type = llvm::FunctionType::get(ir.getVoidTy(), types, false);
  std::vector<llvm::Type*> body_types = types;
  if (constant) body_types.push_back(ir.getInt32Ty());
  auto* body_type = llvm::FunctionType::get(ir.getVoidTy(), body_types, false);
  for (const std::string& name : names) {
    auto* body = llvm::Function::Create(body_type, llvm::Function::ExternalLinkage, name, module);
    auto* test = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "test_" + name, module);
    ir.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", test));
    std::vector<llvm::Value*> arguments;
    for (llvm::Argument& argument : test->args()) arguments.push_back(&argument);
    if (constant) arguments.push_back(ir.getInt32(*constant));
    ir.CreateCall(body, arguments);
    ir.CreateRetVoid();
  }
  Object object;
  finish(session, module, {}, object);
  return std::make_unique<LoadedCode>(object, ("test_" + names[0]).c_str());
}

class Inputs {
 public:
  uint32_t word() {
    static constexpr uint32_t kEdges[] = {
        0,          1,          2,          0xffffffff, 0x80000000, 0x7fffffff, 0x80000001, 0x7f800000,
        0xff800000, 0x7fc00000, 0x7f800001, 0xffc00001, 0x00000001, 0x00800000, 0x007fffff, 0x3f800000,
        0xbf800000, 0x3fffffff, 0x4f000000, 0xcf000000, 0x4b000001, 0x7c00fc00, 0x3c00bc00, 0x7e01fe01,
        0x7c01fc01, 0x00010001, 0x03ff0400, 0x7bff7bff, 0x7ff00000, 0xfff00000, 0x7ff80000, 0x7ff00001,
        0x000fffff, 0x3ff00000, 0x43e00000, 0x41f00000};
    const uint32_t choice = random_();
    if (choice % 3 == 0) return kEdges[random_() % std::size(kEdges)];
    // Floats of moderate size are rare among random words.
    if (choice % 3 == 1) return (random_() & 0x807fffffu) | (96 + random_() % 64) << 23;
    return random_();
  }
  U32 words() {
    U32 result;
    for (unsigned lane = 0; lane < 16; ++lane) result[lane] = word();
    return result;
  }
  uint16_t mask() { return static_cast<uint16_t>(random_()); }
  uint64_t wide() { return word() | uint64_t{word()} << 32; }

 private:
  std::mt19937 random_{12345};
};

constexpr unsigned kRounds = 150;
constexpr size_t kPerModule = 100;

// AVX-512 has minimum and maximum with all that NaNs make of them (numeric/host_masks.h): there is no doubt.
bool may_be_certain_of_nans(const std::string& name) {
  return name.find("_min") != std::string::npos || name.find("_max") != std::string::npos;
}

// `native` and `translated` are asked with the same arguments.
template <class Native>
void expect_same(const std::string& name, Native native, VectorFunction translated, Inputs& inputs) {
  for (unsigned round = 0; round < kRounds && !testing::Test::HasFailure(); ++round) {
    U32 words[16];
    uint16_t masks[4];
    for (U32& word : words) word = inputs.words();
    for (uint16_t& mask : masks) mask = inputs.mask();
    U32 results[2][8] = {};
    uint16_t result_masks[2] = {};
    I32 doubts[2] = {};
    native(words, masks, results[0], &result_masks[0], &doubts[0]);
    translated(words, masks, results[1], &result_masks[1], &doubts[1]);
    for (unsigned lane = 0; lane < 16; ++lane) {
      if (!may_be_certain_of_nans(name) || !doubts[0][lane])
        ASSERT_EQ(doubts[0][lane] != 0, doubts[1][lane] != 0) << name << " lane " << lane;
      if (doubts[0][lane]) continue;
      ASSERT_EQ(result_masks[0] >> lane & 1, result_masks[1] >> lane & 1) << name << " lane " << lane;
      for (unsigned word = 0; word < 8; ++word)
        ASSERT_EQ(results[0][word][lane], results[1][word][lane])
            << name << " word " << word << " lane " << lane << std::hex << " of " << words[0][lane] << ' '
            << words[1][lane] << ' ' << words[2][lane] << ' ' << words[3][lane];
    }
  }
}

template <class Function>
std::vector<std::string> names_from(const std::vector<Body<Function>>& bodies, size_t first) {
  std::vector<std::string> names;
  for (size_t i = first; i < std::min(first + kPerModule, bodies.size()); ++i)
    names.push_back(bodies[i].name);
  return names;
}
VectorFunction function(const LoadedCode& code, const std::string& name) {
  return reinterpret_cast<VectorFunction>(code.address(("test_" + name).c_str()));
}

TEST(Bodies, VectorBodiesAreTheSame) {
  const std::vector<VectorBody> bodies = vector_bodies();
  EXPECT_GT(bodies.size(), 500u);
  Inputs inputs;
  for (size_t first = 0; first < bodies.size(); first += kPerModule) {
    const std::vector<std::string> names = names_from(bodies, first);
    const auto code = compile(names, 5);
    for (size_t i = 0; i < names.size(); ++i)
      expect_same(names[i], bodies[first + i].native, function(*code, names[i]), inputs);
  }
}

// As graphics drivers and -cl-denorms-are-zero set it; all that a mode can be otherwise.
TEST(Bodies, InOtherModesTheyAreTheSame) {
  const std::vector<ModedBody> bodies = moded_bodies();
  EXPECT_GT(bodies.size(), 150u);
  Inputs inputs;
  for (const uint32_t mode : {0x3c0u, 0x1c0u, 0x8000ffu, 0x165u}) {
    for (size_t first = 0; first < bodies.size(); first += kPerModule) {
      const std::vector<std::string> names = names_from(bodies, first);
      const auto code = compile(names, 5, mode);
      for (size_t i = 0; i < names.size(); ++i) {
        const auto native = [&](const U32* words, const uint16_t* masks, U32* result_words,
                                uint16_t* result_mask, I32* doubt) {
          bodies[first + i].native(words, masks, result_words, result_mask, doubt, mode);
        };
        expect_same(names[i], native, function(*code, names[i]), inputs);
      }
    }
  }
}

TEST(Bodies, ScalarBodiesAreTheSame) {
  const std::vector<ScalarBody> bodies = scalar_bodies();
  EXPECT_GT(bodies.size(), 100u);
  std::vector<std::string> names;
  for (const ScalarBody& body : bodies) names.push_back(body.name);
  const auto code = compile(names, 2);
  Inputs inputs;
  for (size_t i = 0; i < bodies.size(); ++i) {
    const auto translated = reinterpret_cast<ScalarFunction>(code->address(("test_" + names[i]).c_str()));
    for (unsigned round = 0; round < kRounds; ++round) {
      const uint64_t arguments[4] = {inputs.wide(), inputs.wide(), inputs.wide() & 1, 0};
      ScalarResult results[2] = {};
      bodies[i].native(arguments, &results[0]);
      translated(arguments, &results[1]);
      ASSERT_EQ(results[0].value, results[1].value) << names[i];
      ASSERT_EQ(results[0].exec, results[1].exec) << names[i];
      ASSERT_EQ(results[0].scc, results[1].scc) << names[i];
    }
  }
}

}  // namespace
}  // namespace lockstep::translator
