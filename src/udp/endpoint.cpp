#include "udp/endpoint.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "udp/address.h"
#include "udp/engine.h"
#include "udp/network.h"

namespace strack::udp {

std::string_view text(Status status) {
  switch (status) {
    case Status::ok:
      return "ok";
    case Status::would_block:
      return "no free slot now";
    case Status::unknown_connection:
      return "no such connection";
    case Status::closing:
      return "the connection is closing";
    case Status::too_long:
      return "more than a message or an atomic can have";
    case Status::unknown_region:
      return "no such region";
    case Status::truncated:
      return "the message was longer than the buffer";
    case Status::cancelled:
      return "cancelled";
    case Status::connection_closed:
      return "the connection was closed";
    case Status::peer_dead:
      return "the peer no longer answers";
    case Status::peer_aborted:
      return "the peer aborted the connection";
    case Status::refused:
      return "the peer takes no connection on these terms";
    case Status::key_refused:
      return "the keys of the two sides do not match";
    case Status::busy:
      return "the peer has no room for another connection";
    case Status::not_listening:
      return "the peer takes no connections";
    case Status::timed_out:
      return "nobody answered";
    case Status::went_silent:
      return "the peer answered once and no more: it has no room, or ways to it lose packets";
    case Status::access_refused:
      return "the peer wrote or read where no region allows it";
    case Status::protocol_error:
      return "a rule of the protocol was broken";
    case Status::keys_exhausted:
      return "the keys are used up";
    case Status::no_resources:
      return "a limit is reached";
    case Status::peer_restarted:
      return "the peer does not know the connection any more: it was restarted, or has given it up";
    case Status::version_refused:
      return "the peer speaks another version of the protocol";
    case Status::transport_refused:
      return "the peer does not have this transport";
    case Status::extension_refused:
      return "the peer does not know an extension that is needed";
    case Status::unreachable:
      return "Network is unreachable: this host has no route there";
    case Status::invalid:
      return "what was asked for makes no sense";
  }
  return "?";
}

std::string_view text(Kind kind) {
  switch (kind) {
    case Kind::sent:
      return "sent";
    case Kind::written:
      return "written";
    case Kind::received:
      return "received";
    case Kind::connected:
      return "connected";
    case Kind::accepted:
      return "accepted";
    case Kind::peer_closed:
      return "peer_closed";
    case Kind::closed:
      return "closed";
    case Kind::failed:
      return "failed";
    case Kind::read:
      return "read";
    case Kind::atomic:
      return "atomic";
  }
  return "?";
}

namespace {

/// Moves packets when it is called.
struct Single {
  Single(const EndpointOptions& given, const Datapath& datapath)
      : datagrams(datapath.make(given)),
        network(*datagrams),
        engine(given, network),
        most_spin(us(given.spin.count())) {}
  Single(const Single&) = delete;
  Single& operator=(const Single&) = delete;
  ~Single() { engine.shut_down(); }

  std::unique_ptr<Network> datagrams;
  Network& network;
  Engine engine;
  std::uint64_t sleeps = 0;
  Picoseconds most_spin;
  Picoseconds spin = most_spin;
};

}  // namespace

/// One of the two: who calls moves packets, or threads do [D107].
struct Endpoint::Impl {
  Impl(const EndpointOptions& options, const Datapath& datapath)
      : here(std::in_place, options, datapath) {}
  explicit Impl(ThreadedEndpoint endpoint) : there(std::move(endpoint)) {}

