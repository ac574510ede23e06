// Descriptors of the driver's own. On a card programs have none beside their nodes: they close all numbers
// from one on (closefrom()) or each by itself, which must leave these open.
#pragma once

namespace lockstep::host {

// Takes a descriptor, or a copy of one, out of the way of programs that give descriptors numbers of their own
// choice (dup2()): what it is called from now on; -1 if there is none, and errno says why. `descriptor` may
// be -1.
int taken_over(int descriptor);
int own_copy(int descriptor);
// Also of -1, which is none.
void close_own(int descriptor);
bool is_own_descriptor(int descriptor);

}  // namespace lockstep::host
