// From libfabric's calls to a Request.
#pragma once

#include "fabric/provider.h"

namespace strack::fabric {

[[nodiscard]] inline const Handle& handle_of(const fid_ep* outer) {
  return static_cast<const Handle&>(*outer);
}
[[nodiscard]] inline Ep& ep_of(const fid_ep* outer) { return *handle_of(outer).whole; }

/// Memory that is only read, as the Pieces that it has in common with memory that is written.
[[nodiscard]] inline Pieces pieces_of(const void* bytes, std::size_t size) {
  return Pieces(const_cast<void*>(bytes), size);
}

/// Of a call without flags of its own, which are then the endpoint's.
inline constexpr std::uint64_t kDefaultFlags = ~std::uint64_t{0};

/// Completes a request to `peer` and hands it on: to send, write, read, atomic.
[[nodiscard]] ssize_t start(fid_ep* outer, Action what, Request& request, fi_addr_t peer,
                            std::uint64_t flags);

/// A call that reports nothing and has its bytes copied.
[[nodiscard]] ssize_t inject(fid_ep* outer, Action what, Request& request, fi_addr_t peer);

}  // namespace strack::fabric
