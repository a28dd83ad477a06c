#include "perf/client.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <random>
#include <span>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "perf/under_way.h"
#include "transfer/dial.h"

namespace strack::perf {
namespace {

using udp::Completion;
using udp::ConnectionId;
using udp::Kind;
using udp::Status;

/// What a target rate makes up for at once after a pause: as long as a busy machine may leave a program waiting.
constexpr auto kMostCatchUp = std::chrono::milliseconds(100);

double seconds_between(Client::Clock::time_point from, Client::Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

struct Client::Connection {
  ConnectionId id{};
  State state = State::connecting;
  std::array<WordsBuffer, 2> in{};
  Said said;
  udp::RegionKey region;
  UnderWay under_way;
  std::uint64_t issued = 0;
  std::uint64_t completed = 0;
  std::uint64_t received = 0;   ///< of those that the server sends
  std::uint32_t echo_slot = 0;  ///< pingpong: answers come in the order of questions
  std::vector<std::uint32_t> echo_order;
  udp::ConnectionStatistics statistics;
  std::vector<udp::PathStatistics> paths;  ///< of the same moment
  std::vector<udp::PathStatistics> server_paths;
  Words report;
  bool told = false;  ///< the report has come
  Words effort;
};

void Client::prepare(udp::EndpointOptions& settings, const Plan& plan) {
  // One more than data takes, for what the two sides say to each other.
  settings.message_slots = std::bit_ceil(plan.depth + 1);
  // Every message of a ping-pong has a receive, every connection two for what the server says.
  settings.max_receives =
      std::max<std::uint32_t>(settings.max_receives, plan.connections * (plan.depth + 2));
  settings.answers_first = true;  // [D139]
}

Client::Client(const udp::EndpointOptions& settings, const Plan& plan, Events events)
    : settings_(settings),
      plan_(plan),
      events_(std::move(events)),
      arena_(std::max<std::uint64_t>(plan.size, 1)),
      sink_(std::max<std::uint64_t>(plan.size, 1)) {
  if (!has_memory()) return;
  // Real memory instead of one page of zeros, which every cache would hold.
  std::uint64_t i = 0;
  for (std::byte& byte : arena_.first(plan.size)) byte = static_cast<std::byte>(i++ * 37);
}

Client::~Client() = default;

ClientResult Client::run(const std::atomic<bool>& stop) {
  asked_ = Clock::now();
  transfer::Reconnect reconnect(plan_.reconnect, std::random_device{}());
  do {
    const std::uint64_t before = all_bytes() + all_received();
    if (connect(stop)) test(stop);
    if (all_bytes() + all_received() > before) reconnect.progressed();
  } while (wait_to_reconnect(reconnect, stop));
  if (endpoint_) finish(stop);
  result_.total_seconds = seconds_between(asked_, Clock::now());
  conclude();
  return std::move(result_);
}

/// Whether all is to be tried again: the connection was lost, or the server has no room yet or was heard once, and there is time left. A
/// server that was never heard is a problem at once.
bool Client::wait_to_reconnect(transfer::Reconnect& reconnect, const std::atomic<bool>& stop) {
  if (lost_ == Status::ok || stop ||
      !(heard_ || lost_ == Status::busy || lost_ == Status::went_silent) ||
      !transfer::Reconnect::worthwhile(lost_))
    return false;
  const auto wait = reconnect.next(Clock::now());
  if (!wait) return false;
  const auto until = Clock::now() + *wait;
  if (until >= end_at_) return false;
  if (!std::exchange(told_, true) && events_.lost) events_.lost(result_.problem);
  endpoint_.reset();
  by_id_.clear();
  while (!stop && Clock::now() < until && Clock::now() < end_at_)
    std::this_thread::sleep_for(
        std::min<Clock::duration>(std::chrono::milliseconds(50), until - Clock::now()));
  if (stop || Clock::now() >= end_at_) return false;
  if (events_.again) events_.again();
  ++result_.reconnects;
  counted_from_ = all_bytes();
  received_from_ = all_received();
  result_.problem.clear();
  lost_ = Status::ok;
  return true;
}

/// What was completed stays so; what was under way is to be sent again.
void Client::renew(Connection& connection) const {
  const std::uint64_t completed = connection.completed;
  const std::uint64_t received = connection.received;
  UnderWay under_way = std::move(connection.under_way);
  under_way.lose();
  connection = Connection{};
  connection.under_way = std::move(under_way);
  connection.issued = connection.completed = completed;
  connection.received = received;
  connection.echo_slot = static_cast<std::uint32_t>(completed % plan_.depth);
}

/// Asks for all connections; false where the first did not come up.
bool Client::connect(const std::atomic<bool>& stop) {
  auto dialled = transfer::dial(plan_.servers, settings_, stop);
  if (!dialled) {
    const transfer::NotDialled& why = dialled.error();
    result_.interrupted = why.stopped;
    result_.mistake = !why.mistake.empty();
    if (why.stopped) return false;
    result_.problem = result_.mistake ? why.mistake
                                      : transfer::explain(why.status, why.address,
                                                          "strack perf server", plan_.protection);
    if (!result_.mistake) lost_ = why.status;
    return false;
  }
  endpoint_.emplace(std::move(dialled.value().endpoint));
  heard_ = true;
  told_ = false;
  server_ = dialled.value().address;
  result_.sealing = endpoint_->sealing();
  Connection fresh;
  fresh.under_way = UnderWay(plan_.depth);
  connections_.resize(plan_.connections, fresh);
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    ConnectionId id = dialled.value().connected.connection;
    if (i > 0) {
      const auto another = endpoint_->connect(server_, i);
      if (!another) {
        result_.mistake = true;
        result_.problem = another.error().text;
        return false;
      }
      id = another.value();
    }
    renew(connections_[i]);
    connections_[i].id = id;
    by_id_[static_cast<std::uint64_t>(id)] = i;
  }
  on(dialled.value().connected, asked_);
  return true;
}

/// Until all that is to be sent is acknowledged, the time is over, or something is in the way.
void Client::test(const std::atomic<bool>& stop) {
  next_at_ = Clock::time_point::max();  // nothing goes before all are ready
  loop(stop, [&] { return all_at(State::running); });
  if (!result_.problem.empty() || stop) return;
  const auto now = Clock::now();
  if (began_ == Clock::time_point{}) {
    began_ = last_ = shown_.at = taken_.at = now;
    result_.setup_seconds = seconds_between(asked_, began_);
    counts_from_ = began_ + plan_.warm_up;
    if (plan_.time.count() > 0) end_at_ = counts_from_ + plan_.time;
  }
  next_at_ = now;
  for (Connection& connection : connections_) {
    if (!plan_.server_sends()) break;
    for (std::uint32_t i = 0; i < plan_.depth; ++i) post_sink(connection);
    // One that has had all of its count before a reconnect gets no more.
    if (plan_.count == 0 || left_to_receive(connection) > 0)
      say(connection, {Say::go, 0, {settings_.path_statistics ? 1u : 0u, 0, 0, 0}});
  }
  issue_in_turn(now);
  loop(stop, [&] { return all_idle() || is_late(Clock::now()); });
}

/// Asks for the server's report, and closes.
void Client::finish(const std::atomic<bool>& stop) {
  result_.interrupted = stop;
  issuing_ = false;
  // What is under way comes to its end, unless the user insists, the peer is gone, or it takes too long.
  const bool late = is_late(Clock::now());
  const auto patience = Clock::now() + std::chrono::seconds(result_.interrupted || late ? 1 : 10);
  const std::atomic<bool> never{false};
  const auto until_late = [&](auto done) {
    loop(never, [&] { return done() || Clock::now() > patience; });
  };
  if (result_.problem.empty() && all_at(State::running)) {
    if (!late) until_late([&] { return all_idle(); });
    take_statistics(Clock::now());
  }
  if (late && !all_idle()) {
    std::uint64_t left = 0;
    for (const Connection& connection : connections_)
      left += connection.issued - connection.completed;
    fail_with(fmt::format("{} message{} not acknowledged within {:g} s after the end", left,
                          left == 1 ? " was" : "s were",
                          std::chrono::duration<double>(plan_.grace).count()));
  }
  if (result_.problem.empty() && all_at(State::running)) {
    for (Connection& connection : connections_) {
      connection.state = State::finishing;
      // Answered is not yet acknowledged: all slots may be taken for a moment.
      until_late([&] { return say(connection, {Say::finish, 0, {}}) != Status::would_block; });
    }
    until_late([&] { return all_at(State::closing); });
    const bool reported = all_at(State::closing);
    for (Connection& connection : connections_) endpoint_->close(connection.id);
    until_late([&] { return all_at(State::over); });
    if (!reported && !result_.interrupted) fail_with("the server did not send its report");
  }
  for (const Connection& connection : connections_) {
    if (connection.state != State::over) endpoint_->abort(connection.id);
  }
}

/// While connections are up: nothing is known of one that was lost.
void Client::take_statistics(Clock::time_point now) {
  statistics_at_ = now;
  std::uint64_t answers = 0;
  for (Connection& connection : connections_) {
    if (const auto found = endpoint_->statistics(connection.id)) {
      connection.statistics = found.value();
      if (settings_.path_statistics) connection.paths = endpoint_->path_statistics(connection.id);
    }
    answers += connection.statistics.sacks_received + connection.statistics.data_packets_received;
  }
  if (answers != answers_) answered_ = now;
  answers_ = answers;
  result_.endpoint = endpoint_->statistics();
  result_.sockets = endpoint_->socket_limits();
}

/// Those of one endpoint have the same ports, so they are taken together.
void Client::conclude_paths() {
  const auto sum = [&](auto member) {
    std::map<std::uint32_t, udp::PathStatistics> by_path;
    for (const Connection& connection : connections_) {
      for (const udp::PathStatistics& one : connection.*member) add(by_path[one.path], one);
    }
    std::vector<udp::PathStatistics> out;
    for (const auto& [path, one] : by_path) out.push_back(one);
    return out;
  };
  // Where the server alone sends, what goes from here is no data.
  if (plan_.client_sends()) result_.paths = sum(&Connection::paths);
  result_.server_paths = sum(&Connection::server_paths);
  result_.server_paths_of = static_cast<std::uint64_t>(
      std::count_if(connections_.begin(), connections_.end(),
                    [](const Connection& one) { return !one.server_paths.empty(); }));
}

template <class Done>
void Client::loop(const std::atomic<bool>& stop, Done done) {
  std::array<Completion, 256> taken;
  while (result_.problem.empty() && !stop.load(std::memory_order_relaxed) && !done()) {
    auto longest = std::chrono::nanoseconds(std::chrono::milliseconds(100));
    const auto before = Clock::now();
    if (issuing_ && end_at_ > before)
      longest = std::min<std::chrono::nanoseconds>(longest, end_at_ - before);
    if (issuing_ && plan_.target_bps > 0 && next_at_ > before)
      longest = std::min<std::chrono::nanoseconds>(longest, next_at_ - before);
    endpoint_->wait(longest);
    const auto now = Clock::now();
    for (const Completion& completion : endpoint_->completions(taken)) on(completion, now);
    endpoint_->flush();  // what was issued goes before it is looked for what has come
    if (now >= end_at_) issuing_ = false;
    if (plan_.target_bps > 0 && now >= next_at_) issue_in_turn(now);
    if (now - statistics_at_ >= statistics_every(connections_.size())) take_statistics(now);
    if (plan_.interval.count() > 0 && began_ != Clock::time_point{} &&
        now - shown_.at >= plan_.interval) {
      result_.intervals.push_back(since(shown_, now));
      if (events_.interval) events_.interval(result_.intervals.back());
    }
    if (events_.round) events_.round();
  }
}

void Client::on(const Completion& completion, Clock::time_point now) {
  const auto found = by_id_.find(static_cast<std::uint64_t>(completion.connection));
  if (found == by_id_.end()) return;
  Connection& connection = connections_[found->second];
  switch (completion.kind) {
    case Kind::connected:
      if (completion.tag != kService) {
        fail_with(fmt::format("who answers at {} is not `strack perf server`", server_));
        break;
      }
      connection.state = State::asked;
      for (std::size_t i = 0; i < connection.in.size(); ++i) post_words(connection, i);
      say(connection,
          {Say::request,
           static_cast<std::uint8_t>(plan_.pattern),
           {plan_.size, plan_.depth, static_cast<std::uint64_t>(plan_.direction),
            plan_.count == 0 ? 0 : std::max<std::uint64_t>(left_to_receive(connection), 1)}});
      break;
    case Kind::sent:
    case Kind::written:
      if (completion.kind == Kind::sent && completion.tag == kControlTag) {
        connection.said.forget(completion.cookie);
        break;
      }
      if (completion.status != Status::ok) break;
      if (plan_.pattern != Pattern::pingpong) {
        complete(connection, static_cast<std::uint32_t>(completion.cookie), now);
      } else {
        issue(connection, now);  // its slot in the endpoint may be what the next one waits for
      }
      break;
    case Kind::received:
      if (completion.status != Status::ok) break;
      if (completion.tag == kControlTag) {
        on_words(connection, completion.cookie, completion.length);
      } else if (plan_.server_sends()) {
        on_received(connection, now);
      } else {
        const std::uint32_t slot = connection.echo_order[connection.echo_slot];
        connection.echo_slot = (connection.echo_slot + 1) % plan_.depth;
        complete(connection, slot, now);
      }
      break;
    case Kind::peer_closed:
      if (connection.state != State::closing)
        fail_with(fmt::format("{} has ended the test", server_));
      endpoint_->close(connection.id);
      break;
    case Kind::closed:
      connection.state = State::over;
      break;
    case Kind::failed:
      if (connection.state == State::connecting) {
        lose(completion.status,
             transfer::explain(completion.status, server_, "strack perf server", plan_.protection));
      } else if (connection.state != State::closing) {
        lose(completion.status, fmt::format("the connection to {} was lost: {}", server_,
                                            udp::text(completion.status)));
      }
      connection.state = State::over;
      break;
    default:
      break;
  }
}

/// What comes after the first problem follows from it.
void Client::fail_with(std::string problem) {
  if (result_.problem.empty()) result_.problem = std::move(problem);
}

void Client::lose(Status status, std::string problem) {
  if (result_.problem.empty()) lost_ = status;
  fail_with(std::move(problem));
}

void Client::post_words(Connection& connection, std::size_t index) {
  [[maybe_unused]] const Status posted = endpoint_->post_receive(
      connection.id, udp::Match::exactly(kControlTag), connection.in[index], index);
}

Status Client::say(Connection& connection, const Words& words) {
  const auto [cookie, bytes] = connection.said.add(words);
  const Status status = endpoint_->send(connection.id, kControlTag, bytes, cookie);
  if (status != Status::ok) connection.said.forget(cookie);
  return status;
}

void Client::on_words(Connection& connection, std::uint64_t index, std::uint64_t length) {
  const auto words = decode(std::span(connection.in[index]).first(length));
  post_words(connection, index);
  if (words && words->type == Say::ready && connection.state == State::asked) {
    connection.region = {words->numbers[0]};
    connection.echo_order.resize(plan_.depth);
    connection.state = State::running;
  } else if (words && words->type == Say::path && connection.state == State::finishing &&
             connection.server_paths.size() < kMaxPathsTold) {
    connection.server_paths.push_back(path_of(*words));
  } else if (words && words->type == Say::effort && connection.state == State::finishing) {
    connection.effort = *words;
  } else if (words && words->type == Say::report && connection.state == State::finishing) {
    connection.report = *words;
    connection.told = true;
    connection.state = State::closing;
  } else if (words && words->type == Say::refuse) {
    fail_with(fmt::format(
        "the server refuses the test: it takes messages of up to {} and {} at a time",
        strack::size_text(bytes(static_cast<std::int64_t>(std::min(words->numbers[0], kMaxSize)))),
        words->numbers[1]));
  } else {
    fail_with("the server sent a message that cannot be understood");
  }
}

/// All connections take turns, message by message: what is caught up with after a pause is no burst of one.
void Client::issue_in_turn(Clock::time_point now) {
  for (std::size_t idle = 0; idle < connections_.size();) {
    Connection& connection = connections_[turn_++ % connections_.size()];
    idle = connection.state == State::running && issue_one(connection, now) ? 0 : idle + 1;
  }
}

/// Sends as many as may be under way. At a target rate it is not for one connection to say: `loop` has all take turns.
void Client::issue(Connection& connection, Clock::time_point now) {
  while (plan_.target_bps == 0 && issue_one(connection, now)) {
  }
}

/// Between the beginnings of two messages; 0: as fast as it goes.
std::chrono::nanoseconds Client::pace() const {
  if (plan_.target_bps == 0) return {};
  return std::chrono::nanoseconds(static_cast<std::int64_t>(static_cast<double>(plan_.size) * 8e9 /
                                                            static_cast<double>(plan_.target_bps)));
}

/// Sends a message, if one more may be under way and the rate allows it.
bool Client::issue_one(Connection& connection, Clock::time_point now) {
  if (!issuing_ || !plan_.client_sends() || connection.under_way.full() ||
      (plan_.target_bps > 0 && now < next_at_) ||
      (plan_.count != 0 && connection.issued >= plan_.count))
    return false;
  const std::uint32_t slot = connection.under_way.next();
  const Status status =
      plan_.pattern == Pattern::write
          ? endpoint_->write(connection.id, connection.region, 0, arena_.first(plan_.size), slot)
          : endpoint_->send(connection.id, kDataTag, arena_.first(plan_.size), slot);
  if (status != Status::ok) return false;
  if (plan_.pattern == Pattern::pingpong) post_sink(connection);
  connection.under_way.begin(now);
  next_at_ = std::max(next_at_, now - kMostCatchUp) + pace();
  connection.echo_order[connection.issued % plan_.depth] = slot;
  ++connection.issued;
  return true;
}

void Client::complete(Connection& connection, std::uint32_t slot, Clock::time_point now) {
  if (!connection.under_way.has(slot)) return;
  const std::chrono::nanoseconds took = connection.under_way.end(slot, now);
  if (count_message(connection, now)) result_.times.add(static_cast<std::uint64_t>(took.count()));
  issue(connection, now);
}

/// Whether it is among the figures, after the warm-up.
bool Client::count_message(Connection& connection, Clock::time_point now) {
  ++connection.completed;
  last_ = now;
  if (now < counts_from_) {
    result_.warm_up_bytes += plan_.size;
    return false;
  }
  result_.bytes += plan_.size;
  ++result_.messages;
  return true;
}

/// Of what the server sends.
void Client::on_received(Connection& connection, Clock::time_point now) {
  ++connection.received;
  post_sink(connection);
  if (!plan_.client_sends()) {
    ++connection.issued;
    count_message(connection, now);
    return;
  }
  last_ = now;
  if (now < counts_from_) {
    result_.received_warm_up_bytes += plan_.size;
  } else {
    result_.received_bytes += plan_.size;
    ++result_.received_messages;
  }
}

/// Of a count.
std::uint64_t Client::left_to_receive(const Connection& connection) const {
  return plan_.count > connection.received ? plan_.count - connection.received : 0;
}

/// For an answer, or what the server sends. There is room: as much as messages can be under way (max_receives).
void Client::post_sink(Connection& connection) {
  [[maybe_unused]] const Status posted =
      endpoint_->post_receive(connection.id, udp::Match::exactly(kDataTag),
                              sink_.first(std::max<std::uint64_t>(plan_.size, 1)), 0);
}

bool Client::all_at(State state) const {
  return std::all_of(connections_.begin(), connections_.end(),
                     [&](const Connection& c) { return c.state == state; });
}

/// Nothing is under way, and nothing will be.
bool Client::all_idle() const {
  return std::all_of(connections_.begin(), connections_.end(), [&](const Connection& c) {
    const bool has_all = !plan_.server_sends() || left_to_receive(c) == 0;
    return c.completed == c.issued &&
           (!issuing_ || (plan_.count != 0 && c.issued >= plan_.count && has_all));
  });
}

/// The time is over, and so is that which messages under way have to come to their end.
bool Client::is_late(Clock::time_point now) const {
  return end_at_ != Clock::time_point::max() && now > end_at_ + plan_.grace;
}

Sample Client::since(Mark& mark, Clock::time_point now) const {
  const std::uint64_t bytes = all_bytes() + all_received();
  Sample sample{seconds_between(began_, now),
                seconds_between(mark.at, now),
                bytes - mark.bytes,
                {},
                seconds_between(std::max(answered_, began_), now)};
  for (const Connection& connection : connections_) {
    if (!endpoint_) break;
    if (const auto found = endpoint_->statistics(connection.id)) sample.figures.add(found.value());
  }
  mark = {now, bytes};
  return sample;
}

std::optional<Sample> Client::sample() {
  if (began_ == Clock::time_point{}) return std::nullopt;
  return since(taken_, Clock::now());
}

void Client::conclude() {
  result_.seconds = std::max(seconds_between(counts_from_, last_), 0.0);
  for (const Connection& connection : connections_) {
    result_.server_messages += connection.report.numbers[0];
    result_.server_bytes += connection.report.numbers[1];
    result_.server_marks += connection.report.numbers[2];
    result_.server_duplicates += connection.report.numbers[3];
    result_.server_sent_messages += connection.effort.numbers[0];
    result_.server_sent_bytes += connection.effort.numbers[1];
    // Of the whole program: the connection that asked first has seen most of it.
    result_.server_cpu_seconds = std::max(result_.server_cpu_seconds,
                                          static_cast<double>(connection.effort.numbers[2]) / 1e6);
    result_.server_threads = std::max(result_.server_threads, connection.effort.numbers[3]);
    result_.figures.add(connection.statistics);
  }
  result_.server_told =
      !connections_.empty() && std::all_of(connections_.begin(), connections_.end(),
                                           [](const Connection& one) { return one.told; });
  conclude_paths();
  // The server counts messages, not writes.
  std::uint64_t sent = all_bytes() - counted_from_;
  std::uint64_t counted = result_.server_bytes;
  if (plan_.direction == Direction::server) {
    counted = result_.server_bytes = result_.server_sent_bytes;
    result_.server_messages = result_.server_sent_messages;
  } else if (plan_.direction == Direction::both) {
    // Both ways at once, so that one difference is not hidden by the other.
    const std::uint64_t received = all_received() - received_from_;
    if (counted == sent && result_.server_sent_bytes != received) {
      sent = received;
      counted = result_.server_sent_bytes;
    }
  }
  if (result_.problem.empty() && !result_.interrupted && result_.messages == 0)
    result_.problem = "no message was acknowledged in the time of the test";
  const bool agrees = plan_.pattern == Pattern::write || counted == sent;
  result_.ok = result_.problem.empty() && !result_.interrupted && agrees && result_.messages > 0;
  if (result_.problem.empty() && !result_.interrupted && !agrees)
    result_.problem = fmt::format("{} went over and the server has counted {}",
                                  strack::size_text(bytes(static_cast<std::int64_t>(sent))),
                                  strack::size_text(bytes(static_cast<std::int64_t>(counted))));
}

}  // namespace strack::perf
