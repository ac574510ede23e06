// The text of the description files that are part of the library.
#pragma once

#include <string_view>
#include <vector>

namespace lockstep::hardware {

struct ModelText {
  std::string_view name, text;
};
const std::vector<ModelText>& model_texts();

}  // namespace lockstep::hardware
