// Connects to whichever of a name's addresses answers first.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "transfer/protection.h"
#include "udp/endpoint.h"

namespace strack::transfer {

/// The numeric addresses of "host:port" or "host" that may be connected to; without a key, those of this
/// host only. Or says what is wrong.
[[nodiscard]] Result<std::vector<std::string>, std::string> addresses_of(
    std::string_view host_and_port, const Protection& protection);

struct Dialled {
  udp::Endpoint endpoint;
  udp::Completion connected;  ///< names the connection, and has the peer's user_data
  std::string address;        ///< that answered
};

struct NotDialled {
  bool stopped = false;  ///< by the flag
  std::string mistake;   ///< no attempt could begin, and why; else empty
  std::string address;   ///< whose answer `status` is, or all of them if there was none
  udp::Status status = udp::Status::timed_out;
};

/// How long an address is alone before the next one is tried beside it.
inline constexpr std::chrono::milliseconds kNextAddressAfter{250};

/// Tries them in this order, each with an endpoint of its own, the next one when the last has failed or has
/// not answered for a while. The first that answers is kept. Each has the options' connect_timeout.
[[nodiscard]] Result<Dialled, NotDialled> dial(const std::vector<std::string>& addresses,
                                               const udp::EndpointOptions& options,
                                               const std::atomic<bool>& stop);

}  // namespace strack::transfer
