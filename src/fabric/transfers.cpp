#include "fabric/transfers.h"

namespace strack::fabric {
namespace {

constexpr std::uint64_t kKind = FI_TAGGED | FI_MSG;
/// [D135] What one call may ask for besides.
constexpr std::uint64_t kSendFlags = kTxFlags | kKind | FI_REMOTE_CQ_DATA;
constexpr std::uint64_t kReceiveFlags =
    kRxFlags | kKind | FI_PEEK | FI_CLAIM | FI_DISCARD | FI_TRANSMIT_COMPLETE;

// ---- Sends ----

ssize_t send_pieces(fid_ep* ep, std::uint64_t kind, const Pieces& local, fi_addr_t to,
                    std::uint64_t tag, void* context, std::uint64_t flags = kDefaultFlags,
                    const std::uint64_t* immediate = nullptr) {
  Request request;
  request.local = local;
  request.tag = tag;
  request.context = context;
  request.flags = kind;
  if (immediate != nullptr) {
    request.immediate = *immediate;
    request.flags |= FI_REMOTE_CQ_DATA;
  }
  return start(ep, &Rdm::send, request, to, flags);
}

ssize_t inject_bytes(fid_ep* ep, std::uint64_t kind, const void* bytes, std::size_t size,
                     fi_addr_t to, std::uint64_t tag, const std::uint64_t* immediate = nullptr) {
  Request request;
  request.local = pieces_of(bytes, size);
  request.tag = tag;
  request.flags = kind;
  if (immediate != nullptr) {
    request.immediate = *immediate;
    request.flags |= FI_REMOTE_CQ_DATA;
  }
  return inject(ep, &Rdm::send, request, to);
}

/// fi_msg and fi_msg_tagged have the same fields but for the tag.
template <class Message>
ssize_t send_message(fid_ep* ep, std::uint64_t kind, const Message* message, std::uint64_t tag,
                     std::uint64_t flags) {
  if (message->iov_count > kMostPieces) return -FI_EINVAL;
  const std::uint64_t immediate = message->data;
  return send_pieces(ep, kind, Pieces(message->msg_iov, message->iov_count), message->addr, tag,
                     message->context, flags & ~FI_REMOTE_CQ_DATA,
                     (flags & FI_REMOTE_CQ_DATA) != 0 ? &immediate : nullptr);
}

// ---- Receives ----

ssize_t receive_pieces(fid_ep* outer, std::uint64_t kind, const Pieces& local, fi_addr_t from,
                       std::uint64_t tag, std::uint64_t ignore, void* context,
                       std::uint64_t flags = kDefaultFlags) {
  Ep& ep = ep_of(outer);
  const std::lock_guard lock(ep.mutex);
  if (!ep.enabled) return -FI_EOPBADSTATE;
  const Handle& handle = handle_of(outer);
  if (flags == kDefaultFlags) flags = handle.rx_flags;
  if ((flags & ~(kReceiveFlags | (ep.caps & FI_TRIGGER))) != 0) return -FI_EBADFLAGS;
  const bool waits = handle.when != nullptr || (flags & FI_TRIGGER) != 0;
  // [D137] These are answered at once, or several times.
  if (waits && (flags & (FI_PEEK | FI_CLAIM | FI_DISCARD | FI_MULTI_RECV)) != 0)
    return -FI_EOPNOTSUPP;
  // One buffer for several messages is one: each of them is whole in it.
  if ((flags & FI_MULTI_RECV) != 0 && (!local.contiguous() || (flags & FI_CLAIM) != 0))
    return -FI_EINVAL;
  Request request;
  request.local = local;
  request.tag = tag;
  request.ignore = ignore;
  request.context = context;
  const bool tells = handle.when == nullptr && !ep.rx_selective;
  request.report = tells || (flags & FI_COMPLETION) != 0;
  request.flags = (flags & ~(kKind | FI_TRIGGER)) | kind;
  if ((ep.caps & FI_DIRECTED_RECV) != 0 && from != FI_ADDR_UNSPEC) {
    request.peer = ep.peer_of(from);
    if (request.peer == nullptr) return -FI_EINVAL;
  }
  if (waits) return ep.defer(handle, &Rdm::receive, request);
  if ((flags & (FI_PEEK | FI_CLAIM | FI_DISCARD)) != 0) return ep.rdm->probe(request);
  return ep.rdm->receive(request);
}

// ---- Untagged ----

ssize_t msg_recv(fid_ep* ep, void* bytes, std::size_t size, void*, fi_addr_t from, void* context) {
  return receive_pieces(ep, FI_MSG, Pieces(bytes, size), from, 0, 0, context);
}
ssize_t msg_recvv(fid_ep* ep, const iovec* iov, void**, std::size_t count, fi_addr_t from,
                  void* context) {
  if (count > kMostPieces) return -FI_EINVAL;
  return receive_pieces(ep, FI_MSG, Pieces(iov, count), from, 0, 0, context);
}
ssize_t msg_recvmsg(fid_ep* ep, const fi_msg* message, std::uint64_t flags) {
  if (message->iov_count > kMostPieces) return -FI_EINVAL;
  return receive_pieces(ep, FI_MSG, Pieces(message->msg_iov, message->iov_count), message->addr, 0,
                        0, message->context, flags);
}
ssize_t msg_send(fid_ep* ep, const void* bytes, std::size_t size, void*, fi_addr_t to,
                 void* context) {
  return send_pieces(ep, FI_MSG, pieces_of(bytes, size), to, 0, context);
}
ssize_t msg_sendv(fid_ep* ep, const iovec* iov, void**, std::size_t count, fi_addr_t to,
                  void* context) {
  if (count > kMostPieces) return -FI_EINVAL;
  return send_pieces(ep, FI_MSG, Pieces(iov, count), to, 0, context);
}
ssize_t msg_sendmsg(fid_ep* ep, const fi_msg* message, std::uint64_t flags) {
  return send_message(ep, FI_MSG, message, 0, flags);
}
ssize_t msg_inject(fid_ep* ep, const void* bytes, std::size_t size, fi_addr_t to) {
  return inject_bytes(ep, FI_MSG, bytes, size, to, 0);
}
ssize_t msg_senddata(fid_ep* ep, const void* bytes, std::size_t size, void*, std::uint64_t data,
                     fi_addr_t to, void* context) {
  return send_pieces(ep, FI_MSG, pieces_of(bytes, size), to, 0, context, kDefaultFlags, &data);
}
ssize_t msg_injectdata(fid_ep* ep, const void* bytes, std::size_t size, std::uint64_t data,
                       fi_addr_t to) {
  return inject_bytes(ep, FI_MSG, bytes, size, to, 0, &data);
}

// ---- Tagged ----

ssize_t tagged_recv(fid_ep* ep, void* bytes, std::size_t size, void*, fi_addr_t from,
                    std::uint64_t tag, std::uint64_t ignore, void* context) {
  return receive_pieces(ep, FI_TAGGED, Pieces(bytes, size), from, tag, ignore, context);
}
ssize_t tagged_recvv(fid_ep* ep, const iovec* iov, void**, std::size_t count, fi_addr_t from,
                     std::uint64_t tag, std::uint64_t ignore, void* context) {
  if (count > kMostPieces) return -FI_EINVAL;
  return receive_pieces(ep, FI_TAGGED, Pieces(iov, count), from, tag, ignore, context);
}
ssize_t tagged_recvmsg(fid_ep* ep, const fi_msg_tagged* message, std::uint64_t flags) {
  if (message->iov_count > kMostPieces) return -FI_EINVAL;
  return receive_pieces(ep, FI_TAGGED, Pieces(message->msg_iov, message->iov_count), message->addr,
                        message->tag, message->ignore, message->context, flags);
}
ssize_t tagged_send(fid_ep* ep, const void* bytes, std::size_t size, void*, fi_addr_t to,
                    std::uint64_t tag, void* context) {
  return send_pieces(ep, FI_TAGGED, pieces_of(bytes, size), to, tag, context);
}
ssize_t tagged_sendv(fid_ep* ep, const iovec* iov, void**, std::size_t count, fi_addr_t to,
                     std::uint64_t tag, void* context) {
  if (count > kMostPieces) return -FI_EINVAL;
  return send_pieces(ep, FI_TAGGED, Pieces(iov, count), to, tag, context);
}
ssize_t tagged_sendmsg(fid_ep* ep, const fi_msg_tagged* message, std::uint64_t flags) {
  return send_message(ep, FI_TAGGED, message, message->tag, flags);
}
ssize_t tagged_inject(fid_ep* ep, const void* bytes, std::size_t size, fi_addr_t to,
                      std::uint64_t tag) {
  return inject_bytes(ep, FI_TAGGED, bytes, size, to, tag);
}
ssize_t tagged_senddata(fid_ep* ep, const void* bytes, std::size_t size, void*, std::uint64_t data,
                        fi_addr_t to, std::uint64_t tag, void* context) {
  return send_pieces(ep, FI_TAGGED, pieces_of(bytes, size), to, tag, context, kDefaultFlags, &data);
}
ssize_t tagged_injectdata(fid_ep* ep, const void* bytes, std::size_t size, std::uint64_t data,
                          fi_addr_t to, std::uint64_t tag) {
  return inject_bytes(ep, FI_TAGGED, bytes, size, to, tag, &data);
}

/// [D159] Tagged messages alone are matched: everything else that would be by default is delivered.
std::uint64_t defaults_for(std::uint64_t flags, bool tagged) {
  if (tagged || (flags & FI_MATCH_COMPLETE) == 0) return flags;
  return (flags & ~FI_MATCH_COMPLETE) | FI_DELIVERY_COMPLETE;
}

}  // namespace

ssize_t start(fid_ep* outer, Action what, Request& request, fi_addr_t peer, std::uint64_t flags) {
  const Handle& handle = handle_of(outer);
  Ep& ep = *handle.whole;
  const std::lock_guard lock(ep.mutex);
  if (!ep.enabled) return -FI_EOPBADSTATE;
  const bool tagged = (request.flags & FI_TAGGED) != 0;
  if (flags == kDefaultFlags) flags = defaults_for(handle.tx_flags, tagged);
  // Memory is no message: an atomic for a tagged receive is nothing that this provider has.
  std::uint64_t allowed = what == &Rdm::send ? kSendFlags : kSendFlags & ~kKind;
  if (!tagged) allowed &= ~FI_MATCH_COMPLETE;
  if ((flags & ~(allowed | (ep.caps & FI_TRIGGER))) != 0) return -FI_EBADFLAGS;
  if (what == &Rdm::read) flags &= ~FI_INJECT;  // it takes no bytes from here
  const bool waits = handle.when != nullptr || (flags & FI_TRIGGER) != 0;
  if (waits && (flags & FI_INJECT) != 0) return -FI_EOPNOTSUPP;
  if ((flags & FI_INJECT) != 0 && request.local.size() > ep.most_injected) return -FI_EMSGSIZE;
  if (request.local.size() > kLongestMessage) return -FI_EMSGSIZE;
  const bool tells = handle.when == nullptr && !ep.tx_selective;
  request.report = tells || (flags & FI_COMPLETION) != 0;
  request.flags |= flags & ~(kKind | FI_TRIGGER);
  request.peer = ep.peer_of(peer);
  if (request.peer == nullptr) return -FI_EINVAL;
  if (waits) return ep.defer(handle, what, request);
  return (ep.rdm.get()->*what)(request);
}

ssize_t inject(fid_ep* outer, Action what, Request& request, fi_addr_t peer) {
  Ep& ep = ep_of(outer);
  const std::lock_guard lock(ep.mutex);
  if (!ep.enabled) return -FI_EOPBADSTATE;
  if ((handle_of(outer).tx_flags & FI_TRIGGER) != 0) return -FI_EOPNOTSUPP;  // it names no counter
  if (request.local.size() > ep.most_injected) return -FI_EMSGSIZE;
  request.report = false;
  request.flags |= FI_INJECT;
  request.peer = ep.peer_of(peer);
  if (request.peer == nullptr) return -FI_EINVAL;
  return (ep.rdm.get()->*what)(request);
}

fi_ops_msg message_operations{.size = sizeof(fi_ops_msg),
                              .recv = msg_recv,
                              .recvv = msg_recvv,
                              .recvmsg = msg_recvmsg,
                              .send = msg_send,
                              .sendv = msg_sendv,
                              .sendmsg = msg_sendmsg,
                              .inject = msg_inject,
                              .senddata = msg_senddata,
                              .injectdata = msg_injectdata};
fi_ops_tagged tagged_operations{.size = sizeof(fi_ops_tagged),
                                .recv = tagged_recv,
                                .recvv = tagged_recvv,
                                .recvmsg = tagged_recvmsg,
                                .send = tagged_send,
                                .sendv = tagged_sendv,
                                .sendmsg = tagged_sendmsg,
                                .inject = tagged_inject,
                                .senddata = tagged_senddata,
                                .injectdata = tagged_injectdata};

}  // namespace strack::fabric
