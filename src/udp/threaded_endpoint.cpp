// An endpoint for each thread, and a lock for each of them: who calls does his call himself, between two rounds of the
// thread that moves its packets.
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "udp/address.h"
#include "udp/endpoint.h"
#include "udp/network.h"

namespace strack::udp {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

constexpr int kShardBits = 8;
constexpr int kIdBits = 64 - kShardBits;
constexpr std::uint32_t kMostThreads = 64;
/// Beyond this a thread leaves its completions with its endpoint, which bounds them.
constexpr std::size_t kMostWaiting = std::size_t{1} << 16;
/// A sleeper does not see what comes to the ports that only send, which resets do.
constexpr nanoseconds kLongestSleep = std::chrono::milliseconds(20);
/// How often a shard's thread lets callers go first between two of its rounds.
constexpr int kMostTurns = 16;

[[nodiscard]] ConnectionId global(std::size_t shard, ConnectionId id) {
  return ConnectionId{static_cast<std::uint64_t>(shard) << kIdBits |
                      static_cast<std::uint64_t>(id)};
}
[[nodiscard]] std::size_t shard_of(ConnectionId id) {
  return static_cast<std::size_t>(static_cast<std::uint64_t>(id) >> kIdBits);
}
[[nodiscard]] ConnectionId local(ConnectionId id) {
  return ConnectionId{static_cast<std::uint64_t>(id) & ((std::uint64_t{1} << kIdBits) - 1)};
}

/// What a sleeper in ppoll() wakes up for.
class Bell {
 public:
  Bell() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;
  ~Bell() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  [[nodiscard]] int descriptor() const { return descriptor_; }
  void ring() const {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(descriptor_, &one, sizeof one));
  }
  void silence() const {
    std::uint64_t rung = 0;
    static_cast<void>(!::read(descriptor_, &rung, sizeof rung));
  }

 private:
  int descriptor_;
};

/// What all threads have to tell, for whoever waits.
class Mailbox {
 public:
  [[nodiscard]] bool is_full() const { return waiting_.load() >= kMostWaiting; }
  void put(std::span<const Completion> several) {
    if (several.empty()) return;
    const std::lock_guard lock(mutex_);
    if (watched_ && queue_.empty()) bell_.ring();
    queue_.insert(queue_.end(), several.begin(), several.end());
    waiting_ = queue_.size();
    if (several.size() == 1) {
      filled_.notify_one();
    } else {
      filled_.notify_all();
    }
  }
  std::span<const Completion> take(std::span<Completion> out, nanoseconds timeout) {
    if (out.empty()) return out;  // who takes nothing wakes nobody in vain
    std::unique_lock lock(mutex_);
    wait(lock, timeout);
    const std::size_t count = std::min(out.size(), queue_.size());
    const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(count);
    std::copy(queue_.begin(), end, out.begin());
    queue_.erase(queue_.begin(), end);
    waiting_ = queue_.size();
    if (watched_ && queue_.empty()) bell_.silence();
    return out.first(count);
  }
  bool await(nanoseconds timeout) {
    std::unique_lock lock(mutex_);
    return wait(lock, timeout);
  }
  /// Readable while the box is not empty, from now on: who never asks does not pay for it.
  int descriptor() {
    const std::lock_guard lock(mutex_);
    if (!watched_ && !queue_.empty()) bell_.ring();
    watched_ = true;
    return bell_.descriptor();
  }

 private:
  bool wait(std::unique_lock<std::mutex>& lock, nanoseconds timeout) {
    constexpr nanoseconds kLongest = std::chrono::hours(24);
    return filled_.wait_for(lock, std::clamp(timeout, nanoseconds(0), kLongest),
                            [this] { return !queue_.empty(); });
  }

  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<Completion> queue_;
  Bell bell_;
  bool watched_ = false;
  std::atomic<std::size_t> waiting_ = 0;
};

