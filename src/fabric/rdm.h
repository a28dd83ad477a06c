// Reliable datagram messages, remote memory and atomics over one UDP endpoint: everything that the provider does
// but for libfabric's own objects. Like the endpoint it belongs to one thread at a time.
//
// Short messages travel with their header in one message of the endpoint's, and are copied once at either side, or at
// neither: where their receive is posted when they begin to come, they come there [D123].
// Longer ones are offered first, and fetched when the receiver knows where they go: straight out of the sender's
// memory into the receiver's [D82]. Whoever has been asked answers on the connection that the question came by,
// and all that one endpoint sends to another of its own accord goes by one connection, so that order follows from
// the endpoint's; a connection opens with the first message to a peer, or is the peer's if that was earlier [D81].
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "fabric/message.h"
#include "fabric/pieces.h"
#include "udp/address.h"
#include "udp/endpoint.h"
#include "udp/matching.h"

namespace strack::fabric {

/// Every provider takes messages of this length unasked.
inline constexpr std::size_t kMostInjected = 4'096;

/// [D93] What an endpoint tells its peers at set-up: that it speaks this language, and how long a message it
/// takes unasked.
inline constexpr std::uint64_t kGreeting = 0x5354'4b46;
[[nodiscard]] constexpr std::uint64_t greeting(std::size_t eager) {
  return kGreeting << 32 | static_cast<std::uint32_t>(eager);
}

/// Of a host and its port.
struct AddressHash {
  std::size_t operator()(const udp::Address& address) const {
    return udp::HostHash()(address) ^ std::size_t{address.port} * 0x9e37'79b9;
  }
};

struct Link;

/// An endpoint somewhere, known by its address.
struct Peer {
  udp::Address address;
  Link* out = nullptr;                    ///< where messages to it go; null: no connection yet
  std::uint64_t name = FI_ADDR_NOTAVAIL;  ///< in the address vector, as of `name_epoch`
  std::uint64_t name_epoch = 0;
  int failure = 0;  ///< of a set-up that an operation waited for, until one is told
};

struct Segments {
  std::array<Segment, kMostPieces> all{};
  std::uint8_t count = 0;

  /// Whether there are bytes of that region among them.
  [[nodiscard]] bool use(std::uint64_t key) const {
    return std::any_of(all.begin(), all.begin() + count,
                       [key](const Segment& one) { return one.length > 0 && one.key == key; });
  }
};

/// What the user asks for.
struct Request {
  Pieces local;    ///< what is sent, or where it goes
  Pieces result;   ///< of an atomic: what was there before
  Pieces compare;  ///< of an atomic: what it compares with
  Segments remote;
  Peer* peer = nullptr;  ///< of a receive: null for any
  void* context = nullptr;
  std::uint64_t tag = 0;
  std::uint64_t ignore = 0;
  std::uint64_t immediate = 0;
  /// FI_TAGGED or FI_MSG; FI_INJECT, FI_REMOTE_CQ_DATA, FI_DELIVERY_COMPLETE, FI_MATCH_COMPLETE, FI_MULTI_RECV
  std::uint64_t flags = 0;
  bool report = true;  ///< in the completion queue, if it succeeds
  [[nodiscard]] bool over_when_copied() const {
    return (flags & (FI_INJECT | FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)) == FI_INJECT;
  }
  void* work = nullptr;  ///< [D137] of a domain's queue: it counts where that says
  fi_op op = FI_MIN;
  fi_datatype datatype = FI_INT8;
};

/// Which of an endpoint's counters something counts in.
enum class Counted : std::uint8_t { send, receive, read, write, remote_read, remote_write };
inline constexpr std::size_t kCounters = 6;

/// Something is done, or failed.
struct Done {
  Counted counted{};
  bool counts = true;  ///< a look at a message does not
  bool report = true;
  void* context = nullptr;
  std::uint64_t flags = 0;
  std::uint64_t length = 0;
  void* buffer = nullptr;
  std::uint64_t immediate = 0;
  std::uint64_t tag = 0;
  Peer* source = nullptr;
  int error = 0;
  std::uint64_t excess = 0;  ///< bytes that the receive had no room for
  void* work = nullptr;      ///< [D137] the request's
};

/// Who owns an Rdm: is told what is done, and knows registered memory.
class Host {
 public:
  virtual ~Host() = default;
  virtual void done(const Done& done) = 0;
  /// Null where that memory is not registered for all of `access` (FI_REMOTE_READ, FI_REMOTE_WRITE).
  [[nodiscard]] virtual std::byte* region(const Segment& segment, std::uint64_t access) = 0;
  /// [D134] A peer has read (FI_REMOTE_READ) or changed (FI_REMOTE_WRITE) this memory, or both.
  virtual void accessed(std::span<const Segment> segments, std::uint64_t how) = 0;
  /// Held while values are changed in place, by whichever endpoint.
  [[nodiscard]] virtual std::unique_lock<std::mutex> alone() = 0;
};

struct Limits {
  std::size_t eager = 65'536;      ///< longer messages are offered
  std::size_t outstanding = 1024;  ///< messages on their way
  std::size_t buffers = 32;        ///< for messages with a header that come
  std::size_t least_multi_receive = 64;
  std::size_t found = std::size_t{64} << 20;  ///< [D94] bytes held that a peer's atomics found
  std::chrono::milliseconds last_reads{300};  ///< of a region that is closed
  /// [D103] A connection that nothing has used for so long is closed; 0: none is.
  std::chrono::milliseconds idle{60'000};
  /// [D104] Bytes of messages that wait for a receive; beyond them peers only offer.
  std::size_t unexpected = std::size_t{64} << 20;
  /// [D162] Bytes of messages that are sent unasked and that the peer has not said to have; of both sides the same.
  std::size_t uncounted = std::size_t{64} << 20;
  /// [D104] Offers of one peer's that wait for a receive: more than any provider has under way.
  std::size_t offers = 65'536;

  /// Of an atomic's operands: what they are compared with travels in the same message.
  [[nodiscard]] std::size_t most_atomic() const { return eager / 2; }
};

struct Operation;
struct Outgoing;
struct Buffer;
struct Placing;

/// [D162] What a message of this length takes where it is kept, as both sides reckon it.
[[nodiscard]] constexpr std::size_t kept_for(std::size_t size) { return 128 + size; }

/// A message that no receive was posted for.
struct Unexpected {
  Peer* peer = nullptr;
  std::uint64_t tag = 0;
  Header header;
  Link* link = nullptr;  ///< null once its connection has ended
  std::vector<std::byte> bytes;

