#include "tests/rocrand/arguments.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "tests/rocrand/reference.h"

namespace lockstep::rocrand {

namespace {

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

Signature parse(const std::string& name) {
  Signature signature;
  // From the back: the parameters' parenthesis, then the template's angle brackets.
  int depth = 0;
  size_t open = name.size();
  while (open > 0) {
    const char c = name[--open];
    depth += c == ')' ? 1 : c == '(' ? -1 : 0;
    if (c == '(' && depth == 0) break;
  }
  depth = 0;
  std::string parameter;
  for (size_t i = open + 1; i < name.size(); ++i) {
    const char c = name[i];
    if (depth == 0 && (c == ',' || i + 1 == name.size())) {
      if (!parameter.empty()) signature.parameters.push_back(parameter);
      parameter.clear();
      continue;
    }
    depth += (c == '<' || c == '(') - (c == '>' || c == ')');
    if (c != ' ' || !parameter.empty()) parameter += c;
  }
  std::string head = name.substr(0, open);
  const size_t angle = head.find('<');
  if (angle != std::string::npos) {
    signature.template_arguments = head.substr(angle + 1, head.size() - angle - 2);
    head.resize(angle);
  }
  const size_t space = head.find_last_of(" :");
  signature.function = space == std::string::npos ? head : head.substr(space + 1);
  return signature;
}

Memory::Memory(Device& device)
    : output(device.allocate<uint8_t>(1 << 20, "output")),
      operands(device.allocate<uint32_t>(1 << 16, "operands")),
      device_(device),
      directions32_(device.allocate<uint32_t>(32, "directions")),
      constants32_(device.allocate<uint32_t>(1, "constants")),
      alias_(device.allocate<uint32_t>(64, "alias")),
      directions64_(device.allocate<uint64_t>(64, "directions")),
      constants64_(device.allocate<uint64_t>(1, "constants")),
      discrete_(device.allocate<uint64_t>(4, "discrete distribution")),
      probability_(device.allocate<double>(64, "probability")),
      cumulative_(device.allocate<double>(64, "cumulative")) {
  for (uint32_t i = 0; i < 32; ++i) directions32_[i] = 1u << (31 - i);
  for (uint32_t i = 0; i < 64; ++i) directions64_[i] = uint64_t{1} << (63 - i);
  std::mt19937 random(1);
  for (uint32_t& operand : operands) operand = static_cast<uint32_t>(random());
  constants32_[0] = 0x9d2c5680;
  constants64_[0] = 0x9d2c5680efc60000;

  // A Poisson distribution cut at 64, as Walker's alias table and as cumulative probabilities.
  std::vector<double> probabilities(64);
  double sum = 0, term = std::exp(-kPoissonMean);
  for (uint32_t i = 0; i < 64; ++i) {
    probabilities[i] = term;
    cumulative_[i] = sum += term;
    term *= kPoissonMean / (i + 1);
  }
  std::vector<double> share(64);
  std::vector<uint32_t> small, large;
  for (uint32_t i = 0; i < 64; ++i) {
    share[i] = probabilities[i] / sum * 64;
    (share[i] < 1 ? small : large).push_back(i);
    alias_[i] = i;
    probability_[i] = 1;
  }
  while (!small.empty() && !large.empty()) {
    const uint32_t poor = small.back(), rich = large.back();
    small.pop_back();
    large.pop_back();
    alias_[poor] = rich;
    probability_[poor] = share[poor];
    share[rich] -= 1 - share[poor];
    (share[rich] < 1 ? small : large).push_back(rich);
  }
  discrete_[0] = 64;  // size, offset
  discrete_[1] = alias_.address();
  discrete_[2] = probability_.address();
  discrete_[3] = cumulative_.address();
}

Buffer<uint8_t>& Memory::engines(const std::string& type) {
  const auto known = engines_.find(type);
  if (known != engines_.end()) {
    const Engines& engines = known->second;
    std::memcpy(engines.states.data(), engines.kept.data(), engines.kept.size());
    return known->second.states;
  }
  // MT19937 has 8192 generators, whatever the launch.
  const bool is_mt19937 = contains(type, "mt19937"), is_mtgp32 = contains(type, "mtgp32");
  Buffer<uint8_t> states = device_.allocate<uint8_t>(is_mt19937 ? 32 << 20 : 1 << 20, type);
  if (is_mt19937 || is_mtgp32) {
    // Anything is a state of these. MTGP32 has an index and a number, 1024 words of state, the parameters
    // pos, sh1 and sh2 of Saito's generator, then its tables.
    constexpr size_t kMtgp32Words = 2 + 1024 + 3 + 3 * 16;
    std::mt19937 random(5489);
    std::vector<uint32_t> words(states.size() / 4);
    for (uint32_t& word : words) word = static_cast<uint32_t>(random());
    for (size_t at = 0; is_mtgp32 && at + kMtgp32Words <= words.size(); at += kMtgp32Words) {
      words[at] = words[at + 1] = 0;
      words[at + 1026] = 88;
      words[at + 1027] = 19;
      words[at + 1028] = 1;
    }
    std::memcpy(states.data(), words.data(), states.size());
  }
  std::vector<uint8_t> kept(states.begin(), states.end());
  return engines_.emplace(type, Engines{std::move(states), std::move(kept)}).first->second.states;
}

void Memory::keep() {
  for (auto& [type, engines] : engines_) engines.kept.assign(engines.states.begin(), engines.states.end());
}

bool Memory::holds_the_same(const Memory& other) const {
  const auto same = [](const Buffer<uint8_t>& a, const Buffer<uint8_t>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  };
  return same(output, other.output) && std::equal(engines_.begin(), engines_.end(), other.engines_.begin(),
                                                  other.engines_.end(), [&](const auto& a, const auto& b) {
                                                    return a.first == b.first &&
                                                           same(a.second.states, b.second.states);
                                                  });
}

uint64_t numbers_wanted(const Signature& signature) {
  for (const std::string& parameter : signature.parameters)
    if (contains(parameter, "mt19937")) return 2496;
  const bool is_test_of_sobol =
      !contains(signature.function, "generate") && contains(signature.template_arguments, "::sobol");
  return is_test_of_sobol ? 2 * kThreads : 2500;
}

class Binder {
 public:
  Binder(const Signature& signature, const Kernel& kernel, Memory& memory, Arguments& arguments)
      : signature_(signature), infos_(kernel.arguments()), memory_(memory), arguments_(arguments) {}

