// The result of everything in loader/ that reads what others wrote: a value, or what is wrong, where, and how
// to mend it.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace lockstep::loader {

inline constexpr const char* kDamaged = "the file is damaged or truncated; copy or build it again";

struct Error {
  std::string what;   // "segment 2 reaches past the end of the file"
  std::string where;  // "saxpy.co, program header 2"
  std::string mend;   // kDamaged

  std::string message() const {
    std::string text = where.empty() ? what : where + ": " + what;
    if (!mend.empty()) text += " (" + mend + ")";
    return text;
  }
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : content_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return content_.index() == 0; }
  T& operator*() { return std::get<0>(content_); }
  const T& operator*() const { return std::get<0>(content_); }
  T* operator->() { return &std::get<0>(content_); }
  const T* operator->() const { return &std::get<0>(content_); }
  const Error& error() const { return std::get<1>(content_); }
  Error& error() { return std::get<1>(content_); }

 private:
  std::variant<T, Error> content_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), failed_(true) {}

  explicit operator bool() const { return !failed_; }
  const Error& error() const { return error_; }
  Error& error() { return error_; }

 private:
  Error error_;
  bool failed_ = false;
};

}  // namespace lockstep::loader
