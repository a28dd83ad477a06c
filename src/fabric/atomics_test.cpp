#include "fabric/atomics.h"

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
  EXPECT_EQ(after<std::uint8_t>(FI_UINT8, FI_LOR, 0, 5), 1);
  EXPECT_EQ(after<std::uint8_t>(FI_UINT8, FI_LAND, 2, 5), 1);
  EXPECT_EQ(after<std::uint8_t>(FI_UINT8, FI_LXOR, 2, 5), 0);
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
  EXPECT_EQ(after<std::int64_t>(FI_INT64, FI_CSWAP, 4, 9, 4), 9);
  EXPECT_EQ(after<std::int64_t>(FI_INT64, FI_CSWAP, 4, 9, 5), 4);
  EXPECT_EQ(after<std::int64_t>(FI_INT64, FI_CSWAP_NE, 4, 9, 5), 9);
  EXPECT_EQ(after<std::int64_t>(FI_INT64, FI_CSWAP_LE, 4, 9, 4), 9);
  EXPECT_EQ(after<std::int64_t>(FI_INT64, FI_CSWAP_LT, 4, 9, 4), 4);
  EXPECT_EQ(after<std::int64_t>(FI_INT64, FI_CSWAP_GE, 4, 9, 3), 4);
  EXPECT_EQ(after<std::int64_t>(FI_INT64, FI_CSWAP_GT, 4, 9, 5), 9);
  EXPECT_EQ(after<std::int64_t>(FI_INT64, FI_MSWAP, 0xf0, 0x0f, 0x03), 0xf3);
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
  EXPECT_TRUE(is_atomic(FI_INT8, FI_MSWAP, AtomicKind::compare));
  EXPECT_FALSE(is_atomic(FI_FLOAT, FI_BAND, AtomicKind::plain));
  EXPECT_FALSE(is_atomic(FI_FLOAT_COMPLEX, FI_MIN, AtomicKind::plain));
  EXPECT_FALSE(is_atomic(FI_DATATYPE_LAST, FI_SUM, AtomicKind::plain));
  EXPECT_EQ(size_of(FI_LONG_DOUBLE_COMPLEX), 2 * sizeof(long double));
  EXPECT_EQ(size_of(FI_VOID), 0u);
}

}  // namespace
}  // namespace strack::fabric
