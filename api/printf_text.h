// printf of kernels: formats of OpenCL C and C++ with the bytes of their arguments, which guests wrote.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lockstep::api {

// Where the text takes its arguments from, one by one. Past the end they are zero and empty.
class PrintfArguments {
 public:
  virtual ~PrintfArguments() = default;
  virtual uint64_t integer() = 0;  // sign extended where it was narrower and signed is asked for
  virtual double real() = 0;
  virtual std::string string() = 0;
  virtual std::span<const std::byte> vector(unsigned lanes) = 0;
};

// As runtimes that copy arguments into 8 bytes each have them; strings with their end, filled up to 8.
class QwordArguments final : public PrintfArguments {
 public:
  explicit QwordArguments(std::span<const std::byte> bytes) : rest_(bytes) {}
  uint64_t integer() override;
  double real() override;
  std::string string() override;
  std::span<const std::byte> vector(unsigned lanes) override;

 private:
  std::span<const std::byte> rest_;
};

// As LLVM lays them out for OpenCL, each with its size; a string's characters in place.
class SizedArguments final : public PrintfArguments {
 public:
  SizedArguments(std::span<const uint32_t> sizes, std::span<const std::byte> bytes)
      : sizes_(sizes), rest_(bytes) {}
  uint64_t integer() override;
  double real() override;
  std::string string() override;
  std::span<const std::byte> vector(unsigned lanes) override;

 private:
  std::span<const std::byte> next();

  std::span<const uint32_t> sizes_;
  std::span<const std::byte> rest_;
};

// The text. What the format may not ask for (%n, widths beyond reason) is left out or cut.
std::string printf_text(std::string_view format, PrintfArguments& arguments);

}  // namespace lockstep::api
