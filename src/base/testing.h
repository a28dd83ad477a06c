// How GoogleTest shows our quantities, so that a failed EXPECT_EQ prints "4096" and not eight
// bytes. Every test that compares them includes this file; nothing else does.
#pragma once

#include <ostream>

#include "base/serial.h"
#include "base/units.h"

namespace strack {

namespace detail {
template <class Tag>
void PrintTo(const Quantity<Tag>& quantity, std::ostream* out) {
  *out << quantity.count();
}
}  // namespace detail

inline void PrintTo(const Ratio& ratio, std::ostream* out) {
  *out << ratio.num << '/' << ratio.den;
}
inline void PrintTo(const Instant& instant, std::ostream* out) { *out << instant.ps << " ps"; }

template <class Tag>
void PrintTo(const Serial<Tag>& serial, std::ostream* out) {
  *out << serial.value;
}

}  // namespace strack
