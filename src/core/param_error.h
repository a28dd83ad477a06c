// Why a protocol's parameters make no sense.
#pragma once

#include <cstdint>

namespace strack::core {

/// The field, what it was, what would work.
struct ParamError {
  const char* field;
  std::int64_t value;
  const char* remedy;
};

}  // namespace strack::core
