// European option prices by the closed formula; the normal distribution function is the five-term polynomial of
// Abramowitz and Stegun 26.2.17. Full-precision exp, log and sqrt of the device library.
#pragma OPENCL FP_CONTRACT OFF

float normal_distribution(float x) {
  const float magnitude = fabs(x);
  const float k = 1.0f / fma(0.2316419f, magnitude, 1.0f);
  float polynomial = fma(k, 1.330274429f, -1.821255978f);
  polynomial = fma(k, polynomial, 1.781477937f);
  polynomial = fma(k, polynomial, -0.356563782f);
  polynomial = fma(k, polynomial, 0.319381530f);
  const float tail = 0.39894228f * exp(-0.5f * x * x) * (k * polynomial);
  return x >= 0.0f ? 1.0f - tail : tail;
}

__kernel void black_scholes(__global const float* restrict spot, __global const float* restrict strike,
                            __global const float* restrict years, __global float* restrict call,
                            __global float* restrict put, float rate, float volatility) {
  const size_t i = get_global_id(0);
  const float deviation = volatility * sqrt(years[i]);
  const float d1 = (log(spot[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / deviation;
  const float d2 = d1 - deviation;
  const float discounted = strike[i] * exp(-rate * years[i]);
  call[i] = spot[i] * normal_distribution(d1) - discounted * normal_distribution(d2);
  put[i] = discounted * normal_distribution(-d2) - spot[i] * normal_distribution(-d1);
}
