#include "loader/readable_name.h"

#include <algorithm>
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

}  // namespace

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
