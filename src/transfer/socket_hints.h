// What the system did not give an endpoint, and what would: a sentence each.
#pragma once

#include <string>
#include <vector>

#include "udp/endpoint.h"

namespace strack::transfer {

/// Of a side that receives much.
void add_receive_hints(std::vector<std::string>& out, const udp::SocketLimits& limits);
/// Of one that sends.
void add_send_hints(std::vector<std::string>& out, const udp::SocketLimits& limits);
/// `paths`: of the endpoint, in each of its threads.
void add_sharing_hints(std::vector<std::string>& out, const udp::SocketLimits& limits,
                       std::uint32_t paths);

}  // namespace strack::transfer
