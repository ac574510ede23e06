// The parts of a dump that are text: JSON, so that people can read them, too.
#pragma once

#include <string>
#include <string_view>

#include "dump/dispatch.h"
#include "loader/error.h"

namespace lockstep::dump {

std::string text_of(const Dispatch& dispatch);
std::string text_of(const End& end);
// `where` is for messages. What they give is what a machine can be asked for: sizes are bounded, ranges in
// order, code is inside them.
loader::Result<Dispatch> dispatch_of(std::string_view text, std::string_view where);
loader::Result<End> end_of(std::string_view text, std::string_view where);

}  // namespace lockstep::dump
