#include "loop/closed_loop.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <exception>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/units.h"
#include "sim/cluster.h"
#include "sim/net/topology.h"
#include "sim/scenario/scenario.h"
#include "sim/simulation.h"
#include "sim/transport.h"
#include "workload/driver.h"
#include "workload/graph.h"
#include "workload/workload.h"

namespace strack::loop {

using workload::DriverEvent;
using workload::DriverOrder;

/// Things by number, of which a new one takes the place of one that is gone. They stay where they are, so
/// that another thread may read one while more are added.
template <class T>
class Places {
 public:
  std::uint32_t take(T value) {
    if (free_.empty()) {
      const Place at = place_of(count_);
      if (!parts_[at.part]) parts_[at.part] = std::make_unique<T[]>(std::size_t{kFirst} << at.part);
      free_.push_back(count_++);
    }
    const std::uint32_t number = free_.back();
    free_.pop_back();
    (*this)[number] = std::move(value);
    return number;
  }
  T give_back(std::uint32_t number) {
    free_.push_back(number);
    return std::exchange((*this)[number], T{});
  }
  T& operator[](std::uint32_t number) {
    const Place at = place_of(number);
    return parts_[at.part][at.index];
  }
  const T& operator[](std::uint32_t number) const {
    const Place at = place_of(number);
    return parts_[at.part][at.index];
  }

 private:
  static constexpr std::uint32_t kFirst = 64;
  struct Place {
    std::size_t part;
    std::uint32_t index;
  };
  /// Each part is twice as long as the one before.
  static Place place_of(std::uint32_t number) {
    const std::uint64_t shifted = std::uint64_t{number} + kFirst;
    const auto part = static_cast<std::size_t>(std::bit_width(shifted / kFirst)) - 1;
    return {part, static_cast<std::uint32_t>(shifted - (std::uint64_t{kFirst} << part))};
  }

  std::array<std::unique_ptr<T[]>, 27> parts_;
  std::vector<std::uint32_t> free_;
  std::uint32_t count_ = 0;
};

namespace {

/// Messages of one tag between two hosts, by the other one and the tag.
using Key = std::pair<std::uint32_t, std::uint64_t>;

struct Outgoing {
  Message message;
  std::uint64_t order = 0;  ///< among those of its tag to the same host
  Callback sent;
};

/// What has come, and who waits; each by its place in the order of sending.
struct Mailbox {
  std::uint64_t receives = 0;
  std::map<std::uint64_t, Received> waiting;
  std::map<std::uint64_t, Message> here;
};

}  // namespace

/// All that is a host's own: nobody else writes it.
struct HostState {
  /// Whose callback this thread is running: each thread runs one at a time.
  static thread_local const HostState* running;

  std::uint32_t number = 0;
  std::uint32_t hosts = 0;
  std::atomic<bool>* stop = nullptr;
  std::vector<Callback> begin = {};
  Instant now{};
  std::vector<DriverOrder>* orders = nullptr;  ///< what the callback that runs asks for
  Places<Outgoing> messages = {};
  Places<Callback> computations = {};
  std::map<Key, std::uint64_t> sent_before = {};  ///< by receiver and tag
  std::map<Key, Mailbox> mailboxes = {};          ///< by sender and tag
  /// The channel to each host, where those that there are have been named.
  const std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>* named = nullptr;
  std::uint64_t messages_sent = 0;
  std::uint64_t bytes_sent = 0;
  std::exception_ptr thrown = nullptr;
  Instant thrown_at{};