  std::optional<Single> here;
  std::optional<ThreadedEndpoint> there;
};

Endpoint::Endpoint(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Endpoint::Endpoint(Endpoint&&) noexcept = default;
Endpoint& Endpoint::operator=(Endpoint&& other) noexcept = default;
Endpoint::~Endpoint() = default;

Outcome<Endpoint> Endpoint::open(const EndpointOptions& options) {
  if (auto wrong = Engine::check(options)) return std::move(*wrong);
  if (!options.listen.empty() && !options.bind.empty())
    return Error{"both listen and bind are given. a listening endpoint sends from there"};
  const Datapath* datapath = find_datapath(options.datapath);
  if (datapath == nullptr) {
    std::string names;
    for (const Datapath& one : datapaths())
      names.append(names.empty() ? "" : ", ").append(one.name);
    return Error{"datapath is \"" + options.datapath + "\". it takes one of: " + names};
  }
  if (options.threads > 0) {
    auto threaded = ThreadedEndpoint::open(options, options.threads);
    if (!threaded) return threaded.error();
    return Endpoint(std::make_unique<Impl>(std::move(threaded.value())));
  }
  auto impl = std::make_unique<Impl>(options, *datapath);
  const std::string& local = options.listen.empty() ? options.bind : options.listen;
  if (!local.empty()) {
    const auto address = Address::parse(local);
    if (!address) {
      return Error{"address '" + local +
                   "' is not numeric with a port, such as 0.0.0.0:4794 or [::]:4794"};
    }
    if (auto error = impl->here->network.open(*address)) return std::move(*error);
  }
  return Endpoint(std::move(impl));
}

std::string Endpoint::local_address() const {
  if (impl_->there) return impl_->there->local_address();
  return impl_->here->network.is_open() ? impl_->here->network.address().text() : std::string();
}
std::uint16_t Endpoint::local_port() const {
  if (impl_->there) return impl_->there->local_port();
  return impl_->here->network.is_open() ? impl_->here->network.address().port : std::uint16_t{0};
}
std::string_view Endpoint::sealing() const {
  if (impl_->there) return impl_->there->sealing();
  return impl_->here->engine.sealing();
}
std::uint32_t Endpoint::threads() const { return impl_->there ? impl_->there->threads() : 0; }
std::string Endpoint::peer_address(ConnectionId connection) const {
  if (impl_->there) return impl_->there->peer_address(connection);
  const Address* peer = impl_->here->engine.peer_address(connection);
  return peer == nullptr ? std::string() : peer->text();
}

std::optional<Key> Endpoint::peer_key(ConnectionId connection) const {
  if (impl_->there) return impl_->there->peer_key(connection);
  return impl_->here->engine.peer_key(connection);
}

Outcome<ConnectionId> Endpoint::connect(std::string_view address, std::uint64_t cookie,
                                        const std::optional<Key>& peer_key) {
  if (impl_->there) return impl_->there->connect(address, cookie, peer_key);
  const auto peer = Address::parse(address);
  if (!peer) {
    return Error{"address '" + std::string(address) +
                 "' is not numeric with a port, such as 192.0.2.7:4794 or [2001:db8::7]:4794"};
  }
  if (!impl_->here->network.is_open()) {
    Address any;
    any.v6 = peer->v6;
    if (auto error = impl_->here->network.open(any)) return std::move(*error);
  }
  if (impl_->here->network.address().v6 != peer->v6) {
    return Error{"address " + peer->text() + " is of another family than this endpoint's " +
                 impl_->here->network.address().text() + ". use one endpoint for each"};
  }
  return impl_->here->engine.connect(*peer, cookie, peer_key);
}

std::optional<Error> Endpoint::change_keys(const EndpointOptions& options) {
  if (impl_->there) return impl_->there->change_keys(options);
  return impl_->here->engine.change_keys(options);
}

Status Endpoint::send(ConnectionId connection, std::uint64_t tag,
                      std::span<const std::byte> message, std::uint64_t cookie) {
  return send(connection, tag, {}, message, cookie);
}
Status Endpoint::send(ConnectionId connection, std::uint64_t tag, std::span<const std::byte> head,
                      std::span<const std::byte> rest, std::uint64_t cookie) {
  if (impl_->there) return impl_->there->send(connection, tag, head, rest, cookie);
  return impl_->here->engine.send(connection, tag, head, rest, cookie);
}
Status Endpoint::post_receive(ConnectionId connection, Match match, std::span<std::byte> buffer,
                              std::uint64_t cookie) {
  if (impl_->there) return impl_->there->post_receive(connection, match, buffer, cookie);
  return impl_->here->engine.post_receive(connection, match, buffer, cookie);
}
Status Endpoint::sendv(ConnectionId connection, std::uint64_t tag, PiecesOut message,
                       std::uint64_t cookie) {
  if (impl_->there) return impl_->there->sendv(connection, tag, message, cookie);
  return impl_->here->engine.sendv(connection, tag, message, cookie);
}
Status Endpoint::post_receivev(ConnectionId connection, Match match, PiecesIn buffer,
                               std::uint64_t cookie) {
  if (impl_->there) return impl_->there->post_receivev(connection, match, buffer, cookie);
  return impl_->here->engine.post_receivev(connection, match, buffer, cookie);
}
std::optional<Completion> Endpoint::peek(ConnectionId connection, Match match) const {
  if (impl_->there) return impl_->there->peek(connection, match);
  return impl_->here->engine.peek(connection, match);
}
void Endpoint::set_usher(Usher* usher) {
  if (impl_->here) impl_->here->engine.set_usher(usher);
}
std::size_t Endpoint::cancel_receives(std::uint64_t cookie) {
  if (impl_->there) return impl_->there->cancel_receives(cookie);
  return impl_->here->engine.cancel_receives(cookie);
}
Outcome<RegionKey> Endpoint::register_region(std::span<std::byte> memory, ConnectionId connection,
                                             Access access) {
  if (impl_->there) return impl_->there->register_region(memory, connection, access);
  return impl_->here->engine.register_region(memory, connection, access);
}
Status Endpoint::unregister_region(RegionKey key) {
  if (impl_->there) return impl_->there->unregister_region(key);
  return impl_->here->engine.unregister_region(key);
}
Status Endpoint::write(ConnectionId connection, RegionKey region, std::uint64_t offset,
                       std::span<const std::byte> bytes, std::uint64_t cookie) {
  if (impl_->there) return impl_->there->write(connection, region, offset, bytes, cookie);
  return impl_->here->engine.write(connection, region, offset, bytes, cookie);
}
Status Endpoint::write(ConnectionId connection, RegionKey region, std::uint64_t offset,
                       std::span<const std::byte> bytes, std::uint64_t immediate,
                       std::uint64_t cookie) {
  if (impl_->there)
    return impl_->there->write(connection, region, offset, bytes, immediate, cookie);
  return impl_->here->engine.write(connection, region, offset, bytes, immediate, cookie);
}
Status Endpoint::read(ConnectionId connection, RegionKey region, std::uint64_t offset,
                      std::span<std::byte> into, std::uint64_t cookie) {
  if (impl_->there) return impl_->there->read(connection, region, offset, into, cookie);
  return impl_->here->engine.read(connection, region, offset, into, cookie);
}
Status Endpoint::atomic(ConnectionId connection, RegionKey region, std::uint64_t offset,
                        AtomicOp op, ValueType type, std::span<std::byte> before,
                        std::span<const std::byte> operands, std::span<const std::byte> compared,
                        std::uint64_t cookie) {
  if (impl_->there)
    return impl_->there->atomic(connection, region, offset, op, type, before, operands, compared,
                                cookie);
  return impl_->here->engine.atomic(connection, region, offset, op, type, before, operands,
                                    compared, cookie);
}
Status Endpoint::close(ConnectionId connection) {
  if (impl_->there) return impl_->there->close(connection);
  return impl_->here->engine.close(connection);
}
Status Endpoint::abort(ConnectionId connection) {
  if (impl_->there) return impl_->there->abort(connection);
  return impl_->here->engine.abort(connection);
}

bool Endpoint::poll() {
  if (impl_->there) return impl_->there->wait(std::chrono::nanoseconds(0));
  return impl_->here->engine.poll();
}
void Endpoint::flush() {
  if (impl_->there) return;  // what a call is to send has gone with it
  impl_->here->engine.flush();
}

bool Endpoint::wait(std::chrono::nanoseconds timeout) {
  if (impl_->there) return impl_->there->wait(timeout);
  Engine& engine = impl_->here->engine;
  Network& network = impl_->here->network;
  constexpr std::chrono::nanoseconds kLongest = std::chrono::hours(24);
  const Instant start = network.now();
  const Instant end =
      start + ns(std::clamp(timeout, std::chrono::nanoseconds(0), kLongest).count());
  // Spinning pays where the next packet comes before a sleeper would have been woken. Where it did
  // not, there is less of it the next time; where a sleep was that short, more.
  const Picoseconds most = impl_->here->most_spin;
  Picoseconds& spin = impl_->here->spin;
  Instant idle_since = start;
  while (true) {
    const bool busy = engine.poll();
    if (engine.has_completions()) return true;
    const Instant now = network.now();
    if (now >= end) return false;
    if (busy) {
      idle_since = now;
      continue;
    }
    if (now - idle_since < spin) {
      network.yield();  // whoever else wants this core, perhaps the peer itself, goes first
      continue;
    }
    const Instant until = std::min(end, engine.next_deadline());
    if (until <= now) continue;
    ++impl_->here->sleeps;
    network.sleep(until - now);
    const Instant awake = network.now();
    spin = awake - idle_since < most ? std::min(most, 2 * spin + us(10)) : spin / 2;
    idle_since = awake;
  }
}

std::span<const Completion> Endpoint::completions(std::span<Completion> out) {
  if (impl_->there) return impl_->there->wait(out, std::chrono::nanoseconds(0));
  return impl_->here->engine.completions(out);
}

int Endpoint::file_descriptor() const {
  if (impl_->there) return impl_->there->file_descriptor();
  return impl_->here->network.file_descriptor();
}

std::chrono::nanoseconds Endpoint::next_deadline() const {
  if (impl_->there) return std::chrono::nanoseconds::max();
  const Instant next = impl_->here->engine.next_deadline();
  if (next == Instant::never()) return std::chrono::nanoseconds::max();
  const std::int64_t left = (next - impl_->here->network.now()).count() / 1'000;
  return std::chrono::nanoseconds(std::max<std::int64_t>(left, 0));
}

Outcome<ConnectionStatistics> Endpoint::statistics(ConnectionId connection) const {
  if (impl_->there) return impl_->there->statistics(connection);
  if (auto found = impl_->here->engine.statistics(connection)) return *found;
  return Error{"no such connection"};
}
bool Endpoint::keep_path_statistics(ConnectionId connection) {
  if (impl_->there) return impl_->there->keep_path_statistics(connection);
  return impl_->here->engine.keep_path_statistics(connection);
}
std::vector<PathStatistics> Endpoint::path_statistics(ConnectionId connection) const {
  if (impl_->there) return impl_->there->path_statistics(connection);
  return impl_->here->engine.path_statistics(connection);
}
std::vector<std::uint64_t> Endpoint::path_arrivals(ConnectionId connection) const {
  if (impl_->there) return impl_->there->path_arrivals(connection);
  return impl_->here->engine.path_arrivals(connection);
}
EndpointStatistics Endpoint::statistics() const {
  if (impl_->there) return impl_->there->statistics();
  EndpointStatistics counted = impl_->here->engine.statistics();
  counted.sleeps = impl_->here->sleeps;
  return counted;
}
SocketLimits Endpoint::socket_limits() const {
  if (impl_->there) return impl_->there->socket_limits();
  return impl_->here->network.socket_limits();
}
std::size_t Endpoint::connections(std::span<ConnectionId> out) const {
  if (impl_->there) return impl_->there->connections(out);
  return impl_->here->engine.connections(out);
}

Outcome<std::string> resolve(std::string_view host_and_port, std::uint16_t default_port) {
  const auto all = resolve_all(host_and_port, default_port);
  if (!all) return Error{all.error()};
  return all.value().front().text();
}

Outcome<Key> parse_key(std::string_view hex) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!hex.empty() && is_space(hex.front())) hex.remove_prefix(1);
  while (!hex.empty() && is_space(hex.back())) hex.remove_suffix(1);
  Key key{};
  const std::string rule =
      "a key is 64 hexadecimal digits, as `openssl rand -hex 32` prints them; ";
  if (hex.empty()) return Error{rule + "this is empty"};
  for (std::size_t i = 0; i < hex.size(); ++i) {
    const auto c = static_cast<unsigned char>(hex[i]);
    if (std::isxdigit(c) != 0) continue;
    const std::string what = std::isprint(c) != 0
                                 ? "'" + std::string(1, hex[i]) + "'"
                                 : "the byte " + std::to_string(static_cast<unsigned>(c));
    return Error{rule + "character " + std::to_string(i + 1) + " of this is " + what};
  }
  if (hex.size() != 64) return Error{rule + "this has " + std::to_string(hex.size())};
  for (std::size_t i = 0; i < key.size(); ++i) {
    unsigned value = 0;
    std::from_chars(hex.data() + 2 * i, hex.data() + 2 * i + 2, value, 16);
    key[i] = static_cast<std::byte>(value);
  }
  return key;
}

std::string key_text(const Key& key) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte one : key) {
    text += kDigits[std::to_integer<std::size_t>(one >> 4)];
    text += kDigits[std::to_integer<std::size_t>(one & std::byte{15})];
  }
  return text;
}

}  // namespace strack::udp
