// GOAL schedules from any bytes: read or refused with a line that exists. What is read can be written
// and read again, and drawn.
#include "workload/formats/goal_import.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "workload/formats/draw_schedule.h"
#include "workload/formats/goal_binary.h"
#include "workload/formats/goal_export.h"
#include "workload/formats/import_fuzzing.h"

namespace strack::workload {
namespace {

void check(std::string_view text) {
  const bool binary = is_goal_binary(text);
  const auto schedule = binary ? import_goal_binary(text) : import_goal(text);
  if (!schedule && binary) {
    STRACK_CHECK(schedule.error().message.starts_with("byte "));
    return;
  }
  if (!schedule) return check_error(schedule.error(), text);
  const Graph& graph = schedule.value().graph;
  check_graph(graph);
  const auto again = export_goal(graph);
  STRACK_CHECK(again.ok() || graph.size() == 0);
  if (!again) return;
  const auto twice = import_goal(again.value().text);
  STRACK_CHECK(twice.ok());
  STRACK_CHECK(twice.value().graph.size() == graph.size());
  STRACK_CHECK(twice.value().graph.bytes() == graph.bytes());
  const auto thrice = export_goal(twice.value().graph);
  STRACK_CHECK(thrice.ok());
  STRACK_CHECK(thrice.value().text.size() == again.value().text.size());
  const auto drawing = draw_schedule(graph, {.title = text});
  STRACK_CHECK(drawing.ok() || !drawing.error().message.empty());
}

}  // namespace
}  // namespace strack::workload

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  strack::workload::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
