#include "fabric/atomics.h"

#include <array>
#include <complex>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

namespace strack::fabric {
namespace {

template <class T>
T after(fi_datatype type, fi_op op, T there, T operand, T compare = {}) {
  T before{};
  const auto bytes = [](T& value) { return reinterpret_cast<std::byte*>(&value); };
  const T old = there;
  apply_atomic(type, op, 1, bytes(there), bytes(operand), bytes(compare), bytes(before));
  EXPECT_EQ(before, old);
  return there;
}

TEST(Atomics, EachOperation) {
  EXPECT_EQ(after<std::int32_t>(FI_INT32, FI_MIN, 3, -5), -5);
  EXPECT_EQ(after<std::int32_t>(FI_INT32, FI_MAX, 3, -5), 3);
  EXPECT_EQ(after<std::int32_t>(FI_INT32, FI_SUM, 3, -5), -2);
  EXPECT_EQ(after<std::int32_t>(FI_INT32, FI_PROD, 3, -5), -15);
  for (const std::uint8_t a : std::array<std::uint8_t, 2>{0, 2}) {
    for (const std::uint8_t b : std::array<std::uint8_t, 2>{0, 5}) {
      EXPECT_EQ(after<std::uint8_t>(FI_UINT8, FI_LOR, a, b), a != 0 || b != 0);
      EXPECT_EQ(after<std::uint8_t>(FI_UINT8, FI_LAND, a, b), a != 0 && b != 0);
      EXPECT_EQ(after<std::uint8_t>(FI_UINT8, FI_LXOR, a, b), (a != 0) != (b != 0));
    }
  }
  EXPECT_EQ(after<std::uint8_t>(FI_UINT8, FI_BOR, 6, 5), 7);
  EXPECT_EQ(after<std::uint8_t>(FI_UINT8, FI_BAND, 6, 5), 4);
  EXPECT_EQ(after<std::uint8_t>(FI_UINT8, FI_BXOR, 6, 5), 3);
  EXPECT_EQ(after<double>(FI_DOUBLE, FI_SUM, 1.5, 2), 3.5);
  EXPECT_EQ(after<float>(FI_FLOAT, FI_ATOMIC_WRITE, 1, 2), 2.0F);
  EXPECT_EQ(after<float>(FI_FLOAT, FI_ATOMIC_READ, 1, 2), 1.0F);
  using Complex = std::complex<double>;
  EXPECT_EQ(after<Complex>(FI_DOUBLE_COMPLEX, FI_PROD, {0, 1}, {0, 1}), Complex(-1, 0));
}

// What is given goes there when what is compared stands so to what is there.
TEST(Atomics, Swaps) {
  struct Swapped {
    fi_op op;
    bool less, same, more;  ///< whether it does when what is compared is
  };
  for (const Swapped& one :
       {Swapped{FI_CSWAP, false, true, false}, Swapped{FI_CSWAP_NE, true, false, true},
        Swapped{FI_CSWAP_LE, true, true, false}, Swapped{FI_CSWAP_LT, true, false, false},
        Swapped{FI_CSWAP_GE, false, true, true}, Swapped{FI_CSWAP_GT, false, false, true}}) {
    EXPECT_EQ(after<std::int64_t>(FI_INT64, one.op, 4, 9, -3), one.less ? 9 : 4) << one.op;
    EXPECT_EQ(after<std::int64_t>(FI_INT64, one.op, 4, 9, 4), one.same ? 9 : 4) << one.op;
    EXPECT_EQ(after<std::int64_t>(FI_INT64, one.op, 4, 9, 5), one.more ? 9 : 4) << one.op;
  }
  EXPECT_EQ(after<std::int64_t>(FI_INT64, FI_MSWAP, 0xf0, 0x0f, 0x03), 0xf3);
}

// Each value meets its own operand and its own comparison.
TEST(Atomics, SeveralValues) {
  std::array<std::int16_t, 3> there{1, 2, 3};
  std::array<std::int16_t, 3> operand{10, 20, 30};
  std::array<std::int16_t, 3> compare{1, 0, 3};
  std::array<std::int16_t, 3> before{};
  const auto bytes = [](auto& values) { return reinterpret_cast<std::byte*>(values.data()); };
  apply_atomic(FI_INT16, FI_CSWAP, 3, bytes(there), bytes(operand), bytes(compare), bytes(before));
  EXPECT_EQ(there, (std::array<std::int16_t, 3>{10, 2, 30}));
  EXPECT_EQ(before, (std::array<std::int16_t, 3>{1, 2, 3}));
  apply_atomic(FI_INT16, FI_SUM, 2, bytes(there), bytes(operand), nullptr, nullptr);
  EXPECT_EQ(there, (std::array<std::int16_t, 3>{20, 22, 30})) << "two of them";
}

/// Of its own width, and with a sign or without.
template <class T>
void expect_type(fi_datatype type) {
  EXPECT_EQ(size_of(type), sizeof(T));
  const T most = std::numeric_limits<T>::max();
  const auto minus_one = static_cast<T>(-1);
  EXPECT_EQ(after<T>(type, FI_SUM, most, minus_one), static_cast<T>(most + minus_one)) << type;
  EXPECT_EQ(after<T>(type, FI_MAX, minus_one, 1), minus_one < T{1} ? T{1} : minus_one) << type;
  EXPECT_EQ(after<T>(type, FI_ATOMIC_WRITE, 1, most), most) << type;
}

TEST(Atomics, EachType) {
  expect_type<std::int8_t>(FI_INT8);
  expect_type<std::uint8_t>(FI_UINT8);
  expect_type<std::int16_t>(FI_INT16);
  expect_type<std::uint16_t>(FI_UINT16);
  expect_type<std::int32_t>(FI_INT32);
  expect_type<std::uint32_t>(FI_UINT32);
  expect_type<std::int64_t>(FI_INT64);
  expect_type<std::uint64_t>(FI_UINT64);
  expect_type<float>(FI_FLOAT);
  expect_type<double>(FI_DOUBLE);
  expect_type<long double>(FI_LONG_DOUBLE);
}

// Sums and products wrap around.
TEST(Atomics, NumbersWrapAround) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(after<std::int64_t>(FI_INT64, FI_SUM, kMost, 1),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(after<std::int8_t>(FI_INT8, FI_PROD, 100, 100), 16);
  EXPECT_EQ(after<std::uint16_t>(FI_UINT16, FI_PROD, 65'535, 65'535), 1);
}

TEST(Atomics, OnlyWhatMakesSense) {
  EXPECT_TRUE(is_atomic(FI_INT8, FI_SUM, AtomicKind::plain));
  EXPECT_FALSE(is_atomic(FI_INT8, FI_ATOMIC_READ, AtomicKind::plain)) << "it would tell nobody";
  EXPECT_TRUE(is_atomic(FI_INT8, FI_ATOMIC_READ, AtomicKind::fetch));
  EXPECT_FALSE(is_atomic(FI_INT8, FI_CSWAP, AtomicKind::fetch));
  EXPECT_FALSE(is_atomic(FI_INT8, FI_SUM, AtomicKind::compare));
  EXPECT_TRUE(is_atomic(FI_INT8, FI_MSWAP, AtomicKind::compare));
  EXPECT_FALSE(is_atomic(FI_FLOAT, FI_BAND, AtomicKind::plain));
  EXPECT_FALSE(is_atomic(FI_FLOAT_COMPLEX, FI_MIN, AtomicKind::plain));
  EXPECT_FALSE(is_atomic(FI_DATATYPE_LAST, FI_SUM, AtomicKind::plain));
  EXPECT_EQ(size_of(FI_LONG_DOUBLE_COMPLEX), 2 * sizeof(long double));
  EXPECT_EQ(size_of(FI_VOID), 0u);
}

}  // namespace
}  // namespace strack::fabric
