// The engine's part in setting up connections: docs/protocol.md, "Set-up", state by state.
#include <algorithm>

#include "udp/engine.h"

namespace strack::udp {
namespace {

constexpr std::size_t kHeaders = 48;  // of IPv6 and UDP; IPv4 has 20 fewer
/// [D169] Where a program looks now and then only, that is no patience without end.
constexpr std::uint32_t kMostAways = 8;
constexpr Picoseconds kFirstRetry = ms(100);
constexpr Picoseconds kLongestRetry = ms(400);
constexpr Picoseconds kHalfOpenLife = seconds(3);
constexpr Picoseconds kFirstPing = ms(20);
/// [D44] A question that was not answered goes so many ways at once, and so does its answer.
constexpr std::uint32_t kMostCopies = 4;
/// For one connection; who goes on asking gets one for each.
constexpr std::uint32_t kGenerousAccepts = 64;

Status status_of(wire::RejectReason reason) {
  switch (reason) {
    case wire::RejectReason::key_required:
    case wire::RejectReason::key_unknown:
    case wire::RejectReason::no_key:
    case wire::RejectReason::no_cipher:
      return Status::key_refused;
    case wire::RejectReason::busy:
      return Status::busy;
    case wire::RejectReason::not_listening:
      return Status::not_listening;
    case wire::RejectReason::version:
      return Status::version_refused;
    case wire::RejectReason::transport:
      return Status::transport_refused;
    case wire::RejectReason::extension:
      return Status::extension_refused;
    case wire::RejectReason::terms:
      return Status::refused;
  }
  return Status::refused;
}

/// Where a peer wants its answers: its packets come from any of its ports.
Address reply_address(const Address& from, const wire::Terms& terms) {
  Address to = from;
  to.port = terms.reply_port;
  return to;
}

std::uint32_t copies_for(const wire::Header& question) {
  return std::min<std::uint32_t>(question.path_id + 1u, kMostCopies);
}

void put_mac(std::uint8_t* packet, std::size_t size, const wire::Mac& mac) {
  std::copy(mac.begin(), mac.end(), packet + size - mac.size());
}

}  // namespace

std::uint32_t Engine::largest_payload(const Address& to) const {
  const auto overhead = static_cast<std::uint32_t>(wire::data_overhead_bytes(keyed()));
  const std::uint32_t datagram = network_.largest_datagram(to);
  const std::uint32_t fits = datagram > overhead ? datagram - overhead : 0;
  return std::max<std::uint32_t>(std::min(options_.max_payload, fits), wire::kMinMtu);
}

void Engine::draw_terms(Connection& c) {
  c.set_up.mine.connection_id = 0;
  draw_id(c);
  network_.random(c.set_up.mine.nonce);
  c.set_up.mine.key_id = has_shared_key() ? c.keys.own->door.id() : 0;
  c.set_up.mine.extensions = keyed() ? wire::kKeyedExtensions : wire::kPlainExtensions;
  c.set_up.mine.user_data = options_.user_data;
  c.set_up.mine.initial_psn = {random32()};
  c.set_up.mine.credit = std::min<std::uint32_t>(
      any_receives_.count() + options_.unexpected_messages, options_.message_slots);
  c.set_up.mine.idle_timeout_ms = static_cast<std::uint32_t>(options_.peer_timeout.count());
  c.set_up.mine.paths = static_cast<std::uint16_t>(options_.paths);
  c.set_up.mine.tracking_window = c.transport->tracking_window;
  c.set_up.mine.transport = c.transport->id;
  c.set_up.mine.ciphers = keyed() ? usable_ciphers() : 0;
  c.set_up.mine.reply_port = network_.address().port;
  c.set_up.path = static_cast<std::uint16_t>(random32());
  c.in.granted = c.set_up.mine.credit;
}

// ---- The initiator ----

Outcome<ConnectionId> Engine::connect(const Address& address, std::uint64_t cookie,
                                      const std::optional<Key>& peer) {
  if (address.port == 0) return Error{"address " + address.text() + " has port 0. give the peer's"};
  if (!keyed() && !options_.insecure && !address.is_loopback()) {
    return Error{"connecting to " + address.text() +
                 " without a key. set a key, or allow it with insecure"};
  }
  const std::optional<Key>& expected = peer ? peer : options_.peer;
  if (has_identity() && !expected)
    return Error{
        "connecting to " + address.text() +
        " with an identity, and not known whom to expect there. set peer to its public key"};
  if (living_ >= options_.max_connections) {
    return Error{"already " + std::to_string(living_) +
                 " connections. close some or raise max_connections"};
  }
  if (!room_for_completions()) return Error{"too many completions wait to be taken"};
  now_ = network_.now();
  Connection& c = make_connection(address);
  c.initiator = true;
  c.connect_cookie = cookie;
  c.transport = transport_;
  if (keyed()) c.keys.own = keyring_.front();
  draw_terms(c);
  c.set_up.give_up_at = now_ + us(options_.connect_timeout.count() * 1'000);
  c.set_up.mine.mtu = static_cast<std::uint16_t>(largest_payload(address));
  if (has_identity() && !introduce(c, *expected)) {
    retire(c);
    bury();
    return Error{"peer " + key_text(*expected) + " is no public key. `strack key show` prints one"};
  }
  c.set_up.initiator_terms = wire::encode_terms(c.set_up.mine);
  c.life.port->to_ask.push_back(&c);
  ask_next(*c.life.port);
  rearm(c);
  return c.id;
}

void Engine::send_hello(Connection& c) {
  const auto attempt = static_cast<std::uint8_t>(std::min(c.set_up.attempts, 255u));
  constexpr std::uint16_t kLongest =
      wire::kHelloMinBytes + std::tuple_size_v<decltype(SetUp::hello_paths)> - 1;
  wire::Hello hello{c.set_up.mine, kLongest, attempt, {}};
  if (c.set_up.introduction) hello.first = c.set_up.introduction->first;
  const std::size_t n = wire::encode(scratch_, {0, keyed(), 0}, hello);
  if (const JobKey* key = door_of(c)) {
    const std::size_t at = hello.first ? wire::kHostHelloMacAt : wire::kHelloMacAt;
    put_mac(scratch_.data(), at + wire::kTagBytes, key->hello_mac({scratch_.data(), at}));
  }
  ask(c, n);
}

/// [D44] Sends what lies in scratch_. The path that it takes may be dead, or the answer's: each
/// repetition takes others, and more of them; but the first goes by one that is known to lead there [D170].
void Engine::ask(Connection& c, std::size_t size) {
  const std::uint32_t copies = std::min(++c.set_up.attempts, kMostCopies);
  const std::optional<PeerPort::Way>& way = c.life.port->way;
  c.set_up.asked_at = network_.now();
  for (std::uint32_t i = 0; i < copies && (i == 0 || may_repeat(c)); ++i) {
    const std::uint16_t path = way && i == 0 ? way->path : ++c.set_up.path;
    std::size_t bytes = size;
    if (c.state == State::hello_sent) {  // behind it are zeros
      const std::size_t which = c.set_up.hellos++ % c.set_up.hello_paths.size();
      c.set_up.hello_paths[which] = path;
      bytes = wire::kHelloMinBytes + which;
    }
    c.set_up.unreachable = send_plain({scratch_.data(), bytes}, c.peer, c.local, path, true) ==
                           SendResult::unreachable;
  }
  c.life.unanswered = true;
  c.set_up.retry_interval =
      c.set_up.attempts == 1 ? kFirstRetry : std::min(2 * c.set_up.retry_interval, kLongestRetry);
  c.set_up.retry_at = now_ + c.set_up.retry_interval;
}

void Engine::on_challenge(const wire::Header& header, wire::ConstBytes body, const Address& from) {
  const auto challenge = wire::decode_challenge(header, body);
  if (!challenge) {
    ++statistics_.refused_malformed;
    return;
  }
  const auto found = by_local_id_.find(header.connection_id);
  Connection* c = found == by_local_id_.end() ? nullptr : found->second;
  if (c == nullptr || c->state > State::connect_sent || !c->peer.same_host(from) ||
      challenge.value().echo != wire::nonce_echo(c->set_up.mine.nonce)) {
    ++statistics_.refused_set_up;
    return;
  }
  // After a challenge to a connect (its cookie was old) the clock is not started again: whoever
  // makes up challenges gets one connect for each, of twice its size, and no more time.
  const bool first = c->state == State::hello_sent;
  const std::uint16_t answered = challenge.value().hello_size;
  if (!first && (c->set_up.cookie == challenge.value().cookie || answered >= wire::kHelloMinBytes))
    return;  // it came by two ways
  heard(*c);
  const std::size_t which = answered - wire::kHelloMinBytes;
  if (which < std::min<std::size_t>(c->set_up.hellos, c->set_up.hello_paths.size()))
    found_way(*c, c->set_up.hello_paths[which]);
  if (first) note_set_up_rtt(*c);
  c->state = State::connect_sent;
  c->set_up.cookie = challenge.value().cookie;
  c->set_up.attempts = 0;
  send_connect(*c);
  // However late this process looked: what it has just asked may be answered.
  if (first) c->set_up.give_up_at = std::max(c->set_up.give_up_at, c->set_up.retry_at);
  rearm(*c);
}

/// [D170] Something has got to the peer by this path. Those who have asked it in vain meanwhile ask again by that, at once.
void Engine::found_way(Connection& c, std::uint16_t path) {
  PeerPort& port = *c.life.port;
  const bool first = !port.way;
  port.way = {path, now_};
  if (!first || port.asking < 2) return;
  for (const auto& one : connections_) {
    Connection& other = *one;
    if (other.life.port != &port || !other.set_up.asking || other.state >= State::half_open ||
        other.set_up.attempts < 2)
      continue;
    other.set_up.retry_at = now_;
    rearm(other);
  }
}

void Engine::send_connect(Connection& c) {
  wire::Connect connect{c.set_up.mine,
                        c.set_up.cookie,
                        {},
                        static_cast<std::uint8_t>(std::min(c.set_up.attempts, 255u))};
  if (c.set_up.introduction) connect.first = c.set_up.introduction->first;
  const std::size_t n = wire::encode(scratch_, {0, keyed(), 0}, connect);
  if (const JobKey* key = door_of(c))
    put_mac(scratch_.data(), n, key->connect_mac({scratch_.data(), n - wire::kTagBytes}));
  ask(c, n);
}

/// Only of questions asked once: an answer does not say which repetition it answers.
void Engine::note_set_up_rtt(Connection& c) {
  if (c.set_up.attempts != 1) return;
  const Picoseconds rtt = std::max(network_.now() - c.set_up.asked_at, us(1));
  if (c.set_up.small_rtt == ps(0) || rtt < c.set_up.small_rtt) c.set_up.small_rtt = rtt;
}

void Engine::on_accept(const wire::Header& header, wire::ConstBytes datagram, const Address& from) {
  const auto accept = wire::decode_accept(header, datagram.subspan(header.bytes()));
  if (!accept) {
    ++statistics_.refused_malformed;
    return;
  }
  const auto found = by_local_id_.find(header.connection_id);
  Connection* c = found == by_local_id_.end() ? nullptr : found->second;
  // [D95] Between hosts with keys of their own a hello is answered so, unless there are too many.
  const bool awaited = c != nullptr && (c->state == State::connect_sent ||
                                        (c->state == State::hello_sent && has_identity()));
  if (!awaited || !c->peer.same_host(from) || header.host_keys() != has_identity()) {
    // Usually the repetition of one that has been taken.
    ++statistics_.refused_set_up;
    return;
  }
  const wire::Terms& terms = accept.value().terms;
  // What costs little first.
  if (terms.mtu > c->set_up.mine.mtu || terms.key_id != c->set_up.mine.key_id ||
      (terms.ciphers & c->set_up.mine.ciphers) != terms.ciphers ||
      terms.transport != c->set_up.mine.transport ||
      (terms.extensions & ~c->set_up.mine.extensions & wire::kCriticalExtensions) != 0) {
    ++statistics_.refused_set_up;
    return;
  }
  if (has_identity() && !open_second(*c, *accept.value().second)) return;
  if (keyed()) {
    const JobKey& key = has_identity() ? *c->set_up.introduction->outcome : c->keys.own->door;
    const wire::Mac expected = key.accept_mac(c->set_up.initiator_terms,
                                              datagram.first(datagram.size() - wire::kTagBytes));
    if (!same(expected, accept.value().mac)) {
      ++statistics_.refused_forged;
      return;
    }
  }
  heard(*c);
  if (c->state == State::hello_sent && c->set_up.hellos == 1)
    found_way(*c, c->set_up.hello_paths[0]);
  note_set_up_rtt(*c);
  c->set_up.theirs = terms;
  start_session(*c);
  open_up(*c);
}

void Engine::on_reject(const wire::Header& header, wire::ConstBytes body, const Address& from) {
  const auto reject = wire::decode_reject(header, body);
  if (!reject) {
    ++statistics_.refused_malformed;
    return;
  }
  const auto found = by_local_id_.find(header.connection_id);
  Connection* c = found == by_local_id_.end() ? nullptr : found->second;
  if (c == nullptr || c->state > State::connect_sent || !c->peer.same_host(from) ||
      reject.value().echo != wire::nonce_echo(c->set_up.mine.nonce)) {
    ++statistics_.refused_set_up;
    return;
  }
  c->set_up.rejected = reject.value().reason;
  // With a key, anybody on the way could have made this up: go on until the time is over.
  if (!keyed()) fail(*c, status_of(*c->set_up.rejected), std::nullopt);
}

void Engine::on_set_up_timer(Connection& c) {
  const Picoseconds late = now_ - std::min(c.set_up.retry_at, c.set_up.give_up_at);
  if (late > kAway && c.set_up.aways < kMostAways) {
    // [D169] This process was away. Nobody could answer what it did not ask, and its patience is what is left of it.
    ++c.set_up.aways;
    c.set_up.retry_at = now_;
    c.set_up.give_up_at = std::max(c.set_up.give_up_at + late, now_ + kLongestRetry);
  }
  if (now_ >= c.set_up.give_up_at) {
    // Who was challenged knows that somebody is there. It may have no room: rejects are few, and may all be lost, and where half
    // of the room is half-open connections nothing is said at all. Or the ways lose too much.
    const bool challenged = c.state == State::connect_sent;
    fail(c,
         c.set_up.rejected      ? status_of(*c.set_up.rejected)
         : challenged           ? Status::went_silent
         : c.set_up.unreachable ? Status::unreachable
                                : Status::timed_out,
         std::nullopt);
  } else if (now_ >= c.set_up.retry_at) {
    if (may_send(c)) {
      c.life.place = Instant::never();
      (c.state == State::hello_sent) ? send_hello(c) : send_connect(c);
    } else {
      c.set_up.retry_at = c.life.place;
    }
  }
}

// ---- The responder ----

std::optional<wire::RejectReason> Engine::objection(const wire::Header& header,
                                                    const wire::Terms& terms,
                                                    const Address& from) const {
  if (options_.listen.empty()) return wire::RejectReason::not_listening;
  if (header.keyed != keyed())
    return keyed() ? wire::RejectReason::key_required : wire::RejectReason::no_key;
  if (!keyed() && !options_.insecure && !from.is_loopback())
    return wire::RejectReason::key_required;
  if (has_shared_key() && !find_key(terms.key_id)) return wire::RejectReason::key_unknown;
  if (udp::find(transports_, terms.transport) == nullptr) return wire::RejectReason::transport;
  const auto known = has_identity() ? wire::kHostKeys : std::uint16_t{0};
  if ((terms.extensions & wire::kCriticalExtensions & ~known) != 0)
    return wire::RejectReason::extension;
  if (keyed() && best_cipher(terms.ciphers) == 0) return wire::RejectReason::no_cipher;
  if (living_ >= options_.max_connections || !room_for_completions())
    return wire::RejectReason::busy;
  return std::nullopt;
}

void Engine::send_reject(wire::RejectReason reason, std::uint32_t id, std::uint64_t echo,
                         std::uint8_t version, const Address& to) {
  wire::Reject reject;
  reject.echo = echo;
  reject.reason = reason;
  reject.header_version = version;
  const std::size_t n = wire::encode(scratch_, {id, false, 0}, reject);
  if (!reject_budget_.take(to, now_)) {
    ++statistics_.refused_set_up;
    return;
  }
  send_plain({scratch_.data(), n}, to, came_to_, ++answer_path_, false);
  ++statistics_.rejected;
}

/// [D45] To somebody who has proved nothing, if there is a budget for it. Who is honest asks again. Further copies only while
/// plenty is left.
void Engine::send_challenge(const wire::Terms& terms, const wire::Header& header,
                            wire::ConstBytes datagram, const Address& to) {
  wire::Challenge challenge;
  challenge.echo = wire::nonce_echo(terms.nonce);
  challenge.hello_size = static_cast<std::uint16_t>(datagram.size());
  const std::optional<std::uint16_t> way = way_to(to);
  std::uint32_t copies = copies_for(header);
  std::uint32_t sent = 0;
  for (; sent < copies && challenge_budget_.take(to, now_, sent > 0); ++sent) {
    const auto path =
        static_cast<std::uint8_t>((way && sent == 0 ? *way : ++answer_path_) % options_.paths);
    challenge.cookie = jar_->make(to, header.keyed, wire::terms_bytes(datagram), now_, path);
    const std::size_t n = wire::encode(scratch_, {terms.connection_id, false, 0}, challenge);
    send_plain({scratch_.data(), n}, to, came_to_, path, false);
    // Never more bytes than were asked with, on the wire: each has headers there.
    copies =
        std::min(copies, static_cast<std::uint32_t>((datagram.size() + kHeaders) / (n + kHeaders)));
  }
  ++(sent > 0 ? statistics_.challenges_sent : statistics_.refused_set_up);
}

/// [D170] By which entropy something has got there, if any connection knows.
std::optional<std::uint16_t> Engine::way_to(const Address& peer) const {
  const auto host = hosts_.find(peer);
  if (host == hosts_.end()) return std::nullopt;
  const auto port = host->second.ports.find(peer.port);
  if (port == host->second.ports.end() || !port->second.way) return std::nullopt;
  return port->second.way->path;
}

void Engine::on_hello(const wire::Header& header, wire::ConstBytes datagram,
                      const Address& source) {
  const auto hello = wire::decode_hello(header, datagram.subspan(header.bytes()));
  if (!hello) {
    ++statistics_.refused_malformed;
    return;
  }
  const wire::Terms& terms = hello.value().terms;
  const Address from = reply_address(source, terms);
  came_by_.reset();
  if (has_identity()) return on_host_hello(header, hello.value(), datagram, from);
  if (const auto reason = objection(header, terms, from)) {
    send_reject(*reason, terms.connection_id, wire::nonce_echo(terms.nonce), wire::kVersion, from);
    return;
  }
  // [D45] Who does not know the key gets no answer, however many hellos he sends.
  const auto own = find_key(terms.key_id);
  if (own && !same(own->door.hello_mac(datagram.first(wire::kHelloMacAt)), hello.value().mac)) {
    ++statistics_.refused_forged;
    return;
  }
  send_challenge(terms, header, datagram, from);
}

/// Those that have not ended. With keys of hosts a half-open one's peer may not be at that address at all.
std::size_t Engine::connections_from(std::uint64_t source) const {
  return static_cast<std::size_t>(
      std::count_if(connections_.begin(), connections_.end(), [source](const auto& c) {
        return !c->initiator && c->state < State::over && c->peer.source() == source;
      }));
}

void Engine::on_connect(const wire::Header& header, wire::ConstBytes datagram,
                        const Address& source) {
  came_by_.reset();
  const auto connect = wire::decode_connect(header, datagram.subspan(header.bytes()));
  if (!connect) {
    ++statistics_.refused_malformed;
    return;
  }
  const wire::Terms& terms = connect.value().terms;
  const Address from = reply_address(source, terms);
  const auto own = has_identity() ? at_the_door(header, terms, datagram, connect.value().mac)
                                  : find_key(terms.key_id);
  if (has_identity() && !own) return;
  if (is_known(header, terms, from)) return;
  // With keys of their own, nothing is said before it is known who asks.
  if (const auto reason = has_identity() ? std::nullopt : objection(header, terms, from)) {
    send_reject(*reason, terms.connection_id, wire::nonce_echo(terms.nonce), wire::kVersion, from);
    return;
  }
  if (!jar_->is_good(connect.value().cookie, from, header.keyed, wire::terms_bytes(datagram),
                     now_)) {
    ++statistics_.refused_set_up;
    send_challenge(terms, header, datagram, from);
    return;
  }
  came_by_ = CookieJar::path_of(connect.value().cookie);
  if (has_identity()) {
    if (proven_openings_->take(from, now_))
      meet(header, terms, *connect.value().first, datagram, from, own);
    return;
  }
  if (own) {
    const wire::Mac expected =
        own->door.connect_mac(datagram.first(datagram.size() - wire::kTagBytes));
    if (!same(expected, connect.value().mac)) {
      ++statistics_.refused_forged;
      return;
    }
  }
  if (Connection* c = admit(terms, datagram, from, own)) {
    start_session(*c);
    send_accept(*c, copies_for(header));
    rearm(*c);
  }
}

/// A question that was asked and answered before: our accept was lost. Somebody who plays it again gets some more, and
/// then one for each, smaller than what he sent.
bool Engine::is_known(const wire::Header& header, const wire::Terms& terms, const Address& from) {
  const auto known = by_question_.find({wire::nonce_echo(terms.nonce), from});
  if (known == by_question_.end()) return false;
  Connection& c = *known->second;
  if (c.set_up.theirs.nonce == terms.nonce &&
      c.set_up.theirs.connection_id == terms.connection_id) {
    if (c.state == State::half_open || c.state == State::open)
      send_accept(c, c.set_up.accepts_sent < kGenerousAccepts ? copies_for(header) : 1);
  } else {
    ++statistics_.refused_set_up;
  }
  return true;
}

/// Who asks has proved what there is to prove: a half-open connection, if there is room for one.
Connection* Engine::admit(const wire::Terms& terms, wire::ConstBytes datagram, const Address& from,
                          const std::shared_ptr<const OwnKey>& own) {
  const std::uint64_t echo = wire::nonce_echo(terms.nonce);
  if (options_.max_connections_per_source != 0 &&
      connections_from(from.source()) >= options_.max_connections_per_source) {
    send_reject(wire::RejectReason::busy, terms.connection_id, echo, wire::kVersion, from);
    return nullptr;
  }
  if (half_open_ >= std::max(options_.max_connections / 2, 1u)) {
    // So that those who never go on leave room for others. Who is honest asks again.
    ++statistics_.refused_set_up;
    return nullptr;
  }
  Connection& c = make_connection(from);
  c.local = came_to_;
  c.state = State::half_open;
  ++half_open_;
  c.set_up.theirs = terms;
  c.transport = udp::find(transports_, terms.transport);
  c.keys.own = own;
  draw_terms(c);
  const std::uint32_t mtu = std::min<std::uint32_t>(terms.mtu, largest_payload(from));
  c.set_up.mine.mtu = static_cast<std::uint16_t>(mtu);
  c.set_up.mine.ciphers = keyed() ? best_cipher(terms.ciphers) : std::uint8_t{0};
  c.set_up.mine.extensions &= terms.extensions;
  std::copy_n(wire::terms_bytes(datagram).begin(), wire::kTermsBytes,
              c.set_up.initiator_terms.begin());
  c.set_up.give_up_at = now_ + kHalfOpenLife;
  if (came_by_) c.life.port->way = {*came_by_, now_};
  by_question_.emplace(Question{echo, from}, &c);
  return &c;
}

void Engine::send_accept(Connection& c, std::uint32_t copies) {
  wire::Accept accept{c.set_up.mine, {}};
  if (const Introduction* one = c.set_up.introduction.get()) {
    accept.second = one->second;
    accept.mac = one->accept_mac;
  }
  const std::size_t n = wire::encode(scratch_, {c.set_up.theirs.connection_id, keyed(), 0}, accept);
  if (has_shared_key()) {
    put_mac(scratch_.data(), n,
            c.keys.own->door.accept_mac(c.set_up.initiator_terms,
                                        {scratch_.data(), n - wire::kTagBytes}));
  }
  c.set_up.accepts_sent += copies;
  // [D142] Who asks has not proved much, without a key nothing but its address; and asks again.
  const std::optional<PeerPort::Way>& way = c.life.port->way;
  for (std::uint32_t i = 0; i < copies; ++i)
    send_plain({scratch_.data(), n}, c.peer, c.local, way && i == 0 ? way->path : ++c.set_up.path,
               false);
}

// ---- Both ----

/// Both sides' terms are known: keys, receiver and queues can be made.
void Engine::start_session(Connection& c) {
  c.peer_id = c.set_up.theirs.connection_id;
  by_peer_id_.emplace(c.peer_id, &c);
  c.out.credit = c.set_up.theirs.credit;
  if (keyed()) start_keys(c);
  // The answer's mtu holds for both.
  const std::uint32_t mtu = c.initiator ? c.set_up.theirs.mtu : c.set_up.mine.mtu;
  c.session = c.transport->make_session(
      {.receiving = {.rate = {static_cast<std::int64_t>(options_.rate_bps)},
                     .rtt = kSchedulingNoise,
                     .full_rtt = ps(0),
                     .payload = mtu,
                     .paths = c.set_up.theirs.paths,
                     .window = c.set_up.mine.tracking_window},
       .sends_from = c.set_up.mine.initial_psn,
       .receives_from = c.set_up.theirs.initial_psn,
       .paths = options_.paths,
       .salt = c.set_up.mine.connection_id,
       .message_slots = options_.message_slots});
  if (const auto& way = c.life.port->way; way && now_ - way->at < core::ControlPaths::kProofLasts)
    c.session->ways.works(way->path, now_);
  c.in.messages.resize(options_.message_slots);
  c.statistics.payload_bytes = mtu;
  c.mtu.start(mtu + static_cast<std::uint32_t>(wire::data_overhead_bytes(keyed())), now_);
  c.statistics.keyed = keyed();
}

void Engine::open_up(Connection& c) {
  if (c.state == State::half_open) --half_open_;
  c.state = State::open;
  c.life.last_heard = c.life.last_asked = now_;
  c.life.asked = 0;
  c.set_up.give_up_at = c.set_up.retry_at = Instant::never();
  ++statistics_.connections;
  ++statistics_.connections_made;
  complete({.kind = c.initiator ? Kind::connected : Kind::accepted,
            .connection = c.id,
            .cookie = c.connect_cookie,
            .tag = c.set_up.theirs.user_data});
  // The peer learns from them that we are there, and we the RTT: set-up's own answers told it too,
  // but not how long the peer's process slept before it gave them.
  c.life.ping_interval = kFirstPing;
  ask_rtt(c);
  note_dryness(c);
  maybe_close(c);
  rearm(c);
}

}  // namespace strack::udp