  std::string bind() {
    if (infos_.size() != signature_.parameters.size()) return "parameters that do not match the metadata";
    for (uint32_t i = 0; i < infos_.size(); ++i)
      if (!bind(i, signature_.parameters[i])) return "a parameter of type " + signature_.parameters[i];
    return "";
  }

 private:
  bool bind(uint32_t i, const std::string& type) {
    if (ends_with(type, "_engine*") || ends_with(type, "_engine<false>*") ||
        ends_with(type, "_engine<true>*"))
      return address(i, memory_.engines(type).address());
    if (ends_with(type, "discrete_distribution_st*")) return address(i, memory_.discrete_.address());
    if (ends_with(type, "*")) return number_pointer(i, type);
    if (ends_with(type, "_device_engine")) return engine_value(i, type);
    if (contains(type, "distribution")) return distribution(i, type);
    if (type == "unsigned long") return value<uint64_t>(i, numbers_wanted(signature_));
    // The first engine or an offset; in a test kernel how many numbers each thread makes.
    if (type == "unsigned int")
      return value<uint32_t>(i, signature_.template_arguments.empty() && i == 2 ? 2 : 0);
    if (type == "unsigned long long") return value<uint64_t>(i, words64_++ == 0 ? kSeed : 0);  // seed, offset
    if (type == "double" && contains(signature_.function + signature_.template_arguments, "poisson"))
      return value(i, kPoissonMean);
    if (type == "double") return value(i, parameters_++ == 0 ? 0.0 : 1.0);  // mean, deviation
    if (type == "float") return value(i, parameters_++ == 0 ? 0.0f : 1.0f);
    if (contains(type, "HIP_vector_type<unsigned int, 4"))
      return value(i, std::array<uint32_t, 4>{0x12345678, 0x9abcdef0, 0x0fedcba9, 0x87654321});
    return false;
  }

  // The numbers to write, then direction vectors, then scramble constants.
  bool number_pointer(uint32_t i, const std::string& type) {
    const bool wide = contains(type, "long long");
    if (signature_.function == "mad_u64_u32_kernel")
      return address(i, (contains(type, "const") ? memory_.operands.address() : memory_.output.address()));
    switch (pointers_++) {
      case 0:
        return address(i, memory_.output.address());
      case 1:
        return address(i, wide ? memory_.directions64_.address() : memory_.directions32_.address());
      case 2:
        return address(i, wide ? memory_.constants64_.address() : memory_.constants32_.address());
      default:
        return false;
    }
  }

  // Counter, (result,) key and the rest zero, as for a fresh engine.
  bool engine_value(uint32_t i, const std::string& type) {
    std::vector<uint32_t> words(infos_[i].size / 4);
    const uint32_t low = static_cast<uint32_t>(kSeed), high = static_cast<uint32_t>(kSeed >> 32);
    if (contains(type, "philox")) {
      const auto result = philox({}, {low, high});
      std::copy(result.begin(), result.end(), words.begin() + 4);
      words[8] = low;
      words[9] = high;
    } else {
      const size_t counter = contains(type, "2x32")                             ? 2
                             : contains(type, "2x64") || contains(type, "4x32") ? 4
                                                                                : 8;
      words[counter] = low;
      words[counter + 1] = high;
    }
    return bytes(i, words.data());
  }

  bool distribution(uint32_t i, const std::string& type) {
    const uint32_t size = infos_[i].size;
    if (contains(type, "poisson") && size == 32) return bytes(i, memory_.discrete_.data());
    if (contains(type, "uniform") && size == 1) return value<uint8_t>(i, 0);
    if (!contains(type, "normal")) return false;
    if (size == 16) return value(i, std::array<double, 2>{0, 1});
    if (size == 8) return value(i, std::array<float, 2>{0, 1});
    if (size == 4) return value(i, std::array<uint16_t, 2>{0, 0x3c00});  // halves
    return false;
  }

  template <class T>
  bool value(uint32_t i, T number) {
    return infos_[i].size == sizeof number && bytes(i, &number);
  }
  bool bytes(uint32_t i, const void* from) {
    check(lockstep_arguments_set(arguments_.get(), i, from, infos_[i].size));
    return true;
  }
  bool address(uint32_t i, uint64_t where) {
    arguments_.set_address(i, where);
    return true;
  }

  const Signature& signature_;
  std::vector<lockstep_argument_info> infos_;
  Memory& memory_;
  Arguments& arguments_;
  unsigned pointers_ = 0, words64_ = 0, parameters_ = 0;
};

std::string bind(const Signature& signature, const Kernel& kernel, Memory& memory, Arguments& arguments) {
  return Binder(signature, kernel, memory, arguments).bind();
}

}  // namespace lockstep::rocrand
