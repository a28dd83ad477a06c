// Waits for an endpoint and a worker at the same time.
#pragma once

#include <chrono>

#include "transfer/worker.h"
#include "udp/endpoint.h"

namespace strack::transfer {

/// Sleeps until datagrams wait, a timer of the endpoint's is due, the worker has finished something, a
/// signal comes or `longest` is over. To be called when polling has found nothing to do.
void sleep_for_event(const udp::Endpoint& endpoint, const Worker& worker,
                     std::chrono::milliseconds longest);

}  // namespace strack::transfer
