#include <cmath>
#include <numbers>

#include "examples/examples.h"

namespace lockstep::examples {

namespace {

using Real = long double;

// A function of the kernel: its number, where it is tried, its reference, and what the OpenCL C specification
// (7.4, full profile) allows in units in the last place, single and double precision.
struct Function {
  uint32_t number;
  double low, high;
  Real (*reference)(Real x, Real y);
  double ulps;
};

constexpr Function kFunctions[] = {
    {0, -1e5, 1e5, [](Real x, Real) { return std::sin(x); }, 4},
    {1, -1e5, 1e5, [](Real x, Real) { return std::cos(x); }, 4},
    {2, -100, 100, [](Real x, Real) { return std::tan(x); }, 5},
    {3, -1, 1, [](Real x, Real) { return std::asin(x); }, 4},
    {4, -1, 1, [](Real x, Real) { return std::acos(x); }, 4},
    {5, -50, 50, [](Real x, Real) { return std::atan(x); }, 5},
    {6, -20, 20, [](Real x, Real) { return std::sinh(x); }, 4},
    {7, -20, 20, [](Real x, Real) { return std::cosh(x); }, 4},
    {8, -5, 5, [](Real x, Real) { return std::tanh(x); }, 5},
    {9, -1000, 1000, [](Real x, Real) { return std::asinh(x); }, 4},
    {10, 1, 1000, [](Real x, Real) { return std::acosh(x); }, 4},
    {11, -1, 1, [](Real x, Real) { return std::atanh(x); }, 5},
    {12, -80, 80, [](Real x, Real) { return std::exp(x); }, 3},
    {13, -120, 120, [](Real x, Real) { return std::exp2(x); }, 3},
    {14, -36, 36, [](Real x, Real) { return std::pow(Real(10), x); }, 3},
    {15, -10, 10, [](Real x, Real) { return std::expm1(x); }, 3},
    {16, 0, 1000, [](Real x, Real) { return std::log(x); }, 3},
    {17, 0, 1000, [](Real x, Real) { return std::log2(x); }, 3},
    {18, 0, 1000, [](Real x, Real) { return std::log10(x); }, 3},
    {19, -1, 10, [](Real x, Real) { return std::log1p(x); }, 2},
    {20, 0, 1e9, [](Real x, Real) { return std::sqrt(x); }, 3},
    {21, 0, 1e9, [](Real x, Real) { return 1 / std::sqrt(x); }, 2},
    {22, -1e9, 1e9, [](Real x, Real) { return std::cbrt(x); }, 2},
    {23, -4, 4, [](Real x, Real) { return std::erf(x); }, 16},
    {24, -4, 8, [](Real x, Real) { return std::erfc(x); }, 16},
    {25, 0.1, 20, [](Real x, Real) { return std::tgamma(x); }, 16},
    {26, -10, 10, [](Real x, Real) { return std::sin(x * std::numbers::pi_v<Real>); }, 4},
    {27, -1e4, 1e4, [](Real x, Real) { return std::floor(x); }, 0},
    {28, -1e4, 1e4, [](Real x, Real) { return std::rint(x); }, 0},
    {29, -1e4, 1e4, [](Real x, Real) { return std::round(x); }, 0},
    {30, -1e4, 1e4, [](Real x, Real) { return std::trunc(x); }, 0},
    {31, -10, 10, [](Real x, Real) { return 1 / x; }, 2.5},
    {32, 0, 20, [](Real x, Real y) { return std::pow(x, y); }, 16},
    {33, -10, 10, [](Real x, Real y) { return std::atan2(x, y); }, 6},
    {34, -1e4, 1e4, [](Real x, Real y) { return std::hypot(x, y); }, 4},
    {35, -1e6, 1e6, [](Real x, Real y) { return std::fmod(x, y); }, 0},
    {36, -1e6, 1e6, [](Real x, Real y) { return x / y; }, 2.5},
    {37, -10, 10, [](Real x, Real y) { return std::fmin(x, y); }, 0},
    {38, -10, 10, [](Real x, Real y) { return std::fdim(x, y); }, 0.5},
};

template <class T>
void add(Example& example, const char* kernel, const Function& function, Random& random) {
  constexpr uint32_t kCount = 256;
  constexpr double kUlp = sizeof(T) == 4 ? 0x1p-23 : 0x1p-52;  // of a number that is just a power of two
  // More random bits than one word has, so that doubles are not all floats.
  const auto between = [&random](double low, double high) {
    const double fraction = double(random.word()) * 0x1p-32 + double(random.word()) * 0x1p-64;
    return T(low + fraction * (high - low));
  };
  std::vector<T> x(kCount), y(kCount), expected(kCount);
  for (uint32_t i = 0; i < kCount; ++i) {
    x[i] = between(function.low, function.high);
    y[i] = between(-7, 7);
    expected[i] = T(function.reference(x[i], y[i]));
  }
  const Argument buffer_x = example.add_buffer(x), buffer_y = example.add_buffer(y),
                 buffer_out = example.add_buffer(std::vector<T>(kCount));
  example.dispatches.push_back({.kernel = kernel,
                                .groups = {kCount / 128, 1, 1},
                                .group_size = {128, 1, 1},
                                .arguments = {buffer_x, buffer_y, buffer_out, scalar(function.number)}});
  // Half a unit more for the rounding of the reference, unless the result is exact.
  const double ulps = function.ulps == 0 ? 0 : function.ulps + 0.5;
  example.expect(
      buffer_out, expected,
      {.absolute = function.number == 26 ? kUlp * 0x1p-20 : 0,  // the reference multiplies by a rounded pi
       .relative = ulps * kUlp,
       .why = std::string(kernel) + " function " + std::to_string(function.number) + ": " +
              std::to_string(function.ulps) + " ulp, as OpenCL demands"});
}

}  // namespace

Example math(unsigned) {
  Random random(19);
  Example example{.name = "math", .source = "math/math.cl"};
  for (const Function& function : kFunctions) add<float>(example, "math_f32", function, random);
  for (const Function& function : kFunctions) add<double>(example, "math_f64", function, random);
  return example;
}

}  // namespace lockstep::examples
