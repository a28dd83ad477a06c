// A simulated cluster that another program drives while it runs: a closed loop.
//
// Instead of a workload that is made before the run, callbacks say what comes next: send, receive,
// compute for so long. Each runs at a host, at an instant of simulated time, and whatever it asks for
// happens at that host at that very instant: times are exact, as if it had all been known before.
//
//   strack::loop::ClosedLoop loop("cluster.toml", {"transport.scheme=strack"});
//   loop.at_start(0, [](strack::loop::Host& at) { at.send(1, 7, 1 << 20); });
//   loop.at_start(1, [](strack::loop::Host& at) {
//     at.receive(0, 7, [](strack::loop::Host& host, const auto&) { std::printf("%lld ps\n", (long long)host.now()); });
//   });
//   loop.run();
//
// A host's callbacks run in order of time, one after the other. Those of different hosts do not: within one
// window of the simulation (lookahead()) they run in an order of their own, with several threads at the
// same time. So a callback keeps to what belongs to its host, or to what a message has brought
// it; then results are the same for any number of threads. With one thread, the default, callbacks
// never run at the same time. docs/closed-loop.md says more; strack_sim.h is the same for C.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace strack::loop {

struct HostState;
class Host;

struct Message {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint64_t tag = 0;
  std::uint64_t bytes = 0;
};

using Callback = std::function<void(Host&)>;
using Received = std::function<void(Host&, const Message&)>;

/// Where a callback runs. Elsewhere, in another host's callback for instance, its calls but number() throw.
class Host {
 public:
  explicit Host(HostState& state) : state_(state) {}

  [[nodiscard]] std::uint32_t number() const;
  [[nodiscard]] std::int64_t now() const;  ///< ps since the beginning

  // Wrong arguments are thrown as std::invalid_argument and change nothing. What a callback throws ends the run
  // with this window, and run() throws it again; of several the first in time, then that of the lowest host.

  /// A message, of 0 to 2^32 - 1 bytes, from here to another host. `sent` is called once all of it has been
  /// acknowledged.
  void send(std::uint32_t to, std::uint64_t tag, std::uint64_t bytes, Callback sent = {});
  /// `received` is called once such a message is wholly there; where it is already, at this instant, when the
  /// callback that asks is over. Of messages from one host with one tag, the first receive gets what was sent first.
  void receive(std::uint32_t from, std::uint64_t tag, Received received = {});
  /// `then` is called so many ps later.
  void compute(std::int64_t ps, Callback then);
  /// The run ends with this window: callbacks may still come until then, of this host too.
  void stop();

 private:
  HostState& state_;
};

/// How a run ended.
enum class Ended : std::uint8_t {
  done,     ///< nothing is under way, and nobody waits
  waiting,  ///< nothing is under way, but hosts wait for messages: waiting_for() says which
  stopped,  ///< by a callback
  time_limit,
  stalled,  ///< messages are under way that will never come: why() says why
};

struct Totals {
  std::int64_t end = 0;  ///< ps: of the last thing that was done
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t packets = 0;  ///< sent by hosts, with data
  std::uint64_t retransmissions = 0;
  std::uint64_t drops = 0;
  std::uint64_t marks = 0;
};

class ClosedLoop {
 public:
  /// The cluster of a scenario file: network, transport, failures, seed. Settings are "key=value", as after
  /// --set. What the scenario itself would send is not sent; of several seeds it has the first. A wrong one, or
  /// one with several NICs in a server, throws std::invalid_argument.
  explicit ClosedLoop(const std::string& scenario, const std::vector<std::string>& settings = {});
  ~ClosedLoop();
  ClosedLoop(const ClosedLoop&) = delete;
  ClosedLoop& operator=(const ClosedLoop&) = delete;

  [[nodiscard]] std::uint32_t hosts() const;
  /// The smallest latency of a link, ps: callbacks of different hosts are at most so far out of order.
  [[nodiscard]] std::int64_t lookahead() const;
  void set_threads(std::uint32_t threads);  ///< 1, unless said; not as the scenario says

  /// Only hosts that are connected so can send, each in that direction; without any such call all can. Which
  /// paths a connection takes depends on the connections that its hosts have.
  void connect(std::uint32_t from, std::uint32_t to);
  /// What a host does at time 0; several in the order given. Nothing of this can be said once it runs.
  void at_start(std::uint32_t host, Callback begin);
  /// Once. Runs until nothing is under way.
  Ended run();
  [[nodiscard]] Totals totals() const;  ///< of the run, once it is over
  /// "host 3 waits for a message from host 1 with tag 7", of the first that do; empty: nobody does.
  [[nodiscard]] std::string waiting_for() const;
  /// How a run ended that is over and not done, in words; empty: it is done.
  [[nodiscard]] std::string why() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace strack::loop
