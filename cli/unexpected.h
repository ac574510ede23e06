#pragma once

#include <string>

namespace CLI {
class App;
}

namespace lockstep::cli {

// Of the words that the parser has left over, as no command and no option knows them: what they were probably
// meant to be.
std::string text_of_unexpected(const CLI::App& app);

}  // namespace lockstep::cli
