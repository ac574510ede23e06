#include "api/status.h"

namespace lockstep::api {
namespace {

thread_local std::string last_error;

}  // namespace

void set_last_error(std::string text) {
  last_error = std::move(text);
}

}  // namespace lockstep::api

const char* lockstep_last_error() {
  return lockstep::api::last_error.c_str();
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
  }
  return "unknown status";
}

const char* lockstep_version() {
  return LOCKSTEP_VERSION;
}
