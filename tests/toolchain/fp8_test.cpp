// hip_fp8.h on the emulated device, against the formats as OFP8 and HIP's page describe them.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <lockstep.hpp>
#include <string>
#include <vector>

namespace {

constexpr char kSource[] = R"(
#include <hip/hip_fp8.h>
static_assert(__hip_fp8_e4m3::__we == 4 && __hip_fp8_e4m3::__wm == 3 && __hip_fp8_e5m2_fnuz::__we == 5 &&
              __hip_fp8_e5m2_fnuz::__wm == 2 && __hip_fp8x2_e5m2::__default_interpret == __HIP_E5M2);
extern "C" __global__ void decode(float* out) {
  const unsigned char i = threadIdx.x;
  out[i] = __builtin_bit_cast(__hip_fp8_e4m3, i);
  out[256 + i] = __builtin_bit_cast(__hip_fp8_e5m2, i);
  out[512 + i] = __builtin_bit_cast(__hip_fp8_e4m3_fnuz, i);
  out[768 + i] = __builtin_bit_cast(__hip_fp8_e5m2_fnuz, i);
}
extern "C" __global__ void encode(const double* in, unsigned char* saturated, unsigned char* unsaturated,
                                  unsigned* fours, unsigned* same_fours) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const double x = in[i];
  saturated[4 * i] = __hip_cvt_double_to_fp8(x, __hip_fp8_e4m3::__default_saturation, __hip_fp8_e4m3::__default_interpret);
  saturated[4 * i + 1] = __hip_fp8_e5m2(x).__x;
  saturated[4 * i + 2] = __hip_fp8_e4m3_fnuz(x).__x;
  saturated[4 * i + 3] = __hip_fp8_e5m2_fnuz(x).__x;
  for (int k = 0; k < 4; ++k)
    unsaturated[4 * i + k] = __hip_cvt_double_to_fp8(x, __HIP_NOSAT, (__hip_fp8_interpretation_t)k);
  const float f = x;
  fours[i] = __hip_fp8x4_e4m3(float4(f, 1.0f, f, 2.0f)).__x;
  same_fours[i] = __hip_fp8_e4m3(f).__x * 0x10001u + (__hip_fp8_e4m3(1.0f).__x << 8) + (__hip_fp8_e4m3(2.0f).__x << 24);
}
)";

struct Format {
  int mantissa, bias;
  bool fnuz, has_infinity;
};
constexpr Format kFormats[] = {
    {3, 7, false, false}, {2, 15, false, true}, {3, 8, true, false}, {2, 16, true, false}};

double value_of(unsigned code, const Format& f) {
  const unsigned magnitude = code & 0x7f, field = magnitude >> f.mantissa,
                 fraction = magnitude & ((1u << f.mantissa) - 1);
  const double sign = code & 0x80 ? -1 : 1;
  const bool top = field == (0x7fu >> f.mantissa);
  if (f.fnuz ? code == 0x80 : f.has_infinity ? top && fraction : magnitude == 0x7f) return std::nan("");
  if (f.has_infinity && top) return sign * std::numeric_limits<double>::infinity();
  return sign * (field ? std::ldexp((1 << f.mantissa) + fraction, int(field) - f.bias - f.mantissa)
                       : std::ldexp(fraction, 1 - f.bias - f.mantissa));
}

// The nearest of the finite values, at a tie that of the even code; beyond half a step over the largest it
// overflows.
unsigned code_of(double x, const Format& f, bool saturated) {
  const unsigned sign = std::signbit(x) ? 0x80 : 0, largest = f.fnuz ? 0x7f : f.has_infinity ? 0x7b : 0x7e;
  if (std::isnan(x)) return f.fnuz ? 0x80 : 0x7f | sign;
  const double magnitude = std::fabs(x), most = value_of(largest, f), step = most - value_of(largest - 1, f);
  // The one beyond the largest would have a code of the other parity: a tie goes to the even one.
  const bool overflows = largest % 2 ? magnitude >= most + step / 2 : magnitude > most + step / 2;
  if (overflows && !saturated) return f.fnuz ? 0x80 : (f.has_infinity ? 0x7c : 0x7f) | sign;
  unsigned best = 0;
  for (unsigned code = 1; code <= largest; ++code) {
    const double here = std::fabs(value_of(code, f) - magnitude),
                 there = std::fabs(value_of(best, f) - magnitude);
    if (here < there || (here == there && code % 2 == 0)) best = code;
  }
  if (magnitude > most) best = largest;
  return best == 0 && f.fnuz ? 0 : best | sign;
}

TEST(Fp8, EveryCodeAndEveryMiddleBetweenTwo) {
  const auto code = lockstep::CodeObject::compile(LOCKSTEP_HIP, kSource, "fp8.hip");
  lockstep::Device device;
  auto decoded = device.allocate<float>(1024);
  {
    const lockstep::Kernel kernel = code.kernel("decode");
    lockstep::Arguments arguments(kernel);
    arguments.set(0u, decoded);
    device.run(kernel, arguments, {256}, {256});
  }
  std::vector<double> inputs = {0.0, -0.0, INFINITY, -INFINITY, std::nan(""), 1e300, -1e300, 1e-300, 5e-324};
  for (unsigned i = 0; i < 1024; ++i) {
    const double wanted = value_of(i % 256, kFormats[i / 256]), is = decoded[i];
    if (std::isnan(wanted))
      EXPECT_TRUE(std::isnan(is)) << i;
    else
      EXPECT_TRUE(is == wanted && std::signbit(is) == std::signbit(wanted))
          << i << ": " << is << ", not " << wanted;
    if (!std::isfinite(wanted)) continue;
    const double next = value_of((i + 1) % 256, kFormats[i / 256]);
    const double middle = std::isfinite(next)
                              ? (wanted + next) / 2
                              : wanted + (wanted - value_of((i - 1) % 256, kFormats[i / 256])) / 2;
    // So close to the middle that a float would not tell.
    for (const double x : {wanted, middle, std::nextafter(middle, 0), std::nextafter(middle, 1e9)})
      inputs.push_back(x);
  }
  inputs.resize((inputs.size() + 63) / 64 * 64);

  const auto n = static_cast<uint32_t>(inputs.size());
  auto in = device.allocate<double>(n);
  auto saturated = device.allocate<uint8_t>(4 * n), unsaturated = device.allocate<uint8_t>(4 * n);
  auto fours = device.allocate<uint32_t>(n), same_fours = device.allocate<uint32_t>(n);
  for (unsigned i = 0; i < n; ++i) in[i] = inputs[i];
  const lockstep::Kernel kernel = code.kernel("encode");
  lockstep::Arguments arguments(kernel);
  arguments.set(0u, in).set(1u, saturated).set(2u, unsaturated).set(3u, fours).set(4u, same_fours);
  device.run(kernel, arguments, {n}, {64});
  for (unsigned i = 0; i < n; ++i) {
    for (unsigned k = 0; k < 4; ++k) {
      EXPECT_EQ(saturated[4 * i + k], code_of(inputs[i], kFormats[k], true))
          << inputs[i] << " in format " << k;
      EXPECT_EQ(unsaturated[4 * i + k], code_of(inputs[i], kFormats[k], false))
          << inputs[i] << " in format " << k;
    }
    EXPECT_EQ(fours[i], same_fours[i]) << inputs[i];
  }
}

}  // namespace
