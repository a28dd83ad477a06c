// Who sends what to whom, and when. A workload is made whole before a run and is the same for every
// transport.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"

namespace strack::workload {

using HostId = std::uint32_t;

/// One message on a connection of its own.
struct Flow {
  HostId src = 0;
  HostId dst = 0;
  Bytes size{0};    ///< at most 2^32 - 1 bytes
  Instant start{};  ///< when the message is ready to be sent
};

using Flows = std::vector<Flow>;

}  // namespace strack::workload
