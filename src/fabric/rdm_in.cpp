// The way in: messages find their receives, and longer ones are fetched into place.
#include <algorithm>
#include <utility>

#include "fabric/rdm_internal.h"

namespace strack::fabric {

/// An endpoint's messages are no longer.
static constexpr std::uint64_t kMostOffered = 0xffff'ffff;

void Rdm::post_buffer(Buffer& buffer) {
  if (endpoint_.post_receive(udp::kAnyConnection, udp::Match::exactly(kWithHeader), buffer.bytes,
                             buffer.number()) != udp::Status::ok)
    spare_.push_back(&buffer);
}

void Rdm::post_spare_buffers() {
  for (Buffer* buffer : std::exchange(spare_, {})) post_buffer(*buffer);
}

void Rdm::received(const udp::Completion& completion) {
  auto* cookie = reinterpret_cast<Cookie*>(completion.cookie);
  if (cookie->kind == Cookie::Kind::placing) {
    // Who sends less than it said is not believed.
    auto* placing = static_cast<Placing*>(cookie);
    const bool less = completion.status == udp::Status::ok && completion.length != placing->length;
    return placed(placing, less ? udp::Status::truncated : completion.status);
  }
  auto& buffer = *static_cast<Buffer*>(cookie);
  const auto found = links_.find(std::uint64_t(completion.connection));
  if (buffer.receive != nullptr) {
    came(buffer, found == links_.end() ? nullptr : found->second.get(), completion.status);
  } else if (completion.status == udp::Status::ok && found != links_.end() && !ending_) {
    on_message(*found->second, buffer.bytes.first(completion.length));
  }
  // [D93] Longer than anything that this side has said it takes.
  if (completion.status == udp::Status::truncated)
    static_cast<void>(endpoint_.abort(completion.connection));
  if (completion.status != udp::Status::cancelled) post_buffer(buffer);
}

/// Where the next message goes in a receive's buffer. The receive is no longer posted when this was its last.
static std::size_t reserve(Operation& receive, std::size_t length, std::size_t least) {
  const std::size_t offset = receive.used;
  receive.used = offset + std::min(length, receive.request.local.size() - offset);
  receive.spent = (receive.request.flags & FI_MULTI_RECV) == 0 ||
                  receive.request.local.size() - receive.used < least;
  ++receive.arriving;
  return offset;
}

/// [D123] Its receive is taken with its first bytes, as it would be with the last: everything before it has been.
std::optional<udp::Usher::Place> Rdm::place(udp::ConnectionId connection, std::uint64_t cookie,
                                            std::uint64_t length,
                                            std::span<const std::byte> first) {
  auto* which = reinterpret_cast<Cookie*>(cookie);
  if (which->kind != Cookie::Kind::buffer || ending_) return std::nullopt;
  Header header;
  if (!take(first, header) || header.version != kMessageVersion || header.type != Type::send ||
      header.length != length - sizeof header || header.length == 0)
    return std::nullopt;
  const auto found = links_.find(std::uint64_t(connection));
  if (found == links_.end() || found->second->peer == nullptr) return std::nullopt;
  Link& link = *found->second;
  Messages& all = (header.bits & bits::kTagged) != 0 ? tagged_ : plain_;
  Operation* receive = all.find(link.peer, header.tag);
  if (receive == nullptr || !receive->request.local.contiguous()) return std::nullopt;
  auto& buffer = *static_cast<Buffer*>(which);
  buffer.receive = receive;
  buffer.message = {link.peer, header.tag, header, &link, {}};
  buffer.offset = reserve(*receive, header.length, limits_.least_multi_receive);
  buffer.length = receive->used - buffer.offset;
  if (receive->spent) all.remove(receive);
  return Place{sizeof header, receive->request.local.whole().subspan(buffer.offset, buffer.length)};
}

/// [D123] All of it, or no more of it.
void Rdm::came(Buffer& buffer, Link* link, udp::Status status) {
  Operation& receive = *std::exchange(buffer.receive, nullptr);
  const Header& header = buffer.message.header;
  if (link != nullptr && status == udp::Status::ok) {
    link->used = true;
    if (!ending_) count(*link, header.length);
    if ((header.bits & bits::kWantsAnswer) != 0 && !ending_)
      reply(*link, Type::answer, header.operation, 0);
  }
  received_one(receive, buffer.message, buffer.offset, buffer.length, error_of(status));
}

/// What makes no sense is left alone: an honest provider of this version sends no such thing.
void Rdm::on_message(Link& link, std::span<const std::byte> bytes) {
  Header header;
  if (!take(bytes, header) || header.version != kMessageVersion) return;
  if (header.type == Type::hello) return on_hello(link, bytes);
  if (link.peer == nullptr) return;
  link.used |= header.type != Type::bye;
  switch (header.type) {
    case Type::send:
      if (bytes.size() != header.length) return;
      count(link, bytes.size());
      return on_incoming(link, header, bytes);
    case Type::offer:
      if (header.length > kMostOffered) return;
      return on_incoming(link, header, {});
    case Type::fetch:
      return on_fetch(link, header);
    case Type::answer:
      return on_answer(link, header, bytes);
    case Type::write_offer:
    case Type::read:
      if (header.length > kMostOffered) return;
      return on_asked(link, header, bytes);
    case Type::write:
      return on_write(link, header, bytes);
    case Type::atomic:
      return on_atomic(link, header, bytes);
    case Type::bye:
      return on_bye(link);
    case Type::full:
    case Type::room:
      link.offers = header.type == Type::full;
      return;
    case Type::counted:
      link.counted = std::clamp(header.length, link.counted, link.unasked);
      return;
    default:
      return;
  }
}

void Rdm::on_incoming(Link& link, const Header& header, std::span<const std::byte> bytes) {
  Unexpected message{link.peer, header.tag, header, &link, {}};
  Messages& all = (header.bits & bits::kTagged) != 0 ? tagged_ : plain_;
  Operation* receive = all.find(message.peer, message.tag);
  if (receive == nullptr) {
    message.bytes.assign(bytes.begin(), bytes.end());
    keep(all, std::move(message));
  } else if (header.type == Type::send) {
    deliver(*receive, message, bytes);
  } else {
    accept_offer(*receive, message);
  }
}

/// [D162] A message has come unasked. Its sender is told now and then how much has.
void Rdm::count(Link& link, std::size_t size) {
  link.came += kept_for(size);
  if (link.came - link.told < limits_.uncounted / 4) return;
  link.told = link.came;
  reply(link, Type::counted, 0, 0, link.came);
}

/// [D104] An offer's bytes wait in its sender's memory, so many of them have a bound; what came unasked is kept here.
void Rdm::keep(Messages& all, Unexpected message) {
  if (message.header.type == Type::send) {
    keep_bytes(message);
  } else if (++message.link->offered > limits_.offers) {
    static_cast<void>(endpoint_.abort(message.link->id));
  }
  all.keep(std::move(message));
}

void Rdm::keep_bytes(Unexpected& message) {
  Link& link = *message.link;
  unexpected_ += message.memory();
  // [D159] It is delivered, whether or not somebody receives it.
  constexpr std::uint8_t kHow = bits::kWantsAnswer | bits::kWhenMatched;
  if ((message.header.bits & kHow) == bits::kWantsAnswer) {
    reply(link, Type::answer, message.header.operation, 0);
    message.header.bits ^= bits::kWantsAnswer;
  }
  if (link.full) {
    link.beyond += message.memory();
    // [D162] No provider sends so much before it sees that it is to offer: what it is told of later comes behind that.
    if (link.beyond > limits_.uncounted) static_cast<void>(endpoint_.abort(link.id));
  } else if (unexpected_ > limits_.unexpected) {
    link.full = true;
    ++full_;
    reply(link, Type::full, 0, 0);
  }
}

/// [D104] A kept message waits no longer.
void Rdm::let_go(const Unexpected& message) {
  if (message.header.type != Type::send) {
    --message.link->offered;
    return;
  }
  unexpected_ -= message.memory();
  if (full_ == 0 || unexpected_ > limits_.unexpected / 2) return;
  for (auto& [number, link] : links_) {
    if (!std::exchange(link->full, false)) continue;
    link->beyond = 0;
    --full_;
    reply(*link, Type::room, 0, 0);
  }
}

std::optional<Unexpected> Rdm::take_kept(Messages& all, const Pattern& pattern) {
  auto taken = all.take(pattern);
  if (taken) let_go(*taken);
  return taken;
}

int Rdm::receive(const Request& request) {
  const bool several = (request.flags & FI_MULTI_RECV) != 0;
  auto* operation =
      begin(request, Counted::receive,
            FI_RECV | ((request.flags & FI_TAGGED) != 0 ? FI_TAGGED : FI_MSG), nullptr);
  operation->pattern = {request.peer, {request.tag, ~request.ignore}};
  Messages& all = messages(request.flags);
  posted_ = false;
  // It is found by messages from now on, and may be over with the first.
  all.post(operation);
  while (auto message = take_kept(all, operation->pattern)) {
    // A buffer for several takes as many as there are, until it is spent.
    const bool last = !several || operation->request.local.size() - operation->used <
                                      sum_of(limits_.least_multi_receive, message->header.length);
    if (message->header.type == Type::send) {
      deliver(*operation, *message, message->bytes);
    } else {
      accept_offer(*operation, *message);
    }
    if (last) break;
  }
  if (posted_) endpoint_.flush();
  return 0;
}

void Rdm::deliver(Operation& receive, const Unexpected& message, std::span<const std::byte> bytes) {
  const std::size_t offset = reserve(receive, bytes.size(), limits_.least_multi_receive);
  if (receive.spent) messages(receive.request.flags).remove(&receive);
  receive.request.local.fill(offset, bytes);
  if ((message.header.bits & bits::kWantsAnswer) != 0 && message.link != nullptr)
    reply(*message.link, Type::answer, message.header.operation, 0);
  received_one(receive, message, offset, receive.used - offset, 0);
}

void Rdm::accept_offer(Operation& receive, const Unexpected& message) {
  const std::size_t offset = reserve(receive, message.header.length, limits_.least_multi_receive);
  if (receive.spent) messages(receive.request.flags).remove(&receive);
  const std::size_t length = receive.used - offset;
  if (length == 0) {  // nothing of it is wanted
    reply(*message.link, Type::fetch, message.header.operation, 0);
    return received_one(receive, message, offset, 0, 0);
  }
  auto placing = std::make_unique<Placing>();
  placing->link = message.link;
  placing->operation = &receive;
  placing->message = message;
  placing->offset = offset;
  place(std::move(placing), receive.request.local.part(offset, length));
}

udp::Status Rdm::post_receive(const Link& link, std::uint64_t tag, const Pieces& where,
                              const Placing& placing) {
  const udp::Match match = udp::Match::exactly(tag);
  return where.contiguous()
             ? endpoint_.post_receive(link.id, match, where.whole(), placing.number())
             : endpoint_.post_receivev(link.id, match, where.all(), placing.number());
}

/// Has as many bytes fetched as there is room for.
void Rdm::place(std::unique_ptr<Placing> placing, const Pieces& where) {
  placing->length = where.size();
  Placing* raw = placing.release();
  const std::uint64_t tag = ++next_tag_;
  Link& link = *raw->link;
  const std::uint32_t operation = raw->message.header.operation;
  const udp::Status status = post_receive(link, tag, where, *raw);
  if (status != udp::Status::ok) {
    reply(link, Type::fetch, operation, error_of(status));
    return placed(raw, status);
  }
  reply(link, Type::fetch, operation, 0, where.size(), tag);
}

void Rdm::placed(Placing* raw, udp::Status status) {
  const std::unique_ptr<Placing> placing(raw);
  const bool ok = status == udp::Status::ok && !placing->revoked;
  Operation* operation = placing->operation;
  if (operation == nullptr) {
    const auto written = being_written_.extract(raw);
    if (ok && !ending_) {
      const Header& header = placing->message.header;
      remote_done(*placing->link, header, written.mapped(), Counted::remote_write,
                  FI_RMA | FI_REMOTE_WRITE, FI_REMOTE_WRITE);
      reply(*placing->link, Type::answer, header.operation, 0);
    }
    const bool lives = ok || status == udp::Status::no_resources ||
                       status == udp::Status::would_block || status == udp::Status::truncated;
    carried_out(*placing->link, lives);
  } else if (operation->counted == Counted::receive) {
    received_one(*operation, placing->message, placing->offset, placing->length, error_of(status));
  } else {
    finish(operation, operation->error != 0 ? operation->error : error_of(status), placing->length);
  }
}

/// One message is in a receive's buffer, or failed. The buffer goes back to the user with its last.
void Rdm::received_one(Operation& receive, const Unexpected& message, std::size_t offset,
                       std::size_t length, int error) {
  --receive.arriving;
  const Request& request = receive.request;
  const bool over = receive.spent && receive.arriving == 0;
  const Header& header = message.header;
  const bool several = (request.flags & FI_MULTI_RECV) != 0;
  if (!ending_) {
    std::uint64_t flags = receive.done_flags;
    if ((header.bits & bits::kImmediate) != 0) flags |= FI_REMOTE_CQ_DATA;
    if (several && over && !receive.cancelled) flags |= FI_MULTI_RECV;
    auto* start = static_cast<std::byte*>(request.local.first());
    tell({.counted = Counted::receive,
          .report = request.report || (flags & FI_MULTI_RECV) != 0,  // the buffer is given back
          .context = request.context,
          .flags = flags,
          .length = length,
          .buffer = start != nullptr && several ? start + offset : start,
          .immediate = header.immediate,
          .tag = header.tag,
          .source = message.peer,
          .error = error != 0               ? error
                   : length < header.length ? FI_ETRUNC
                                            : 0,
          .excess = header.length - length,
          .work = request.work});
  }
  if (over && receive.cancelled) return end_cancelled(receive);
  if (over) delete &receive;
}

void Rdm::end_cancelled(Operation& receive) {
  const Request& request = receive.request;
  if (!ending_) {
    tell({.counted = Counted::receive,
          .context = request.context,
          .flags = receive.done_flags,
          .buffer = request.local.first(),
          .tag = request.tag,
          .error = FI_ECANCELED,
          .work = request.work});
  }
  delete &receive;
}

int Rdm::cancel(const void* context) {
  const auto wanted = [context](const Operation& one) { return one.request.context == context; };
  for (Messages* all : {&tagged_, &plain_}) {
    Operation* receive = all->remove_if(wanted);
    if (receive == nullptr) continue;
    receive->spent = receive->cancelled = true;
    // What is being placed there comes to its end first: until then the memory is not the user's.
    if (receive->arriving == 0) end_cancelled(*receive);
    return 0;
  }
  return -FI_ENOENT;
}

/// Nobody wants it; its sender is done nevertheless.
void Rdm::discard(const Unexpected& message) {
  if (message.link == nullptr) return;
  if (message.header.type == Type::offer) {
    reply(*message.link, Type::fetch, message.header.operation, 0);
  } else if ((message.header.bits & bits::kWantsAnswer) != 0) {
    reply(*message.link, Type::answer, message.header.operation, 0);
  }
}

int Rdm::probe(const Request& request) {
  Messages& all = messages(request.flags);
  const std::uint64_t done_flags =
      FI_RECV | ((request.flags & FI_TAGGED) != 0 ? FI_TAGGED : FI_MSG);
  const Pattern pattern{request.peer, {request.tag, ~request.ignore}};
  Done done{.counted = Counted::receive,
            .counts = false,
            .context = request.context,
            .flags = done_flags};
  const auto describe = [&](const Unexpected& message) {
    if ((message.header.bits & bits::kImmediate) != 0) done.flags |= FI_REMOTE_CQ_DATA;
    done.length = message.header.length;
    done.immediate = message.header.immediate;
    done.tag = message.tag;
    done.source = message.peer;
  };
  if ((request.flags & FI_PEEK) == 0) {  // claimed before
    const auto found = claimed_.find(request.context);
    if (found == claimed_.end()) return -FI_ENOMSG;
    const Unexpected message = std::move(found->second);
    claimed_.erase(found);
    let_go(message);
    if ((request.flags & FI_DISCARD) != 0) {
      describe(message);
      discard(message);
      tell(done);
      return 0;
    }
    Operation* receive = begin(request, Counted::receive, done_flags, nullptr);
    if (message.header.type == Type::send) {
      deliver(*receive, message, message.bytes);
    } else {
      accept_offer(*receive, message);
    }
    return 0;
  }
  const bool claims = (request.flags & (FI_CLAIM | FI_DISCARD)) == FI_CLAIM;
  if (claims && claimed_.contains(request.context)) return -FI_EINVAL;  // it names another
  progress();
  const Unexpected* message = all.peek(pattern);
  if (message == nullptr) {
    done.error = FI_ENOMSG;
    done.tag = request.tag;
    tell(done);
    return 0;
  }
  describe(*message);
  if ((request.flags & FI_DISCARD) != 0) {
    if (const auto taken = take_kept(all, pattern)) discard(*taken);
  } else if (claims) {
    // [D104] It is still here, and counts.
    if (auto taken = all.take(pattern)) claimed_[request.context] = std::move(*taken);
  }
  tell(done);
  return 0;
}

}  // namespace strack::fabric
