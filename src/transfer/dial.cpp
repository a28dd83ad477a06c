#include "transfer/dial.h"

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "udp/address.h"

namespace strack::transfer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::nanoseconds kNap = std::chrono::milliseconds(100);

struct Attempt {
  udp::Endpoint endpoint;
  std::string address;
};

/// Returns when one of them may have something to tell, or `longest` is over.
void wait_for_any(std::vector<Attempt>& attempts, std::chrono::nanoseconds longest) {
  if (attempts.size() == 1) {
    attempts.front().endpoint.wait(longest);
    return;
  }
  std::vector<pollfd> waiting;
  bool busy = false;
  for (Attempt& attempt : attempts) {
    busy = attempt.endpoint.poll() || busy;
    longest = std::min(longest, attempt.endpoint.next_deadline());
    waiting.push_back({attempt.endpoint.file_descriptor(), POLLIN, 0});
  }
  if (busy || longest.count() <= 0) return;
  const timespec timeout{0, static_cast<long>(longest.count())};  // kNap at most
  ::ppoll(waiting.data(), waiting.size(), &timeout, nullptr);
}

}  // namespace

Result<std::vector<std::string>, std::string> addresses_of(std::string_view host_and_port,
                                                           const Protection& protection) {
  const auto all = udp::resolve_all(host_and_port, kDefaultPort);
  if (!all) return all.error();
  std::vector<std::string> allowed;
  for (const udp::Address& address : all.value()) {
    if (!unprotected(address.text(), protection)) allowed.push_back(address.text());
  }
  if (allowed.empty()) return *unprotected(all.value().front().text(), protection);
  return allowed;
}

Result<Dialled, NotDialled> dial(const std::vector<std::string>& addresses,
                                 const udp::EndpointOptions& options,
                                 const std::atomic<bool>& stop) {
  std::vector<Attempt> attempts;
  std::size_t next = 0;
  Clock::time_point next_at{};
  std::string mistake;
  bool any_began = false;
  bool silent = false;             // one of them at least
  std::optional<NotDialled> told;  // an answer says more than silence
  while (!stop.load(std::memory_order_relaxed)) {
    const auto now = Clock::now();
    if (next < addresses.size() && (attempts.empty() || now >= next_at)) {
      const std::string& address = addresses[next++];
      auto opened = udp::Endpoint::open(options);
      if (!opened) return NotDialled{false, opened.error().text, address, {}};
      next_at = now + kNextAddressAfter;
      // A host without IPv6 has no socket for it: then the others are left.
      if (const auto begun = opened.value().connect(address)) {
        attempts.push_back({std::move(opened.value()), address});
        any_began = true;
      } else if (mistake.empty()) {
        mistake = begun.error().text;
      }
      continue;
    }
    if (attempts.empty()) {
      if (!any_began) return NotDialled{false, mistake, addresses.front(), {}};
      const bool answered = told && (told->status != udp::Status::unreachable || !silent);
      return answered ? *told
                      : NotDialled{false,
                                   {},
                                   fmt::format("{}", fmt::join(addresses, " or ")),
                                   udp::Status::timed_out};
    }
    const std::chrono::nanoseconds alone = next_at - now;
    wait_for_any(attempts, next < addresses.size() ? std::min(kNap, alone) : kNap);
    for (std::size_t i = 0; i < attempts.size(); ++i) {
      std::array<udp::Completion, 1> taken;  // what comes after it is the user's
      if (attempts[i].endpoint.completions(taken).empty()) continue;
      if (taken[0].kind == udp::Kind::connected)
        return Dialled{std::move(attempts[i].endpoint), taken[0], attempts[i].address};
      if (taken[0].kind != udp::Kind::failed) continue;
      // What a peer said counts more than that there was no way to another of its addresses.
      const udp::Status status = taken[0].status;
      const bool better =
          !told || (told->status == udp::Status::unreachable && status != udp::Status::unreachable);
      silent = silent || status == udp::Status::timed_out;
      if (better && status != udp::Status::timed_out)
        told = NotDialled{false, {}, attempts[i].address, status};
      attempts.erase(attempts.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
  }
  return NotDialled{true, {}, addresses.front(), {}};
}

}  // namespace strack::transfer
