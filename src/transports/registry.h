// All transports of this program. The build makes the list of the folders in src/transports that
// have a descriptor.cpp.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "transports/descriptor.h"

namespace strack::transports {

/// By rank, then by name.
[[nodiscard]] std::span<const Descriptor* const> all();

/// A scheme with its transport; both null for a name that nobody has.
struct Found {
  const Descriptor* transport = nullptr;
  const Scheme* scheme = nullptr;
};
[[nodiscard]] Found find(std::string_view scheme);

/// The names of all schemes, in the order of all().
[[nodiscard]] std::span<const std::string_view> scheme_names();

/// The roles of all transports, in the order of all(), with colours settled: each has the one it asks
/// for, the others take what is left, in order. Only beyond as many roles as colours do two share one.
[[nodiscard]] std::span<const Role> roles();

/// "blue"; `any` is "any".
[[nodiscard]] std::string_view name_of(Colour colour);

/// As the build found them; generated.
[[nodiscard]] std::vector<const Descriptor*> collected();

}  // namespace strack::transports
