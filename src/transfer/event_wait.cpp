#include "transfer/event_wait.h"

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <array>

namespace strack::transfer {

void sleep_for_event(const udp::Endpoint& endpoint, const Worker& worker,
                     std::chrono::milliseconds longest) {
  const auto left = std::clamp<std::chrono::nanoseconds>(endpoint.next_deadline(),
                                                         std::chrono::nanoseconds(0), longest);
  // A descriptor of -1 is passed over.
  std::array<pollfd, 2> waiting{pollfd{endpoint.file_descriptor(), POLLIN, 0},
                                pollfd{worker.wake_fd(), POLLIN, 0}};
  const timespec timeout{static_cast<time_t>(left.count() / 1'000'000'000),
                         static_cast<long>(left.count() % 1'000'000'000)};
  ::ppoll(waiting.data(), waiting.size(), &timeout, nullptr);
}

}  // namespace strack::transfer
