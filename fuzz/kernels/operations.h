// The operations of generated kernels: what they are on the device and on the host.
#pragma once

#include <span>
#include <string>

#include "fuzz/kernels/types.h"

namespace lockstep::kernel_fuzz {

// How an operation is written. In the text stand
//   $T $U $S $E   the main type, the unsigned and the signed one of the same shape, the type of one lane
//   $X $N $M      the type's name, the bits of a lane, the mask for shift counts
//   $u(x) $r(x)   x as an unsigned number in which nothing overflows; back to the main type
//   $Q $L $H      not-a-number; the least and the greatest number of a lane
//   $c(x)         x with every NaN made the same one
//   $f            the suffix of a built-in function: "f" for f32
//   HIDE(x)       nothing, but the device's compiler no longer knows what it knew of x (see
//   docs/kernel-fuzzing.md)
struct Operation {
  enum Shape : unsigned char { scalar, vector, each };  // vector: the text serves both; each: lane by lane
  const char* name;
  // Result, ':', operands. T: main type; C: its condition; others are fixed: w u32, i i32, d u64, l i64, f
  // f32, h f16.
  const char* signature;
  unsigned bases;  // bit for each Base that may be the main type; 0: there is none
  Shape device_shape;
  const char* device;
  Shape host_shape;  // as device's if `host` is null
  const char* host;
  unsigned weight;
};

std::span<const Operation> operations();

// The type of an operand (1, 2, ...) or of the result (0) if the main type is `main`.
Type signature_type(const Operation& operation, unsigned position, Type main);
unsigned operand_count(const Operation& operation);

// The helper functions of one source file: each is written when it is first asked for.
class Helpers {
 public:
  explicit Helpers(bool device) : device_(device) {}

  std::string call(const Operation& operation, Type main);  // its name
  std::string canonical(Type type);                         // all NaNs become one
  std::string convert(Type from, Type to);
  std::string hidden(Type type);  // the same value
  const std::string& text() const { return text_; }

 private:
  std::string expand(const char* text, Type main);
  bool first(const std::string& name);
  void define(const std::string& result, const std::string& name, const std::string& parameters,
              const std::string& body);

  bool device_;
  std::string known_ = "\n";
  std::string text_;
};

}  // namespace lockstep::kernel_fuzz
