// Remote memory and atomics: from libfabric's calls to a Request.
#include <cstring>

#include "fabric/atomics.h"
#include "fabric/transfers.h"

namespace strack::fabric {
namespace {

Request to_memory(const Pieces& local, std::uint64_t address, std::uint64_t key, void* context) {
  Request request;
  request.local = local;
  request.context = context;
  request.remote.all[0] = {address, local.size(), key};
  request.remote.count = 1;
  return request;
}

ssize_t rma_message(fid_ep* ep, int (Rdm::*what)(const Request&), const fi_msg_rma* message,
                    std::uint64_t flags) {
  if (message->iov_count > kMostPieces || message->rma_iov_count > kMostPieces) return -FI_EINVAL;
  Request request;
  request.local = Pieces(message->msg_iov, message->iov_count);
  request.context = message->context;
  request.immediate = message->data;
  std::uint64_t there = 0;
  for (std::size_t i = 0; i < message->rma_iov_count; ++i) {
    const fi_rma_iov& one = message->rma_iov[i];
    request.remote.all[request.remote.count++] = {one.addr, one.len, one.key};
    there = sum_of(there, one.len);
  }
  if (there != request.local.size()) return -FI_EINVAL;
  return start(ep, what, request, message->addr, flags);
}

ssize_t rma_read(fid_ep* ep, void* bytes, std::size_t size, void*, fi_addr_t from,
                 std::uint64_t address, std::uint64_t key, void* context) {
  Request request = to_memory(Pieces(bytes, size), address, key, context);
  return start(ep, &Rdm::read, request, from, kDefaultFlags);
}
ssize_t rma_readv(fid_ep* ep, const iovec* iov, void**, std::size_t count, fi_addr_t from,
                  std::uint64_t address, std::uint64_t key, void* context) {
  if (count > kMostPieces) return -FI_EINVAL;
  Request request = to_memory(Pieces(iov, count), address, key, context);
  return start(ep, &Rdm::read, request, from, kDefaultFlags);
}
ssize_t rma_readmsg(fid_ep* ep, const fi_msg_rma* message, std::uint64_t flags) {
  if ((flags & FI_REMOTE_CQ_DATA) != 0) return -FI_EBADFLAGS;
  return rma_message(ep, &Rdm::read, message, flags);
}
ssize_t rma_write(fid_ep* ep, const void* bytes, std::size_t size, void*, fi_addr_t to,
                  std::uint64_t address, std::uint64_t key, void* context) {
  Request request = to_memory(pieces_of(bytes, size), address, key, context);
  return start(ep, &Rdm::write, request, to, kDefaultFlags);
}
ssize_t rma_writev(fid_ep* ep, const iovec* iov, void**, std::size_t count, fi_addr_t to,
                   std::uint64_t address, std::uint64_t key, void* context) {
  if (count > kMostPieces) return -FI_EINVAL;
  Request request = to_memory(Pieces(iov, count), address, key, context);
  return start(ep, &Rdm::write, request, to, kDefaultFlags);
}
ssize_t rma_writemsg(fid_ep* ep, const fi_msg_rma* message, std::uint64_t flags) {
  return rma_message(ep, &Rdm::write, message, flags);
}
ssize_t rma_inject(fid_ep* ep, const void* bytes, std::size_t size, fi_addr_t to,
                   std::uint64_t address, std::uint64_t key) {
  Request request = to_memory(pieces_of(bytes, size), address, key, nullptr);
  return inject(ep, &Rdm::write, request, to);
}
ssize_t rma_writedata(fid_ep* ep, const void* bytes, std::size_t size, void*, std::uint64_t data,
                      fi_addr_t to, std::uint64_t address, std::uint64_t key, void* context) {
  Request request = to_memory(pieces_of(bytes, size), address, key, context);
  request.immediate = data;
  request.flags = FI_REMOTE_CQ_DATA;
  return start(ep, &Rdm::write, request, to, kDefaultFlags);
}
ssize_t rma_injectdata(fid_ep* ep, const void* bytes, std::size_t size, std::uint64_t data,
                       fi_addr_t to, std::uint64_t address, std::uint64_t key) {
  Request request = to_memory(pieces_of(bytes, size), address, key, nullptr);
  request.immediate = data;
  request.flags = FI_REMOTE_CQ_DATA;
  return inject(ep, &Rdm::write, request, to);
}

// ---- Atomics ----

Pieces values(const fi_ioc* iov, std::size_t count, fi_datatype datatype) {
  Pieces pieces;
  for (std::size_t i = 0; i < count && i < kMostPieces; ++i)
    pieces.add(iov[i].addr, product_of(iov[i].count, size_of(datatype)));
  return pieces;
}

/// The three kinds differ in what comes with them.
ssize_t atomic_message(fid_ep* ep, const fi_msg_atomic* message, const Pieces& compare,
                       const Pieces& result, AtomicKind kind, std::uint64_t flags) {
  if (!is_atomic(message->datatype, message->op, kind)) return -FI_EOPNOTSUPP;
  if (flags != kDefaultFlags && (flags & FI_REMOTE_CQ_DATA) != 0) return -FI_EBADFLAGS;
  if (message->iov_count > kMostPieces || message->rma_iov_count > kMostPieces) return -FI_EINVAL;
  Request request;
  request.op = message->op;
  request.datatype = message->datatype;
  request.context = message->context;
  // A read brings no operands, whatever the call says.
  if (message->op != FI_ATOMIC_READ)
    request.local = values(message->msg_iov, message->iov_count, message->datatype);
  request.compare = compare;
  request.result = result;
  std::size_t there = 0;  // every operand, and every result, has its value there
  for (std::size_t i = 0; i < message->rma_iov_count; ++i) {
    const fi_rma_ioc& one = message->rma_iov[i];
    const std::size_t size = product_of(one.count, size_of(message->datatype));
    request.remote.all[request.remote.count++] = {one.addr, size, one.key};
    there = sum_of(there, size);
  }
  const auto wrong = [there](const Pieces& pieces, bool wanted) {
    return wanted && pieces.size() != there;
  };
  if (there == 0 || wrong(request.local, message->op != FI_ATOMIC_READ) ||
      wrong(compare, kind == AtomicKind::compare) || wrong(result, kind != AtomicKind::plain))
    return -FI_EINVAL;
  return start(ep, &Rdm::atomic, request, message->addr, flags);
}

/// Calls without a message struct, as if they had one.
struct OneMessage {
  fi_ioc local;
  fi_rma_ioc remote;
  fi_msg_atomic message{};

