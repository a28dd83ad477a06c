#include "cli/perf.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdio>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/result.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "cli/udp_options.h"
#include "transfer/dial.h"
#include "transfer/digest.h"
#include "transfer/histogram.h"
#include "transfer/metrics_server.h"
#include "transfer/prometheus.h"
#include "udp/endpoint.h"
#include "workload/amount.h"

namespace strack::cli {
namespace {

using Clock = std::chrono::steady_clock;
using transfer::Histogram;
using udp::Completion;
using udp::ConnectionId;
using udp::ConnectionStatistics;
using udp::Kind;
using udp::Status;

// --- What client and server say to each other (docs/udp-tools.md) ---

constexpr std::uint64_t kService = 0x5354'524b'5046'0001;  // "STRKPF", version 1
constexpr std::uint64_t kControlTag = 1;
constexpr std::uint64_t kDataTag = 2;
constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 30;
constexpr std::uint32_t kMaxDepth = 1024;
constexpr std::uint32_t kServerSlots = 1024;

enum class Pattern : std::uint8_t { stream = 1, pingpong = 2, write = 3 };
enum class Say : std::uint8_t { request = 1, ready = 2, finish = 3, report = 4, refuse = 5 };

/// All of them have the same shape: type, code, two reserved bytes, and four numbers in network order.
struct Words {
  Say type = Say::request;
  std::uint8_t code = 0;  ///< request: the pattern
  std::array<std::uint64_t, 4> numbers{};
};
constexpr std::size_t kWordsBytes = 4 + 4 * 8;
using WordsBuffer = std::array<std::byte, kWordsBytes>;

WordsBuffer encode(const Words& words) {
  WordsBuffer out{};
  out[0] = static_cast<std::byte>(words.type);
  out[1] = static_cast<std::byte>(words.code);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 8; ++j)
      out[4 + 8 * i + j] = static_cast<std::byte>(words.numbers[i] >> (56 - 8 * j));
  }
  return out;
}

std::optional<Words> decode(std::span<const std::byte> in) {
  if (in.size() != kWordsBytes || in[2] != std::byte{0} || in[3] != std::byte{0})
    return std::nullopt;
  const auto type = std::to_integer<std::uint8_t>(in[0]);
  if (type < 1 || type > 5) return std::nullopt;
  Words words{static_cast<Say>(type), std::to_integer<std::uint8_t>(in[1]), {}};
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 8; ++j)
      words.numbers[i] =
          (words.numbers[i] << 8) | std::to_integer<std::uint64_t>(in[4 + 8 * i + j]);
  }
  return words;
}

// --- Small things ---

int fail(const std::string& message, int status = 2) {
  fmt::print(stderr, "error: {}\n", message);
  return status;
}

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

