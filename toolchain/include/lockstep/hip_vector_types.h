// HIP's vector types, with the layout that ROCm's have: three elements take the room of three, and elements
// have addresses.
#pragma once

#define LOCKSTEP_BOTH __host__ __device__ inline __attribute__((always_inline))

namespace lockstep_hip {
template <class T, unsigned n>
struct VectorElements;
template <class T>
struct VectorElements<T, 1> {
  T x;
};
template <class T>
struct alignas(2 * sizeof(T)) VectorElements<T, 2> {
  T x, y;
};
template <class T>
struct VectorElements<T, 3> {
  T x, y, z;
};
template <class T>
struct alignas(4 * sizeof(T)) VectorElements<T, 4> {
  T x, y, z, w;
};
template <bool condition>
struct EnableIf {};
template <>
struct EnableIf<true> {
  using Type = int;
};
template <class T, class U>
inline constexpr bool is_convertible = __is_convertible(U, T);
}  // namespace lockstep_hip

template <class T, unsigned n>
struct HIP_vector_type : lockstep_hip::VectorElements<T, n> {
  using value_type = T;
  using Elements = lockstep_hip::VectorElements<T, n>;

  HIP_vector_type() = default;
  template <class U, typename lockstep_hip::EnableIf<lockstep_hip::is_convertible<T, U>>::Type = 0>
  constexpr LOCKSTEP_BOTH HIP_vector_type(U value) : Elements(all(static_cast<T>(value))) {}
  template <class U, class... More,
            typename lockstep_hip::EnableIf<(n > 1 && sizeof...(More) + 1 == n)>::Type = 0>
  constexpr LOCKSTEP_BOTH HIP_vector_type(U first, More... more)
      : Elements{static_cast<T>(first), static_cast<T>(more)...} {}

  constexpr LOCKSTEP_BOTH T& operator[](unsigned i) { return i == 0 ? this->x : other(*this, i); }
  constexpr LOCKSTEP_BOTH const T& operator[](unsigned i) const { return i == 0 ? this->x : other(*this, i); }

  // Each operator for vectors, and for a vector and what its elements can be made of.
#define LOCKSTEP_COMPOUND(op)                                                       \
  constexpr LOCKSTEP_BOTH HIP_vector_type& operator op(const HIP_vector_type & b) { \
    this->x op b.x;                                                                 \
    if constexpr (n > 1) this->y op b.y;                                            \
    if constexpr (n > 2) this->z op b.z;                                            \
    if constexpr (n > 3) this->w op b.w;                                            \
    return *this;                                                                   \
  }
  LOCKSTEP_COMPOUND(+=)
  LOCKSTEP_COMPOUND(-=)
  LOCKSTEP_COMPOUND(*=)
  LOCKSTEP_COMPOUND(/=)
  LOCKSTEP_COMPOUND(%=)
  LOCKSTEP_COMPOUND(&=)
  LOCKSTEP_COMPOUND(|=)
  LOCKSTEP_COMPOUND(^=)
  LOCKSTEP_COMPOUND(<<=)
  LOCKSTEP_COMPOUND(>>=)
#undef LOCKSTEP_COMPOUND

  constexpr LOCKSTEP_BOTH HIP_vector_type& operator++() { return *this += T(1); }
  constexpr LOCKSTEP_BOTH HIP_vector_type& operator--() { return *this -= T(1); }
  constexpr LOCKSTEP_BOTH HIP_vector_type operator++(int) {
    const HIP_vector_type old = *this;
    ++*this;
    return old;
  }
  constexpr LOCKSTEP_BOTH HIP_vector_type operator--(int) {
    const HIP_vector_type old = *this;
    --*this;
    return old;
  }
  constexpr LOCKSTEP_BOTH HIP_vector_type operator-() const {
    HIP_vector_type out = *this;
    out.x = -out.x;
    if constexpr (n > 1) out.y = -out.y;
    if constexpr (n > 2) out.z = -out.z;
    if constexpr (n > 3) out.w = -out.w;
    return out;
  }
  constexpr LOCKSTEP_BOTH HIP_vector_type operator~() const { return HIP_vector_type(T(-1)) ^= *this; }

