// The endpoint's logic over any network: set-up, sealing, the core's host, matching, timers.
// Endpoint (endpoint.h) is this on the kernel's sockets; tests run it on simulated ones.
//
// One thread. Nothing is allocated for a peer that has not proved itself; a connection's memory is
// fixed when it is made, and the pool for packets without a buffer is bounded.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/units.h"
#include "udp/answer_budget.h"
#include "udp/connection.h"
#include "udp/endpoint.h"
#include "udp/network.h"

namespace strack::udp {

/// What a responder knows a hello or connect by that comes again. Who copies one and sends it from elsewhere has asked
/// another question, and does not stand in the way of the first.
struct Question {
  std::uint64_t nonce;  ///< its first bytes
  Address from;
  friend bool operator==(const Question&, const Question&) = default;
};
struct QuestionHash {
  std::size_t operator()(const Question& q) const { return q.nonce ^ HostHash()(q.from); }
};

/// The entropy number of the primary socket; the others are 0 ... paths - 1.
inline constexpr std::uint16_t kPrimary = 0xffff;

class Engine {
 public:
  /// What is wrong with options, if anything.
  [[nodiscard]] static std::optional<Error> check(const EndpointOptions& options,
                                                  Transports transports = udp::transports());

  /// `options` have been checked; `network` must outlive the engine.
  Engine(const EndpointOptions& options, Network& network,
         Transports transports = udp::transports(), KeyLimits key_limits = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // As in endpoint.h.
  [[nodiscard]] Outcome<ConnectionId> connect(const Address& address, std::uint64_t cookie,
                                              const std::optional<Key>& peer = std::nullopt);
  [[nodiscard]] Status send(ConnectionId connection, std::uint64_t tag,
                            std::span<const std::byte> message, std::uint64_t cookie) {
    return send(connection, tag, {}, message, cookie);
  }
  [[nodiscard]] Status send(ConnectionId connection, std::uint64_t tag,
                            std::span<const std::byte> head, std::span<const std::byte> rest,
                            std::uint64_t cookie);
  [[nodiscard]] Status write(ConnectionId connection, RegionKey region, std::uint64_t offset,
                             std::span<const std::byte> bytes, std::uint64_t cookie);
  [[nodiscard]] Status sendv(ConnectionId connection, std::uint64_t tag, PiecesOut message,
                             std::uint64_t cookie);
  [[nodiscard]] Status write(ConnectionId connection, RegionKey region, std::uint64_t offset,
                             std::span<const std::byte> bytes, std::uint64_t immediate,
                             std::uint64_t cookie);
  [[nodiscard]] Status read(ConnectionId connection, RegionKey region, std::uint64_t offset,
                            std::span<std::byte> into, std::uint64_t cookie);
  [[nodiscard]] Status atomic(ConnectionId connection, RegionKey region, std::uint64_t offset,
                              AtomicOp op, ValueType type, std::span<std::byte> before,
                              std::span<const std::byte> operands,
                              std::span<const std::byte> compared, std::uint64_t cookie);
  [[nodiscard]] Status post_receive(ConnectionId connection, Match match,
                                    std::span<std::byte> buffer, std::uint64_t cookie) {
    PostedReceive receive;
    receive.match = match;
    receive.buffer = reinterpret_cast<std::uint8_t*>(buffer.data());
    receive.size = buffer.size();
    receive.cookie = cookie;
    return post_receive(connection, receive);
  }
  [[nodiscard]] Status post_receivev(ConnectionId connection, Match match, PiecesIn buffer,
                                     std::uint64_t cookie);
  [[nodiscard]] std::optional<Completion> peek(ConnectionId connection, Match match) const;
  void set_usher(Usher* usher) { usher_ = usher; }
  std::size_t cancel_receives(std::uint64_t cookie);
  [[nodiscard]] Outcome<RegionKey> register_region(std::span<std::byte> memory,
                                                   ConnectionId connection,
                                                   Access access = Access::write);
  Status unregister_region(RegionKey key);
  Status close(ConnectionId connection);
  Status abort(ConnectionId connection);

  bool poll();
  void flush();
  [[nodiscard]] Instant next_deadline() const;
  [[nodiscard]] bool has_completions() const { return completed_ != taken_; }
  std::span<const Completion> completions(std::span<Completion> out);
  /// Tells all peers that this endpoint goes away. The engine is of no use afterwards.
  void shut_down();

  [[nodiscard]] std::optional<ConnectionStatistics> statistics(ConnectionId connection) const;
  bool keep_path_statistics(ConnectionId connection);
  [[nodiscard]] std::vector<PathStatistics> path_statistics(ConnectionId connection) const;
  [[nodiscard]] std::vector<std::uint64_t> path_arrivals(ConnectionId connection) const;
  [[nodiscard]] const EndpointStatistics& statistics() const;
  [[nodiscard]] std::size_t connections(std::span<ConnectionId> out) const;
  [[nodiscard]] const Address* peer_address(ConnectionId connection) const;
  [[nodiscard]] std::optional<Key> peer_key(ConnectionId connection) const;
  [[nodiscard]] std::optional<Error> change_keys(const EndpointOptions& options);
  [[nodiscard]] std::string_view sealing() const { return keyed() ? sealing_->name : ""; }
  /// Connections in memory, those that linger included.
  [[nodiscard]] std::size_t connections_held() const { return connections_.size(); }

 private:
  struct Region {
    std::uint8_t* memory;
    std::uint64_t size;
    ConnectionId connection;
    Access access = Access::write;
    bool answer = false;  ///< [D148] nobody's memory but a read's: written once, and whole

    [[nodiscard]] bool allows(Access wanted, ConnectionId peer, std::uint64_t offset,
                              std::uint64_t length) const {
      const auto has = [](Access all, Access one) {
        return (static_cast<unsigned>(all) & static_cast<unsigned>(one)) != 0;
      };
      return has(access, wanted) && (connection == kAnyConnection || connection == peer) &&
             offset <= size && length <= size - offset &&
             (!answer || (offset == 0 && length == size));
    }
  };
  [[nodiscard]] Status post_receive(ConnectionId connection, const PostedReceive& wanted);
  [[nodiscard]] std::uint64_t draw_region();

  // Set-up (set_up.cpp).
  void on_set_up(const wire::Header& header, wire::ConstBytes datagram, const Incoming& from);
  void on_hello(const wire::Header& header, wire::ConstBytes datagram, const Address& from);
  void on_connect(const wire::Header& header, wire::ConstBytes datagram, const Address& from);
  void on_challenge(const wire::Header& header, wire::ConstBytes body, const Address& from);
  void on_accept(const wire::Header& header, wire::ConstBytes datagram, const Address& from);
  void on_reset(const wire::Header& header, wire::ConstBytes datagram, const Address& from);
  void on_unknown(const wire::Header& header, wire::ConstBytes datagram, const Address& from);
  void ask_whether_reset(Connection& c);
  [[nodiscard]] bool is_of_peer(Connection& c, const wire::Close& close);
  void on_reject(const wire::Header& header, wire::ConstBytes body, const Address& from);
  [[nodiscard]] std::size_t connections_from(std::uint64_t source) const;
  [[nodiscard]] std::optional<wire::RejectReason> objection(const wire::Header& header,
                                                            const wire::Terms& terms,
                                                            const Address& from) const;
  void send_challenge(const wire::Terms& terms, const wire::Header& header,
                      wire::ConstBytes datagram, const Address& to);
  void send_reject(wire::RejectReason reason, std::uint32_t id, std::uint64_t echo,
                   std::uint8_t version, const Address& to);
  [[nodiscard]] std::optional<std::uint16_t> way_to(const Address& peer) const;
  void found_way(Connection& c, std::uint16_t path);
  void ask(Connection& c, std::size_t size);
  void send_hello(Connection& c);
  void send_connect(Connection& c);
  void send_accept(Connection& c, std::uint32_t copies);
  [[nodiscard]] bool is_known(const wire::Header& header, const wire::Terms& terms,
                              const Address& from);
  [[nodiscard]] Connection* admit(const wire::Terms& terms, wire::ConstBytes datagram,
                                  const Address& from, const std::shared_ptr<const OwnKey>& own);

  // Keys: of hosts [D95], and those that change [D96] (keys.cpp).
  [[nodiscard]] static std::optional<Error> check_keys(const EndpointOptions& options);
  void take_keys(const EndpointOptions& options);
  [[nodiscard]] std::shared_ptr<const OwnKey> find_key(std::uint32_t key_id) const;
  [[nodiscard]] bool has_identity() const { return keyed() && keyring_.front()->identity; }
  [[nodiscard]] bool has_shared_key() const { return keyed() && !keyring_.front()->identity; }
  [[nodiscard]] const JobKey* door_of(const Connection& c) const;
  [[nodiscard]] bool introduce(Connection& c, const Key& peer);
  [[nodiscard]] bool open_second(Connection& c, const wire::SecondMessage& second);
  [[nodiscard]] std::shared_ptr<const OwnKey> at_the_door(const wire::Header& header,
                                                          const wire::Terms& terms,
                                                          wire::ConstBytes datagram,
                                                          const wire::Mac& mac);
  void on_host_hello(const wire::Header& header, const wire::Hello& hello,
                     wire::ConstBytes datagram, const Address& from);
  void meet(const wire::Header& header, const wire::Terms& terms, const wire::FirstMessage& first,
            wire::ConstBytes datagram, const Address& from,
            const std::shared_ptr<const OwnKey>& own);
  [[nodiscard]] wire::Mac reset_mac(std::uint32_t id, wire::ConstBytes packet);
  void start_keys(Connection& c);
  [[nodiscard]] bool open_sealed(Connection& c, std::span<std::uint8_t> datagram,
                                 std::uint64_t counter);
  void renew_key(Connection& c);
  [[nodiscard]] bool keys_used_up(const Connection& c) const;

  [[nodiscard]] std::uint32_t largest_payload(const Address& to) const;
  void draw_terms(Connection& c);
  void start_session(Connection& c);
  void open_up(Connection& c);
  void make_sender(Connection& c);
  [[nodiscard]] static PeerPort::Lane& lane_of(const Connection& c);
  void ask_rtt(Connection& c);
  void note_set_up_rtt(Connection& c);
  void note_rtt(Connection& c, Picoseconds rtt, bool full);

  // Session packets.
  void on_datagram(std::span<std::uint8_t> datagram, const Incoming& from, bool last);
  void on_data(Connection& c, const wire::Header& header, wire::ConstBytes body,
               const Incoming& from, bool last);
  void on_probe(Connection& c, const wire::Header& header, wire::ConstBytes body,
                const Incoming& from);
  void on_sack(Connection& c, const wire::Header& header, wire::ConstBytes body,
               const Incoming& from);
  void on_ping(Connection& c, const wire::Header& header, wire::ConstBytes body,
               const Incoming& from);
  void on_pong(Connection& c, const wire::Header& header, wire::ConstBytes body,
               const Incoming& from);
  void on_close(Connection& c, const wire::Header& header, wire::ConstBytes body);
  void on_close_ack(Connection& c, const wire::Header& header, wire::ConstBytes body);

  // Receiving messages.
  [[nodiscard]] bool take_note(Connection& c, Inbound& in, const wire::Data& data);
  void match(Connection& c);
  [[nodiscard]] bool give_buffer(Connection& c, Inbound& in, const PostedReceive& receive);
  [[nodiscard]] std::uint64_t take_for_whole(const Connection& c, core::Packet& packet) const;
  [[nodiscard]] static Partial& partial_of(Connection& c, core::Psn psn);
  [[nodiscard]] bool put_down(Connection& c, Inbound& in, const wire::Data& data,
                              std::uint32_t offset, std::uint64_t blocks, bool& marked);
  void show_in(const Connection& c, Inbound& in, const wire::Data& data);
  void place(Inbound& in, std::uint32_t offset, const std::uint8_t* payload, std::size_t size);
  [[nodiscard]] bool may_hold(const Connection& c, std::size_t size) const;
  void hold(Connection& c, Inbound& in, std::uint32_t offset, wire::ConstBytes payload);
  void drop_held(Connection& c, Inbound& in);
  void report(Connection& c);
  void report_one(Connection& c, Inbound& in);
  std::uint32_t credit(Connection& c);
  std::uint32_t passing_credit(Connection& c);
  void note_dryness(Connection& c);
  void feed_the_dry();
  void want_ack(Connection& c, core::Psn psn, core::Timestamp timestamp, Instant arrival);
  void send_acks();
  void send_ack(Connection& c);
  [[nodiscard]] bool owes_acks();
  [[nodiscard]] bool may_owe_acks(std::uint64_t completed_before);

  // Reads [D148] (reads.cpp).
  [[nodiscard]] bool has_requests(const Connection& c) const;
  [[nodiscard]] bool has_atomics(const Connection& c) const;
  [[nodiscard]] Status ask(ConnectionId connection, Kind kind, const wire::ReadRequest& what,
                           std::span<std::byte> into, std::uint64_t cookie,
                           const wire::AtomicRequest* atomic = nullptr,
                           std::span<const std::byte> compared = {});
  [[nodiscard]] Outbound answer_to(Connection& c, const Asked& one, Region& region);
  [[nodiscard]] bool take_request(Connection& c, Inbound& in, const wire::Data& data);
  void answer_reads(Connection& c);
  void finish_read(Connection& c, std::uint64_t region);
  void give_back_reads(Connection& c, Status status);
  void acknowledged(Connection& c, std::uint32_t message_id);
  [[nodiscard]] static bool is_told(const Connection& c, std::uint32_t message_id,
                                    std::uint32_t head);

  // Sending.
  [[nodiscard]] Status may_queue(ConnectionId id, std::uint32_t slots, Connection*& c) const;
  Status queue(ConnectionId id, const Outbound& message);
  void post(Connection& c);
  void mark_ready(Connection& c);
  void take_credit(Connection& c, std::uint32_t credit);
  /// Sends until nothing is left or the budget is; returns whether anything was sent.
  bool transmit();
  std::uint32_t transmit(Connection& c, std::uint32_t budget);
  void send_probe(Connection& c, const core::Packet& probe);
  [[nodiscard]] bool has_turn(Connection& c);
  void recount(Connection& c);
  void call_next(PeerPort& port, bool unanswered);
  void leave_port(Connection& c);
  void ask_next(PeerPort& port);
  void stop_asking(Connection& c);
  wire::Ping send_ping(Connection& c);
  void send_padded_ping(Connection& c, std::uint32_t bytes);
  [[nodiscard]] std::uint32_t data_bytes(const Connection& c, const core::Packet& packet) const;
  void append_data(Connection& c, const core::Packet& packet, bool piece, std::size_t& used);
  [[nodiscard]] std::uint32_t burst_of(const Connection& c) const {
    return std::min(burst_, c.out.burst);
  }
  void send_burst(Connection& c, core::PathId path, std::uint32_t count, std::uint32_t total,
                  std::uint32_t segment, std::size_t used);
  void send_in_pieces(Connection& c, const core::Packet& whole);
  void on_too_large(Connection& c, std::uint32_t size);
  [[nodiscard]] wire::Ping next_ping(Connection& c);
  void send_close(Connection& c);
  /// A small session packet, sealed where there is a key.
  template <class Encode>
  void send_small(Connection& c, std::uint16_t entropy, bool ect, Encode&& encode);
  SendResult send_plain(std::span<const std::uint8_t> datagram, const Address& to,
                        const Address& from, std::uint32_t path, bool patient);
  void flush_small();
  void count_sent(std::uint64_t datagrams, std::uint64_t bytes);

  // Life.
  Connection* find(ConnectionId id) const;
  Connection& make_connection(const Address& peer);
  void draw_id(Connection& c);
  void maybe_close(Connection& c);
  void maybe_over(Connection& c);
  void lose_peer(Connection& c, Status why);
  void forget_peer_id(const Connection& c);
  void fail(Connection& c, Status status, std::optional<wire::CloseReason> tell);
  void give_back_operations(Connection& c, Status status);
  void retire(Connection& c);
  void bury();
  void complete(const Completion& completion);
  [[nodiscard]] bool room_for_completions() const;
  // Silence [D55].
  void heard(Connection& c);
  [[nodiscard]] bool may_seek(Host& host) const;
  void hurry_others(Host& host);
  void release_some(PeerPort& port);
  void take_place(Connection& c);
  [[nodiscard]] bool may_send(Connection& c);
  [[nodiscard]] bool may_repeat(Connection& c);
  [[nodiscard]] Instant next_question(const Connection& c) const;
  [[nodiscard]] Instant end_of_patience(const Connection& c) const;
  [[nodiscard]] Instant due(const Connection& c) const;
  void rearm(Connection& c);
  void run_timers();
  [[nodiscard]] bool reads_on();
  void on_timer(Connection& c);
  void on_set_up_timer(Connection& c);
  void on_silence(Connection& c, bool done);
  void doubt_mtu(Connection& c);
  void probe_mtu(Connection& c);
  [[nodiscard]] Picoseconds silence_limit() const;
  [[nodiscard]] bool keyed() const { return sealing_ != nullptr; }
  [[nodiscard]] std::uint32_t random32();

  EndpointOptions options_;
  Network& network_;
  Transports transports_;
  const Transport* transport_;  ///< of connections that start here
  KeyLimits key_limits_;
  /// All of one kind [D95]. The first is that of connections that start here; by the others they are taken, too [D141].
  std::vector<std::shared_ptr<const OwnKey>> keyring_;
  std::uint32_t reset_turn_ = 0;  ///< whose turn it is to make a reset with
  std::vector<Key> trusted_;      ///< with an identity: who may come; in order
  std::optional<AnswerBudget> openings_;
  std::optional<AnswerBudget> proven_openings_;  ///< of those who have brought a cookie
  const SealingLibrary* sealing_ = nullptr;      ///< where there is a key
  std::optional<CookieJar> jar_;
  std::uint32_t burst_;  ///< at most
  Instant now_{};
  Instant reads_until_{};  ///< [D169] at most, before the timers that are late
  bool all_read_ = true;   ///< all that had come, in this poll
  Address came_to_;        ///< the own address that the datagram being looked at came to
  std::optional<std::uint16_t> came_by_;  ///< and the way back that it shows [D170]
  std::uint32_t answer_path_;             ///< the entropy of the last answer to a stranger
  AnswerBudget challenge_budget_;
  AnswerBudget reject_budget_;
  AnswerBudget reset_budget_;

  std::unordered_map<Address, Host, HostHash, SameHost> hosts_;  ///< of all connections
  std::vector<std::unique_ptr<Connection>> connections_;
  std::unordered_map<std::uint32_t, Connection*> by_local_id_;
  std::unordered_map<std::uint64_t, Connection*> by_user_id_;
  /// For resets, which name the peer's id. Two peers may have drawn the same.
  std::unordered_multimap<std::uint32_t, Connection*> by_peer_id_;
  std::unordered_map<Question, Connection*, QuestionHash> by_question_;  ///< at the responder
  std::vector<Connection*> graveyard_;
  std::uint64_t next_user_id_ = 1;
  std::uint32_t half_open_ = 0;
  std::uint32_t living_ = 0;  ///< connections that have not ended
  DeadlineHeap<Connection> deadlines_;

  std::vector<Connection*> ready_;
  std::vector<Connection*> ready_next_;
  std::vector<Connection*> acks_;
  Instant owed_since_{};       ///< [D88] when those in acks_ were left to the next call
  std::uint32_t hurried_ = 0;  ///< [D88] how many more go at once, since that call was late
  std::vector<Connection*> starving_;
  std::vector<Connection*> dry_;
  bool credit_to_tell_ = false;  ///< there may be new credit for some of the dry

  ReceivePool pool_;
  ReceiveQueue<PostedReceive> any_receives_;
  Usher* usher_ = nullptr;
  std::size_t held_bytes_ = 0;
  std::unordered_map<std::uint64_t, Region> regions_;
  std::size_t reading_ = 0;  ///< of them, those for answers

  std::vector<Completion> ring_;  ///< 2^n; completed_ and taken_ count for ever
  std::uint64_t completed_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t received_ = 0;  ///< one past the last that tells of a message

  // What is about to be sent.
  static constexpr std::size_t kSmallBytes = 128;
  static constexpr std::size_t kSmallBatch = 32;
  std::array<std::array<std::uint8_t, kSmallBytes>, kSmallBatch> small_;
  std::array<Piece, kSmallBatch> small_pieces_;
  std::array<Outgoing, kSmallBatch> small_out_;
  std::array<Address, kSmallBatch> small_to_;
  std::array<Address, kSmallBatch> small_from_;
  std::size_t small_count_ = 0;
  std::vector<std::uint8_t> scratch_;  ///< headers and, where sealed, whole packets of a burst
  std::vector<Piece> pieces_;
  std::vector<ToSeal> to_seal_;  ///< packets of the burst in scratch_
  std::vector<core::Psn> burst_psns_;

  mutable EndpointStatistics statistics_;
};

}  // namespace strack::udp
