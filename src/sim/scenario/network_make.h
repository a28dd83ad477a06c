// Networks of well-known shapes as the text of a .net file (network_file.h): a start for one's own.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "workload/amount.h"

namespace strack::sim {

/// Of all links, unless the shape says otherwise.
struct LinkFigures {
  BitsPerSecond rate = gbps(400);
  Picoseconds latency = ns(500);
};

/// Groups of routers that are all linked to each other; so are groups, by the routers' global links, in turn.
/// `plus`: a group is a leaf-spine network, and its spines have the global links.
struct DragonflyParams {
  std::uint32_t groups = 9;
  std::uint32_t routers = 4;  ///< of a group; `plus`: its leaves, and as many spines
  std::uint32_t hosts = 2;    ///< of a router, or leaf
  std::uint32_t globals = 2;  ///< links of a router, or spine, to other groups
  bool plus = false;
  LinkFigures links;
  Picoseconds global_latency = us(1);
};
[[nodiscard]] Result<std::string, workload::TextError> make_dragonfly(
    const DragonflyParams& params);

/// NICs with several ports, each in a leaf-spine network of its own. A NIC is a switch with one host, whose
/// link to it is as fast as all its ports.
struct PlanesParams {
  std::uint32_t planes = 2;
  std::uint32_t leaves = 4;  ///< of a plane
  std::uint32_t hosts = 4;   ///< of a leaf
  std::uint32_t spines = 4;  ///< of a plane
  LinkFigures links;         ///< of a port, and above
};
[[nodiscard]] Result<std::string, workload::TextError> make_planes(const PlanesParams& params);

}  // namespace strack::sim
