// What is behind the C interface's pointer.
#pragma once

#include "capi/address_vector.h"
#include "udp/endpoint.h"

struct strack_endpoint {
  strack::udp::Endpoint endpoint;
  strack::capi::AddressVector addresses{};
};
