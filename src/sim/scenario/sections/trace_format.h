// The key `format` of a trace.
#pragma once

#include <cstdint>

namespace strack::sim {

/// workload::TraceFormat, or by the file's name.
enum class TraceFormatKey : std::uint8_t { automatic, cm, goal, chakra };

}  // namespace strack::sim
