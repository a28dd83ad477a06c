// A network from a file, to be drawn: its switches in levels, hosts counted, links between two switches as one. From the links in a
// result file, since the network's own file may be gone. For scenario.cpp.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "metrics/result_file.h"
#include "report/model.h"

namespace strack::report {

/// Whether the run's network is one from a file.
[[nodiscard]] bool is_graph(const metrics::RunInfo& run);

/// A level is how many links a switch is from one with hosts. Those of a level stand in the order in which the hosts are that
/// they lead to. Where most links are within levels, as in a dragonfly, all switches stand in a ring. Of more than fit
/// on a page, the first of each level, the last, and those of `troubles` are kept, which get the ends of the links that they name.
/// Nothing without links.
[[nodiscard]] std::optional<TopologyFigure> graph_topology(FigureHead head,
                                                           const metrics::RunInfo& run,
                                                           std::span<const metrics::LinkInfo> links,
                                                           std::vector<Trouble> troubles);

}  // namespace strack::report
