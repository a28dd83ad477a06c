// Remote memory, by messages: whoever is written to or read from does it itself, when it makes progress [D84].
#include <algorithm>
#include <chrono>
#include <utility>

#include "fabric/atomics.h"
#include "fabric/rdm_internal.h"

namespace strack::fabric {
namespace {

/// What an atomic does, in a header's `tag`.
std::uint64_t pack(const Request& request, bool compares, bool fetches) {
  return std::uint64_t{static_cast<std::uint8_t>(request.op)} |
         std::uint64_t{static_cast<std::uint8_t>(request.datatype)} << 8 |
         std::uint64_t{compares} << 16 | std::uint64_t{fetches} << 17;
}

std::span<const Segment> span_of(const Segments& segments) {
  return {segments.all.data(), segments.count};
}

}  // namespace

int Rdm::write(const Request& request) {
  Link* link = nullptr;
  if (const int error = ready(request, link)) return error;
  const std::size_t size = request.local.size();
  Header header{.type = Type::write, .length = size};
  if ((request.flags & FI_REMOTE_CQ_DATA) != 0) {
    header.bits |= bits::kImmediate;
    header.immediate = request.immediate;
  }
  Operation* operation = begin(request, Counted::write, FI_RMA | FI_WRITE, link);
  const bool injected = request.over_when_copied() && size <= link->eager;
  if (!injected) {
    operation->unanswered = true;
    header.bits |= bits::kWantsAnswer;
  }
  if (size > link->eager) {
    header.type = Type::write_offer;
    return offer(*link, *operation, header);
  }
  if (!injected) remember(*operation);
  header.operation = operation->id;
  post(*link, message(header, span_of(request.remote), request.local));
  if (injected) finish(operation, 0, size);
  if ((request.flags & FI_MORE) == 0) endpoint_.flush();
  return 0;
}

int Rdm::read(const Request& request) {
  Link* link = nullptr;
  if (const int error = ready(request, link)) return error;
  const std::size_t size = request.local.size();
  Operation* operation = begin(request, Counted::read, FI_RMA | FI_READ, link);
  auto placing = std::make_unique<Placing>();
  placing->link = link;
  placing->operation = operation;
  placing->length = size;
  const std::uint64_t tag = ++next_tag_;
  const udp::Status status = post_receive(*link, tag, request.local, *placing);
  if (status != udp::Status::ok) {
    delete operation;
    return status == udp::Status::would_block ? -FI_EAGAIN : -error_of(status);
  }
  operation->posted = placing.release()->number();
  remember(*operation);
  post(*link, message({.type = Type::read, .operation = operation->id, .length = size, .tag = tag},
                      span_of(request.remote), {}));
  if ((request.flags & FI_MORE) == 0) endpoint_.flush();
  return 0;
}

int Rdm::atomic(const Request& request) {
  const bool compares = request.compare.size() > 0;
  const bool fetches = request.result.size() > 0;
  const std::size_t values = std::max(request.local.size(), request.result.size());
  if (values > limits_.most_atomic()) return -FI_EMSGSIZE;
  const int failure = std::exchange(request.peer->failure, 0);
  if (failure != 0 && request.peer->out == nullptr) return -failure;
  Link* link = nullptr;
  if (const int error = ready(request, link)) return error;
  if (values > link->eager / 2) {
    if (link->up) return -FI_EMSGSIZE;
    link->awaited = true;
    return -FI_EAGAIN;
  }
  Operation* operation = begin(request, fetches ? Counted::read : Counted::write,
                               FI_ATOMIC | (fetches ? FI_READ : FI_WRITE), link);
  const bool injected = request.over_when_copied() && !fetches;
  Header header{.type = Type::atomic, .length = values, .tag = pack(request, compares, fetches)};
  if (!injected) {
    operation->unanswered = true;
    remember(*operation);
    header.operation = operation->id;
    header.bits |= bits::kWantsAnswer;
  }
  // Operands, then what they are compared with. A read has none.
  auto outgoing = message(header, span_of(request.remote), request.local, request.compare.size());
  if (compares)
    request.compare.copy_to(outgoing->own.get() + outgoing->bytes.size() - request.compare.size());
  post(*link, std::move(outgoing));
  if (injected) finish(operation, 0, values);
  endpoint_.flush();
  return 0;
}

/// The memory that a message's segments name. False: there is none such, or it is not for this.
bool Rdm::resolve(const Header& header, std::span<const std::byte>& bytes, std::uint64_t access,
                  Pieces& where, Segments& named) {
  if (header.segments > kMostPieces) return false;
  for (named.count = 0; named.count < header.segments; ++named.count) {
    Segment& segment = named.all[named.count];
    if (!take(bytes, segment)) return false;
    std::byte* memory = host_.region(segment, access);
    if (memory == nullptr) return false;
    where.add(memory, segment.length);
  }
  return where.size() == header.length;
}

void Rdm::remote_done(const Link& link, const Header& header, const Segments& named,
                      Counted counted, std::uint64_t flags, std::uint64_t how) {
  const bool immediate = (header.bits & bits::kImmediate) != 0;
  host_.accessed(span_of(named), how);
  tell({.counted = counted,
        .report = immediate,
        .flags = flags | (immediate ? FI_REMOTE_CQ_DATA : 0),
        .length = header.length,
        .immediate = header.immediate,
        .source = link.peer});
}

/// [D94] So many at once of each peer's; the others wait, and a peer that asks for more than any provider
/// does is none.
void Rdm::on_asked(Link& link, const Header& header, std::span<const std::byte> bytes) {
  if (bytes.size() != header.segments * sizeof(Segment)) return;
  if (link.asked.empty() && link.active < kMostActive) return carry_out(link, header, bytes);
  if (link.asked.size() >= kMostAsked) {
    static_cast<void>(endpoint_.abort(link.id));
    return;
  }
  link.asked.push_back({header, {bytes.begin(), bytes.end()}});
}

void Rdm::carry_out(Link& link, const Header& header, std::span<const std::byte> bytes) {
  if (header.type == Type::read) {
    on_read(link, header, bytes);
  } else {
    on_write(link, header, bytes);
  }
}

/// One of them has come to its end: whoever waits is next, unless the connection is over.
void Rdm::carried_out(Link& link, bool lives) {
  --link.active;
  if (!lives || ending_) link.asked.clear();
  // What fails at once ends here too, and must not go through them once more.
  if (std::exchange(link.at_it, true)) return;
  while (!link.asked.empty() && link.active < kMostActive) {
    const Link::Asked next = std::move(link.asked.front());
    link.asked.pop_front();
    carry_out(link, next.header, next.segments);
  }
  link.at_it = false;
}

bool Rdm::lends(std::uint64_t key) const {
  return std::any_of(lent_.begin(), lent_.end(),
                     [key](const auto& one) { return one.second.use(key); });
}

void Rdm::revoke(std::uint64_t key) {
  // A peer that has all it read and says so only now is none to part with.
  const auto end = std::chrono::steady_clock::now() + limits_.last_reads;
  while (lends(key) && std::chrono::steady_clock::now() < end) {
    progress();
    if (lends(key)) static_cast<void>(endpoint_.wait(std::chrono::milliseconds(1)));
  }
  std::vector<udp::ConnectionId> users;
  for (const auto& [outgoing, named] : lent_) {
    if (named.use(key)) users.push_back(outgoing->link->id);
  }
  for (const auto& [placing, named] : being_written_) {
    if (!named.use(key)) continue;
    placing->revoked = true;  // its bytes may have come, which nobody has been told yet
    users.push_back(placing->link->id);
  }
  for (const udp::ConnectionId id : users) static_cast<void>(endpoint_.abort(id));
}

void Rdm::on_write(Link& link, const Header& header, std::span<const std::byte> bytes) {
  Pieces where;
  Segments named;
  const bool offered = header.type == Type::write_offer;
  const bool known = resolve(header, bytes, FI_REMOTE_WRITE, where, named);
  if (!known || (!offered && bytes.size() != header.length)) {
    if ((header.bits & bits::kWantsAnswer) != 0)
      reply(link, offered ? Type::fetch : Type::answer, header.operation, FI_EACCES);
    return;
  }
  if (offered) {
    auto placing = std::make_unique<Placing>();
    placing->link = &link;
    placing->message = {link.peer, 0, header, &link, {}};
    being_written_.emplace(placing.get(), named);
    ++link.active;
    return place(std::move(placing), where);
  }
  where.fill(0, bytes);
  remote_done(link, header, named, Counted::remote_write, FI_RMA | FI_REMOTE_WRITE,
              FI_REMOTE_WRITE);
  if ((header.bits & bits::kWantsAnswer) != 0) reply(link, Type::answer, header.operation, 0);
}

void Rdm::on_read(Link& link, const Header& header, std::span<const std::byte> bytes) {
  Pieces where;
  Segments named;
  if (!resolve(header, bytes, FI_REMOTE_READ, where, named))
    return reply(link, Type::answer, header.operation, FI_EACCES);
  auto outgoing = lend(header.tag, where);
  lent_.emplace(outgoing.get(), named);
  outgoing->asked = true;
  ++link.active;
  post(link, std::move(outgoing));
  remote_done(link, header, named, Counted::remote_read, FI_RMA | FI_REMOTE_READ, FI_REMOTE_READ);
}

void Rdm::on_atomic(Link& link, const Header& header, std::span<const std::byte> bytes) {
  const auto op = static_cast<fi_op>(header.tag & 0xff);
  const auto datatype = static_cast<fi_datatype>(header.tag >> 8 & 0xff);
  const bool compares = (header.tag >> 16 & 1) != 0;
  const bool fetches = (header.tag >> 17 & 1) != 0;
  const bool reads = op == FI_ATOMIC_READ;
  const AtomicKind kind = compares  ? AtomicKind::compare
                          : fetches ? AtomicKind::fetch
                                    : AtomicKind::plain;
  Pieces where;
  Segments named;
  const std::uint64_t access =
      (reads ? 0 : FI_REMOTE_WRITE) | (fetches || reads ? FI_REMOTE_READ : 0);
  const bool known =
      is_atomic(datatype, op, kind) && resolve(header, bytes, access, where, named) &&
      header.length % size_of(datatype) == 0 && header.length <= limits_.most_atomic();
  const std::size_t operands = reads ? 0 : header.length;
  if (!known || bytes.size() < operands + (compares ? header.length : 0)) {
    if ((header.bits & bits::kWantsAnswer) != 0)
      reply(link, Type::answer, header.operation, FI_EACCES);
    return;
  }
  // [D94] Before anything is changed.
  if (fetches && link.found + header.length > limits_.found)
    return reply(link, Type::answer, header.operation, FI_ENOBUFS);
  // In one piece, since values may lie across segments.
  std::vector<std::byte> values(header.length);
  std::vector<std::byte> before(header.length);
  {
    const auto lock = host_.alone();
    where.copy_to(values.data());
    apply_atomic(datatype, op, header.length / size_of(datatype), values.data(),
                 reads ? nullptr : bytes.data(), compares ? bytes.data() + operands : nullptr,
                 before.data());
    if (!reads) where.fill(0, values);
  }
  remote_done(link, header, named, fetches ? Counted::remote_read : Counted::remote_write,
              FI_ATOMIC | (fetches ? FI_REMOTE_READ : FI_REMOTE_WRITE), access);
  if ((header.bits & bits::kWantsAnswer) == 0) return;
  if (!fetches) return reply(link, Type::answer, header.operation, 0);
  auto answer = message({.type = Type::answer, .operation = header.operation}, {},
                        Pieces(before.data(), before.size()));
  answer->found = before.size();
  link.found += before.size();
  post(link, std::move(answer));
}

}  // namespace strack::fabric
