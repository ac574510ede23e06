// LLVM recurses over what it compiles, and nobody knows how much stack the thread has that comes here first.
#pragma once

#include <functional>

namespace lockstep::translator {

// Runs `work` on a thread of its own with a large stack, to its end; what it throws is thrown here. Throws
// std::runtime_error if there is no such thread to be had.
void on_large_stack(const std::function<void()>& work);

}  // namespace lockstep::translator