/// One endpoint and its thread.
class Shard {
 public:
  Shard(Endpoint endpoint, std::size_t number, nanoseconds spin, Mailbox& mailbox)
      : endpoint_(std::move(endpoint)), number_(number), spin_(spin), mailbox_(mailbox) {}
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;
  ~Shard() {
    stop_ = true;
    bell_.ring();
    if (thread_.joinable()) thread_.join();
  }
  void start() {
    if (bell_.descriptor() < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
    thread_ = std::thread([this] { run(); });
  }

  /// Does something with the endpoint, between two rounds of its thread.
  template <class Do>
  auto with(Do&& act) {
    ++callers_;
    const std::lock_guard lock(mutex_);
    --callers_;
    auto result = act(endpoint_);
    // What it is to send goes now, by this thread; what it is to do later, its own must know of.
    endpoint_.flush();
    if (asleep_) bell_.ring();
    return result;
  }
  [[nodiscard]] EndpointStatistics statistics() {
    return with([this](Endpoint& endpoint) {
      EndpointStatistics counted = endpoint.statistics();
      counted.sleeps += sleeps_;
      return counted;
    });
  }

 private:
  void run() {
    Clock::time_point idle_since = Clock::now();
    while (!stop_) {
      bool busy = false;
      {
        const std::lock_guard lock(mutex_);
        busy = endpoint_.poll();
        busy |= tell();
      }
      // Otherwise who waits for the lock might wait for long: it goes to who asks first. Many who ask all the time must
      // not keep this thread from its rounds, though.
      for (int turn = 0; callers_ > 0 && turn < kMostTurns; ++turn) std::this_thread::yield();
      const Clock::time_point now = Clock::now();
      if (busy) {
        idle_since = now;
      } else if (now - idle_since < spin_) {
        std::this_thread::yield();
      } else {
        sleep();
      }
    }
  }
  bool tell() {
    bool any = false;
    std::array<Completion, 64> room;
    while (!mailbox_.is_full()) {
      const std::size_t count = endpoint_.completions(room).size();
      if (count == 0) break;
      any = true;
      const std::span<Completion> got(room.data(), count);
      for (Completion& c : got) c.connection = global(number_, c.connection);
      mailbox_.put(got);
    }
    return any;
  }
  void sleep() {
    std::array<pollfd, 2> p{};
    nanoseconds longest = kLongestSleep;
    {
      const std::lock_guard lock(mutex_);
      if (tell()) return;  // of what a call has completed since the last round
      longest = std::min(longest, endpoint_.next_deadline());
      p = {{{bell_.descriptor(), POLLIN, 0}, {endpoint_.file_descriptor(), POLLIN, 0}}};
      asleep_ = true;
      ++sleeps_;
    }
    const timespec t{0, static_cast<long>(longest.count())};
    static_cast<void>(::ppoll(p.data(), p[1].fd >= 0 ? 2 : 1, &t, nullptr));
    const std::lock_guard lock(mutex_);
    asleep_ = false;
    bell_.silence();
  }

  std::mutex mutex_;
  Endpoint endpoint_;
  bool asleep_ = false;  ///< under the lock, as the endpoint
  std::uint64_t sleeps_ = 0;
  std::atomic<int> callers_ = 0;
  std::atomic<bool> stop_ = false;
  std::size_t number_;
  nanoseconds spin_;
  Mailbox& mailbox_;
  Bell bell_;
  std::thread thread_;
};

}  // namespace

struct ThreadedEndpoint::Impl {
  Mailbox mailbox;
  std::string address;  ///< of listeners, known before there are threads
  std::vector<std::unique_ptr<Shard>> shards;
  std::atomic<std::uint64_t> next = 0;

  /// Null: it is none of ours.
  [[nodiscard]] Shard* of(ConnectionId id) const {
    const std::size_t shard = shard_of(id);
    return shard < shards.size() && local(id) != kAnyConnection ? shards[shard].get() : nullptr;
  }
  template <class Do>
  [[nodiscard]] Status with(ConnectionId id, Do&& act) const {
    Shard* shard = of(id);
    if (shard == nullptr) return Status::unknown_connection;
    return shard->with([&](Endpoint& endpoint) { return act(endpoint, local(id)); });
  }
};

