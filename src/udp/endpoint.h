// STrack over UDP: reliable messages between hosts, sprayed over many paths. This is the public
// header, installed as <strack/endpoint.h>; it needs the standard library only.
//
// An `Endpoint` is a set of UDP sockets and the connections on them. It belongs to one thread at a
// time, takes no locks and starts no threads: nothing happens except inside its member functions,
// and whatever is to happen needs `poll()` or `wait()` to be called again and again, also by a side
// that only receives (it acknowledges) and by one that waits for its sends to complete (it
// retransmits). Use one endpoint per thread; several can listen at one address (`shards`). With
// `threads` an endpoint has threads of its own that do all this, and any thread may call it.
//
//   EndpointOptions options;
//   options.listen = "0.0.0.0:4794";           // the server; a client leaves it empty
//   auto opened = Endpoint::open(options);
//   if (!opened) die(opened.error().text);
//   Endpoint endpoint = std::move(opened.value());
//
//   auto peer = endpoint.connect("192.0.2.7:4794");          // or wait for Kind::accepted
//   endpoint.post_receive(kAnyConnection, Match::any(), buffer, /*cookie=*/1);
//   endpoint.send(peer.value(), /*tag=*/7, message, /*cookie=*/2);
//   while (running) {
//     endpoint.wait(std::chrono::milliseconds(100));
//     std::array<Completion, 64> done;
//     for (const Completion& c : endpoint.completions(done)) handle(c);
//   }
//
// The memory of a message belongs to the endpoint from `send`, `write`, `read` or `post_receive` until the
// completion with its cookie; the endpoint keeps no copy of it.
//
// Order. Messages of one connection and direction are matched with posted receives in the order in
// which they were sent, and by default complete at the receiver in that order too: when a receive
// completes, everything sent before it on that connection, writes included, is in place.
// Completions at the sender (`sent`, `written`) come as messages are acknowledged, in any order;
// acknowledged means that the peer's endpoint has the bytes in place or, for a message that nobody
// has posted a receive for yet, holds them for it.
//
// Back-pressure. `send` and `write` return `would_block` when the connection has
// `EndpointOptions::message_slots` messages under way: try again after a completion. A receiver
// grants its peer so many messages as it has posted receives (and `unexpected_messages` more), so a
// message normally finds its buffer. One that does not is held in a bounded pool, and beyond that
// is not accepted: its packets are dropped unacknowledged and come again after the receive was
// posted. Nothing queues without bound.
//
// Security. With a `key`, or an `identity`, every packet is encrypted and authenticated and strangers cannot make the
// endpoint allocate memory, but by a trusted host's hello that they recorded: up to half of `max_connections` for 3 s.
// Without either, only loopback addresses are allowed unless `insecure` is set.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "endpoint_statistics.h"  // beside this one, here and where it is installed

