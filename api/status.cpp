#include "api/status.h"

#include "text/visible.h"

namespace lockstep::api {
namespace {

thread_local std::string last_error;
thread_local bool error_is_lost = false;

}  // namespace

void set_last_error(std::string_view text) noexcept {
  try {
    last_error = visible_lines(text);
    error_is_lost = false;
  } catch (const std::bad_alloc&) {
    error_is_lost = true;
  }
}

}  // namespace lockstep::api

const char* lockstep_last_error() {
  return lockstep::api::error_is_lost ? "out of memory, also for the text of an error (free some)"
                                      : lockstep::api::last_error.c_str();
}

const char* lockstep_status_name(lockstep_status status) {
  switch (status) {
    case LOCKSTEP_OK:
      return "done";
    case LOCKSTEP_FAULT:
      return "the kernel faulted";
    case LOCKSTEP_INVALID_ARGUMENT:
      return "invalid argument";
    case LOCKSTEP_NOT_FOUND:
      return "not found";
    case LOCKSTEP_BAD_INPUT:
      return "bad input";
    case LOCKSTEP_COMPILE_ERROR:
      return "compile error";
    case LOCKSTEP_UNSUPPORTED:
      return "unsupported";
    case LOCKSTEP_OUT_OF_MEMORY:
      return "out of memory";
    case LOCKSTEP_CANCELLED:
      return "cancelled";
    case LOCKSTEP_INTERNAL_ERROR:
      return "internal error";
    case LOCKSTEP_ADDRESS_TAKEN:
      return "address taken";
  }
  return "unknown status";
}

const char* lockstep_version() {
  return LOCKSTEP_VERSION;
}