  [[nodiscard]] std::uint32_t channel_to(std::uint32_t to) const {
    if (named->empty()) return number * (hosts - 1) + (to < number ? to : to - 1);
    const auto found = named->find({number, to});
    if (found == named->end())
      throw std::invalid_argument(fmt::format(
          "host {0} is not connected to host {1}. call connect({0}, {1}) before the run", number,
          to));
    return found->second;
  }
  void check_other(std::uint32_t other, const char* word) const {
    if (other >= hosts)
      throw std::invalid_argument(
          fmt::format("there is no host {}. they are 0 to {}", other, hosts - 1));
    if (other == number)
      throw std::invalid_argument(fmt::format(
          "host {} cannot {} itself: nothing of that goes over the network", number, word));
  }
  void check_inside() const {
    if (running != this)
      throw std::invalid_argument(
          fmt::format("this is no callback of host {}'s. it can be used in its own only", number));
  }
};

thread_local const HostState* HostState::running = nullptr;

std::uint32_t Host::number() const { return state_.number; }
std::int64_t Host::now() const {
  state_.check_inside();
  return state_.now.ps;
}

void Host::send(std::uint32_t to, std::uint64_t tag, std::uint64_t bytes, Callback sent) {
  state_.check_inside();
  state_.check_other(to, "send to");
  if (bytes > UINT32_MAX)
    throw std::invalid_argument(
        fmt::format("a message has {} bytes. it has at most {}: send several", bytes, UINT32_MAX));
  const std::uint32_t channel = state_.channel_to(to);
  const std::uint64_t order = state_.sent_before[{to, tag}]++;
  const std::uint32_t id =
      state_.messages.take({{state_.number, to, tag, bytes}, order, std::move(sent)});
  ++state_.messages_sent;
  state_.bytes_sent += bytes;
  state_.orders->push_back({false, state_.number, channel, id});
}

void Host::receive(std::uint32_t from, std::uint64_t tag, Received received) {
  state_.check_inside();
  state_.check_other(from, "receive from");
  Mailbox& box = state_.mailboxes[{from, tag}];
  const std::uint64_t order = box.receives++;
  const auto here = box.here.find(order);
  if (here == box.here.end()) {
    box.waiting.emplace(order, std::move(received));
    return;
  }
  // Not from within: a host with many messages there would call itself ever deeper.
  if (received)
    compute(0,
            [message = here->second, call = std::move(received)](Host& at) { call(at, message); });
  box.here.erase(here);
}

void Host::compute(std::int64_t time, Callback then) {
  state_.check_inside();
  constexpr std::int64_t kMost = 1'000'000'000'000'000'000;  // eleven days: no sum runs over
  if (time < 0 || time > kMost)
    throw std::invalid_argument(
        fmt::format("a computation takes {} ps. it takes 0 to {}", time, kMost));
  const std::uint32_t id = state_.computations.take(std::move(then));
  DriverOrder order{true, state_.number, 0, id};
  order.time = ps(time);
  state_.orders->push_back(order);
}

void Host::stop() {
  state_.check_inside();
  state_.stop->store(true, std::memory_order_relaxed);
}

class ClosedLoop::Impl final : public workload::Driver, public sim::Observer {
 public:
  Impl(const std::string& scenario, const std::vector<std::string>& settings) {
    const auto loaded = sim::load(scenario, settings);
    if (!loaded) throw std::invalid_argument(loaded.error().text());
    config_ = sim::make_config(loaded.value(), loaded.value().seeds.front());
    if (config_.topology.has_servers())
      throw std::invalid_argument(fmt::format(
          "{}: nics_per_server is {}. a closed loop drives hosts that are each a server: "
          "leave nics_per_server out, and what is inside servers to the caller",
          scenario, config_.topology.nics_per_server));
    config_.record = {};
    config_.threads = 1;
    const std::uint32_t hosts = config_.topology.hosts();
    states_ = std::vector<HostState>(hosts);
    for (std::uint32_t h = 0; h < hosts; ++h) {
      states_[h].number = h;
      states_[h].hosts = hosts;
      states_[h].stop = &stop_;
      states_[h].named = &named_;
      hosts_.emplace_back(states_[h]);
    }
  }