namespace strack::udp {

/// Names a connection of one endpoint; never reused by that endpoint.
enum class ConnectionId : std::uint64_t {};
/// In `post_receive`: a message from whichever connection comes first.
inline constexpr ConnectionId kAnyConnection{0};

/// Names registered memory towards peers. Unpredictable; hand it to those who may write there.
struct RegionKey {
  std::uint64_t id = 0;
  friend bool operator==(const RegionKey&, const RegionKey&) = default;
};

/// What peers may do with registered memory.
enum class Access : std::uint8_t { write = 1, read = 2, both = 3 };

/// What an atomic does to a value, with an operand: the new value is the result.
enum class AtomicOp : std::uint8_t {
  min = 1,
  max,
  sum,
  product,
  logical_or,
  logical_and,
  bitwise_or,
  bitwise_and,
  logical_xor,
  bitwise_xor,
  read,  ///< no operand, and nothing is changed
  write,
  // With two: the operand goes there if what is compared with stands so to what is there.
  swap_if_equal,
  swap_if_not_equal,
  swap_if_less_or_equal,
  swap_if_less,
  swap_if_greater_or_equal,
  swap_if_greater,
  swap_masked,  ///< the bits that the second has
};
/// Values, as they lie in the memory of a little-endian machine, aligned or not.
enum class ValueType : std::uint8_t {
  int8 = 1,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  single_float,
  double_float,
  // Machines differ in these, or nobody has asked: they do not travel between endpoints.
  single_complex,
  double_complex,
  long_double,
  long_complex,
};
/// Of one atomic's values.
inline constexpr std::size_t kMostAtomicBytes = 240;

/// Why something was not done. `Status::text` puts it in words.
enum class Status : std::uint8_t {
  ok,
  would_block,         ///< no free slot now: again after the next completion
  unknown_connection,  ///< no such connection, or it has ended
  closing,             ///< `close` was called: nothing more can be sent
  too_long,            ///< more than a message or an atomic can have
  unknown_region,      ///< in `unregister_region`
  truncated,           ///< receive: the message was longer than the buffer; the rest was dropped
  cancelled,           ///< by `cancel_receive`, or by the endpoint's end
  connection_closed,   ///< the peer closed before this could complete
  peer_dead,           ///< nothing heard from the peer for `peer_timeout`
  peer_aborted,        ///< the peer aborted the connection, or its endpoint has gone
  refused,             ///< set-up: the peer does not take these terms
  key_refused,         ///< set-up: the peer has another key, or only one side has one
  busy,                ///< set-up: the peer has no room for another connection
  not_listening,       ///< set-up: the peer takes no connections
  timed_out,           ///< set-up: no answer within `connect_timeout`
  went_silent,  ///< set-up: a first answer, and no further one: no room there, or ways that lose packets
  access_refused,     ///< the peer wrote or read where it may not (it sees `protocol_error`)
  protocol_error,     ///< the peer says that this side broke a rule, or the reverse
  keys_exhausted,     ///< 2^40 packets under one key: connect anew
  no_resources,       ///< `max_connections`, `max_receives` or `max_regions` is reached
  peer_restarted,     ///< the peer does not know the connection any more: connect anew
  version_refused,    ///< set-up: the peer speaks another version of the protocol
  transport_refused,  ///< set-up: the peer does not have `EndpointOptions::transport`
  /// set-up, `read`, `atomic`: the peer does not know an extension that this side cannot do without
  extension_refused,
  unreachable,  ///< set-up: this host knows no way to the peer
  invalid,      ///< `atomic`: what was asked for makes no sense
};
[[nodiscard]] std::string_view text(Status status);

/// A key of any kind.
using Key = std::array<std::byte, 32>;

/// A mistake in what the user asked for, in words that name the value and what would work.
struct Error {
  std::string text;
};

/// A value or an error. `if (!result) use(result.error().text);`
template <class T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Outcome(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  explicit operator bool() const { return state_.index() == 0; }
  [[nodiscard]] T& value() { return std::get<0>(state_); }
  [[nodiscard]] const T& value() const { return std::get<0>(state_); }
  [[nodiscard]] const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

/// Which messages a posted receive takes: those whose tag agrees with `tag` in the bits of `mask`.
struct Match {
  std::uint64_t tag = 0;
  std::uint64_t mask = ~std::uint64_t{0};

  [[nodiscard]] static constexpr Match exactly(std::uint64_t tag) {
    return {tag, ~std::uint64_t{0}};
  }
  [[nodiscard]] static constexpr Match any() { return {0, 0}; }
  [[nodiscard]] constexpr bool accepts(std::uint64_t other) const {
    return ((other ^ tag) & mask) == 0;
  }
};

/// What has happened.
enum class Kind : std::uint8_t {
  sent,         ///< a `send` is acknowledged, or failed
  written,      ///< a `write` is acknowledged: the bytes are in the peer's region; or failed
  received,     ///< a posted receive holds a message, or failed
  connected,    ///< the connection asked for by `connect` is up
  accepted,     ///< a peer has connected to `listen`
  peer_closed,  ///< the peer will send no more messages; this side may, until its own `close`
  closed,       ///< both sides have closed: nothing was lost in either direction
  failed,       ///< the connection has ended, or never came up, for the reason in `status`
  read,         ///< a `read` has its bytes, or failed
  atomic,       ///< an `atomic` is done, and what was there is here; or failed
};
[[nodiscard]] std::string_view text(Kind kind);

/// One thing that has happened. Completions of a connection's operations come before its
/// `closed` or `failed`; those still outstanding then come with a status that is not ok.
struct Completion {
  Kind kind = Kind::sent;
  Status status = Status::ok;
  ConnectionId connection{};
  std::uint64_t cookie = 0;  ///< of the operation; of `connect` for `connected` and its `failed`
  std::uint64_t tag =
      0;  ///< received, sent: the message's; accepted, connected: the peer's user_data
  std::uint64_t length = 0;  ///< received: the message's (with `truncated`, more than the buffer)
};

/// Of one message, or of a receive's buffer.
inline constexpr std::size_t kMostMessagePieces = 1024;
using PiecesOut = std::span<const std::span<const std::byte>>;
using PiecesIn = std::span<const std::span<std::byte>>;

/// [D123] Is asked where a message goes when its first bytes have come, so that nobody has to copy it from a buffer for
/// any message to its place.
class Usher {
 public:
  struct Place {
    std::size_t head = 0;  ///< bytes of it that stay in the buffer
    std::span<std::byte>
        rest;  ///< where the others go, as far as there is room; until the completion
  };

  Usher() = default;
  Usher(const Usher&) = delete;
  Usher& operator=(const Usher&) = delete;
  virtual ~Usher() = default;

  /// Of a message of `length` bytes that has been given the receive with this cookie, and everything before which on its
  /// connection has been taken from `completions`. Nothing: it stays in the buffer. Either way the receive completes as
  /// it would have. The endpoint is at work, and takes no calls.
  [[nodiscard]] virtual std::optional<Place> place(ConnectionId connection, std::uint64_t cookie,
                                                   std::uint64_t length,
                                                   std::span<const std::byte> first) = 0;
};

struct EndpointOptions {
  /// Where to take connections: "0.0.0.0:4794", "[::]:4794", "127.0.0.1:0" (any free port). Empty:
  /// none are taken; the sockets' family is then that of the first `connect`, and the port any free
  /// one.
  std::string listen;
  /// For a client that must come from a certain address; with `listen` leave it empty.
  std::string bind;
  /// [D107] Several endpoints may listen at one address, each in a thread or process of its own: this one is number
  /// `shard` of `shards`, up to 64. The kernel hands every packet to the one that has its connection, and new
  /// ones to any of them. Open them in the order of their numbers, all at the same port, and end them together.
  /// `threads` does it all.
  std::uint32_t shard = 0;
  std::uint32_t shards = 1;
  /// [D107] Threads of the endpoint's own that move its packets, up to 64: `ThreadedEndpoint` says what that means.
  /// 0: whoever calls `poll` or `wait` moves them.
  std::uint32_t threads = 0;

  /// The pre-shared key of a job, 32 bytes, the same at all its endpoints. Use a random one.
  std::optional<Key> key;
  /// Instead of a shared key: this host's own private key (X25519), 32 random bytes that nobody else has. Every
  /// connection is then with a peer known by its public key, and who learns a private key later cannot read what
  /// was said before.
  std::optional<Key> identity;
  /// [D141] While keys are changed: further shared keys, or further identities of this host, by which connections are
  /// taken, too. Those that start here use `key` or `identity`.
  std::array<std::optional<Key>, 2> other_keys;
  /// With an identity: the public keys of those whose connections are taken. To others it is silent.
  std::vector<Key> trusted;
  /// With an identity: the public key that `connect` must find at the other side, unless it is given another.
  std::optional<Key> peer;
  /// Keys are changed after so many packets of one direction, at most 2^24, or so much time, but no sooner than 10 ms after
  /// the last time; 65,535 times, then it ends.
  std::uint32_t rekey_packets = 1u << 24;
  std::chrono::milliseconds rekey_interval{600'000};
  /// Which library seals packets: "ipsec-mb", "openssl" or "libsodium". They differ in speed only. Empty:
  /// the fastest that this machine has.
  std::string sealing;
  /// Allow connections without a key that leave this host.
  bool insecure = false;

  /// What this side tells every peer about itself, as it likes: a rank, a service.
  std::uint64_t user_data = 0;

  /// Entropies: the UDP source ports that a connection's packets are spread over, 1 to 256.
  std::uint32_t paths = 256;
  /// Packets per entropy and system call (UDP_SEGMENT), 1 to 64. More is faster (2 to 3 times at 8)
  /// and coarser: a mark or a loss hits the whole burst, so 1 is right on a network with several
  /// paths. 0: as many as take 50 us on the path's links [D114].
  std::uint32_t burst = 1;
  /// The rate of this host's link. With the measured base RTT it gives the window and all
  /// parameters. Slower links on the way are found at set-up; what merely limits a rate (a token
  /// bucket) is not, and there a rate far above costs queues until the window has come down.
  std::uint64_t rate_bps = 10'000'000'000;
  /// The largest payload of a packet; the path's MTU lowers it further.
  std::uint32_t max_payload = 8192;
  /// Spread packets evenly whatever the marks say, for comparison.
  bool oblivious = false;
  /// How datagrams travel: "kernel", by its sockets; or "simulated", within one thread, for tests of what
  /// is above. Empty: the first.
  std::string datapath;
  /// Of connections that start here, by its name; empty: the first that the program has. Others that it
  /// has are accepted from peers.
  std::string transport;

  std::uint32_t message_slots = 64;       ///< messages under way per connection and direction, 2^n
  std::uint32_t unexpected_messages = 4;  ///< granted to a peer beyond the posted receives
  std::uint32_t max_connections = 1024;   ///< more are turned away
  /// Of these, from one IPv4 address or IPv6 network of 64 bits, so that it leaves some to others.
  /// 0: no such limit.
  std::uint32_t max_connections_per_source = 0;
  std::uint32_t max_receives = 65'536;  ///< posted and not completed
  std::uint32_t max_regions = 1024;
  /// The pool for packets whose buffer is not known yet. Allocated as needed, up to this.
  std::size_t held_bytes = std::size_t{16} << 20;
  /// Receives complete in the order of sending. Otherwise each when it is whole.
  bool complete_in_order = true;
  /// [D88] The acknowledgement of a message that has just become whole waits for the next call, so that what
  /// the program answers leaves first. For programs that call again at once; where one did not, none waits
  /// for a while.
  bool answers_first = false;

  /// Silence after which a peer is given up. Also: a quarter of this is how often an idle peer is
  /// asked.
  std::chrono::milliseconds peer_timeout{10'000};
  std::chrono::milliseconds connect_timeout{10'000};
  /// How long `wait` spins, at most, before it sleeps. It finds out by itself how much of it pays;
  /// more saves wake-ups, which cost latency and, at the sending side, throughput. 0: it sleeps at
  /// once.
  std::chrono::microseconds spin{100};

  /// Keep account of every path (`path_statistics`), 140 KB for each connection.
  bool path_statistics = false;
  /// Kernel buffers asked for; the system's limits apply (net.core.rmem_max).
  std::size_t receive_buffer = std::size_t{8} << 20;
  std::size_t send_buffer = std::size_t{4} << 20;

  /// Wipes `key`, `identity` and `other_keys`, of every copy, and what was there before they were reset.
  ~EndpointOptions();
};

/// See the top of this file. Movable, not copyable; without `threads` it must not be used by two threads at once.
class Endpoint {
 public:
  /// Opens the sockets, or says what is wrong with the options or what the system refused.
  [[nodiscard]] static Outcome<Endpoint> open(const EndpointOptions& options);
  Endpoint(Endpoint&&) noexcept;
  Endpoint& operator=(Endpoint&&) noexcept;
  /// Ends at once: peers are told that this endpoint goes away, outstanding operations are
  /// forgotten. `close` the connections first, and poll until each is reported closed, to lose
  /// nothing.
  ~Endpoint();

  /// The address of the primary socket, such as "127.0.0.1:4794"; empty before there is one.
  [[nodiscard]] std::string local_address() const;
  [[nodiscard]] std::uint16_t local_port() const;
  /// The library that seals packets; empty without a key.
  [[nodiscard]] std::string_view sealing() const;
  /// That it has of its own; 0: none.
  [[nodiscard]] std::uint32_t threads() const;
  /// A connection's peer.
  [[nodiscard]] std::string peer_address(ConnectionId connection) const;
  /// Its public key, where this endpoint has an identity.
  [[nodiscard]] std::optional<Key> peer_key(ConnectionId connection) const;

  /// Begins to connect to "host:port" with a numeric address ("192.0.2.7:4794",
  /// "[2001:db8::7]:4794"; names are resolved by `resolve`). `connected` or `failed` follows as a
  /// completion. Messages can be sent and receives posted at once; they wait for the connection.
  /// `peer`: with an identity, whom to expect there, if not the options' peer.
  [[nodiscard]] Outcome<ConnectionId> connect(std::string_view address, std::uint64_t cookie = 0,
                                              const std::optional<Key>& peer = std::nullopt);
  /// [D141] From now on connections are made with these options' `key` or `identity`, `other_keys`, `trusted` and `peer`;
  /// their other members are not looked at. Those that are up, or half up, stay as they are, also where their key is
  /// not among the new ones. Says what is wrong, and changes nothing: keys of another kind, for one. Nobody in `trusted`
  /// is no mistake here: nobody new gets in.
  [[nodiscard]] std::optional<Error> change_keys(const EndpointOptions& options);

  /// Queues a message. The bytes must stay as they are until the completion. Zero bytes are a
  /// message too.
  [[nodiscard]] Status send(ConnectionId connection, std::uint64_t tag,
                            std::span<const std::byte> message, std::uint64_t cookie);
  /// The same of a message in two parts, which its receiver sees as one.
  [[nodiscard]] Status send(ConnectionId connection, std::uint64_t tag,
                            std::span<const std::byte> head, std::span<const std::byte> rest,
                            std::uint64_t cookie);

  /// The same of a message in up to `kMostMessagePieces` pieces; the list of them is copied.
  [[nodiscard]] Status sendv(ConnectionId connection, std::uint64_t tag, PiecesOut message,
                             std::uint64_t cookie);

  /// Offers a buffer to messages from one connection, or from any. Of several that match a message,
  /// the one posted first takes it, those of the connection itself before those for any. A longer
  /// message is cut off (`truncated`).
  [[nodiscard]] Status post_receive(ConnectionId connection, Match match,
                                    std::span<std::byte> buffer, std::uint64_t cookie);
  /// The same with a buffer in up to `kMostMessagePieces` pieces, which a message fills in their order. The list is copied.
  [[nodiscard]] Status post_receivev(ConnectionId connection, Match match, PiecesIn buffer,
                                     std::uint64_t cookie);
  /// Of the messages that have begun to come, from one connection or any, and that no receive has been posted for: the
  /// first that this one would take, as a `received` without a cookie. It stays where it is. With `threads`, of one
  /// connection only.
  [[nodiscard]] std::optional<Completion> peek(ConnectionId connection, Match match) const;
  /// [D123] Whom to ask from now on, or nullptr. It must live as long as the endpoint. With `threads` nobody is asked.
  void set_usher(Usher* usher);
  /// Takes back receives posted with this cookie that no message has been matched with; each
  /// completes as `cancelled`. Returns how many.
  std::size_t cancel_receives(std::uint64_t cookie);

  /// Lets peers write into this memory, or read it, all connections or one. It must stay until
  /// `unregister_region` (which takes effect at once: a write or read under way then ends its connection).
  [[nodiscard]] Outcome<RegionKey> register_region(std::span<std::byte> memory,
                                                   ConnectionId connection = kAnyConnection,
                                                   Access access = Access::write);
  Status unregister_region(RegionKey key);

  /// One-sided: puts the bytes at `offset` of a region that the peer has registered. The peer's
  /// program is not told; send it a message afterwards, which completes there after the write. A
  /// write that does not fit in a region that the peer has registered for it ends the connection:
  /// `protocol_error` here.
  [[nodiscard]] Status write(ConnectionId connection, RegionKey region, std::uint64_t offset,
                             std::span<const std::byte> bytes, std::uint64_t cookie);

  /// [D150] The same, and the peer's program is told: a receive that takes messages with the tag `immediate` completes
  /// there, with a length of 0, when the bytes are in place. Takes two of the connection's slots.
  [[nodiscard]] Status write(ConnectionId connection, RegionKey region, std::uint64_t offset,
                             std::span<const std::byte> bytes, std::uint64_t immediate,
                             std::uint64_t cookie);

  /// [D148] One-sided: fills `into` from `offset` of a region that the peer has registered for reading. `read` follows.
  /// It sees all writes that this side has queued before it. The peer's program is not told. As with a write, what is not in a region ends the connection. `would_block` also before the connection is
  /// up; `extension_refused` if the peer's version has no reads. An answer comes behind what the peer has sent before:
  /// who lets messages wait without a receive lets his reads wait, too.
  [[nodiscard]] Status read(ConnectionId connection, RegionKey region, std::uint64_t offset,
                            std::span<std::byte> into, std::uint64_t cookie);

  /// [D154] Changes values at `offset` of a region that the peer has registered for reading and writing (for AtomicOp::read:
  /// for reading), each once and all at a time; what was there comes to `before`. `atomic` follows. `before`, `operands` and
  /// `compared` are equally long, at most kMostAtomicBytes, but those that the operation does not have are empty; operands
  /// are copied. Atomics of all endpoints of the peer's process wait for each other; what its program does with that memory
  /// meanwhile does not. All else is as with `read`. `invalid`: lengths, an operation or a type that do not go together.
  [[nodiscard]] Status atomic(ConnectionId connection, RegionKey region, std::uint64_t offset,
                              AtomicOp op, ValueType type, std::span<std::byte> before,
                              std::span<const std::byte> operands,
                              std::span<const std::byte> compared, std::uint64_t cookie);

  /// No more will be sent. The connection ends (`closed`) when all that was queued here is
  /// acknowledged and the peer has closed too, or has learnt of it; a peer that still sends gets
  /// its messages through first. On a connection not up yet: gives it up.
  Status close(ConnectionId connection);
  /// Ends a connection now, whatever is under way; the peer is told once, and finds out by silence
  /// otherwise.
  Status abort(ConnectionId connection);

  /// Does what there is to do, without waiting: receives, acknowledges, sends, minds timers.
  /// Returns whether there was anything; with `threads`, whether there is a completion.
  bool poll();
  /// Sends what may go now, without looking for what has come.
  void flush();
  /// Polls until there is a completion or `timeout` is over; sleeps in between. Returns whether
  /// there is a completion. A timeout of zero polls once.
  bool wait(std::chrono::nanoseconds timeout);
  /// Takes up to `out.size()` completions, oldest first; returns those taken.
  std::span<const Completion> completions(std::span<Completion> out);

  /// Readable (epoll, select) when datagrams wait; -1 before there is a socket. Then, or when
  /// `next_deadline` is over, call `poll`: for programs with an event loop of their own. With `threads`:
  /// readable when completions wait.
  [[nodiscard]] int file_descriptor() const;
  /// When `poll` must be called even if nothing arrives, from now; nanoseconds::max() for never.
  [[nodiscard]] std::chrono::nanoseconds next_deadline() const;

  [[nodiscard]] Outcome<ConnectionStatistics> statistics(ConnectionId connection) const;
  [[nodiscard]] EndpointStatistics statistics() const;
  [[nodiscard]] SocketLimits socket_limits() const;
  /// Keeps account of every path of this connection from now on, as the option does for all; whether there is
  /// such a connection.
  bool keep_path_statistics(ConnectionId connection);
  /// Path by path, those that packets have taken; nothing where no account is kept, or no such connection.
  [[nodiscard]] std::vector<PathStatistics> path_statistics(ConnectionId connection) const;
  /// Data packets that have come by each of the peer's paths, in their order; nothing as above.
  [[nodiscard]] std::vector<std::uint64_t> path_arrivals(ConnectionId connection) const;
  /// The connections up now, in no particular order.
  [[nodiscard]] std::size_t connections(std::span<ConnectionId> out) const;

 private:
  struct Impl;
  explicit Endpoint(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// [D107] Several endpoints at one address, each with a thread that moves its packets, as one that any thread may use. A
/// connection belongs to one of them for its life: peers' connections come to any, those that start here go to each by
/// turns. The limits of the options (`max_connections`, `held_bytes`) hold for each, and so do `paths`: it takes
/// threads * (paths + 4) descriptors.
///
/// As with `Endpoint`, but: receives and regions belong to one connection, never to any of them (post after `accepted`,
/// `connected` or `connect`), and completions are taken where they are waited for. An `Endpoint` with `threads` is one
/// of these, and keeps to the same.
class ThreadedEndpoint {
 public:
  /// 1 to 64 threads, for the options' own. `shard` and `shards` are not looked at, nor is any datapath but the
  /// kernel's.
  [[nodiscard]] static Outcome<ThreadedEndpoint> open(const EndpointOptions& options,
                                                      std::uint32_t threads);
  ThreadedEndpoint(ThreadedEndpoint&&) noexcept;
  ThreadedEndpoint& operator=(ThreadedEndpoint&&) noexcept;
  /// Ends its threads, then as with `Endpoint`. No other call may be under way.
  ~ThreadedEndpoint();

  [[nodiscard]] std::uint32_t threads() const;
  [[nodiscard]] std::string local_address() const;
  [[nodiscard]] std::uint16_t local_port() const;
  [[nodiscard]] std::string_view sealing() const;
  [[nodiscard]] std::string peer_address(ConnectionId connection) const;
  [[nodiscard]] std::optional<Key> peer_key(ConnectionId connection) const;

  [[nodiscard]] Outcome<ConnectionId> connect(std::string_view address, std::uint64_t cookie = 0,
                                              const std::optional<Key>& peer = std::nullopt);
  [[nodiscard]] std::optional<Error> change_keys(const EndpointOptions& options);
  [[nodiscard]] Status send(ConnectionId connection, std::uint64_t tag,
                            std::span<const std::byte> message, std::uint64_t cookie);
  [[nodiscard]] Status send(ConnectionId connection, std::uint64_t tag,
                            std::span<const std::byte> head, std::span<const std::byte> rest,
                            std::uint64_t cookie);
  [[nodiscard]] Status post_receive(ConnectionId connection, Match match,
                                    std::span<std::byte> buffer, std::uint64_t cookie);
  std::size_t cancel_receives(std::uint64_t cookie);
  [[nodiscard]] Status sendv(ConnectionId connection, std::uint64_t tag, PiecesOut message,
                             std::uint64_t cookie);
  [[nodiscard]] Status post_receivev(ConnectionId connection, Match match, PiecesIn buffer,
                                     std::uint64_t cookie);
  [[nodiscard]] std::optional<Completion> peek(ConnectionId connection, Match match) const;
  [[nodiscard]] Outcome<RegionKey> register_region(std::span<std::byte> memory,
                                                   ConnectionId connection,
                                                   Access access = Access::write);
  Status unregister_region(RegionKey key);
  [[nodiscard]] Status write(ConnectionId connection, RegionKey region, std::uint64_t offset,
                             std::span<const std::byte> bytes, std::uint64_t cookie);
  [[nodiscard]] Status write(ConnectionId connection, RegionKey region, std::uint64_t offset,
                             std::span<const std::byte> bytes, std::uint64_t immediate,
                             std::uint64_t cookie);
  [[nodiscard]] Status read(ConnectionId connection, RegionKey region, std::uint64_t offset,
                            std::span<std::byte> into, std::uint64_t cookie);
  [[nodiscard]] Status atomic(ConnectionId connection, RegionKey region, std::uint64_t offset,
                              AtomicOp op, ValueType type, std::span<std::byte> before,
                              std::span<const std::byte> operands,
                              std::span<const std::byte> compared, std::uint64_t cookie);
  Status close(ConnectionId connection);
  Status abort(ConnectionId connection);

  /// Waits for completions until `timeout` is over, and takes up to `out.size()`, those of a connection in their
  /// order. Several threads may wait: each completion goes to one of them.
  std::span<const Completion> wait(std::span<Completion> out, std::chrono::nanoseconds timeout);
  /// The same, and takes none: whether there are any. Another thread may be faster to take them.
  bool wait(std::chrono::nanoseconds timeout);
  /// Readable (epoll, select) when completions wait.
  [[nodiscard]] int file_descriptor() const;

  [[nodiscard]] Outcome<ConnectionStatistics> statistics(ConnectionId connection) const;
  /// Of all together.
  [[nodiscard]] EndpointStatistics statistics() const;
  [[nodiscard]] SocketLimits socket_limits() const;
  bool keep_path_statistics(ConnectionId connection);
  [[nodiscard]] std::vector<PathStatistics> path_statistics(ConnectionId connection) const;
  [[nodiscard]] std::vector<std::uint64_t> path_arrivals(ConnectionId connection) const;
  [[nodiscard]] std::size_t connections(std::span<ConnectionId> out) const;

 private:
  struct Impl;
  explicit ThreadedEndpoint(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// "name:port" or "name" to a numeric address that `connect` takes. Asks the resolver, so it may
/// block.
[[nodiscard]] Outcome<std::string> resolve(std::string_view host_and_port,
                                           std::uint16_t default_port = 4794);
/// A key from 64 hexadecimal digits, as `openssl rand -hex 32` prints them; white space around is
/// fine.
[[nodiscard]] Outcome<Key> parse_key(std::string_view hex);
/// A public key, of 64 hexadecimal digits, perhaps with colons between bytes, or as `openssl pkey -pubout` prints it
/// between its first and last line. What no identity has (a point of low order, such as zero) is none.
[[nodiscard]] Outcome<Key> parse_public_key(std::string_view text);
/// The same digits again.
[[nodiscard]] std::string key_text(const Key& key);
/// 32 random bytes: a shared key, or an identity.
[[nodiscard]] Key new_key();
/// What peers know an identity by.
[[nodiscard]] Key public_key(const Key& identity);

}  // namespace strack::udp