double gbps(std::uint64_t bytes, double seconds) {
  return seconds > 0 ? static_cast<double>(bytes) * 8 / seconds / 1e9 : 0;
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::string time_of(std::uint64_t ns) {
  const std::uint64_t most = INT64_MAX / 1'000;
  return time_text(ps(static_cast<std::int64_t>(std::min(ns, most)) * 1'000));
}

std::string size_of(std::uint64_t bytes_count) {
  return size_text(bytes(static_cast<std::int64_t>(bytes_count)));
}

/// Memory that is there when it is touched, and zero. For messages whose bytes nobody looks at.
class Arena {
 public:
  explicit Arena(std::size_t size) : size_(size) {
    void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    memory_ = memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() {
    if (memory_ != nullptr) ::munmap(memory_, size_);
  }
  explicit operator bool() const { return memory_ != nullptr; }
  [[nodiscard]] std::span<std::byte> first(std::uint64_t size) const { return {memory_, size}; }

 private:
  std::size_t size_;
  std::byte* memory_;
};

/// "5s", "500ms"; a bare number is seconds.
std::optional<std::chrono::nanoseconds> parse_seconds(std::string_view text) {
  if (const auto number = workload::parse_decimal(text)) {
    const auto ns = workload::exact_product(*number, 1'000'000'000);
    if (!ns || *ns < 0) return std::nullopt;
    return std::chrono::nanoseconds(*ns);
  }
  const auto time = workload::parse_time(text);
  if (!time) return std::nullopt;
  return std::chrono::nanoseconds(time->count() / 1'000);
}

/// Or what is wrong.
Result<udp::EndpointOptions, std::string> endpoint_options(const PerfTransport& transport) {
  udp::EndpointOptions out;
  out.paths = transport.paths;
  out.burst = transport.burst;
  out.max_payload = transport.payload;
  out.oblivious = transport.policy == "oblivious";
  if (!out.oblivious && transport.policy != "adaptive")
    return fmt::format("--policy {} is unknown. there are adaptive and oblivious",
                       transport.policy);
  const auto rate = parse_link_rate(transport.rate);
  if (!rate) return rate.error();
  out.rate_bps = rate.value();
  const auto timeout = parse_peer_timeout(transport.peer_timeout);
  if (!timeout) return timeout.error();
  out.peer_timeout = timeout.value();
  const auto spin = workload::parse_time(transport.spin);
  if (!spin || *spin > seconds(1))
    return fmt::format("--spin {} is not a time up to 1s. write one such as 50us, or 0",
                       transport.spin);
  out.spin = std::chrono::microseconds(spin->count() / 1'000'000);
  const auto warning = transfer::protect(transport.protection, out);
  if (!warning) return warning.error();
  if (warning.value()) fmt::print(stderr, "warning: {}\n", *warning.value());
  out.user_data = kService;
  return out;
}

// --- The server ---

/// One client's connection.
struct ServerSession {
  ConnectionId id{};
  std::string peer;
  Pattern pattern = Pattern::stream;
  std::uint64_t size = 0;
  bool spoke =
      false;  ///< or was refused. Whoever tries several addresses leaves all but one unused
  bool running = false;
  bool reported = false;
  std::array<WordsBuffer, 2> in{};
  WordsBuffer out{};
  std::optional<udp::RegionKey> region;
  std::uint64_t owed = 0;  ///< answers of a pingpong that found no room
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  Clock::time_point began{};
  Clock::time_point last{};
  ConnectionStatistics statistics;
};

class Server {
 public:
  Server(udp::Endpoint& endpoint, bool json) : endpoint_(endpoint), json_(json), arena_(kMaxSize) {}

  [[nodiscard]] bool has_memory() const { return static_cast<bool>(arena_); }
  [[nodiscard]] bool idle() const { return sessions_.empty(); }
  [[nodiscard]] std::uint64_t ended() const { return ended_; }
  [[nodiscard]] std::uint64_t ended_badly() const { return ended_badly_; }

  void on(const Completion& completion, Clock::time_point now) {
    if (completion.kind == Kind::accepted) return on_accepted(completion, now);
    const auto found = sessions_.find(static_cast<std::uint64_t>(completion.connection));
    if (found == sessions_.end()) return;
    ServerSession& session = *found->second;
    switch (completion.kind) {
      case Kind::received:
        if (completion.status != Status::ok) break;
        if (completion.tag == kDataTag) {
          on_data(session, completion, now);
        } else {
          on_words(session, completion.cookie, completion.length, now);
        }
        break;
      case Kind::sent:
        if (completion.tag == kDataTag) pay(session);
        break;
      case Kind::peer_closed:
        endpoint_.close(session.id);
        break;
      case Kind::closed:
        end(session, {});
        break;
      case Kind::failed:
        end(session, std::string(udp::text(completion.status)));
        break;
      default:
        break;
    }
  }

 private:
  void on_accepted(const Completion& completion, Clock::time_point now) {
    auto session = std::make_unique<ServerSession>();
    session->id = completion.connection;
    session->peer = endpoint_.peer_address(completion.connection);
    session->began = now;
    for (std::size_t i = 0; i < session->in.size(); ++i) post_words(*session, i);
    ServerSession& kept = *session;
    sessions_.emplace(static_cast<std::uint64_t>(completion.connection), std::move(session));
    if (completion.tag != kService) {
      kept.spoke = true;
      end_rudely(kept, "it is not `strack perf client`");
    }
  }

  void post_words(ServerSession& session, std::size_t index) {
    // Fails only where the connection has ended, which comes as a completion of its own.
    [[maybe_unused]] const Status posted = endpoint_.post_receive(
        session.id, udp::Match::exactly(kControlTag), session.in[index], index);
  }
  Status post_data(ServerSession& session) {
    // All receives share the memory: nobody reads what comes.
    return endpoint_.post_receive(session.id, udp::Match::exactly(kDataTag),
                                  arena_.first(std::max<std::uint64_t>(session.size, 1)), 0);
  }
  void say(ServerSession& session, const Words& words) {
    session.out = encode(words);
    [[maybe_unused]] const Status sent =
        endpoint_.send(session.id, kControlTag, session.out, kControlTag);
  }

  void on_words(ServerSession& session, std::uint64_t index, std::uint64_t length,
                Clock::time_point now) {
    const auto words = decode(std::span(session.in[index]).first(length));
    session.spoke = true;
    post_words(session, index);
    if (!words) return end_rudely(session, "it sent a message that cannot be understood");
    if (words->type == Say::request && !session.running) return begin(session, *words, now);
    if (words->type == Say::finish && session.running && !session.reported) {
      session.reported = true;
      session.last = now;
      if (const auto statistics = endpoint_.statistics(session.id))
        session.statistics = statistics.value();
      say(session, {Say::report,
                    0,
                    {session.messages, session.bytes, session.statistics.marks_received,
                     session.statistics.duplicates_received}});
      return;
    }
    end_rudely(session, "it broke the rules of the test");
  }

  void begin(ServerSession& session, const Words& request, Clock::time_point now) {
    const std::uint64_t depth = request.numbers[1];
    if (request.code < 1 || request.code > 3 || request.numbers[0] > kMaxSize || depth < 1 ||
        depth > kMaxDepth) {
      say(session, {Say::refuse, 0, {kMaxSize, kMaxDepth, 0, 0}});
      return;
    }
    session.pattern = static_cast<Pattern>(request.code);
    session.size = request.numbers[0];
    session.running = true;
    session.began = now;
    std::uint64_t region = 0;
    if (session.pattern == Pattern::write) {
      const auto key = endpoint_.register_region(
          arena_.first(std::max<std::uint64_t>(session.size, 1)), session.id);
      if (!key) return end_rudely(session, key.error().text);
      session.region = key.value();
      region = key.value().id;
    } else {
      for (std::uint64_t i = 0; i < depth; ++i) {
        if (post_data(session) != Status::ok)
          return end_rudely(session,
                            "with the others', more messages at a time than there is room for");
      }
    }
    say(session, {Say::ready, 0, {region, 0, 0, 0}});
  }

  void on_data(ServerSession& session, const Completion& completion, Clock::time_point now) {
    ++session.messages;
    session.bytes += completion.length;
    session.last = now;
    // The one that completed has made room; if the connection has ended, that is told by itself.
    [[maybe_unused]] const Status posted = post_data(session);
    if (session.pattern != Pattern::pingpong) return;
    ++session.owed;
    pay(session);
  }

  void pay(ServerSession& session) {
    while (session.owed > 0 &&
           endpoint_.send(session.id, kDataTag, arena_.first(session.size), kDataTag) == Status::ok)
      --session.owed;
  }

  void end_rudely(ServerSession& session, const std::string& why) {
    endpoint_.abort(session.id);
    end(session, why);
  }

  void end(ServerSession& session, const std::string& problem) {
    if (session.region) endpoint_.unregister_region(*session.region);
    // A client that has its report may leave as it likes.
    const bool good = session.reported;
    if (!session.spoke) {
      sessions_.erase(static_cast<std::uint64_t>(session.id));
      return;
    }
    ++ended_;
    if (!good) ++ended_badly_;
    const double seconds = seconds_between(session.began, session.last);
    static constexpr std::array kPatterns{"", "stream", "pingpong", "write"};
    const char* pattern = kPatterns[static_cast<std::size_t>(session.pattern)];
    const std::uint64_t received = session.pattern == Pattern::write
                                       ? session.statistics.message_bytes_received
                                       : session.bytes;
    const std::string why = problem.empty() ? "it left before the end" : problem;
    if (json_) {
      fmt::print(
          "{{\"ok\": {}, \"peer\": {}, \"pattern\": \"{}\", \"size\": {}, \"messages\": {}, "
          "\"bytes\": {}, \"seconds\": {:.6f}, \"gbps\": {:.4f}, \"marks_received\": {}, "
          "\"duplicates_received\": {}{}}}\n",
          good, json_string(session.peer), pattern, session.size, session.messages, received,
          std::max(seconds, 0.0), gbps(received, seconds), session.statistics.marks_received,
          session.statistics.duplicates_received,
          good ? "" : fmt::format(", \"error\": {}", json_string(why)));
    } else if (good) {
      fmt::print("{}: {} of {}, {} in {:.2f} s, {:.3f} Gb/s\n", session.peer, pattern,
                 size_of(session.size), size_of(received), seconds, gbps(received, seconds));
    } else {
      fmt::print("{}: ended early: {}\n", session.peer, why);
    }
    std::fflush(stdout);
    sessions_.erase(static_cast<std::uint64_t>(session.id));
  }

  udp::Endpoint& endpoint_;
  bool json_;
  Arena arena_;
  std::unordered_map<std::uint64_t, std::unique_ptr<ServerSession>> sessions_;
  std::uint64_t ended_ = 0;
  std::uint64_t ended_badly_ = 0;
};

// --- The client ---

struct Plan {
  Pattern pattern = Pattern::stream;
  std::uint64_t size = 0;
  std::uint64_t count = 0;           ///< of each connection; 0: until the time is over
  std::chrono::nanoseconds time{0};  ///< 0: until the count is reached
  std::uint32_t connections = 1;
  std::uint32_t depth = 1;
  std::chrono::nanoseconds interval{0};
  std::vector<std::string> servers;  ///< numeric; those that its name stands for
};

Result<Plan, std::string> make_plan(const PerfClientOptions& options) {
  Plan plan;
  const auto size = workload::parse_size(options.size);
  if (!size || static_cast<std::uint64_t>(size->count()) > kMaxSize)
    return fmt::format(
        "--size {} is not a size of a message. write one such as 64, 16KB or 1MB, up "
        "to 1GiB",
        options.size);
  plan.size = static_cast<std::uint64_t>(size->count());
  plan.pattern = options.pattern == "stream"     ? Pattern::stream
                 : options.pattern == "pingpong" ? Pattern::pingpong
                 : options.pattern == "write"    ? Pattern::write
                                                 : Pattern{};
  if (plan.pattern == Pattern{})
    return fmt::format("--pattern {} is unknown. there are stream, pingpong and write",
                       options.pattern);
  if (plan.pattern == Pattern::write && plan.size == 0)
    return std::string("--size 0 leaves nothing to write. give at least 1");
  if (options.count && *options.count == 0)
    return std::string("--count 0 sends nothing. give at least 1");
  plan.count = options.count.value_or(0);
  const auto time =
      parse_seconds(options.seconds.empty() ? options.count ? "0" : "5" : options.seconds);
  if (!time || (!options.seconds.empty() && time->count() == 0))
    return fmt::format("--seconds {} is not a time. write one such as 10 or 500ms",
                       options.seconds);
  plan.time = *time;
  if (options.connections < 1 || options.connections > 1000)
    return fmt::format("--connections {} is out of range. 1 to 1000 are possible",
                       options.connections);
  plan.connections = options.connections;
  if (options.depth > kMaxDepth)
    return fmt::format("--depth {} is out of range. 1 to {} are possible", options.depth,
                       kMaxDepth);
  // Enough to keep a window full, and not so much that latency is all about waiting.
  const std::uint64_t wanted = (4u << 20) / std::max<std::uint64_t>(plan.size, 1);
  plan.depth = options.depth != 0
                   ? options.depth
                   : static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, 2, 256));
  if (plan.pattern == Pattern::pingpong && options.depth == 0) plan.depth = 1;
  if (!options.interval.empty()) {
    const auto interval = parse_seconds(options.interval);
    if (!interval || *interval < std::chrono::milliseconds(10))
      return fmt::format("--interval {} is not a time of at least 10ms. write one such as 1s",
                         options.interval);
    plan.interval = *interval;
  }
  const auto servers = transfer::addresses_of(options.server, options.transport.protection);
  if (!servers) return servers.error();
  plan.servers = servers.value();
  return plan;
}

struct ClientConnection {
  ConnectionId id{};
  enum class State : std::uint8_t {
    connecting,
    asked,
    running,
    finishing,
    closing,
    over
  } state = State::connecting;
  bool failed = false;
  std::array<WordsBuffer, 2> in{};
  WordsBuffer out{};
  udp::RegionKey region;
  std::vector<Clock::time_point> sent_at;  ///< by slot
  std::vector<std::uint32_t> free_slots;
  std::uint64_t issued = 0;
  std::uint64_t completed = 0;
  std::uint32_t echo_slot = 0;  ///< pingpong: answers come in the order of questions
  std::vector<std::uint32_t> echo_order;
  ConnectionStatistics statistics;
  Words report;
};

/// Sums over connections, and what of them is worth showing.
struct Figures {
  std::uint64_t cwnd = 0;
  std::uint64_t rtt_ns = 0;
  std::uint64_t base_rtt_ns = 0;
  std::uint64_t qdelay_ns = 0;
  std::uint64_t paths = 0;
  std::uint64_t paths_used = 0;
  std::uint64_t payload = 0;
  std::uint64_t packets = 0;
  std::uint64_t retransmissions = 0;
  std::uint64_t loss_episodes = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t probes = 0;
  std::uint64_t sacks = 0;
  std::uint64_t marks = 0;
  std::uint64_t credit_stalls = 0;
  bool keyed = false;

  void add(const ConnectionStatistics& s) {
    cwnd += s.cwnd_bytes;
    rtt_ns = std::max(rtt_ns, s.rtt_ns);
    base_rtt_ns = base_rtt_ns == 0 ? s.base_rtt_ns : std::min(base_rtt_ns, s.base_rtt_ns);
    qdelay_ns = std::max(qdelay_ns, s.avg_qdelay_ns);
    paths = std::max<std::uint64_t>(paths, s.paths);
    paths_used = std::max(paths_used, s.paths_used);
    payload = std::max<std::uint64_t>(payload, s.payload_bytes);
    packets += s.data_packets_sent;
    retransmissions += s.retransmissions;
    loss_episodes += s.loss_episodes;
    timeouts += s.timeouts;
    probes += s.probes_sent;
    sacks += s.sacks_received;
    marks += s.marks_echoed;
    credit_stalls += s.credit_stalls;
    keyed = s.keyed;
  }
};

class Client {
 public:
  using State = ClientConnection::State;

  Client(const udp::EndpointOptions& settings, const Plan& plan, const PerfClientOptions& options)
      : settings_(settings),
        plan_(plan),
        options_(options),
        arena_(std::max<std::uint64_t>(plan.size, 1)),
        sink_(std::max<std::uint64_t>(plan.size, 1)),
        line_(!options.json) {
    if (!arena_ || !sink_) return;
    // Real memory instead of one page of zeros, which every cache would hold.
    std::uint64_t i = 0;
    for (std::byte& byte : arena_.first(plan.size)) byte = static_cast<std::byte>(i++ * 37);
  }

  [[nodiscard]] bool has_memory() const { return arena_ && sink_; }

  /// The whole test. Returns the exit status.
  int run(std::atomic<bool>& stop) {
    const auto asked = Clock::now();
    auto dialled = transfer::dial(plan_.servers, settings_, stop);
    if (!dialled) {
      const transfer::NotDialled& why = dialled.error();
      total_seconds_ = seconds_between(asked, Clock::now());
      interrupted_ = why.stopped;
      if (why.stopped) return conclude({}, 1);
      if (!why.mistake.empty()) return conclude(why.mistake, 2);
      return conclude(transfer::explain(why.status, why.address, "strack perf server",
                                        options_.transport.protection),
                      1);
    }
    endpoint_.emplace(std::move(dialled.value().endpoint));
    server_ = dialled.value().address;
    connections_.resize(plan_.connections);
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      ConnectionId id = dialled.value().connected.connection;
      if (i > 0) {
        const auto another = endpoint_->connect(server_, i);
        if (!another) return conclude(another.error().text, 2);
        id = another.value();
      }
      connections_[i].id = id;
      by_id_[static_cast<std::uint64_t>(id)] = i;
      connections_[i].sent_at.resize(plan_.depth);
      for (std::uint32_t slot = plan_.depth; slot-- > 0;)
        connections_[i].free_slots.push_back(slot);
    }
    on(dialled.value().connected, asked);
    loop(stop, [&] { return all_at(State::running); });
    began_ = last_ = Clock::now();
    setup_seconds_ = seconds_between(asked, began_);
    if (problem_.empty() && !stop) {
      end_at_ = plan_.time.count() > 0 ? began_ + plan_.time : Clock::time_point::max();
      shown_at_ = began_;
      for (ClientConnection& connection : connections_) issue(connection, began_);
      loop(stop, [&] { return all_idle(); });
    }
    interrupted_ = signal_came();
    issuing_ = false;
    // What is under way comes to its end, unless the user insists or the peer is gone.
    const auto patience = Clock::now() + std::chrono::seconds(interrupted_ ? 1 : 10);
    std::atomic<bool> late{false};
    const auto until_late = [&](auto done) {
      loop(late, [&] { return done() || Clock::now() > patience; });
    };
    if (problem_.empty() && all_at(State::running)) {
      until_late([&] { return all_idle(); });
      snapshot();
      for (ClientConnection& connection : connections_) {
        connection.state = State::finishing;
        // Answered is not yet acknowledged: all slots may be taken for a moment.
        until_late([&] { return say(connection, {Say::finish, 0, {}}) != Status::would_block; });
      }
      until_late([&] { return all_at(State::closing); });
      const bool reported = all_at(State::closing);
      for (ClientConnection& connection : connections_) endpoint_->close(connection.id);
      until_late([&] { return all_at(State::over); });
      if (!reported && problem_.empty() && !interrupted_)
        problem_ = "the server did not send its report";
    }
    for (const ClientConnection& connection : connections_) {
      if (connection.state != State::over) endpoint_->abort(connection.id);
    }
    line_.clear();
    total_seconds_ = seconds_between(asked, Clock::now());
    return conclude(problem_, 1);
  }

 private:
  template <class Done>
  void loop(const std::atomic<bool>& stop, Done done) {
    std::array<Completion, 256> taken;
    while (problem_.empty() && !stop.load(std::memory_order_relaxed) && !done()) {
      auto longest = std::chrono::nanoseconds(std::chrono::milliseconds(100));
      const auto before = Clock::now();
      if (issuing_ && end_at_ > before)
        longest = std::min<std::chrono::nanoseconds>(longest, end_at_ - before);
      endpoint_->wait(longest);
      const auto now = Clock::now();
      for (const Completion& completion : endpoint_->completions(taken)) on(completion, now);
      if (now >= end_at_) issuing_ = false;
      show(now);
    }
  }

  void on(const Completion& completion, Clock::time_point now) {
    const auto found = by_id_.find(static_cast<std::uint64_t>(completion.connection));
    if (found == by_id_.end()) return;
    ClientConnection& connection = connections_[found->second];
    switch (completion.kind) {
      case Kind::connected:
        if (completion.tag != kService) {
          fail_with(fmt::format("who answers at {} is not `strack perf server`", server_));
          break;
        }
        connection.state = State::asked;
        for (std::size_t i = 0; i < connection.in.size(); ++i) post_words(connection, i);
        say(connection, {Say::request,
                         static_cast<std::uint8_t>(plan_.pattern),
                         {plan_.size, plan_.depth, 0, 0}});
        break;
      case Kind::sent:
      case Kind::written:
        if (completion.kind == Kind::sent && completion.tag == kControlTag) break;
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
          fail_with(transfer::explain(completion.status, server_, "strack perf server",
                                      options_.transport.protection));
        } else if (connection.state != State::closing) {
          fail_with(fmt::format("the connection to {} was lost: {}", server_,
                                udp::text(completion.status)));
        }
        connection.state = State::over;
        break;
      default:
        break;
    }
  }

  /// What comes after the first problem follows from it.
  void fail_with(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }

  void post_words(ClientConnection& connection, std::size_t index) {
    [[maybe_unused]] const Status posted = endpoint_->post_receive(
        connection.id, udp::Match::exactly(kControlTag), connection.in[index], index);
  }
  Status say(ClientConnection& connection, const Words& words) {
    connection.out = encode(words);
    return endpoint_->send(connection.id, kControlTag, connection.out, kControlTag);
  }

  void on_words(ClientConnection& connection, std::uint64_t index, std::uint64_t length) {
    const auto words = decode(std::span(connection.in[index]).first(length));
    post_words(connection, index);
    if (words && words->type == Say::ready && connection.state == State::asked) {
      connection.region = {words->numbers[0]};
      connection.echo_order.resize(plan_.depth);
      connection.state = State::running;
    } else if (words && words->type == Say::report && connection.state == State::finishing) {
      connection.report = *words;
      connection.state = State::closing;
    } else if (words && words->type == Say::refuse) {
      fail_with(
          fmt::format("the server refuses the test: it takes messages of up to {} and {} at a "
                      "time",
                      size_of(std::min(words->numbers[0], kMaxSize)), words->numbers[1]));
    } else {
      fail_with("the server sent a message that cannot be understood");
    }
  }

  /// Sends as many as may be under way.
  void issue(ClientConnection& connection, Clock::time_point now) {
    while (issuing_ && !connection.free_slots.empty() &&
           (plan_.count == 0 || connection.issued < plan_.count)) {
      const std::uint32_t slot = connection.free_slots.back();
      const Status status =
          plan_.pattern == Pattern::write
              ? endpoint_->write(connection.id, connection.region, 0, arena_.first(plan_.size),
                                 slot)
              : endpoint_->send(connection.id, kDataTag, arena_.first(plan_.size), slot);
      if (status != Status::ok) return;
      if (plan_.pattern == Pattern::pingpong) {
        // There is room: as much as messages can be under way (max_receives).
        [[maybe_unused]] const Status posted =
            endpoint_->post_receive(connection.id, udp::Match::exactly(kDataTag),
                                    sink_.first(std::max<std::uint64_t>(plan_.size, 1)), 0);
      }
      connection.sent_at[slot] = now;
      connection.echo_order[connection.issued % plan_.depth] = slot;
      connection.free_slots.pop_back();
      ++connection.issued;
    }
  }

  void complete(ClientConnection& connection, std::uint32_t slot, Clock::time_point now) {
    if (slot >= connection.sent_at.size()) return;
    times_.add(static_cast<std::uint64_t>((now - connection.sent_at[slot]).count()));
    connection.free_slots.push_back(slot);
    ++connection.completed;
    bytes_ += plan_.size;
    last_ = now;
    issue(connection, now);
  }

  [[nodiscard]] bool all_at(State state) const {
    return std::all_of(connections_.begin(), connections_.end(),
                       [&](const ClientConnection& c) { return c.state == state; });
  }
  /// Nothing is under way, and nothing will be.
  [[nodiscard]] bool all_idle() const {
    return std::all_of(connections_.begin(), connections_.end(), [&](const ClientConnection& c) {
      return c.completed == c.issued && (!issuing_ || c.issued == plan_.count);
    });
  }

  [[nodiscard]] Figures figures_now() const {
    Figures figures;
    for (const ClientConnection& connection : connections_) {
      if (const auto found = endpoint_->statistics(connection.id)) figures.add(found.value());
    }
    return figures;
  }
  /// Taken while the connections are still up.
  void snapshot() {
    for (ClientConnection& connection : connections_) {
      if (const auto found = endpoint_->statistics(connection.id))
        connection.statistics = found.value();
    }
    endpoint_statistics_ = endpoint_->statistics();
  }

  static std::string live_text(double rate, const Figures& f) {
    return fmt::format("{:.3f} Gb/s  cwnd {}  RTT {}  base {}  paths {} of {}  marks {}  losses {}",
                       rate, size_of(f.cwnd), time_of(f.rtt_ns), time_of(f.base_rtt_ns),
                       f.paths_used, f.paths, f.marks, f.retransmissions);
  }

  void show(Clock::time_point now) {
    if (began_ == Clock::time_point{}) return;
    if (plan_.interval.count() > 0 && now - shown_at_ >= plan_.interval) {
      const double span = seconds_between(shown_at_, now);
      const double rate = gbps(bytes_ - shown_bytes_, span);
      const Figures figures = figures_now();
      intervals_.push_back(fmt::format(
          "{{\"at\": {:.3f}, \"gbps\": {:.4f}, \"cwnd_bytes\": {}, \"rtt_us\": {:.1f}, "
          "\"marks\": {}, \"retransmissions\": {}}}",
          seconds_between(began_, now), rate, figures.cwnd,
          static_cast<double>(figures.rtt_ns) / 1e3, figures.marks, figures.retransmissions));
      if (!options_.json) {
        line_.clear();
        fmt::print("{:7.1f} s  {}\n", seconds_between(began_, now), live_text(rate, figures));
        std::fflush(stdout);
      }
      shown_at_ = now;
      shown_bytes_ = bytes_;
      return;
    }
    if (!line_.due()) return;
    // Since the last redraw, or the beginning.
    const double span = seconds_between(drawn_at_ == Clock::time_point{} ? began_ : drawn_at_, now);
    line_.show(live_text(gbps(bytes_ - drawn_bytes_, span), figures_now()));
    drawn_at_ = now;
    drawn_bytes_ = bytes_;
  }

  [[nodiscard]] std::string times_json(std::uint64_t divisor) const {
    const auto us = [&](std::uint64_t ns) {
      return fmt::format("{:.3f}", static_cast<double>(ns) / static_cast<double>(divisor) / 1e3);
    };
    return fmt::format(
        "{{\"min\": {}, \"mean\": {}, \"p50\": {}, \"p90\": {}, \"p99\": {}, \"p99_9\": {}, "
        "\"max\": {}}}",
        us(times_.lowest()), us(times_.mean()), us(times_.percentile(500)),
        us(times_.percentile(900)), us(times_.percentile(990)), us(times_.percentile(999)),
        us(times_.highest()));
  }

  [[nodiscard]] std::string times_text(std::string_view name, std::uint64_t divisor) const {
    const auto at = [&](std::uint64_t ns) { return time_of(ns / divisor); };
    return fmt::format("{}p50 {}  p90 {}  p99 {}  p99.9 {}  max {}\n", name,
                       at(times_.percentile(500)), at(times_.percentile(900)),
                       at(times_.percentile(990)), at(times_.percentile(999)),
                       at(times_.highest()));
  }

  /// Prints what came of it.
  int conclude(const std::string& problem, int status) {
    if (!problem.empty()) fail(problem);
    const double seconds = seconds_between(began_, last_);
    std::uint64_t messages = 0;
    std::uint64_t server_messages = 0;
    std::uint64_t server_bytes = 0;
    std::uint64_t server_marks = 0;
    std::uint64_t server_duplicates = 0;
    Figures figures;
    for (const ClientConnection& connection : connections_) {
      messages += connection.completed;
      server_messages += connection.report.numbers[0];
      server_bytes += connection.report.numbers[1];
      server_marks += connection.report.numbers[2];
      server_duplicates += connection.report.numbers[3];
      figures.add(connection.statistics);
    }
    // The server counts messages, not writes.
    const bool agrees = plan_.pattern == Pattern::write || server_bytes == bytes_;
    const bool ok = problem.empty() && !interrupted_ && agrees && messages > 0;
    if (problem.empty() && !interrupted_ && !agrees)
      fail(fmt::format("{} were sent and the server has counted {}", size_of(bytes_),
                       size_of(server_bytes)));
    const bool pingpong = plan_.pattern == Pattern::pingpong;
    if (options_.json) {
      std::string json = fmt::format(
          "{{\"ok\": {}, \"interrupted\": {}, \"pattern\": \"{}\", \"size\": {}, "
          "\"connections\": {}, \"depth\": {}, \"policy\": \"{}\", \"keyed\": {}, "
          "\"seconds\": {:.9f}, \"setup_seconds\": {:.9f}, \"total_seconds\": {:.9f}, "
          "\"cpu_seconds\": {:.6f}, \"messages\": {}, \"bytes\": {}, \"gbps\": {:.6f}, "
          "\"messages_per_second\": {:.1f}",
          ok, interrupted_, options_.pattern, plan_.size, plan_.connections, plan_.depth,
          options_.transport.policy, figures.keyed, seconds, setup_seconds_, total_seconds_,
          cpu_seconds(), messages, bytes_, gbps(bytes_, seconds),
          seconds > 0 ? static_cast<double>(messages) / seconds : 0);
      json += fmt::format(
          ", \"retransmissions\": {}, \"loss_episodes\": {}, \"timeouts\": {}, \"probes\": {}, "
          "\"sacks\": {}, \"marks\": {}, \"packets\": {}, \"credit_stalls\": {}, \"paths\": {}, "
          "\"paths_used\": {}, \"payload_bytes\": {}, \"cwnd_bytes\": {}, \"rtt_us\": {:.3f}, "
          "\"base_rtt_us\": {:.3f}, \"queueing_delay_us\": {:.3f}",
          figures.retransmissions, figures.loss_episodes, figures.timeouts, figures.probes,
          figures.sacks, figures.marks, figures.packets, figures.credit_stalls, figures.paths,
          figures.paths_used, figures.payload, figures.cwnd,
          static_cast<double>(figures.rtt_ns) / 1e3, static_cast<double>(figures.base_rtt_ns) / 1e3,
          static_cast<double>(figures.qdelay_ns) / 1e3);
      json += fmt::format(
          ", \"datagrams_sent\": {}, \"send_calls\": {}, \"receive_calls\": {}, \"sleeps\": {}, "
          "\"send_full\": {}",
          endpoint_statistics_.datagrams_sent, endpoint_statistics_.send_calls,
          endpoint_statistics_.receive_calls, endpoint_statistics_.sleeps,
          endpoint_statistics_.send_full);
      json += fmt::format(", \"{}_us\": {}", pingpong ? "round_trip" : "completion", times_json(1));
      if (pingpong) json += fmt::format(", \"half_round_trip_us\": {}", times_json(2));
      json += fmt::format(
          ", \"server\": {{\"messages\": {}, \"bytes\": {}, \"marks_received\": {}, "
          "\"duplicates_received\": {}}}",
          server_messages, server_bytes, server_marks, server_duplicates);
      if (!intervals_.empty())
        json += fmt::format(", \"intervals\": [{}]", fmt::join(intervals_, ", "));
      if (!problem.empty()) json += fmt::format(", \"error\": {}", json_string(problem));
      fmt::print("{}}}\n", json);
    } else if (messages > 0) {
      fmt::print("{} of {} on {} connection{}: {} messages, {} in {:.3f} s\n", options_.pattern,
                 size_of(plan_.size), plan_.connections, plan_.connections == 1 ? "" : "s",
                 messages, size_of(bytes_), seconds);
      fmt::print("  throughput   {:.3f} Gb/s, {:.0f} messages/s\n", gbps(bytes_, seconds),
                 seconds > 0 ? static_cast<double>(messages) / seconds : 0);
      if (pingpong) {
        fmt::print("{}", times_text("  round trip   ", 1));
        fmt::print("{}", times_text("  half of it   ", 2));
      } else {
        fmt::print("{}", times_text("  completion   ", 1));
      }
      fmt::print("  network      RTT {}, base {}, cwnd {}, payload {}, {} of {} paths used{}\n",
                 time_of(figures.rtt_ns), time_of(figures.base_rtt_ns), size_of(figures.cwnd),
                 size_of(figures.payload), figures.paths_used, figures.paths,
                 figures.keyed ? ", encrypted" : "");
      fmt::print("  trouble      {} retransmissions of {} packets, {} marks, {} timeouts\n",
                 figures.retransmissions, figures.packets, figures.marks, figures.timeouts);
    }
    if (!problem.empty()) return status;
    if (interrupted_) return kInterruptedStatus;
    return ok ? 0 : 1;
  }

  const udp::EndpointOptions& settings_;
  std::optional<udp::Endpoint> endpoint_;  ///< while there is a connection
  std::string server_;                     ///< the address that answered
  const Plan& plan_;
  const PerfClientOptions& options_;
  Arena arena_;
  Arena sink_;
  ProgressLine line_;
  std::vector<ClientConnection> connections_;
  std::unordered_map<std::uint64_t, std::size_t> by_id_;
  std::string problem_;
  bool issuing_ = true;
  bool interrupted_ = false;
  Clock::time_point began_{};
  Clock::time_point last_{};
  Clock::time_point end_at_ = Clock::time_point::max();
  double setup_seconds_ = 0;
  double total_seconds_ = 0;
  std::uint64_t bytes_ = 0;
  Histogram times_;
  udp::EndpointStatistics endpoint_statistics_;
  Clock::time_point shown_at_{};
  std::uint64_t shown_bytes_ = 0;
  Clock::time_point drawn_at_{};
  std::uint64_t drawn_bytes_ = 0;
  std::vector<std::string> intervals_;
};

}  // namespace

int perf_server(const PerfServerOptions& options) {
  auto made = endpoint_options(options.transport);
  if (!made) return fail(made.error());
  udp::EndpointOptions& endpoint_settings = made.value();
  const auto address = transfer::listen_address(options.bind, options.transport.protection);
  if (!address) return fail(address.error());
  endpoint_settings.listen = address.value().text;
  endpoint_settings.message_slots = kServerSlots;
  auto opened = udp::Endpoint::open(endpoint_settings);
  if (!opened) return fail(opened.error().text);
  udp::Endpoint endpoint = std::move(opened.value());
  Server server(endpoint, options.json);
  if (!server.has_memory()) return fail("there is not enough memory for messages");

  std::optional<transfer::MetricsServer> metrics;
  if (!options.metrics.empty()) {
    auto listening = transfer::MetricsServer::open(
        options.metrics, [&endpoint] { return transfer::prometheus_text("perf", endpoint); });
    if (!listening) return fail(listening.error());
    metrics.emplace(std::move(listening.value()));
  }
  std::atomic<bool>& stop = stop_on_signals();
  if (!options.json) {
    fmt::print("listening at {}{}{}\n", endpoint.local_address(),
               options.bind.empty() && options.transport.protection.key_file.empty() &&
                       !options.transport.protection.insecure
                   ? ", for this host only: --key-file or --insecure opens it to others"
                   : "",
               metrics ? fmt::format(", metrics at http://{}/metrics", metrics->address()) : "");
    std::fflush(stdout);
  }
  std::array<Completion, 256> taken;
  while (!stop.load(std::memory_order_relaxed)) {
    endpoint.wait(std::chrono::milliseconds(metrics ? 50 : 200));
    const auto now = Clock::now();
    for (const Completion& completion : endpoint.completions(taken)) server.on(completion, now);
    if (metrics) metrics->poll();
    if (options.once && server.ended() > 0 && server.idle())
      return server.ended_badly() > 0 ? 1 : 0;
  }
  return kInterruptedStatus;
}

int perf_client(const PerfClientOptions& options) {
  const auto plan = make_plan(options);
  if (!plan) return fail(plan.error());
  auto made = endpoint_options(options.transport);
  if (!made) return fail(made.error());
  udp::EndpointOptions& endpoint_settings = made.value();
  // One more than data takes, for what the two sides say to each other.
  endpoint_settings.message_slots = std::bit_ceil(plan.value().depth + 1);
  // Every message of a ping-pong has a receive, every connection two for what the server says.
  endpoint_settings.max_receives = std::max<std::uint32_t>(
      endpoint_settings.max_receives, plan.value().connections * (plan.value().depth + 2));
  endpoint_settings.connect_timeout = std::chrono::seconds(5);
  Client client(endpoint_settings, plan.value(), options);
  if (!client.has_memory())
    return fail(fmt::format("there is not enough memory for messages of {}", options.size));
  return client.run(stop_on_signals());
}

int new_key() {
  fmt::print("{}\n", transfer::hex(transfer::random_key()));
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace strack::cli
