// The engine's part in keys: set-up between hosts that have their own (docs/protocol.md, "Keys of hosts"), and how a
// connection's keys change while it lives ("New keys").
#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "udp/engine.h"
#include "udp/engine_common.h"

namespace strack::udp {
namespace {

/// [D95] So many connections that are only half there are no load, and no hello needs a cookie; unless they are a
/// quarter of all that there may be, half of what may be half open.
constexpr std::uint32_t kFewHalfOpen = 8;
/// [D95] Handshakes cost some 100 us each. Beyond this a cookie is asked for first, and with one there are as many again.
constexpr AnswerBudget::Rate kOpenings{1'000, 200};
constexpr AnswerBudget::Rate kOpeningsOfAPart{500, 100};
/// Of one connection's answers.
constexpr AnswerBudget::Rate kSecondOpenings{500, 50};
/// [D96] Counters of an epoch that are left over: no burst crosses over to the next by itself.
constexpr std::uint64_t kEpochRest = kCounterReserve;
constexpr std::uint64_t kEpochCounters = std::uint64_t{1} << kEpochBits;

/// Gone when it is no longer used.
struct Wiped {
  explicit Wiped(const Secret& secret = {}) : bytes(secret) {}
  Wiped(const Wiped&) = delete;
  Wiped& operator=(const Wiped&) = delete;
  ~Wiped() { sodium_memzero(bytes.data(), bytes.size()); }
  Secret bytes;
};

Secret secret_of(const Key& key) {
  Secret out;
  std::memcpy(out.data(), key.data(), out.size());
  return out;
}
Key key_of(const Secret& secret) {
  Key out;
  std::memcpy(out.data(), secret.data(), out.size());
  return out;
}

}  // namespace

EndpointOptions::~EndpointOptions() {
  // One that is empty may have had a key.
  static_assert(std::is_trivially_copyable_v<std::optional<Key>>);
  for (std::optional<Key>* secret : {&key, &identity, &other_keys[0], &other_keys[1]})
    sodium_memzero(static_cast<void*>(secret), sizeof *secret);
}

Keys::~Keys() { sodium_memzero(reset.data(), reset.size()); }

Key new_key() {
  STRACK_CHECK(crypto_ready());  // rather no program than a key that everybody knows
  Key key;
  randombytes_buf(key.data(), key.size());
  return key;
}

Outcome<Key> parse_public_key(std::string_view text) {
  // What comes before a key in SubjectPublicKeyInfo (RFC 8410), whose base64 OpenSSL prints.
  constexpr std::array<std::uint8_t, 12> kX25519{0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
                                                 0x2b, 0x65, 0x6e, 0x03, 0x21, 0x00};
  STRACK_CHECK(crypto_ready());
  std::array<std::uint8_t, kX25519.size() + sizeof(Key)> info{};
  std::size_t length = 0;
  Key key{};
  if (sodium_base642bin(info.data(), info.size(), text.data(), text.size(), " \t\r\n", &length,
                        nullptr, sodium_base64_VARIANT_ORIGINAL) == 0 &&
      length == info.size() && std::equal(kX25519.begin(), kX25519.end(), info.begin())) {
    std::memcpy(key.data(), info.data() + kX25519.size(), key.size());
  } else {
    std::string digits(text);
    if (digits.size() == 3 * sizeof(Key) - 1) std::erase(digits, ':');
    const auto parsed = parse_key(digits);
    if (!parsed) {
      const std::string& said = parsed.error().text;  // a rule of shared keys; what is wrong
      return Error{"a public key is 64 hexadecimal digits, as `strack key show` prints it" +
                   said.substr(said.find("; "))};
    }
    key = parsed.value();
  }
  // What multiplies to nothing has low order, whatever it is multiplied with.
  const Secret point = secret_of(key);
  const Secret any{1};
  Secret product;
  if (crypto_scalarmult(product.data(), any.data(), point.data()) != 0)
    return Error{key_text(key) + " is no public key: nobody has an identity for it"};
  return key;
}

Key public_key(const Key& identity) {
  const Wiped secret(secret_of(identity));
  return key_of(noise::KeyPair::from(secret.bytes).public_key);
}

std::optional<Error> Engine::check_keys(const EndpointOptions& o) {
  if (o.key && o.identity) return Error{"both key and identity are set. give one of them"};
  if (!o.identity && (!o.trusted.empty() || o.peer))
    return Error{
        "trusted or peer is set, and no identity. set identity, too: both sides prove who they "
        "are"};
  if (!o.key && !o.identity && (o.other_keys[0] || o.other_keys[1]))
    return Error{"other_keys are set, and neither key nor identity. set the one that is used"};
  if (o.rekey_packets < 1 || o.rekey_packets > (1u << kEpochBits))
    return Error{"rekey_packets is " + std::to_string(o.rekey_packets) +
                 ". it takes 1 to 16777216"};
  if (o.rekey_interval.count() < 1 || o.rekey_interval.count() > 86'400'000)
    return Error{"rekey_interval is " + std::to_string(o.rekey_interval.count()) +
                 " ms. it takes 1 ms to a day"};
  return std::nullopt;
}

/// They are kept here and nowhere else: the options' are wiped.
void Engine::take_keys(const EndpointOptions& options) {
  if (!options.key && !options.identity) return;
  if (!keyed()) sealing_ = find_sealing_library(options.sealing);
  keyring_.clear();
  const bool of_host = options.identity.has_value();
  for (const std::optional<Key>* key : {of_host ? &options.identity : &options.key,
                                        &options.other_keys[0], &options.other_keys[1]}) {
    if (!*key) continue;
    const Wiped secret(secret_of(**key));
    keyring_.push_back(std::make_shared<const OwnKey>(secret.bytes, of_host));
  }
  trusted_ = options.trusted;
  std::sort(trusted_.begin(), trusted_.end());
  for (std::optional<Key>* key :
       {&options_.key, &options_.identity, &options_.other_keys[0], &options_.other_keys[1]}) {
    if (*key) sodium_memzero((*key)->data(), (*key)->size());
  }
  if (of_host && !openings_) {
    openings_.emplace(kOpenings, kOpeningsOfAPart, std::uint64_t{random32()} << 32 | random32());
    proven_openings_.emplace(kOpenings, kOpeningsOfAPart,
                             std::uint64_t{random32()} << 32 | random32());
  }
}

/// [D141]
std::optional<Error> Engine::change_keys(const EndpointOptions& options) {
  if (options.key && options.identity)
    return Error{"both key and identity are set. give one of them"};
  if (options.key.has_value() != has_shared_key() || options.identity.has_value() != has_identity())
    return Error{
        "the endpoint was opened with another kind of key, or none. open another for these"};
  if (auto wrong = check_keys(options)) return wrong;
  options_.peer = options.peer;
  take_keys(options);
  return std::nullopt;
}

/// Null: there is none with this id.
std::shared_ptr<const OwnKey> Engine::find_key(std::uint32_t key_id) const {
  const auto found = std::find_if(keyring_.begin(), keyring_.end(),
                                  [key_id](const auto& own) { return own->door.id() == key_id; });
  return found == keyring_.end() ? nullptr : *found;
}

std::optional<Key> Engine::peer_key(ConnectionId connection) const {
  const Connection* c = find(connection);
  if (c == nullptr || !has_identity()) return std::nullopt;
  return key_of(c->keys.peer);
}

// ---- [D95] Set-up between hosts with keys of their own ----

/// What an initiator's MACs are made with.
const JobKey* Engine::door_of(const Connection& c) const {
  if (c.set_up.introduction) return &*c.set_up.introduction->door;
  return c.keys.own ? &c.keys.own->door : nullptr;
}

/// Completes an initiator's terms, and makes the handshake's first message of them. False: the peer's key is none.
bool Engine::introduce(Connection& c, const Key& peer) {
  c.set_up.introduction = std::make_unique<Introduction>();
  Introduction& one = *c.set_up.introduction;
  c.keys.peer = secret_of(peer);
  one.door.emplace(c.keys.peer);
  c.set_up.mine.key_id = one.door->id();
  c.set_up.mine.extensions |= wire::kHostKeys;
  const TermsBytes terms = wire::encode_terms(c.set_up.mine);
  one.handshake =
      noise::Handshake::initiator(noise_prologue(terms), *c.keys.own->identity, c.keys.peer);
  Wiped ephemeral;
  network_.random(ephemeral.bytes);
  const Wiped reset(reset_secret(c.keys.own->identity->secret, c.set_up.mine.connection_id,
                                 c.set_up.mine.reply_port));
  return one.handshake->write_first(ephemeral.bytes, reset.bytes, one.first);
}

/// An initiator's answer. What somebody made up must not spoil the handshake, so a copy of it reads; nor may it hold up
/// other connections, so each has a budget of its own for it.
bool Engine::open_second(Connection& c, const wire::SecondMessage& second) {
  Introduction& one = *c.set_up.introduction;
  noise::Handshake handshake = *one.handshake;
  if (!kSecondOpenings.take(one.opened_until, now_) ||
      !handshake.read_second(second, c.keys.reset)) {
    ++statistics_.refused_forged;
    return false;
  }
  one.outcome = handshake_key(handshake.finish());
  return true;
}

/// Whether who asks knows this host's public key. Who does not is worth no answer, and costs one hash.
std::shared_ptr<const OwnKey> Engine::at_the_door(const wire::Header& header,
                                                  const wire::Terms& terms,
                                                  wire::ConstBytes datagram, const wire::Mac& mac) {
  const bool hello = header.type == wire::Type::hello;
  auto own = find_key(terms.key_id);
  if (!options_.listen.empty() && header.host_keys() && own) {
    const wire::Mac expected =
        hello ? own->door.hello_mac(datagram.first(wire::kHostHelloMacAt))
              : own->door.connect_mac(datagram.first(datagram.size() - wire::kTagBytes));
    if (same(expected, mac)) return own;
  }
  ++statistics_.refused_forged;
  return nullptr;
}

/// Answered at once, while that does not cost too much; then with a challenge, as any other.
void Engine::on_host_hello(const wire::Header& header, const wire::Hello& hello,
                           wire::ConstBytes datagram, const Address& from) {
  const auto own = at_the_door(header, hello.terms, datagram, hello.mac);
  if (!own) return;
  if (is_known(header, hello.terms, from)) return;
  const std::uint32_t most = options_.max_connections;
  const bool crowded = half_open_ >= std::min(std::max(most / 8, kFewHalfOpen), most / 4);
  if (crowded || !openings_->take(from, now_)) {
    send_challenge(hello.terms, header, datagram, from);
    return;
  }
  meet(header, hello.terms, *hello.first, datagram, from, own);
}

/// Finds out who asks. Only those who are trusted learn that there is somebody here.
void Engine::meet(const wire::Header& header, const wire::Terms& terms,
                  const wire::FirstMessage& first, wire::ConstBytes datagram, const Address& from,
                  const std::shared_ptr<const OwnKey>& own_key) {
  noise::Handshake handshake =
      noise::Handshake::responder(noise_prologue(wire::terms_bytes(datagram)), *own_key->identity);
  Wiped reset;
  if (!handshake.read_first(first, reset.bytes)) {
    ++statistics_.refused_forged;
    return;
  }
  if (!std::binary_search(trusted_.begin(), trusted_.end(), key_of(handshake.peer()))) {
    ++statistics_.refused_untrusted;
    return;
  }
  if (const auto reason = objection(header, terms, from)) {
    send_reject(*reason, terms.connection_id, wire::nonce_echo(terms.nonce), wire::kVersion, from);
    return;
  }
  Connection* c = admit(terms, datagram, from, own_key);
  if (c == nullptr) return;
  c->keys.peer = handshake.peer();
  c->keys.reset = reset.bytes;
  c->set_up.mine.key_id = own_key->door.id();
  c->set_up.mine.extensions |= wire::kHostKeys;
  c->set_up.introduction = std::make_unique<Introduction>();
  Introduction& one = *c->set_up.introduction;
  Wiped ephemeral;
  network_.random(ephemeral.bytes);
  const Wiped own(reset_secret(own_key->identity->secret, c->set_up.mine.connection_id,
                               c->set_up.mine.reply_port));
  if (!handshake.write_second(ephemeral.bytes, own.bytes, one.second))
    return retire(*c);  // an ephemeral key that is none
  one.outcome = handshake_key(handshake.finish());
  std::array<std::uint8_t, 256> accept{};
  const std::size_t size = wire::encode(accept, {terms.connection_id, true, 0},
                                        wire::Accept{c->set_up.mine, {}, one.second});
  one.accept_mac = one.outcome->accept_mac(c->set_up.initiator_terms,
                                           wire::ConstBytes(accept).first(size - wire::kTagBytes));
  start_session(*c);
  send_accept(*c, std::min<std::uint32_t>(header.path_id + 1u, 4));
  rearm(*c);
}

/// Of a reset that says that one of this endpoint's ids is unknown [D46] [D97]. Which key the peer knows is not known here:
/// while there are several, each has its turn [D141].
wire::Mac Engine::reset_mac(std::uint32_t id, wire::ConstBytes packet) {
  const OwnKey& key = *keyring_[reset_turn_++ % keyring_.size()];
  Address own = came_to_.is_any() ? network_.address() : came_to_;
  own.port = network_.address().port;
  if (!key.identity) return key.door.reset_mac(packet, own);
  const Wiped secret{reset_secret(key.identity->secret, id, own.port)};
  return host_reset_mac(secret.bytes, packet, own);
}

// ---- [D96] A connection's keys ----

void Engine::start_keys(Connection& c) {
  Introduction* one = c.set_up.introduction.get();
  const JobKey& key = one != nullptr ? *one->outcome : c.keys.own->door;
  const TermsBytes own = wire::encode_terms(c.set_up.mine);
  const TermsBytes other = wire::encode_terms(c.set_up.theirs);
  auto keys = c.initiator ? key.session_keys(own, other) : key.session_keys(other, own);
  const auto cipher =
      static_cast<wire::Cipher>(c.initiator ? c.set_up.theirs.ciphers : c.set_up.mine.ciphers);
  const bool rekeying =
      (c.set_up.mine.extensions & c.set_up.theirs.extensions & wire::kRekeying) != 0;
  c.keys.seal.start(cipher, keys[c.initiator ? 0 : 1], *sealing_);
  c.keys.open.start(cipher, keys[c.initiator ? 1 : 0], *sealing_, rekeying, key_limits_.forgeries);
  for (Secret& one_key : keys) sodium_memzero(one_key.data(), one_key.size());
  c.keys.renew_after = now_ + kLeastEpoch;
  if (rekeying) {
    c.keys.renew_from =
        std::min<std::uint64_t>(options_.rekey_packets, kEpochCounters - kEpochRest);
    c.keys.renew_at = now_ + ms(options_.rekey_interval.count());
  }
  // Who learns a private key must not find what the session's were made of.
  if (one != nullptr) one->outcome.reset();
  if (c.initiator) c.set_up.introduction.reset();
}

bool Engine::open_sealed(Connection& c, std::span<std::uint8_t> datagram, std::uint64_t counter) {
  switch (c.keys.open.open(datagram, counter, now_)) {
    case Opening::good:
      return true;
    case Opening::replayed:
      ++statistics_.refused_replayed;
      return false;
    case Opening::forged:
    case Opening::hurried:
      break;
    case Opening::exhausted:
      if (!c.has_ended()) fail(c, Status::keys_exhausted, wire::CloseReason::keys_exhausted);
      break;
  }
  ++statistics_.refused_forged;
  return false;
}

/// But for what it still takes to say so.
bool Engine::keys_used_up(const Connection& c) const {
  return keyed() && c.keys.counter >= key_limits_.counters - kCounterReserve;
}

/// Before packets are sealed: time for the next key? Never two steps ahead of what the peer is known to have, and never
/// to the very end, where the connection closes instead.
void Engine::renew_key(Connection& c) {
  Keys& keys = c.keys;
  if (keys.counter < keys.renew_from && now_ < keys.renew_at) return;
  const std::uint64_t next = epoch_of(keys.counter) + 1;
  const bool forced = (next << kEpochBits) - keys.counter <= kEpochRest;
  const bool may = keys.followed && now_ >= keys.renew_after;  // [D105]
  if (next >= epoch_of(key_limits_.counters) || !(may || forced)) return;
  keys.counter = next << kEpochBits;
  keys.seal.advance();
  keys.followed = false;
  keys.renewal_ping = c.life.ping_id + 1;
  keys.renew_from =
      keys.counter + std::min<std::uint64_t>(options_.rekey_packets, kEpochCounters - kEpochRest);
  keys.renew_at = now_ + ms(options_.rekey_interval.count());
  keys.renew_after = now_ + kLeastEpoch;
  ++c.statistics.rekeyings;
  if (!c.out.sends) return;
  // Whether the peer has followed its answer to a ping tells, and nothing else: that names what it answers.
  c.life.ping_interval = kShortestRetry / 2;  // until it is repeated, twice that
  c.life.ping_retry_at = std::min(c.life.ping_retry_at, now_);
  rearm(c);
}

}  // namespace strack::udp
