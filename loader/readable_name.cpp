#include "loader/readable_name.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory_resource>
#include <new>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "llvm/Demangle/ItaniumDemangle.h"

namespace lockstep::loader {
namespace {

namespace itanium = llvm::itanium_demangle;

// The parser descends once for a character at most, on whatever stack the host's thread has.
constexpr size_t kMostMangled = 2048;
constexpr uint64_t kMostReadable = 8192;

// What LLVM's parser builds its tree in.
class Nodes {
 public:
  void reset() { memory_.release(); }
  template <class Node, class... Arguments>
  Node* makeNode(Arguments&&... arguments) {
    return new (memory_.allocate(sizeof(Node), alignof(Node))) Node(std::forward<Arguments>(arguments)...);
  }
  void* allocateNodeArray(size_t count) {
    return memory_.allocate(count * sizeof(itanium::Node*), alignof(itanium::Node*));
  }

 private:
  std::pmr::monotonic_buffer_resource memory_;
};

using Parser = itanium::ManglingParser<Nodes>;

// At least the length of what a tree prints. Substitutions make one node a part of many, so the length can be
// exponential in that of the mangled name; here each node is looked at once.
class Length {
 public:
  uint64_t of(const itanium::Node* node) {
    if (!node) return 0;
    // While a node is being measured it counts as too long: a name that contains itself is none.
    const auto [known, is_new] = lengths_.try_emplace(node, kMostReadable + 1);
    if (!is_new) return known->second;
    uint64_t sum = 16;  // the node's own words: "restrict", brackets, commas
    node->visit([&](const auto* actual) { add_parts(*actual, sum); });
    return lengths_[node] = std::min(sum, kMostReadable + 1);
  }

 private:
  template <class Actual>
  void add_parts(const Actual& node, uint64_t& sum) {
    if constexpr (std::is_same_v<Actual, itanium::ForwardTemplateReference>) {
      sum += of(node.Ref);
    } else {
      node.match([&](const auto&... parts) { (add(parts, sum), ...); });
      if constexpr (std::is_same_v<Actual, itanium::ParameterPack>)
        node.match(
            [&](const itanium::NodeArray& pack) { longest_pack_ = std::max(longest_pack_, pack.size()); });
      // Each prints its pattern once for each element of a pack in it.
      if constexpr (std::is_same_v<Actual, itanium::ParameterPackExpansion> ||
                    std::is_same_v<Actual, itanium::SizeofParamPackExpr> ||
                    std::is_same_v<Actual, itanium::FoldExpr>)
        sum *= std::max<uint64_t>(longest_pack_, 1);
    }
  }

  template <class Part>
  void add(const Part& part, uint64_t& sum) {
    if constexpr (std::is_convertible_v<Part, const itanium::Node*>) {
      sum += of(part);
    } else if constexpr (std::is_same_v<Part, itanium::NodeArray>) {
      for (const itanium::Node* element : part) sum += of(element);
    } else if constexpr (std::is_convertible_v<Part, std::string_view>) {
      sum += std::string_view(part).size();
    }
  }

  std::unordered_map<const itanium::Node*, uint64_t> lengths_;
  size_t longest_pack_ = 1;
};

// Takes the word away wherever it stands alone.
void drop_word(std::string& text, std::string_view word) {
  const auto is_part = [&](size_t at) {
    return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_');
  };
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos;) {
    if ((at != 0 && is_part(at - 1)) || is_part(at + word.size())) {
      at += word.size();
      continue;
    }
    text.erase(at, word.size());
    if (at != 0 && text[at - 1] == ' ') text.erase(--at, 1);
  }
}

std::string name_of_vector(std::string_view element, std::string_view lanes) {
  constexpr std::pair<std::string_view, std::string_view> kElements[] = {
      {"signed char", "char"},         {"unsigned char", "uchar"}, {"unsigned short", "ushort"},
      {"unsigned int", "uint"},        {"unsigned long", "ulong"}, {"long long", "long"},
      {"unsigned long long", "ulong"}, {"_Float16", "half"},
  };
  for (const auto& [in_cpp, in_opencl] : kElements)
    if (element == in_cpp) element = in_opencl;
  return std::string(element) + std::string(lanes);
}

// HIP's vectors are structures, and clang's own are "float vector[4]".
std::string as_opencl_writes(std::string type) {
  for (const std::string_view word : {"const", "volatile", "restrict"}) drop_word(type, word);
  while (type.starts_with(' ')) type.erase(0, 1);
  constexpr std::string_view kHip = "HIP_vector_type<", kClang = " vector[";
  if (type.starts_with(kHip)) {
    const size_t comma = type.find(", "), end = type.find("u>");
    if (comma != std::string::npos && end != std::string::npos && end > comma)
      return name_of_vector(std::string_view(type).substr(kHip.size(), comma - kHip.size()),
                            std::string_view(type).substr(comma + 2, end - comma - 2)) +
             type.substr(end + 2);
  }
  if (const size_t at = type.find(kClang); at != std::string::npos)
    if (const size_t end = type.find(']', at); end != std::string::npos)
      return name_of_vector(std::string_view(type).substr(0, at),
                            std::string_view(type).substr(at + kClang.size(), end - at - kClang.size())) +
             type.substr(end + 1);
  return type;
}

}  // namespace

std::vector<std::string> parameter_types(std::string_view readable) {
  if (!readable.ends_with(')')) return {};
  int depth = 0;
  size_t begin = readable.size();
  do {
    const char c = readable[--begin];
    depth += c == ')' ? 1 : c == '(' ? -1 : 0;
  } while (depth != 0 && begin != 0);
  if (depth != 0) return {};
  std::vector<std::string> types(1);
  for (const char c : readable.substr(begin + 1, readable.size() - begin - 2)) {
    depth += c == '(' || c == '<' || c == '[' || c == '{'   ? 1
             : c == ')' || c == '>' || c == ']' || c == '}' ? -1
                                                            : 0;
    if (c == ',' && depth == 0)
      types.emplace_back();
    else
      types.back() += c;
  }
  if (types.size() == 1 && types[0].empty()) return {};
  for (std::string& type : types) type = as_opencl_writes(std::move(type));
  return types;
}

std::string readable_name(const std::string& symbol) {
  if (!symbol.starts_with("_Z") || symbol.size() > kMostMangled) return symbol;
  Parser parser(symbol.data(), symbol.data() + symbol.size());
  const itanium::Node* tree = parser.parse();
  if (!tree || Length().of(tree) > kMostReadable) return symbol;
  itanium::OutputBuffer text;
  tree->print(text);
  std::string result(text.getBuffer(), text.getCurrentPosition());
  std::free(text.getBuffer());
  return result;
}

}  // namespace lockstep::loader
