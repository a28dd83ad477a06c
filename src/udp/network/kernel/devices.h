// This host's network devices, as the kernel tells of them: which one packets to an address leave by, and how large they may be.
#pragma once

#include "udp/address.h"

namespace strack::udp {

/// The device by which packets to an address leave, as the routing table has it; 0: not known.
[[nodiscard]] unsigned device_to(const Address& to);

/// The MTU of a device; 0: not known. `fd` is any socket.
[[nodiscard]] int device_mtu(int fd, unsigned device);

}  // namespace strack::udp
