// All kernels that rocBLAS has for a product of matrices, one after the other, against the host's result:
//   library_product TYPE OPERATIONS M N K      such as hpa TN 144 80 72
// TYPE: f32, f64, c32, c64 (complex), i8 (sums in 32 bits), f16, hpa (f16, sums in f32), hss (f16, sums and
// result in f32), bf16 (sums in f32), bss. OPERATIONS, of A and of B: N (none), T (transposed), C
// (conjugated, too). The library is loaded when the program starts, so that it needs no headers of it.
#include <dlfcn.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string_view>
#include <vector>

#include "check.h"

namespace {

using Complex = std::complex<double>;

// rocblas_datatype
enum Format { f16 = 150, f32 = 151, f64 = 152, c32 = 154, c64 = 155, i8 = 160, i32 = 162, bf16 = 168 };

// Operands are small integers, so that all sums are exact, but in 16 bits: WMMA of gfx11 does not add exactly
// (AMD's own tests of rocBLAS allow for it on gfx11 alone), and results of 16 bits are rounded.
struct Type {
  std::string_view name;
  Format operand, result, sum;
  double rounding, of_each_term;  // what a result may be off, of itself or of 1
};
constexpr Type kTypes[] = {
    {"f32", f32, f32, f32, 0, 0},    {"f64", f64, f64, f64, 0, 0},    {"c32", c32, c32, c32, 0, 0},
    {"c64", c64, c64, c64, 0, 0},    {"i8", i8, i32, i32, 0, 0},      {"f16", f16, f16, f16, 0, 1.5e-4},
    {"hpa", f16, f16, f32, 0, 2e-6}, {"hss", f16, f32, f32, 0, 2e-6}, {"bf16", bf16, bf16, f32, 5e-3, 2e-6},
    {"bss", bf16, f32, f32, 0, 2e-6}};

size_t bytes(Format format) {
  switch (format) {
    case i8:
      return 1;
    case f16:
    case bf16:
      return 2;
    case f32:
    case i32:
      return 4;
    case f64:
    case c32:
      return 8;
    case c64:
      return 16;
  }
  std::abort();
}

template <class T>
void put_as(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}
template <class T>
T get_as(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

void put(std::byte* to, Format format, Complex value) {
  const double real = value.real();
  switch (format) {
    case i8:
      return put_as(to, static_cast<int8_t>(real));
    case i32:
      return put_as(to, static_cast<int32_t>(real));
    case f16:
      return put_as(to, static_cast<_Float16>(real));
    case bf16: {
      const float wide = static_cast<float>(real);
      uint32_t bits;
      std::memcpy(&bits, &wide, sizeof bits);
      return put_as(to, static_cast<uint16_t>(bits >> 16));
    }
    case f32:
      return put_as(to, static_cast<float>(real));
    case f64:
      return put_as(to, real);
    case c32:
      return put_as(to, std::complex<float>(value));
    case c64:
      return put_as(to, value);
  }
}
Complex get(const std::byte* from, Format format) {
  switch (format) {
    case i8:
      return get_as<int8_t>(from);
    case i32:
      return get_as<int32_t>(from);
    case f16:
      return static_cast<double>(get_as<_Float16>(from));
    case bf16: {
      const uint32_t bits = uint32_t{get_as<uint16_t>(from)} << 16;
      return get_as<float>(reinterpret_cast<const std::byte*>(&bits));
    }
    case f32:
      return get_as<float>(from);
    case f64:
      return get_as<double>(from);
    case c32:
      return Complex(get_as<std::complex<float>>(from));
    case c64:
      return get_as<Complex>(from);
  }
  std::abort();
}

// Columns stand one behind the other.
struct Matrix {
  Format format;
  size_t rows, columns;
  std::vector<std::byte> data = std::vector<std::byte>(bytes(format) * rows * columns);

  std::byte* at(size_t row, size_t column) { return data.data() + bytes(format) * (row + column * rows); }
  Complex value(size_t row, size_t column) { return get(at(row, column), format); }
  // What stands there in the matrix that `operation` makes of this one.
  Complex value(char operation, size_t row, size_t column) {
    if (operation == 'N') return value(row, column);
    return operation == 'T' ? value(column, row) : std::conj(value(column, row));
  }
  void fill(std::mt19937& random) {
    std::uniform_int_distribution<int> small(-2, 2);
    const bool complex = format == c32 || format == c64;
    for (size_t column = 0; column < columns; ++column)
      for (size_t row = 0; row < rows; ++row) {
        const int real = small(random);
        put(at(row, column), format, Complex(real, complex ? small(random) : 0));
      }
  }
  std::byte* copied() {
    std::byte* device;
    CHECK(hipMalloc(&device, data.size()));
    CHECK(hipMemcpy(device, data.data(), data.size(), hipMemcpyHostToDevice));
    return device;
  }
};

using Create = int(void**);
using Product = int(void* handle, int operation_a, int operation_b, int m, int n, int k, const void* alpha,
                    const void* a, int a_type, int lda, const void* b, int b_type, int ldb, const void* beta,
                    const void* c, int c_type, int ldc, void* d, int d_type, int ldd, int compute_type,
                    int algorithm, int32_t solution, uint32_t flags);
using Solutions = int(void* handle, int operation_a, int operation_b, int m, int n, int k, const void* alpha,
                      const void* a, int a_type, int lda, const void* b, int b_type, int ldb,
                      const void* beta, const void* c, int c_type, int ldc, void* d, int d_type, int ldd,
                      int compute_type, int algorithm, uint32_t flags, int* list, int* size);

template <class Function>
Function* function(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found == nullptr) std::printf("rocBLAS has no %s\n", name), std::exit(1);
  return reinterpret_cast<Function*>(found);
}

int operation_code(char operation) {
  return operation == 'N' ? 111 : operation == 'T' ? 112 : 113;
}

}  // namespace

