#include "fabric/rdm.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "fabric/rdm_internal.h"

namespace strack::fabric {
namespace {

constexpr int kRounds = 4;  ///< of a call of progress, as long as there is something
constexpr std::chrono::seconds kPatience{3};
/// A connection is idle when so many looks in a row found it unused.
constexpr std::uint32_t kIdleLooks = 4;
/// Calls of progress that find nothing, for one that looks at the clock.
constexpr std::uint32_t kLookEvery = 8;

struct Hello {
  std::array<std::uint8_t, 16> ip{};
  std::uint16_t port = 0;
  std::uint16_t v6 = 0;
  std::uint32_t scope = 0;
};
static_assert(sizeof(Hello) == 24);

}  // namespace

int error_of(udp::Status status) {
  switch (status) {
    case udp::Status::ok:
      return 0;
    case udp::Status::would_block:
      return FI_EAGAIN;
    case udp::Status::timed_out:
    case udp::Status::went_silent:
      return FI_ETIMEDOUT;
    case udp::Status::unreachable:
    case udp::Status::peer_dead:
      return FI_EHOSTUNREACH;
    case udp::Status::refused:
    case udp::Status::version_refused:
    case udp::Status::transport_refused:
    case udp::Status::extension_refused:
    case udp::Status::busy:
    case udp::Status::not_listening:
      return FI_ECONNREFUSED;
    case udp::Status::key_refused:
      return FI_EKEYREJECTED;
    case udp::Status::cancelled:
      return FI_ECANCELED;
    case udp::Status::truncated:
      return FI_ETRUNC;
    case udp::Status::too_long:
      return FI_EMSGSIZE;
    case udp::Status::no_resources:
      return FI_ENOBUFS;
    case udp::Status::connection_closed:
    case udp::Status::peer_aborted:
    case udp::Status::peer_restarted:
    case udp::Status::closing:
      return FI_ECONNRESET;
    default:
      return FI_EIO;
  }
}

Rdm::Rdm(udp::Endpoint endpoint, const udp::Address& name, Host& host, const Limits& limits)
    : endpoint_(std::move(endpoint)), name_(name), host_(host), limits_(limits) {
  for (std::size_t i = 0; i < limits_.buffers; ++i) {
    buffers_.push_back(
        std::make_unique<Buffer>(sizeof(Header) + kMostPieces * sizeof(Segment) + limits_.eager));
    post_buffer(*buffers_.back());
  }
  endpoint_.set_usher(this);
}

Rdm::~Rdm() {
  // What the endpoint still holds ends with an error, so that nothing is left of it.
  ending_ = true;
  while (!links_.empty()) {
    const auto id = links_.begin()->second->id;
    static_cast<void>(endpoint_.abort(id));
    progress();
    if (links_.contains(std::uint64_t(id))) on_end(id, udp::Status::cancelled);
  }
  for (Messages* all : {&tagged_, &plain_}) {
    while (Operation* receive = all->remove_if([](const Operation&) { return true; }))
      delete receive;
  }
}

Peer* Rdm::peer(const udp::Address& address) {
  std::unique_ptr<Peer>& peer = peers_[address];
  if (!peer) {
    peer = std::make_unique<Peer>();
    peer->address = address;
  }
  return peer.get();
}

// ---- Connections ----

Link* Rdm::link_to(Peer& peer) {
  if (peer.out != nullptr) return peer.out;
  auto connected = endpoint_.connect(peer.address.text());
  if (!connected) return nullptr;
  auto link = std::make_unique<Link>();
  link->id = connected.value();
  link->peer = &peer;
  peer.out = link.get();
  links_[std::uint64_t(link->id)] = std::move(link);
  const Hello hello{name_.ip, name_.port, static_cast<std::uint16_t>(name_.v6), name_.scope};
  Hello bytes = hello;
  post(*peer.out, message({.type = Type::hello}, {}, Pieces(&bytes, sizeof bytes)));
  return peer.out;
}

void Rdm::on_accepted(udp::ConnectionId id, std::uint64_t greeting) {
  auto& link = links_[std::uint64_t(id)];
  link = std::make_unique<Link>();
  link->id = id;
  met(*link, greeting);
}

/// [D93] What the peer has said of itself.
void Rdm::met(Link& link, std::uint64_t greeting) {
  const std::size_t eager = greeting & 0xffff'ffff;
  if (greeting >> 32 != kGreeting || eager < kMostInjected) {
    static_cast<void>(endpoint_.abort(link.id));  // no provider
    return;
  }
  link.eager = std::min(eager, limits_.eager);
  link.up = true;
}

void Rdm::on_hello(Link& link, std::span<const std::byte> bytes) {
  Hello hello;
  if (link.peer != nullptr || !take(bytes, hello)) return;
  // It is where it says it is, or someone else. A scope is a number of each host's own.
  const auto address = udp::Address::parse(endpoint_.peer_address(link.id));
  if (!address || address->ip != hello.ip || address->port != hello.port ||
      address->v6 != (hello.v6 != 0)) {
    static_cast<void>(endpoint_.abort(link.id));
    return;
  }
  link.peer = peer(*address);
  if (link.peer->out == nullptr) link.peer->out = &link;
}

void Rdm::on_end(udp::ConnectionId id, udp::Status status) {
  const auto found = links_.find(std::uint64_t(id));
  if (found == links_.end()) return;
  const std::unique_ptr<Link> link = std::move(found->second);
  links_.erase(found);
  if (link->peer != nullptr && link->peer->out == link.get()) link->peer->out = nullptr;
  link->asked.clear();
  const udp::Status why = status == udp::Status::ok ? udp::Status::connection_closed : status;
  if (link->awaited && !link->up) link->peer->failure = error_of(why);
  while (!link->waiting.empty()) {
    Outgoing* outgoing = link->waiting.front().release();
    link->waiting.pop_front();
    sent(outgoing, why);
  }
  std::vector<Operation*> lost;
  for (const auto& [number, operation] : operations_) {
    if (operation->link == link.get()) lost.push_back(operation);
  }
  for (Operation* operation : lost) finish(operation, error_of(why), 0);
  const auto gone = [&](const Unexpected& message) {
    return message.link == link.get() && message.header.type == Type::offer;
  };
  // What came whole can still be received; nobody is there for an answer.
  const auto orphan = [&](Unexpected& message) {
    if (message.link == link.get()) message.link = nullptr;
  };
  for (Messages* all : {&tagged_, &plain_}) {
    all->forget_if(gone);
    all->for_each(orphan);
  }
  std::erase_if(claimed_, [&](const auto& entry) { return gone(entry.second); });
  for (auto& [context, message] : claimed_) orphan(message);
  if (link->full) --full_;
}

/// Whether nothing of this side's is under way there, and nothing of the peer's that this side knows of.
bool Rdm::quiet(const Link& link) const {
  return link.up && link.peer != nullptr && !link.closing && link.unacked == 0 &&
         link.active == 0 && link.asked.empty() && !link.full && !link.offers &&
         std::none_of(operations_.begin(), operations_.end(),
                      [&](const auto& one) { return one.second->link == &link; });
}

void Rdm::close(Link& link) {
  if (link.peer != nullptr && link.peer->out == &link) link.peer->out = nullptr;
  link.closing = true;
  static_cast<void>(endpoint_.close(link.id));
}

/// [D103] Whoever finds a connection idle says so and asks nothing more by it, but answers; the other side
/// closes it when nothing of its own is under way there. So nothing can be on its way when it ends.
void Rdm::part_from_idle() {
  if (limits_.idle.count() == 0 || ++looks_ % kLookEvery != 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return;
  next_look_ = now + limits_.idle / kIdleLooks;
  for (auto& [number, link] : links_) {
    if (std::exchange(link->used, false)) link->looks = 0;
    if (++link->looks <= kIdleLooks || !quiet(*link)) continue;
    if (link->left) {
      close(*link);
    } else if (!std::exchange(link->parted, true)) {
      if (link->peer->out == link.get()) link->peer->out = nullptr;
      reply(*link, Type::bye, 0, 0);
    }
  }
}

std::size_t Rdm::parted() const {
  return static_cast<std::size_t>(std::count_if(
      links_.begin(), links_.end(), [](const auto& one) { return one.second->parted; }));
}

void Rdm::on_bye(Link& link) {
  link.left = true;
  if (quiet(link)) close(link);
}

bool Rdm::progress() {
  std::array<udp::Completion, 64> some;
  bool busy = false;
  if (!spare_.empty()) post_spare_buffers();
  for (int round = 0; round < kRounds; ++round) {
    busy |= endpoint_.poll();
    bool any = false;
    told_ = posted_ = false;
    while (true) {
      const auto done = endpoint_.completions(some);
      if (done.empty()) break;
      any = true;
      for (const udp::Completion& completion : done) on(completion);
    }
    if (posted_) endpoint_.flush();
    // What the user has been told of, it may want to answer before anything else is done.
    if (!any || told_) break;
    busy = true;
  }
  if (!busy && !ending_) part_from_idle();
  return busy;
}

void Rdm::on(const udp::Completion& completion) {
  const auto found = links_.find(std::uint64_t(completion.connection));
  switch (completion.kind) {
    case udp::Kind::accepted:
      return on_accepted(completion.connection, completion.tag);
    case udp::Kind::connected:
      if (found != links_.end()) met(*found->second, completion.tag);
      return;
    case udp::Kind::written:
    case udp::Kind::read:
    case udp::Kind::atomic:  // it makes none of them
      return;
    case udp::Kind::sent:
      sent(reinterpret_cast<Outgoing*>(completion.cookie), completion.status);
      if (found != links_.end()) drain(*found->second);
      return;
    case udp::Kind::received:
      return received(completion);
    case udp::Kind::peer_closed:
      // Whoever closes sends no more. What goes there from here on takes a new connection.
      if (found != links_.end()) {
        Link& link = *found->second;
        if (link.peer != nullptr && link.peer->out == &link) link.peer->out = nullptr;
        link.closing = true;
        if (link.waiting.empty()) static_cast<void>(endpoint_.close(link.id));
      }
      return;
    case udp::Kind::closed:
    case udp::Kind::failed:
      return on_end(completion.connection, completion.status);
  }
}

void Rdm::finish() {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  const auto late = [&] { return std::chrono::steady_clock::now() >= end; };
  // What was offered and is done for the user has to be fetched first.
  const auto owed = [&] {
    return outgoing_ > 0 || std::any_of(operations_.begin(), operations_.end(),
                                        [](const auto& one) { return one.second->told; });
  };
  while (owed() && !late()) {
    progress();
    if (owed()) static_cast<void>(endpoint_.wait(std::chrono::milliseconds(10)));
  }
  for (const auto& [number, link] : links_) {
    if (!std::exchange(link->closing, true)) static_cast<void>(endpoint_.close(link->id));
  }
  while (!links_.empty() && !late()) {
    progress();
    if (!links_.empty()) static_cast<void>(endpoint_.wait(std::chrono::milliseconds(10)));
  }
}

// ---- Out ----

std::unique_ptr<Outgoing> Rdm::message(const Header& header, std::span<const Segment> segments,
                                       const Pieces& local, std::size_t room) {
  auto outgoing = std::make_unique<Outgoing>();
  const std::size_t size = sizeof(Header) + segments.size() * sizeof(Segment) + local.size() + room;
  outgoing->own.reset(new std::byte[size]);  // not zeroed: all of it is written
  std::byte* at = outgoing->own.get();
  Header whole = header;
  whole.segments = static_cast<std::uint8_t>(segments.size());
  std::memcpy(at, &whole, sizeof whole);
  at += sizeof whole;
  if (!segments.empty()) std::memcpy(at, segments.data(), segments.size() * sizeof(Segment));
  local.copy_to(at + segments.size() * sizeof(Segment));
  outgoing->bytes = {outgoing->own.get(), size};
  return outgoing;
}

/// [D163] Bytes of somebody else's, without a header.
std::unique_ptr<Outgoing> Rdm::lend(std::uint64_t tag, const Pieces& bytes) {
  auto outgoing = std::make_unique<Outgoing>();
  outgoing->tag = tag;
  if (bytes.contiguous()) {
    outgoing->bytes = bytes.whole();
  } else {
    outgoing->pieces = std::make_unique<Pieces>(bytes);
  }
  return outgoing;
}

void Rdm::post(Link& link, std::unique_ptr<Outgoing> outgoing, Operation* operation) {
  outgoing->link = &link;
  outgoing->operation = operation;
  if (operation != nullptr) operation->unsent = true;
  ++outgoing_;
  ++link.unacked;
  link.used = true;
  link.waiting.push_back(std::move(outgoing));
  posted_ = true;
  drain(link);
}

udp::Status Rdm::hand_over(const Link& link, const Outgoing& next) {
  if (!next.pieces) return endpoint_.send(link.id, next.tag, next.bytes, next.rest, next.number());
  const auto all = next.pieces->to_read();
  return endpoint_.sendv(link.id, next.tag, std::span(all).first(next.pieces->all().size()),
                         next.number());
}

/// Hands the endpoint what it takes; the rest waits for room.
void Rdm::drain(Link& link) {
  while (!link.waiting.empty()) {
    const udp::Status status = hand_over(link, *link.waiting.front());
    if (status == udp::Status::would_block) return;
    Outgoing* raw = link.waiting.front().release();
    link.waiting.pop_front();
    if (status != udp::Status::ok) sent(raw, status);
  }
  if (link.closing) static_cast<void>(endpoint_.close(link.id));
}

void Rdm::sent(Outgoing* raw, udp::Status status) {
  const std::unique_ptr<Outgoing> outgoing(raw);
  --outgoing_;
  --outgoing->link->unacked;
  if (outgoing->found > 0) outgoing->link->found -= outgoing->found;
  if (outgoing->asked) {
    lent_.erase(raw);
    carried_out(*outgoing->link, status == udp::Status::ok);
  }
  Operation* operation = outgoing->operation;
  if (operation == nullptr) return;
  operation->unsent = false;
  if (status != udp::Status::ok) {
    finish(operation, error_of(status), 0);
  } else if (!operation->unanswered) {
    finish(operation, operation->error, operation->request.local.size());
  }
}

void Rdm::reply(Link& link, Type type, std::uint32_t operation, int error, std::uint64_t length,
                std::uint64_t tag) {
  if (link.waiting.size() >= kMostOwed) {  // it asks and takes no answers
    static_cast<void>(endpoint_.abort(link.id));
    return;
  }
  post(link, message({.type = type,
                      .operation = operation,
                      .length = length,
                      .tag = tag,
                      .immediate = static_cast<std::uint64_t>(error)},
                     {}, {}));
}

int Rdm::ready(const Request& request, Link*& link) {
  if (outgoing_ >= limits_.outstanding || operations_.size() >= limits_.outstanding) {
    progress();
    if (outgoing_ >= limits_.outstanding || operations_.size() >= limits_.outstanding)
      return -FI_EAGAIN;
  }
  link = link_to(*request.peer);
  return link == nullptr ? -FI_EHOSTUNREACH : 0;
}

Operation* Rdm::begin(const Request& request, Counted counted, std::uint64_t done_flags,
                      Link* link) {
  auto* operation = new Operation;
  operation->request = request;
  operation->counted = counted;
  operation->done_flags = done_flags;
  operation->link = link;
  return operation;
}

void Rdm::remember(Operation& operation) {
  do {
    operation.id = ++next_operation_;
  } while (operation.id == 0 || operations_.contains(operation.id));
  operations_[operation.id] = &operation;
}

static Done done_with(const Operation& operation, int error, std::uint64_t length) {
  const Request& request = operation.request;
  return {.counted = operation.counted,
          .report = request.report,
          .context = request.context,
          .flags = operation.done_flags,
          .length = length,
          .tag = request.tag,
          .error = error,
          .work = request.work};
}

/// Of everything but receives.
void Rdm::finish(Operation* operation, int error, std::uint64_t length) {
  const std::unique_ptr<Operation> over(operation);
  if (operation->id != 0) operations_.erase(operation->id);
  if (ending_ || operation->told) return;
  tell(done_with(*operation, error, length));
}

int Rdm::send(const Request& request) {
  Link* link = nullptr;
  if (const int error = ready(request, link)) return error;
  const std::size_t size = request.local.size();
  const bool tagged = (request.flags & FI_TAGGED) != 0;
  Header header{.type = Type::send, .length = size, .tag = request.tag};
  if (tagged) header.bits |= bits::kTagged;
  if ((request.flags & FI_REMOTE_CQ_DATA) != 0) {
    header.bits |= bits::kImmediate;
    header.immediate = request.immediate;
  }
  const bool offers = size > link->eager || link->offers;
  if (!offers && link->unasked - link->counted + kept_for(size) > limits_.uncounted) {
    progress();  // [D162] The connection may end there.
    return -FI_EAGAIN;
  }
  Operation* operation =
      begin(request, Counted::send, FI_SEND | (tagged ? FI_TAGGED : FI_MSG), link);
  if (offers) {
    header.type = Type::offer;
    return offer(*link, *operation, header);
  }
  link->unasked += kept_for(size);
  const bool matched = (request.flags & FI_MATCH_COMPLETE) != 0;
  if (matched || (request.flags & FI_DELIVERY_COMPLETE) != 0) {
    remember(*operation);
    operation->unanswered = true;
    header.operation = operation->id;
    header.bits |= bits::kWantsAnswer;
    if (matched) header.bits |= bits::kWhenMatched;
  }
  // [D83] Copied already: to the user it is done. A failure after that has nobody to tell but the next operation.
  const bool injected = (request.flags & (FI_INJECT | FI_INJECT_COMPLETE)) != 0;
  const bool copied = injected && !operation->unanswered;
  const bool in_place = !injected && request.local.contiguous() && size > kMostInjected;
  auto outgoing = message(header, {}, in_place ? Pieces() : request.local);
  if (in_place) outgoing->rest = request.local.whole();
  post(*link, std::move(outgoing),
       copied || (operation->unanswered && !in_place) ? nullptr : operation);
  if (copied) finish(operation, 0, size);
  if ((request.flags & FI_MORE) == 0) endpoint_.flush();
  return 0;
}

/// Its bytes wait until they are fetched.
int Rdm::offer(Link& link, Operation& operation, Header header) {
  const Pieces& local = operation.request.local;
  if ((operation.request.flags & FI_INJECT) != 0) {  // few of them
    operation.copy.reset(new std::byte[local.size()]);
    local.copy_to(operation.copy.get());
  }
  remember(operation);
  operation.offered = true;
  header.operation = operation.id;
  const Segments& remote = operation.request.remote;
  post(link, message(header, {remote.all.data(), remote.count}, {}));
  if (operation.request.over_when_copied()) {  // [D83] Copied: to the user it is done.
    tell(done_with(operation, 0, local.size()));
    operation.told = true;
  }
  endpoint_.flush();
  return 0;
}

void Rdm::on_fetch(Link& link, const Header& header) {
  const auto found = operations_.find(header.operation);
  if (found == operations_.end() || found->second->link != &link) return;
  Operation* operation = found->second;
  if (!operation->offered) return;  // it was fetched, or is none that can be
  operation->offered = false;
  const Pieces& local = operation->request.local;
  if (header.immediate != 0 || header.tag == kWithHeader) {
    finish(operation, static_cast<int>(header.immediate), local.size());
    return;
  }
  const Pieces all = operation->copy ? Pieces(operation->copy.get(), local.size()) : local;
  post(link, lend(header.tag, all.part(0, header.length)), operation);
}

void Rdm::on_answer(const Link& link, const Header& header, std::span<const std::byte> bytes) {
  const auto found = operations_.find(header.operation);
  if (found == operations_.end() || found->second->link != &link) return;
  Operation* operation = found->second;
  operation->error = static_cast<int>(header.immediate);
  if (operation->posted != 0) {
    // A read that is refused: its buffer is taken back, and that ends it.
    static_cast<void>(endpoint_.cancel_receives(operation->posted));
    return;
  }
  if (!operation->unanswered) return;
  operation->unanswered = false;
  operation->request.result.fill(0, bytes);
  // The endpoint may still have the bytes in its hands.
  if (!operation->unsent) finish(operation, operation->error, operation->request.local.size());
}

}  // namespace strack::fabric
