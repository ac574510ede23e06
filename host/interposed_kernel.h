// System calls that the library which programs are started with makes itself: syscall() is one of the
// functions that it takes. No C++ library.
#pragma once

namespace lockstep::interposed {

// The C library's syscall(); handlers of signals may call it.
using SystemCall = long (*)(long number, ...);
SystemCall libcs_system_call();

template <class... Arguments>
long system_call(long number, Arguments... arguments) {
  return libcs_system_call()(number, arguments...);
}

}  // namespace lockstep::interposed