int main(int count, char** arguments) {
  const Type* type = std::end(kTypes);
  if (count == 6)
    type = std::find_if(std::begin(kTypes), std::end(kTypes),
                        [&](const Type& t) { return t.name == arguments[1]; });
  if (type == std::end(kTypes) || std::strlen(arguments[2]) != 2) {
    std::printf("usage: library_product TYPE OPERATIONS M N K\n");
    return 2;
  }
  void* library = dlopen("librocblas.so.4", RTLD_NOW);
  if (library == nullptr) library = dlopen("librocblas.so.0", RTLD_NOW);
  if (library == nullptr) {
    std::printf("%s\n", dlerror());
    return 2;
  }
  const char operation_a = arguments[2][0], operation_b = arguments[2][1];
  const int m = std::atoi(arguments[3]), n = std::atoi(arguments[4]), k = std::atoi(arguments[5]);
  const auto shaped = [](Format format, char operation, size_t rows, size_t columns) {
    return operation == 'N' ? Matrix{format, rows, columns} : Matrix{format, columns, rows};
  };
  Matrix a = shaped(type->operand, operation_a, m, k), b = shaped(type->operand, operation_b, k, n);
  Matrix before{type->result, static_cast<size_t>(m), static_cast<size_t>(n)};
  std::mt19937 random;
  for (Matrix* matrix : {&a, &b, &before}) matrix->fill(random);
  std::vector<Complex> expected;
  for (int column = 0; column < n; ++column)
    for (int row = 0; row < m; ++row) {
      Complex sum = 2.0 * before.value(row, column);
      for (int i = 0; i < k; ++i) sum += a.value(operation_a, row, i) * b.value(operation_b, i, column);
      expected.push_back(sum);
    }

  void* handle;
  if (const int status = function<Create>(library, "rocblas_create_handle")(&handle); status != 0) {
    std::printf("rocblas_create_handle: %d\n", status);
    return 1;
  }
  std::byte *const da = a.copied(), *const db = b.copied(), *const dc = before.copied();
  std::byte alpha[16], beta[16];
  put(alpha, type->sum, 1);
  put(beta, type->sum, 2);
  const auto call = [&](auto* of, auto... rest) {
    return of(handle, operation_code(operation_a), operation_code(operation_b), m, n, k, alpha, da,
              type->operand, static_cast<int>(a.rows), db, type->operand, static_cast<int>(b.rows), beta, dc,
              type->result, m, dc, type->result, m, type->sum, rest...);
  };
  constexpr int kBySolution = 1;  // rocblas_gemm_algo_solution_index
  auto* const solutions = function<Solutions>(library, "rocblas_gemm_ex_get_solutions");
  int size = 0;
  if (const int status = call(solutions, kBySolution, 0u, nullptr, &size); status != 0) {
    std::printf("rocblas_gemm_ex_get_solutions: %d\n", status);
    return 1;
  }
  std::vector<int> all(size);
  call(solutions, kBySolution, 0u, all.data(), &size);
  std::sort(all.begin(), all.end());
  std::printf("%s %s, %d x %d x %d: %d solutions\n", arguments[1], arguments[2], m, n, k, size);
  const double tolerance = type->rounding + k * type->of_each_term;
  bool bad = size == 0;
  Matrix result = before;
  auto* const product = function<Product>(library, "rocblas_gemm_ex");
  for (const int solution : all) {
    CHECK(hipMemcpy(dc, before.data.data(), before.data.size(), hipMemcpyHostToDevice));
    if (const int status = call(product, kBySolution, solution, 0u); status != 0) {
      std::printf("%d: refused, %d\n", solution, status);
      continue;
    }
    CHECK(hipDeviceSynchronize());
    CHECK(hipMemcpy(result.data.data(), dc, result.data.size(), hipMemcpyDeviceToHost));
    size_t wrong = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      const Complex got = get(result.data.data() + i * bytes(type->result), type->result);
      // A NaN is wrong, too.
      wrong += !(std::abs(got - expected[i]) <= tolerance * std::max(1.0, std::abs(expected[i])));
    }
    if (wrong == 0)
      std::printf("%d: right\n", solution);
    else
      std::printf("%d: %zu of %zu wrong: FAIL\n", solution, wrong, expected.size());
    bad |= wrong != 0;
  }
  return bad ? 1 : 0;
}