  [[nodiscard]] std::size_t memory() const { return kept_for(bytes.size()); }
};

class Rdm final : private udp::Usher {
 public:
  Rdm(udp::Endpoint endpoint, const udp::Address& name, Host& host, const Limits& limits);
  Rdm(const Rdm&) = delete;
  Rdm& operator=(const Rdm&) = delete;
  ~Rdm() override;

  [[nodiscard]] Peer* peer(const udp::Address& address);

  // All return 0 or a negative FI_E...; -FI_EAGAIN: again after progress.
  int send(const Request& request);
  int receive(const Request& request);
  /// FI_PEEK, FI_CLAIM, FI_DISCARD among the flags.
  int probe(const Request& request);
  int write(const Request& request);
  int read(const Request& request);
  int atomic(const Request& request);
  /// Takes a receive back; it ends as cancelled.
  int cancel(const void* context);

  /// Whether there was anything to do.
  bool progress();
  /// Whether all that was sent has arrived.
  [[nodiscard]] bool idle() const { return outgoing_ == 0 && operations_.empty(); }
  /// This region's memory is the user's again: whoever writes it now loses its connection, and so does
  /// whoever has not read all that it asked for soon.
  void revoke(std::uint64_t key);
  /// Delivers what is under way and ends connections, for some seconds at most.
  void finish();

  void set_least_multi_receive(std::size_t size) { limits_.least_multi_receive = size; }
  [[nodiscard]] std::size_t least_multi_receive() const { return limits_.least_multi_receive; }
  [[nodiscard]] const Limits& limits() const { return limits_; }
  [[nodiscard]] std::size_t connections() const { return links_.size(); }
  /// Of these, those that this side has parted from.
  [[nodiscard]] std::size_t parted() const;
  /// Bytes of messages that no receive was posted for.
  [[nodiscard]] std::size_t unexpected() const { return unexpected_; }
  [[nodiscard]] udp::Endpoint& endpoint() { return endpoint_; }

 private:
  using Messages = udp::Matching<Peer, Operation, Unexpected>;
  using Pattern = udp::Pattern<Peer>;