  OneMessage(const void* bytes, std::size_t count, fi_addr_t to, std::uint64_t address,
             std::uint64_t key, fi_datatype datatype, fi_op op, void* context)
      : local{const_cast<void*>(bytes), count}, remote{address, count, key} {
    message.msg_iov = &local;
    message.iov_count = 1;
    message.addr = to;
    message.rma_iov = &remote;
    message.rma_iov_count = 1;
    message.datatype = datatype;
    message.op = op;
    message.context = context;
  }
  OneMessage(const fi_ioc* iov, std::size_t pieces, fi_addr_t to, std::uint64_t address,
             std::uint64_t key, fi_datatype datatype, fi_op op, void* context)
      : OneMessage(static_cast<const void*>(nullptr), 0, to, address, key, datatype, op, context) {
    message.msg_iov = iov;
    message.iov_count = pieces;
    for (std::size_t i = 0; i < pieces; ++i) remote.count = sum_of(remote.count, iov[i].count);
  }
  OneMessage(const OneMessage&) = delete;
  OneMessage& operator=(const OneMessage&) = delete;
};

ssize_t atomic_write(fid_ep* ep, const void* bytes, std::size_t count, void*, fi_addr_t to,
                     std::uint64_t address, std::uint64_t key, fi_datatype datatype, fi_op op,
                     void* context) {
  const OneMessage one(bytes, count, to, address, key, datatype, op, context);
  return atomic_message(ep, &one.message, {}, {}, AtomicKind::plain, kDefaultFlags);
}
ssize_t atomic_writev(fid_ep* ep, const fi_ioc* iov, void**, std::size_t pieces, fi_addr_t to,
                      std::uint64_t address, std::uint64_t key, fi_datatype datatype, fi_op op,
                      void* context) {
  const OneMessage one(iov, pieces, to, address, key, datatype, op, context);
  return atomic_message(ep, &one.message, {}, {}, AtomicKind::plain, kDefaultFlags);
}
ssize_t atomic_writemsg(fid_ep* ep, const fi_msg_atomic* message, std::uint64_t flags) {
  return atomic_message(ep, message, {}, {}, AtomicKind::plain, flags);
}
ssize_t atomic_inject(fid_ep* ep, const void* bytes, std::size_t count, fi_addr_t to,
                      std::uint64_t address, std::uint64_t key, fi_datatype datatype, fi_op op) {
  if (!is_atomic(datatype, op, AtomicKind::plain)) return -FI_EOPNOTSUPP;
  if (count == 0) return -FI_EINVAL;
  Request request =
      to_memory(pieces_of(bytes, product_of(count, size_of(datatype))), address, key, nullptr);
  request.op = op;
  request.datatype = datatype;
  return inject(ep, &Rdm::atomic, request, to);
}

ssize_t fetch(fid_ep* ep, const void* bytes, std::size_t count, void*, void* result, void*,
              fi_addr_t to, std::uint64_t address, std::uint64_t key, fi_datatype datatype,
              fi_op op, void* context) {
  const OneMessage one(bytes, count, to, address, key, datatype, op, context);
  return atomic_message(ep, &one.message, {}, Pieces(result, product_of(count, size_of(datatype))),
                        AtomicKind::fetch, kDefaultFlags);
}
ssize_t fetchv(fid_ep* ep, const fi_ioc* iov, void**, std::size_t pieces, fi_ioc* results, void**,
               std::size_t result_pieces, fi_addr_t to, std::uint64_t address, std::uint64_t key,
               fi_datatype datatype, fi_op op, void* context) {
  const Pieces result = values(results, result_pieces, datatype);
  OneMessage one(iov, pieces, to, address, key, datatype, op, context);
  if (size_of(datatype) > 0) one.remote.count = result.size() / size_of(datatype);
  return atomic_message(ep, &one.message, {}, result, AtomicKind::fetch, kDefaultFlags);
}
ssize_t fetchmsg(fid_ep* ep, const fi_msg_atomic* message, fi_ioc* results, void**,
                 std::size_t result_pieces, std::uint64_t flags) {
  return atomic_message(ep, message, {}, values(results, result_pieces, message->datatype),
                        AtomicKind::fetch, flags);
}

ssize_t compare(fid_ep* ep, const void* bytes, std::size_t count, void*, const void* with, void*,
                void* result, void*, fi_addr_t to, std::uint64_t address, std::uint64_t key,
                fi_datatype datatype, fi_op op, void* context) {
  const OneMessage one(bytes, count, to, address, key, datatype, op, context);
  const std::size_t size = product_of(count, size_of(datatype));
  return atomic_message(ep, &one.message, pieces_of(with, size), Pieces(result, size),
                        AtomicKind::compare, kDefaultFlags);
}
ssize_t comparev(fid_ep* ep, const fi_ioc* iov, void**, std::size_t pieces, const fi_ioc* with,
                 void**, std::size_t with_pieces, fi_ioc* results, void**,
                 std::size_t result_pieces, fi_addr_t to, std::uint64_t address, std::uint64_t key,
                 fi_datatype datatype, fi_op op, void* context) {
  const OneMessage one(iov, pieces, to, address, key, datatype, op, context);
  return atomic_message(ep, &one.message, values(with, with_pieces, datatype),
                        values(results, result_pieces, datatype), AtomicKind::compare,
                        kDefaultFlags);
}
ssize_t comparemsg(fid_ep* ep, const fi_msg_atomic* message, const fi_ioc* with, void**,
                   std::size_t with_pieces, fi_ioc* results, void**, std::size_t result_pieces,
                   std::uint64_t flags) {
  return atomic_message(ep, message, values(with, with_pieces, message->datatype),
                        values(results, result_pieces, message->datatype), AtomicKind::compare,
                        flags);
}

template <AtomicKind kind>
int valid(fid_ep* ep, fi_datatype datatype, fi_op op, std::size_t* count) {
  if (!is_atomic(datatype, op, kind)) return -FI_EOPNOTSUPP;
  *count = ep_of(ep).rdm->limits().most_atomic() / size_of(datatype);
  return 0;
}

}  // namespace

int query_atomic(fid_domain*, fi_datatype datatype, fi_op op, fi_atomic_attr* attr,
                 std::uint64_t flags) {
  if ((flags & FI_TAGGED) != 0) return -FI_EOPNOTSUPP;  // values in receives
  if ((flags & ~(FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC)) != 0 ||
      flags == (FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC))
    return -FI_EBADFLAGS;
  const AtomicKind kind = (flags & FI_COMPARE_ATOMIC) != 0 ? AtomicKind::compare
                          : (flags & FI_FETCH_ATOMIC) != 0 ? AtomicKind::fetch
                                                           : AtomicKind::plain;
  if (!is_atomic(datatype, op, kind)) return -FI_EOPNOTSUPP;
  attr->size = size_of(datatype);
  attr->count = settings().limits.most_atomic() / attr->size;
  return 0;
}

fi_ops_rma rma_operations{.size = sizeof(fi_ops_rma),
                          .read = rma_read,
                          .readv = rma_readv,
                          .readmsg = rma_readmsg,
                          .write = rma_write,
                          .writev = rma_writev,
                          .writemsg = rma_writemsg,
                          .inject = rma_inject,
                          .writedata = rma_writedata,
                          .injectdata = rma_injectdata};
fi_ops_atomic atomic_operations{.size = sizeof(fi_ops_atomic),
                                .write = atomic_write,
                                .writev = atomic_writev,
                                .writemsg = atomic_writemsg,
                                .inject = atomic_inject,
                                .readwrite = fetch,
                                .readwritev = fetchv,
                                .readwritemsg = fetchmsg,
                                .compwrite = compare,
                                .compwritev = comparev,
                                .compwritemsg = comparemsg,
                                .writevalid = valid<AtomicKind::plain>,
                                .readwritevalid = valid<AtomicKind::fetch>,
                                .compwritevalid = valid<AtomicKind::compare>};

}  // namespace strack::fabric
