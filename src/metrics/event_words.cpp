// What the result file calls the events of a flow.
#include <cstddef>

#include "metrics/result_file.h"
#include "metrics/tables.h"

namespace strack::metrics {

std::string_view to_text(EventKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  return index < kEventKinds.size() ? kEventKinds[index] : "unknown";
}

std::string_view to_text(LossCause cause) {
  const auto index = static_cast<std::size_t>(cause);
  return index < kLossCauses.size() ? kLossCauses[index] : "unknown";
}

}  // namespace strack::metrics