 private:
  static constexpr LOCKSTEP_BOTH Elements all(T value) {
    if constexpr (n == 1) return {value};
    if constexpr (n == 2) return {value, value};
    if constexpr (n == 3) return {value, value, value};
    if constexpr (n == 4) return {value, value, value, value};
  }
  template <class Self>
  static constexpr LOCKSTEP_BOTH auto& other(Self& self, unsigned i) {
    if constexpr (n == 1) return self.x;
    if constexpr (n == 2) return self.y;
    if constexpr (n == 3) return i == 1 ? self.y : self.z;
    if constexpr (n == 4) return i == 1 ? self.y : i == 2 ? self.z : self.w;
  }
};

#define LOCKSTEP_BINARY(op)                                                                        \
  template <class T, unsigned n>                                                                   \
  constexpr LOCKSTEP_BOTH HIP_vector_type<T, n> operator op(const HIP_vector_type<T, n>& a,        \
                                                            const HIP_vector_type<T, n>& b) {      \
    return HIP_vector_type<T, n>(a) op## = b;                                                      \
  }                                                                                                \
  template <class T, unsigned n, class U,                                                          \
            typename lockstep_hip::EnableIf<lockstep_hip::is_convertible<T, U>>::Type = 0>         \
  constexpr LOCKSTEP_BOTH HIP_vector_type<T, n> operator op(const HIP_vector_type<T, n>& a, U b) { \
    return HIP_vector_type<T, n>(a) op## = HIP_vector_type<T, n>(b);                               \
  }                                                                                                \
  template <class T, unsigned n, class U,                                                          \
            typename lockstep_hip::EnableIf<lockstep_hip::is_convertible<T, U>>::Type = 0>         \
  constexpr LOCKSTEP_BOTH HIP_vector_type<T, n> operator op(U a, const HIP_vector_type<T, n>& b) { \
    return HIP_vector_type<T, n>(a) op## = b;                                                      \
  }
LOCKSTEP_BINARY(+)
LOCKSTEP_BINARY(-)
LOCKSTEP_BINARY(*)
LOCKSTEP_BINARY(/)
LOCKSTEP_BINARY(%)
LOCKSTEP_BINARY(&)
LOCKSTEP_BINARY(|)
LOCKSTEP_BINARY(^)
LOCKSTEP_BINARY(<<)
LOCKSTEP_BINARY(>>)
#undef LOCKSTEP_BINARY

template <class T, unsigned n>
constexpr LOCKSTEP_BOTH bool operator==(const HIP_vector_type<T, n>& a, const HIP_vector_type<T, n>& b) {
  bool equal = a.x == b.x;
  if constexpr (n > 1) equal = equal && a.y == b.y;
  if constexpr (n > 2) equal = equal && a.z == b.z;
  if constexpr (n > 3) equal = equal && a.w == b.w;
  return equal;
}
template <class T, unsigned n>
constexpr LOCKSTEP_BOTH bool operator!=(const HIP_vector_type<T, n>& a, const HIP_vector_type<T, n>& b) {
  return !(a == b);
}

#define LOCKSTEP_VECTORS(T, name)                                             \
  using name##1 = HIP_vector_type<T, 1>;                                      \
  using name##2 = HIP_vector_type<T, 2>;                                      \
  using name##3 = HIP_vector_type<T, 3>;                                      \
  using name##4 = HIP_vector_type<T, 4>;                                      \
  static constexpr LOCKSTEP_BOTH name##1 make_##name##1(T x) {                \
    return name##1(x);                                                        \
  }                                                                           \
  static constexpr LOCKSTEP_BOTH name##2 make_##name##2(T x, T y) {           \
    return name##2(x, y);                                                     \
  }                                                                           \
  static constexpr LOCKSTEP_BOTH name##3 make_##name##3(T x, T y, T z) {      \
    return name##3(x, y, z);                                                  \
  }                                                                           \
  static constexpr LOCKSTEP_BOTH name##4 make_##name##4(T x, T y, T z, T w) { \
    return name##4(x, y, z, w);                                               \
  }
LOCKSTEP_VECTORS(signed char, char)
LOCKSTEP_VECTORS(unsigned char, uchar)
LOCKSTEP_VECTORS(short, short)
LOCKSTEP_VECTORS(unsigned short, ushort)
LOCKSTEP_VECTORS(int, int)
LOCKSTEP_VECTORS(unsigned int, uint)
LOCKSTEP_VECTORS(long, long)
LOCKSTEP_VECTORS(unsigned long, ulong)
LOCKSTEP_VECTORS(long long, longlong)
LOCKSTEP_VECTORS(unsigned long long, ulonglong)
LOCKSTEP_VECTORS(float, float)
LOCKSTEP_VECTORS(double, double)
#undef LOCKSTEP_VECTORS
#undef LOCKSTEP_BOTH