  // Connections.
  [[nodiscard]] Link* link_to(Peer& peer);
  void on(const udp::Completion& completion);
  void on_accepted(udp::ConnectionId id, std::uint64_t greeting);
  void met(Link& link, std::uint64_t greeting);
  void on_end(udp::ConnectionId id, udp::Status status);
  [[nodiscard]] bool quiet(const Link& link) const;
  void close(Link& link);
  void part_from_idle();
  void on_bye(Link& link);
  // Out.
  [[nodiscard]] std::unique_ptr<Outgoing> message(const Header& header,
                                                  std::span<const Segment> segments,
                                                  const Pieces& local, std::size_t room = 0);
  void post(Link& link, std::unique_ptr<Outgoing> outgoing, Operation* operation = nullptr);
  void drain(Link& link);
  void sent(Outgoing* raw, udp::Status status);
  void reply(Link& link, Type type, std::uint32_t operation, int error, std::uint64_t length = 0,
             std::uint64_t tag = 0);
  [[nodiscard]] int ready(const Request& request, Link*& link);
  Operation* begin(const Request& request, Counted counted, std::uint64_t done_flags, Link* link);
  void remember(Operation& operation);
  void finish(Operation* operation, int error, std::uint64_t length);
  void tell(const Done& done) {
    told_ = true;
    host_.done(done);
  }
  int offer(Link& link, Operation& operation, Header header);
  [[nodiscard]] static std::unique_ptr<Outgoing> lend(std::uint64_t tag, const Pieces& bytes);
  [[nodiscard]] udp::Status hand_over(const Link& link, const Outgoing& next);
  // In.
  void received(const udp::Completion& completion);
  [[nodiscard]] std::optional<Place> place(udp::ConnectionId connection, std::uint64_t cookie,
                                           std::uint64_t length,
                                           std::span<const std::byte> first) override;
  void came(Buffer& buffer, Link* link, udp::Status status);
  void on_message(Link& link, std::span<const std::byte> bytes);
  void on_hello(Link& link, std::span<const std::byte> bytes);
  void on_incoming(Link& link, const Header& header, std::span<const std::byte> bytes);
  void on_fetch(Link& link, const Header& header);
  void on_answer(const Link& link, const Header& header, std::span<const std::byte> bytes);
  void deliver(Operation& receive, const Unexpected& message, std::span<const std::byte> bytes);
  void accept_offer(Operation& receive, const Unexpected& message);
  void discard(const Unexpected& message);
  void keep(Messages& all, Unexpected message);
  void keep_bytes(Unexpected& message);
  void let_go(const Unexpected& message);
  void count(Link& link, std::size_t size);
  [[nodiscard]] std::optional<Unexpected> take_kept(Messages& all, const Pattern& pattern);
  void end_cancelled(Operation& receive);
  void received_one(Operation& receive, const Unexpected& message, std::size_t offset,
                    std::size_t length, int error);
  void place(std::unique_ptr<Placing> placing, const Pieces& where);
  [[nodiscard]] udp::Status post_receive(const Link& link, std::uint64_t tag, const Pieces& where,
                                         const Placing& placing);
  void placed(Placing* raw, udp::Status status);
  void post_buffer(Buffer& buffer);
  void post_spare_buffers();
  [[nodiscard]] Messages& messages(std::uint64_t flags) {
    return (flags & FI_TAGGED) != 0 ? tagged_ : plain_;
  }
  // Remote memory.
  [[nodiscard]] bool resolve(const Header& header, std::span<const std::byte>& bytes,
                             std::uint64_t access, Pieces& where, Segments& named);
  void on_asked(Link& link, const Header& header, std::span<const std::byte> bytes);
  void carry_out(Link& link, const Header& header, std::span<const std::byte> bytes);
  void carried_out(Link& link, bool lives);
  [[nodiscard]] bool lends(std::uint64_t key) const;
  void on_write(Link& link, const Header& header, std::span<const std::byte> bytes);
  void on_read(Link& link, const Header& header, std::span<const std::byte> bytes);
  void on_atomic(Link& link, const Header& header, std::span<const std::byte> bytes);
  void remote_done(const Link& link, const Header& header, const Segments& named, Counted counted,
                   std::uint64_t flags, std::uint64_t how);

  udp::Endpoint endpoint_;
  udp::Address name_;
  Host& host_;
  Limits limits_;
  Messages tagged_;
  Messages plain_;
  std::unordered_map<const void*, Unexpected> claimed_;
  std::unordered_map<udp::Address, std::unique_ptr<Peer>, AddressHash> peers_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Link>> links_;
  std::unordered_map<std::uint32_t, Operation*> operations_;  ///< that a peer will speak of
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<Buffer*> spare_;                            ///< that the endpoint had no room for
  std::unordered_map<Outgoing*, Segments> lent_;          ///< out of registered memory
  std::unordered_map<Placing*, Segments> being_written_;  ///< into registered memory
  std::uint32_t next_operation_ = 0;
  std::uint64_t next_tag_ = 0;
  std::size_t outgoing_ = 0;
  std::size_t unexpected_ = 0;  ///< bytes
  std::size_t full_ = 0;        ///< connections whose peers only offer, as they were told
  std::uint32_t looks_ = 0;     ///< of `progress`, in vain
  std::chrono::steady_clock::time_point next_look_{};  ///< for idle connections
  bool ending_ = false;
  bool told_ = false;    ///< the user, since this was last asked
  bool posted_ = false;  ///< a message, likewise
};

/// What of libfabric's codes says it best.
[[nodiscard]] int error_of(udp::Status status);

}  // namespace strack::fabric
