// How failures inside the library become statuses of the C interface.
#pragma once

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "api/lockstep.h"
#include "loader/error.h"

namespace lockstep::api {

// Thrown inside the library, never through the C interface.
class Failure : public std::runtime_error {
 public:
  Failure(lockstep_status status, const std::string& text) : std::runtime_error(text), status_(status) {}
  lockstep_status status() const { return status_; }

 private:
  lockstep_status status_;
};

// Whatever the text quotes, a terminal may show it.
void set_last_error(std::string_view text) noexcept;

// The value of a loader result, or a Failure with its message.
template <class T>
T take(loader::Result<T> result, lockstep_status status = LOCKSTEP_BAD_INPUT) {
  if (!result) throw Failure(status, result.error().message());
  return std::move(*result);
}

inline void require(bool condition, const char* text) {
  if (!condition) throw Failure(LOCKSTEP_INVALID_ARGUMENT, text);
}

// Runs the body of an interface function.
template <class Body>
lockstep_status guarded(Body&& body) {
  try {
    body();
    return LOCKSTEP_OK;
  } catch (const Failure& f) {
    set_last_error(f.what());
    return f.status();
  } catch (const std::bad_alloc&) {
    set_last_error("out of memory (free some, or ask for less)");
    return LOCKSTEP_OUT_OF_MEMORY;
  } catch (const std::length_error&) {
    set_last_error("more is asked for than memory can hold (ask for less)");
    return LOCKSTEP_OUT_OF_MEMORY;
  } catch (const std::exception& e) {
    set_last_error(std::string("internal error: ") + e.what());
    return LOCKSTEP_INTERNAL_ERROR;
  }
}

// Copies a result structure of which the caller may know only the first struct_size bytes.
template <class T>
void give(T* out, T value) {
  require(out != nullptr, "the result structure is null");
  require(out->struct_size >= sizeof(uint32_t) && out->struct_size <= sizeof(T) * 16,
          "struct_size of the result structure is not set (set it to sizeof of the structure)");
  value.struct_size = out->struct_size;
  std::memcpy(out, &value, std::min<size_t>(out->struct_size, sizeof(T)));
}

// Fills options of which the caller knows the first struct_size bytes, or more than this library.
template <class T>
void give_defaults(T* out, size_t struct_size, T defaults) {
  if (!out || struct_size < sizeof(uint32_t)) return;
  defaults.struct_size = static_cast<uint32_t>(struct_size);
  std::memset(out, 0, struct_size);
  std::memcpy(out, &defaults, std::min(struct_size, sizeof(T)));
}

// Options of which the caller may know only the first struct_size bytes; the rest keeps its default. What a
// newer caller knows beyond them must be zero: nothing that was asked for is left out in silence.
template <class T>
T with_defaults(const T* given, T defaults) {
  defaults.struct_size = sizeof(T);
  if (!given) return defaults;
  require(given->struct_size >= sizeof(uint32_t) && given->struct_size <= sizeof(T) * 16,
          "struct_size of the options is not set (call the structure's _init function)");
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (size_t i = sizeof(T); i < given->struct_size; ++i)
    if (bytes[i])
      throw Failure(LOCKSTEP_UNSUPPORTED,
                    "the options set a field at byte " + std::to_string(i) +
                        " that this version of the library does not know (leave it 0, or "
                        "install the library that the program was built with)");
  std::memcpy(&defaults, given, std::min<size_t>(given->struct_size, sizeof(T)));
  defaults.struct_size = sizeof(T);
  return defaults;
}

// The number in an enumeration that a caller has filled. It may be none of the enumerators, and then C++ must
// not load it as one.
template <class Enum>
int number_of(const Enum& value) {
  static_assert(sizeof value == sizeof(int));
  int number;
  std::memcpy(&number, &value, sizeof number);
  return number;
}

}  // namespace lockstep::api
