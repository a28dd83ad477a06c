// What is behind the C interface's pointer.
#pragma once

#include "udp/endpoint.h"

struct strack_endpoint {
  strack::udp::Endpoint endpoint;
};