  /// What was said before the run holds until its end.
  void check_not_begun() const {
    if (phase_ != Phase::made)
      throw std::invalid_argument("a closed loop that has begun to run cannot be changed");
  }
  void set_threads(std::uint32_t threads) {
    check_not_begun();
    if (threads < 1 || threads > 1'024)
      throw std::invalid_argument(fmt::format("threads are {}. they are 1 to 1024", threads));
    config_.threads = threads;
  }
  void at_start(std::uint32_t host, Callback begin) {
    check_not_begun();
    if (HostState& at = state(host); begin) at.begin.push_back(std::move(begin));
  }

  void connect(std::uint32_t from, std::uint32_t to) {
    check_not_begun();
    state(from).check_other(to, "be connected to");
    const auto number = static_cast<std::uint32_t>(order_.size());
    if (!named_.emplace(std::pair(from, to), number).second) return;
    order_.emplace_back(from, to);
  }

  void on_event(const DriverEvent& event, std::vector<DriverOrder>& orders) override {
    std::uint32_t at = event.rank;
    if (event.what == DriverEvent::What::sent) at = ends(event.channel).first;
    if (event.what == DriverEvent::What::received) at = ends(event.channel).second;
    HostState& state = states_[at];
    state.now = event.time;
    state.orders = &orders;
    const HostState* before = std::exchange(HostState::running, &state);  // of another loop
    try {
      tell(event, hosts_[at], state);
    } catch (...) {
      // Threads of the simulation are no place for it: run() throws it again.
      if (!state.thrown) {
        state.thrown = std::current_exception();
        state.thrown_at = event.time;
      }
      stop_.store(true, std::memory_order_relaxed);
    }
    HostState::running = before;
  }
  std::uint32_t bytes_of(std::uint32_t channel, std::uint32_t id) const override {
    const HostState& from = states_[ends(channel).first];
    return static_cast<std::uint32_t>(from.messages[id].message.bytes);
  }
  void on_job(const metrics::JobRecord& job) override {
    if (job.end != Instant::never()) end_ = job.end;
  }
  void on_warning(const std::string& text) override { warning_ = text; }

  Ended run() {
    if (phase_ != Phase::made) throw std::invalid_argument("a closed loop runs once. make another");
    phase_ = Phase::runs;
    const auto hosts = static_cast<std::uint32_t>(states_.size());
    if (order_.empty() && hosts > kMostHosts)
      throw std::invalid_argument(
          fmt::format("the cluster has {} hosts. with a connection between any two it has at most "
                      "{}: name those that are needed by connect()",
                      hosts, kMostHosts));
    workload::GraphBuilder builder(hosts);
    for (const auto& [from, to] : order_) builder.channel(from, to);
    for (std::uint32_t from = 0; order_.empty() && from < hosts; ++from) {
      for (std::uint32_t to = 0; to < hosts; ++to) {
        if (from != to) builder.channel(from, to);
      }
    }
    auto graph = builder.build();
    STRACK_CHECK(graph);
    workload::Job job;
    job.name = "closed loop";
    job.graph = std::make_shared<const workload::Graph>(std::move(graph.value()));
    for (std::uint32_t h = 0; h < hosts; ++h) job.hosts.push_back(h);
    job.starts.assign(hosts, Instant{});
    workload::Workload work;
    work.jobs.push_back(std::move(job));
    std::unique_ptr<sim::Cluster> cluster =
        config_.transport->make_cluster(config_, std::move(work));
    cluster->drive(0, *this);
    sim::Simulation simulation(std::move(cluster));
    const sim::Ending ending = simulation.run(*this, &stop_);
    counters_ = simulation.counters();
    if (end_ == Instant::never()) end_ = simulation.now();
    phase_ = Phase::over;
    throw_again();
    ended_ = ended_by(ending);
    return ended_;
  }

  [[nodiscard]] std::string why() const {
    if (phase_ != Phase::over) return "";
    switch (ended_) {
      case Ended::done:
        return "";
      case Ended::waiting:
        return waiting_for();
      case Ended::stopped:
        return "a callback stopped it";
      case Ended::time_limit:
        return fmt::format("run.end_ms is {}, and messages or computations were under way then",
                           static_cast<double>(config_.end.ps) / 1e9);
      case Ended::stalled:
        break;
    }
    return warning_.empty() ? "messages are under way that will never come" : warning_;
  }

  [[nodiscard]] Totals totals() const {
    Totals all;
    if (phase_ != Phase::over) return all;
    all.end = end_.ps;
    for (const HostState& state : states_) {
      all.messages += state.messages_sent;
      all.bytes += state.bytes_sent;
    }
    all.packets = counters_.data_packets_sent;
    all.retransmissions = counters_.retransmissions;
    all.drops = counters_.queue_drops + counters_.failure_drops + counters_.error_drops +
                counters_.no_route_drops + counters_.lossless_violations;
    all.marks = counters_.marks;
    return all;
  }

  [[nodiscard]] std::string waiting_for() const {
    std::string text;
    if (phase_ != Phase::over) return text;
    std::uint64_t count = 0;
    for (const HostState& state : states_) {
      for (const auto& [key, box] : state.mailboxes) {
        if (box.waiting.empty()) continue;
        if (count++ < kMostNamed)
          text += fmt::format("{}host {} waits for a message from host {} with tag {}",
                              text.empty() ? "" : ", ", state.number, key.first, key.second);
      }
    }
    if (count > kMostNamed) text += fmt::format(", and {} more", count - kMostNamed);
    return text;
  }

  [[nodiscard]] HostState& state(std::uint32_t host) {
    if (host >= states_.size())
      throw std::invalid_argument(
          fmt::format("there is no host {}. they are 0 to {}", host, states_.size() - 1));
    return states_[host];
  }
  [[nodiscard]] const sim::SimConfig& config() const { return config_; }

 private:
  static constexpr std::uint32_t kMostHosts = 4'096;
  static constexpr std::uint64_t kMostNamed = 4;

  [[nodiscard]] Ended ended_by(sim::Ending ending) const {
    if (ending == sim::Ending::interrupted || stop_.load(std::memory_order_relaxed))
      return Ended::stopped;
    if (ending == sim::Ending::time_limit) return Ended::time_limit;
    if (ending == sim::Ending::stalled) return Ended::stalled;
    return waiting_for().empty() ? Ended::done : Ended::waiting;
  }

  /// A channel's sender and receiver.
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> ends(std::uint32_t channel) const {
    if (!order_.empty()) return order_[channel];
    const auto others = static_cast<std::uint32_t>(states_.size()) - 1;
    const std::uint32_t from = channel / others;
    const std::uint32_t to = channel % others;
    return {from, to < from ? to : to + 1};
  }

  void tell(const DriverEvent& event, Host& host, HostState& state) {
    switch (event.what) {
      case DriverEvent::What::begins:
        for (const Callback& begin : state.begin) begin(host);
        return;
      case DriverEvent::What::sent:
        if (const Outgoing gone = state.messages.give_back(event.id); gone.sent) gone.sent(host);
        return;
      case DriverEvent::What::received:
        // It was written before the message left, and stays until its acknowledgement has come back.
        return deliver(states_[ends(event.channel).first].messages[event.id], host, state);
      case DriverEvent::What::computed:
        if (const Callback then = state.computations.give_back(event.id)) then(host);
        return;
    }
  }

  static void deliver(const Outgoing& came, Host& host, HostState& state) {
    const Message message = came.message;
    Mailbox& box = state.mailboxes[{message.from, message.tag}];
    const auto waiting = box.waiting.find(came.order);
    if (waiting == box.waiting.end()) {
      box.here.emplace(came.order, message);
      return;
    }
    const Received received = std::move(waiting->second);
    box.waiting.erase(waiting);
    if (received) received(host, message);
  }

  /// The first in time, of several the one of the lowest host: whatever threads did.
  void throw_again() const {
    const HostState* first = nullptr;
    for (const HostState& state : states_) {
      if (state.thrown && (first == nullptr || state.thrown_at < first->thrown_at)) first = &state;
    }
    if (first != nullptr) std::rethrow_exception(first->thrown);
  }

  sim::SimConfig config_;
  std::vector<HostState> states_;
  std::vector<Host>
      hosts_;  ///< they stay, so that one that somebody kept can say that it is not its turn
  std::vector<std::pair<std::uint32_t, std::uint32_t>> order_;  ///< channels that were named
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> named_;
  std::atomic<bool> stop_{false};
  Instant end_ = Instant::never();
  metrics::Counters counters_;
  std::string warning_;  ///< the newest: of a run that stalls, why
  Ended ended_ = Ended::done;
  enum class Phase : std::uint8_t { made, runs, over } phase_ = Phase::made;
};

ClosedLoop::ClosedLoop(const std::string& scenario, const std::vector<std::string>& settings)
    : impl_(std::make_unique<Impl>(scenario, settings)) {}
ClosedLoop::~ClosedLoop() = default;

std::uint32_t ClosedLoop::hosts() const { return impl_->config().topology.hosts(); }
std::int64_t ClosedLoop::lookahead() const {
  return sim::Topology(impl_->config().topology).smallest_latency().count();
}
void ClosedLoop::set_threads(std::uint32_t threads) { impl_->set_threads(threads); }
void ClosedLoop::connect(std::uint32_t from, std::uint32_t to) { impl_->connect(from, to); }
void ClosedLoop::at_start(std::uint32_t host, Callback begin) {
  impl_->at_start(host, std::move(begin));
}
Ended ClosedLoop::run() { return impl_->run(); }
Totals ClosedLoop::totals() const { return impl_->totals(); }
std::string ClosedLoop::waiting_for() const { return impl_->waiting_for(); }
std::string ClosedLoop::why() const { return impl_->why(); }

}  // namespace strack::loop
