// [D74] What all connections by the same ways know of them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "transports/strack/path_health.h"
#include "transports/strack/udp_patience.h"
#include "udp/transport.h"

namespace strack::udp {

/// What core::PathHealth works on.
struct SharedPaths final : KnownPaths {
  explicit SharedPaths(std::uint32_t count) : records(count) {}
  std::vector<core::PathRecord> records;
  core::PathKnowledge knowledge;
  Patience patience;  ///< [D166] with the process behind them

  /// Those of the others, if they have as many paths; otherwise new ones, for others to come if there are none.
  [[nodiscard]] static std::shared_ptr<SharedPaths> of(std::weak_ptr<KnownPaths>& known,
                                                       std::uint32_t count) {
    auto paths = std::static_pointer_cast<SharedPaths>(known.lock());
    if (paths && paths->records.size() == count) return paths;
    paths = std::make_shared<SharedPaths>(count);
    if (known.expired()) known = paths;
    return paths;
  }
};

}  // namespace strack::udp
