#include "loader/readable_name.h"

#include <gtest/gtest.h>

#include <random>

#include "llvm/Demangle/Demangle.h"

namespace lockstep::loader {
namespace {

std::string repeated(const std::string& text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

// Names as compilers make them, among them packs, substitutions, lambdas and conversions.
const char* const kNames[] = {
    "_Z5plainPf",
    "_Z6kernelIfEvPT_PKS0_i",
    "_Z4packIJifdEEvDpPT_",
    "_Z1fIXsZT_EJiEEvv",
    "_ZN7rocprim6detail13reduce_kernelILb1ENS_6configILj256ELj8EEEPKiNS_4plusIiEEEEvT1_mT2_",
    "_ZN3foo3barIZNS_4mainEvEUlT_E_EEvS2_",
    "_ZN1AcvT_IiEEv",
    "_Z3addPDF16_S_S_",
    "_Z1fPFivEPA4_KfM1Ai",
    "_ZNSt6vectorIiSaIiEE9push_backERKi",
};

TEST(ReadableName, IsThatOfLlvm) {
  for (const char* name : kNames) EXPECT_EQ(readable_name(name), llvm::demangle(name));
  for (const char* name : {"main", "copy", "", "_Z", "_Zx", "_RNvC1a1b", "?f@@YAXXZ", "_D1a1bFZv"}) {
    EXPECT_EQ(readable_name(name), name);
  }
}

TEST(ReadableName, TypesOfParametersAreThoseOfOpenCl) {
  using Types = std::vector<std::string>;
  const auto of = [](const char* name) { return parameter_types(readable_name(name)); };
  EXPECT_EQ(of("_Z6kernelIfEvPT_PKS0_i"), (Types{"float*", "float*", "int"}));
  EXPECT_EQ(of("_Z1fPFivEPA4_KfM1Ai"), (Types{"int (*)()", "float (*) [4]", "int A::*"}));
  EXPECT_EQ(of("_Z1aP15HIP_vector_typeIfLj4EES_IjLj3EEDF16_PVix"),
            (Types{"float4*", "uint3", "_Float16", "int*", "long long"}));
  EXPECT_EQ(of("_Z1vDv4_fPDv2_KhPPfb"), (Types{"float4", "uchar2*", "float**", "bool"}));
  EXPECT_EQ(of("_ZN12_GLOBAL__N_11kEN3std4pairIifEE11constantine"),
            (Types{"std::pair<int, float>", "constantine"}));
  EXPECT_EQ(of("_Z1fv"), Types());
  for (const char* name : {"main", "k)", "", ")", "f("}) EXPECT_EQ(parameter_types(name), Types()) << name;
}

TEST(ReadableName, DamagedNamesComeBack) {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string name = kNames[random() % std::size(kNames)];
    for (unsigned n = 1 + random() % 3; n > 0; --n) {
      const std::string& other = kNames[random() % std::size(kNames)];
      const size_t at = 2 + random() % (name.size() - 2);
      switch (random() % 3) {
        case 0:
          name[at] = other[random() % other.size()];
          break;
        case 1:
          name.insert(at, other, random() % other.size(), random() % 8);
          break;
        default:
          name.erase(at, 1 + random() % 4);
          if (name.size() < 3) name = "_Z1f";
      }
    }
    const std::string readable = readable_name(name);
    if (readable != name) EXPECT_EQ(readable, llvm::demangle(name)) << name;
  }
}

// Each of these takes all of the stack, of memory, or of a day, if it is tried.
TEST(ReadableName, LongOnesComeBack) {
  for (const std::string& part :
       {"P", "K", "A1_", "FvR", "N1a", "1aI", "Dp", "IJ", "DTadL", "XsZ", "T_", "S_"}) {
    for (const size_t count : {500, 100'000}) {
      const std::string name = "_Z1f" + repeated(part, count) + "i";
      if (count == 100'000) EXPECT_EQ(readable_name(name), name);
      readable_name(name);
    }
  }
  // A pair of pairs of pairs of...: 30 levels are 2^30 words.
  for (const int levels : {3, 30}) {
    std::string name = "_Z1f1pIiiE";
    for (int level = 0; level < levels; ++level) {
      const std::string last = std::string("S") + char(level < 10 ? '0' + level : 'A' + level - 10) + "_";
      name += "S_I" + last + last + "E";
    }
    EXPECT_EQ(readable_name(name) == name, levels == 30);
  }
  // Packs in packs.
  const std::string pack = "J" + repeated("i", 400) + "E";
  const std::string packs = "_Z1fI" + pack + "EvDpDpDpDpPT_";
  EXPECT_EQ(readable_name(packs), packs);
}

}  // namespace
}  // namespace lockstep::loader
