// A graph of messages as one of htsim's connection matrices (cm_import.h has the format).
//
// Every message becomes a line. Messages of one channel are told apart by `msg`, which old versions of
// htsim do not know: for those every line can have an id of its own, which is a connection of its own.
// What a message waits for becomes one trigger: oneshot for one event, a barrier for several. A connection fires one trigger when it is sent and one when it
// is received, so an event that two different sets of waits share cannot be said; neither can times of
// computation, nor a start time together with waits. A computation without length and a wait for
// another node's start are said by what those wait for.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "workload/amount.h"
#include "workload/formats/cm_import.h"
#include "workload/graph.h"

namespace strack::workload {

/// Whether messages of one channel share a connection in the text, too.
enum class CmConnections : std::uint8_t { shared, own };

struct CmExport {
  std::string text;
  /// Messages without bytes. They are written with one, since there size 0 is a flow without end.
  std::uint32_t words = 0;
};

/// The text, or what the format has no words for. The error has no line.
[[nodiscard]] Result<CmExport, TextError> export_cm(
    const Graph& graph, CmTime start_unit, CmConnections connections = CmConnections::shared);

}  // namespace strack::workload
