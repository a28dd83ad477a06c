// Which routers are on the ways to an address: datagrams that may go so many hops only, from many source ports, and who
// says that they have died. Switches that spread flows by their ports send them by as many ways as they have.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace strack::cli {

/// By distance, from 1; each once. Ends where nobody answers: at the peer, or at routers that keep silent. `address` is
/// numeric with a port, as udp::resolve gives it. Takes up to a third of a second for each hop, and needs no rights.
[[nodiscard]] std::vector<std::vector<std::string>> routers_to(const std::string& address,
                                                               std::size_t ports);

}  // namespace strack::cli