ThreadedEndpoint::ThreadedEndpoint(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ThreadedEndpoint::ThreadedEndpoint(ThreadedEndpoint&&) noexcept = default;
ThreadedEndpoint& ThreadedEndpoint::operator=(ThreadedEndpoint&&) noexcept = default;
ThreadedEndpoint::~ThreadedEndpoint() = default;

Outcome<ThreadedEndpoint> ThreadedEndpoint::open(const EndpointOptions& options,
                                                 std::uint32_t threads) {
  if (threads < 1 || threads > kMostThreads)
    return Error{"threads is " + std::to_string(threads) + ". it takes 1 to " +
                 std::to_string(kMostThreads)};
  if (!options.datapath.empty() && options.datapath != datapaths().front().name)
    return Error{"datapath is \"" + options.datapath + "\". threads take \"" +
                 std::string(datapaths().front().name) + "\""};
  auto impl = std::make_unique<Impl>();
  EndpointOptions one = options;
  one.shards = threads;
  one.threads = 0;
  for (one.shard = 0; one.shard < threads; ++one.shard) {
    auto opened = Endpoint::open(one);
    if (!opened) return opened.error();
    Endpoint& endpoint = opened.value();
    // All at the port that the first has got.
    if (!one.listen.empty()) one.listen = impl->address = endpoint.local_address();
    impl->shards.push_back(
        std::make_unique<Shard>(std::move(endpoint), one.shard, options.spin, impl->mailbox));
  }
  try {
    for (const auto& shard : impl->shards) shard->start();
  } catch (const std::system_error& error) {
    return Error{std::string("a thread cannot be started: ") + error.what()};
  }
  return ThreadedEndpoint(std::move(impl));
}

std::uint32_t ThreadedEndpoint::threads() const {
  return static_cast<std::uint32_t>(impl_->shards.size());
}
std::string ThreadedEndpoint::local_address() const { return impl_->address; }
std::uint16_t ThreadedEndpoint::local_port() const {
  const auto address = Address::parse(impl_->address);
  return address ? address->port : std::uint16_t{0};
}
std::string_view ThreadedEndpoint::sealing() const {
  return impl_->shards.front()->with([](Endpoint& e) { return e.sealing(); });
}

std::string ThreadedEndpoint::peer_address(ConnectionId connection) const {
  Shard* shard = impl_->of(connection);
  if (shard == nullptr) return {};
  return shard->with([&](Endpoint& e) { return e.peer_address(local(connection)); });
}
std::optional<Key> ThreadedEndpoint::peer_key(ConnectionId connection) const {
  Shard* shard = impl_->of(connection);
  if (shard == nullptr) return std::nullopt;
  return shard->with([&](Endpoint& e) { return e.peer_key(local(connection)); });
}

Outcome<ConnectionId> ThreadedEndpoint::connect(std::string_view address, std::uint64_t cookie,
                                                const std::optional<Key>& peer) {
  const std::size_t number = impl_->next++ % impl_->shards.size();
  auto made =
      impl_->shards[number]->with([&](Endpoint& e) { return e.connect(address, cookie, peer); });
  if (made) made.value() = global(number, made.value());
  return made;
}

std::optional<Error> ThreadedEndpoint::change_keys(const EndpointOptions& options) {
  // What one refuses all refuse.
  for (const auto& shard : impl_->shards) {
    auto wrong = shard->with([&](Endpoint& e) { return e.change_keys(options); });
    if (wrong) return wrong;
  }
  return std::nullopt;
}

Status ThreadedEndpoint::send(ConnectionId connection, std::uint64_t tag,
                              std::span<const std::byte> message, std::uint64_t cookie) {
  return send(connection, tag, {}, message, cookie);
}
Status ThreadedEndpoint::send(ConnectionId connection, std::uint64_t tag,
                              std::span<const std::byte> head, std::span<const std::byte> rest,
                              std::uint64_t cookie) {
  return impl_->with(connection, [&](Endpoint& e, ConnectionId id) {
    return e.send(id, tag, head, rest, cookie);
  });
}
Status ThreadedEndpoint::post_receive(ConnectionId connection, Match match,
                                      std::span<std::byte> buffer, std::uint64_t cookie) {
  return impl_->with(connection, [&](Endpoint& e, ConnectionId id) {
    return e.post_receive(id, match, buffer, cookie);
  });
}
Status ThreadedEndpoint::sendv(ConnectionId connection, std::uint64_t tag, PiecesOut message,
                               std::uint64_t cookie) {
  return impl_->with(
      connection, [&](Endpoint& e, ConnectionId id) { return e.sendv(id, tag, message, cookie); });
}
Status ThreadedEndpoint::post_receivev(ConnectionId connection, Match match, PiecesIn buffer,
                                       std::uint64_t cookie) {
  return impl_->with(connection, [&](Endpoint& e, ConnectionId id) {
    return e.post_receivev(id, match, buffer, cookie);
  });
}
std::optional<Completion> ThreadedEndpoint::peek(ConnectionId connection, Match match) const {
  Shard* shard = impl_->of(connection);
  if (shard == nullptr) return std::nullopt;
  auto found = shard->with([&](Endpoint& e) { return e.peek(local(connection), match); });
  if (found) found->connection = connection;
  return found;
}
Outcome<RegionKey> ThreadedEndpoint::register_region(std::span<std::byte> memory,
                                                     ConnectionId connection, Access access) {
  Shard* shard = impl_->of(connection);
  if (shard == nullptr)
    return Error{
        "of an endpoint with threads a region belongs to one connection. name one that is open"};
  return shard->with(
      [&](Endpoint& e) { return e.register_region(memory, local(connection), access); });
}
Status ThreadedEndpoint::unregister_region(RegionKey key) {
  // Keys are random: one of them has it, or none.
  for (const auto& shard : impl_->shards) {
    const Status status = shard->with([&](Endpoint& e) { return e.unregister_region(key); });
    if (status != Status::unknown_region) return status;
  }
  return Status::unknown_region;
}
std::size_t ThreadedEndpoint::cancel_receives(std::uint64_t cookie) {
  std::size_t count = 0;
  for (const auto& shard : impl_->shards)
    count += shard->with([&](Endpoint& e) { return e.cancel_receives(cookie); });
  return count;
}
Status ThreadedEndpoint::write(ConnectionId connection, RegionKey region, std::uint64_t offset,
                               std::span<const std::byte> bytes, std::uint64_t cookie) {
  return impl_->with(connection, [&](Endpoint& e, ConnectionId id) {
    return e.write(id, region, offset, bytes, cookie);
  });
}
Status ThreadedEndpoint::write(ConnectionId connection, RegionKey region, std::uint64_t offset,
                               std::span<const std::byte> bytes, std::uint64_t immediate,
                               std::uint64_t cookie) {
  return impl_->with(connection, [&](Endpoint& e, ConnectionId id) {
    return e.write(id, region, offset, bytes, immediate, cookie);
  });
}
Status ThreadedEndpoint::read(ConnectionId connection, RegionKey region, std::uint64_t offset,
                              std::span<std::byte> into, std::uint64_t cookie) {
  return impl_->with(connection, [&](Endpoint& e, ConnectionId id) {
    return e.read(id, region, offset, into, cookie);
  });
}
Status ThreadedEndpoint::atomic(ConnectionId connection, RegionKey region, std::uint64_t offset,
                                AtomicOp op, ValueType type, std::span<std::byte> before,
                                std::span<const std::byte> operands,
                                std::span<const std::byte> compared, std::uint64_t cookie) {
  return impl_->with(connection, [&](Endpoint& e, ConnectionId id) {
    return e.atomic(id, region, offset, op, type, before, operands, compared, cookie);
  });
}
Status ThreadedEndpoint::close(ConnectionId connection) {
  return impl_->with(connection, [](Endpoint& e, ConnectionId id) { return e.close(id); });
}
Status ThreadedEndpoint::abort(ConnectionId connection) {
  return impl_->with(connection, [](Endpoint& e, ConnectionId id) { return e.abort(id); });
}

std::span<const Completion> ThreadedEndpoint::wait(std::span<Completion> out, nanoseconds timeout) {
  return impl_->mailbox.take(out, timeout);
}
bool ThreadedEndpoint::wait(nanoseconds timeout) { return impl_->mailbox.await(timeout); }
int ThreadedEndpoint::file_descriptor() const { return impl_->mailbox.descriptor(); }

Outcome<ConnectionStatistics> ThreadedEndpoint::statistics(ConnectionId connection) const {
  Shard* shard = impl_->of(connection);
  if (shard == nullptr) return Error{"no such connection"};
  return shard->with([&](Endpoint& e) { return e.statistics(local(connection)); });
}
EndpointStatistics ThreadedEndpoint::statistics() const {
  // Counts and nothing else.
  using Counts = std::array<std::uint64_t, sizeof(EndpointStatistics) / sizeof(std::uint64_t)>;
  Counts sum{};
  for (const auto& shard : impl_->shards) {
    const auto one = std::bit_cast<Counts>(shard->statistics());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += one[i];
  }
  return std::bit_cast<EndpointStatistics>(sum);
}
SocketLimits ThreadedEndpoint::socket_limits() const {
  std::optional<SocketLimits> least;
  for (const auto& shard : impl_->shards) {
    const SocketLimits one = shard->with([](Endpoint& e) { return e.socket_limits(); });
    if (!least) least = one;
    least->receive_buffer = std::min(least->receive_buffer, one.receive_buffer);
    least->send_buffer = std::min(least->send_buffer, one.send_buffer);
    least->paths_sharing = std::max(least->paths_sharing, one.paths_sharing);
  }
  return *least;
}
bool ThreadedEndpoint::keep_path_statistics(ConnectionId connection) {
  Shard* shard = impl_->of(connection);
  if (shard == nullptr) return false;
  return shard->with([&](Endpoint& e) { return e.keep_path_statistics(local(connection)); });
}
std::vector<PathStatistics> ThreadedEndpoint::path_statistics(ConnectionId connection) const {
  Shard* shard = impl_->of(connection);
  if (shard == nullptr) return {};
  return shard->with([&](Endpoint& e) { return e.path_statistics(local(connection)); });
}
std::vector<std::uint64_t> ThreadedEndpoint::path_arrivals(ConnectionId connection) const {
  Shard* shard = impl_->of(connection);
  if (shard == nullptr) return {};
  return shard->with([&](Endpoint& e) { return e.path_arrivals(local(connection)); });
}
std::size_t ThreadedEndpoint::connections(std::span<ConnectionId> out) const {
  std::size_t count = 0;
  for (std::size_t number = 0; number < impl_->shards.size(); ++number) {
    const std::span<ConnectionId> room = out.subspan(std::min(count, out.size()));
    const std::size_t found =
        impl_->shards[number]->with([&](Endpoint& e) { return e.connections(room); });
    for (ConnectionId& id : room.first(std::min(found, room.size()))) id = global(number, id);
    count += found;
  }
  return count;
}

}  // namespace strack::udp
