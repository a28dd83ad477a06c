// Connection matrices from any bytes: read or refused with a line that exists. What is read can be
// written unless the format lacks words for it, and what is written is read again as it was.
#include "workload/formats/cm_import.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "workload/formats/cm_export.h"
#include "workload/formats/import_fuzzing.h"

namespace strack::workload {
namespace {

void check(std::string_view text, CmTime unit) {
  const auto matrix = import_cm(text, unit);
  if (!matrix) return check_error(matrix.error(), text);
  const Graph& graph = matrix.value().graph;
  check_graph(graph);
  // [D91] A large flow is several messages.
  STRACK_CHECK(matrix.value().flows + matrix.value().words <= graph.messages());
  const auto again = export_cm(graph, unit);
  if (!again) return;
  const auto twice = import_cm(again.value().text, unit);
  STRACK_CHECK(twice.ok());
  STRACK_CHECK(twice.value().words == 0);
  STRACK_CHECK(twice.value().graph.messages() == graph.messages());
  // Now nothing is left that the format says in another way.
  const auto thrice = export_cm(twice.value().graph, unit);
  STRACK_CHECK(thrice.ok());
  STRACK_CHECK(thrice.value().text == again.value().text);
}

}  // namespace
}  // namespace strack::workload

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  strack::workload::check(text, strack::workload::CmTime::picoseconds);
  strack::workload::check(text, strack::workload::CmTime::microseconds);
  return 0;
}
