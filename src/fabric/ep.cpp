// An endpoint: what is bound to it, how it opens and ends, what it tells.
#include <netinet/in.h>
#include <poll.h>
#include <rdma/fi_collective.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>

#include "fabric/provider.h"

namespace strack::fabric {
namespace {

/// How often it is looked whether the program makes progress itself.
constexpr int kLookMs = 2;
constexpr int kLongestSleepMs = 200;
constexpr std::uint32_t kSpins = 100;  ///< some tens of microseconds
/// Four of them are 64 KiB and a message's header.
constexpr std::uint32_t kQuarter = 16'384 + sizeof(Header) / 4;

void print_statistics(Ep& ep) {
  const udp::EndpointStatistics all = ep.rdm->endpoint().statistics();
  const auto n = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::fprintf(stderr,
               "strack: %s: %llu datagrams and %llu bytes sent, %llu datagrams and %llu bytes "
               "received, %llu connections made, %llu failed\n",
               ep.name.text().c_str(), n(all.datagrams_sent), n(all.bytes_sent),
               n(all.datagrams_received), n(all.bytes_received), n(all.connections_made),
               n(all.connections_failed));
}

/// Whether another socket of this host has the address.
bool is_taken(const udp::Address& address) { return bind_error(address) == EADDRINUSE; }

/// Listens at `address`; where its port is nobody's choice, at the first free one from FI_STRACK_PORT on.
udp::Outcome<udp::Endpoint> open_endpoint(udp::EndpointOptions options, udp::Address& address) {
  const bool chosen = address.port != 0 || settings().port == 0;
  if (!chosen) address.port = settings().port;
  for (;; ++address.port) {
    const bool last = chosen || address.port == 65'535;
    if (!last && is_taken(address)) continue;
    options.listen = address.text();
    auto opened = udp::Endpoint::open(options);
    // Somebody else may have been faster.
    if (opened || last || !is_taken(address)) return opened;
  }
}

int close_ep(fid* inner) {
  auto& ep = self<Ep, fid_ep>(inner);
  if (ep.aliases > 0) return -FI_EBUSY;
  ep.domain->take_back([&](const Deferred& one) { return one.ep == &ep; });
  if (ep.keeper.joinable()) {
    ep.ends = true;
    ep.wake();
    ep.keeper.join();
  }
  if (ep.enabled) {
    const std::lock_guard lock(ep.mutex);
    ep.rdm->finish();
  }
  for (Cq* cq : {ep.tx, ep.rx}) {
    if (cq == nullptr) continue;
    cq->progressed.unbind(ep);
    --cq->users;
  }
  for (Cntr* cntr : ep.counters) {
    if (cntr == nullptr) continue;
    cntr->progressed.unbind(ep);
    --cntr->users;
  }
  if (settings().statistics && ep.enabled) print_statistics(ep);
  for (const auto& [cntr, times] : ep.ends_of_work) cntr->users -= times;
  if (ep.av != nullptr) --ep.av->users;
  if (ep.eq != nullptr) --ep.eq->users;
  if (ep.stx != nullptr) --ep.stx->users;
  if (ep.keeper_wakes >= 0) close(ep.keeper_wakes);
  {
    // A region that is closed meanwhile finds the endpoint, or nothing of it that uses memory.
    const std::lock_guard lock(ep.domain->eps_mutex);
    for (Cntr* cntr : ep.domain->region_counters) cntr->progressed.unbind(ep);
    std::erase(ep.domain->eps, &ep);
    ep.rdm.reset();
  }
  --ep.domain->users;
  delete &ep;
  return 0;
}

int bind_cq(Ep& ep, Cq& cq, std::uint64_t flags) {
  if ((flags & ~(FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION)) != 0) return -FI_EBADFLAGS;
  if ((flags & (FI_TRANSMIT | FI_RECV)) == 0) return -FI_EBADFLAGS;
  const bool selective = (flags & FI_SELECTIVE_COMPLETION) != 0;
  if (((flags & FI_TRANSMIT) != 0 && ep.tx != nullptr) ||
      ((flags & FI_RECV) != 0 && ep.rx != nullptr))
    return -FI_EINVAL;
  if ((flags & FI_TRANSMIT) != 0) {
    ep.tx = &cq;
    ep.tx_selective = selective;
    ++cq.users;
  }
  if ((flags & FI_RECV) != 0) {
    ep.rx = &cq;
    ep.rx_selective = selective;
    ++cq.users;
  }
  cq.progressed.bind(ep);
  return 0;
}

int bind_cntr(Ep& ep, Cntr& cntr, std::uint64_t flags) {
  constexpr std::array<std::uint64_t, kCounters> kFlags{FI_SEND,  FI_RECV,        FI_READ,
                                                        FI_WRITE, FI_REMOTE_READ, FI_REMOTE_WRITE};
  if (flags == 0 ||
      (flags & ~(FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)) != 0)
    return -FI_EBADFLAGS;
  for (std::size_t i = 0; i < kCounters; ++i) {
    if ((flags & kFlags[i]) == 0) continue;
    if (ep.counters[i] != nullptr) return -FI_EINVAL;
    ep.counters[i] = &cntr;
    ++cntr.users;
  }
  cntr.progressed.bind(ep);
  return 0;
}

int bind_stx(Ep& ep, Stx& stx, std::uint64_t flags) {
  if (flags != 0) return -FI_EBADFLAGS;
  if (!ep.shares_tx || ep.stx != nullptr) return -FI_EINVAL;
  ep.stx = &stx;
  ep.tx_flags = stx.flags;
  ++stx.users;
  return 0;
}

int bind_av(Ep& ep, Av& av) {
  if (ep.av != nullptr) return -FI_EINVAL;
  ep.av = &av;
  ++av.users;
  return 0;
}

/// What belongs to a domain serves its endpoints alone.
template <class T, class Outer, class... A>
int bind_own(Ep& ep, fid* other, int (*bind)(Ep&, T&, A...), A... rest) {
  auto& object = self<T, Outer>(other);
  return object.domain == ep.domain ? bind(ep, object, rest...) : -FI_EDOMAIN;
}

int bind_ep(fid* inner, fid* other, std::uint64_t flags) {
  auto& ep = self<Ep, fid_ep>(inner);
  if (ep.enabled) return -FI_EOPBADSTATE;
  switch (other->fclass) {
    case FI_CLASS_AV:
      return bind_own<Av, fid_av>(ep, other, bind_av);
    case FI_CLASS_CQ:
      return bind_own<Cq, fid_cq>(ep, other, bind_cq, flags);
    case FI_CLASS_CNTR:
      return bind_own<Cntr, fid_cntr>(ep, other, bind_cntr, flags);
    case FI_CLASS_STX_CTX:
      return bind_own<Stx, fid_stx>(ep, other, bind_stx, flags);
    case FI_CLASS_EQ:
      if (ep.eq != nullptr) return -FI_EINVAL;
      ep.eq = &self<Eq, fid_eq>(other);
      ++ep.eq->users;
      return 0;
    default:
      return -FI_EINVAL;
  }
}

int enable(Ep& ep) {
  if (ep.enabled) return 0;
  if (ep.av == nullptr) return -FI_ENOAV;
  if (ep.shares_tx && ep.stx == nullptr) return -FI_EOPBADSTATE;
  if (ep.tx == nullptr && ep.counters[0] == nullptr && (ep.caps & FI_SEND) != 0) return -FI_ENOCQ;
  if (ep.rx == nullptr && ep.counters[1] == nullptr && (ep.caps & FI_RECV) != 0) return -FI_ENOCQ;
  ep.enabled = true;
  ep.keeper_wakes = eventfd(0, EFD_CLOEXEC);
  ep.keeper = std::thread([&ep] { ep.keep(); });
  return 0;
}

/// [D135] What operations may ask for by default.
std::uint64_t allowed(const Ep& ep, bool tx) {
  return (tx ? kTxFlags : kRxFlags) | (ep.caps & FI_TRIGGER);
}

Ep& whole(fid* inner) { return *self<Handle, fid_ep>(inner).whole; }

/// What is an alias's, too.
int control_handle(fid* inner, int command, void* arg) {
  auto& handle = self<Handle, fid_ep>(inner);
  switch (command) {
    case FI_ALIAS: {
      const auto& alias = *static_cast<struct fi_alias*>(arg);
      return open_alias(handle, alias.flags, alias.fid);
    }
    case FI_GETOPSFLAG: {
      auto& flags = *static_cast<std::uint64_t*>(arg);
      const bool tx = (flags & FI_TRANSMIT) != 0;
      if (tx == ((flags & FI_RECV) != 0)) return -FI_EINVAL;
      flags = tx ? handle.tx_flags : handle.rx_flags;
      return 0;
    }
    case FI_SETOPSFLAG: {
      const std::uint64_t flags = *static_cast<std::uint64_t*>(arg);
      const bool tx = (flags & FI_TRANSMIT) != 0;
      if (tx == ((flags & FI_RECV) != 0)) return -FI_EINVAL;
      const std::uint64_t wanted = flags & ~(FI_TRANSMIT | FI_RECV);
      if ((wanted & ~allowed(*handle.whole, tx)) != 0) return -FI_EBADFLAGS;
      (tx ? handle.tx_flags : handle.rx_flags) = wanted;
      return 0;
    }
    default:
      return -FI_ENOSYS;
  }
}

int control_ep(fid* inner, int command, void* arg) {
  return command == FI_ENABLE ? enable(self<Ep, fid_ep>(inner))
                              : control_handle(inner, command, arg);
}

int close_alias(fid* inner) {
  auto& alias = self<Handle, fid_ep>(inner);
  --alias.whole->aliases;
  delete &alias;
  return 0;
}

int get_name(fid* inner, void* out, std::size_t* size) {
  const Ep& ep = whole(inner);
  const std::size_t room = *size;
  *size = to_sockaddr(ep.name, out, room);
  return room < *size ? -FI_ETOOSMALL : 0;
}

ssize_t cancel(fid* inner, void* context) {
  Ep& ep = whole(inner);
  const std::lock_guard lock(ep.mutex);
  if (ep.cancel_deferred(context)) return 0;
  return ep.rdm->cancel(context);
}

int get_option(fid* inner, int level, int option, void* out, std::size_t* size) {
  Ep& ep = whole(inner);
  if (level != FI_OPT_ENDPOINT || option != FI_OPT_MIN_MULTI_RECV) return -FI_ENOPROTOOPT;
  if (*size < sizeof(std::size_t)) return -FI_ETOOSMALL;
  const std::lock_guard lock(ep.mutex);
  *static_cast<std::size_t*>(out) = ep.rdm->least_multi_receive();
  *size = sizeof(std::size_t);
  return 0;
}

int set_option(fid* inner, int level, int option, const void* value, std::size_t size) {
  Ep& ep = whole(inner);
  if (level != FI_OPT_ENDPOINT || option != FI_OPT_MIN_MULTI_RECV) return -FI_ENOPROTOOPT;
  if (size != sizeof(std::size_t)) return -FI_EINVAL;
  const std::lock_guard lock(ep.mutex);
  ep.rdm->set_least_multi_receive(*static_cast<const std::size_t*>(value));
  return 0;
}

fi_ops base{.size = sizeof(fi_ops),
            .close = close_ep,
            .bind = bind_ep,
            .control = control_ep,
            .ops_open = kMissing,
            .tostr = kMissing,
            .ops_set = kMissing};
fi_ops alias_base{.size = sizeof(fi_ops),
                  .close = close_alias,
                  .bind = kMissing,
                  .control = control_handle,
                  .ops_open = kMissing,
                  .tostr = kMissing,
                  .ops_set = kMissing};
fi_ops_ep operations{.size = sizeof(fi_ops_ep),
                     .cancel = cancel,
                     .getopt = get_option,
                     .setopt = set_option,
                     .tx_ctx = kMissing,
                     .rx_ctx = kMissing,
                     .rx_size_left = kMissing,
                     .tx_size_left = kMissing};
fi_ops_collective collective_operations{.size = sizeof(fi_ops_collective),
                                        .barrier = kMissing,
                                        .broadcast = kMissing,
                                        .alltoall = kMissing,
                                        .allreduce = kMissing,
                                        .allgather = kMissing,
                                        .reduce_scatter = kMissing,
                                        .reduce = kMissing,
                                        .scatter = kMissing,
                                        .gather = kMissing,
                                        .msg = kMissing,
                                        .barrier2 = kMissing};
fi_ops_cm names{.size = sizeof(fi_ops_cm),
                .setname = kMissing,
                .getname = get_name,
                .getpeer = kMissing,
                .connect = kMissing,
                .listen = kMissing,
                .accept = kMissing,
                .reject = kMissing,
                .shutdown = kMissing,
                .join = kMissing};

int close_stx(fid* inner) {
  auto& stx = self<Stx, fid_stx>(inner);
  if (stx.users > 0) return -FI_EBUSY;
  --stx.domain->users;
  delete &stx;
  return 0;
}

fi_ops stx_base{.size = sizeof(fi_ops),
                .close = close_stx,
                .bind = kMissing,
                .control = kMissing,
                .ops_open = kMissing,
                .tostr = kMissing,
                .ops_set = kMissing};
fi_ops_ep stx_operations{.size = sizeof(fi_ops_ep),
                         .cancel = kMissing,
                         .getopt = kMissing,
                         .setopt = kMissing,
                         .tx_ctx = kMissing,
                         .rx_ctx = kMissing,
                         .rx_size_left = kMissing,
                         .tx_size_left = kMissing};

}  // namespace

/// [D136] Every endpoint has a queue of its own, so that nothing is short when they share one.
int open_stx(fid_domain* outer, fi_tx_attr* attr, fid_stx** out, void* context) {
  if (attr != nullptr && !is_offered(*attr)) return -FI_EINVAL;
  auto stx = std::make_unique<Stx>();
  stx->domain = static_cast<Domain*>(outer);
  if (attr != nullptr) stx->flags = attr->op_flags;
  stx->fid = {FI_CLASS_STX_CTX, context, &stx_base};
  stx->ops = &stx_operations;
  ++stx->domain->users;
  *out = stx.release();
  return 0;
}

int open_alias(Handle& of, std::uint64_t flags, fid** out) {
  const bool tx = (flags & FI_TRANSMIT) != 0;
  const bool rx = (flags & FI_RECV) != 0;
  if (tx && rx) return -FI_EINVAL;
  const std::uint64_t wanted = flags & ~(FI_TRANSMIT | FI_RECV);
  if ((!tx && !rx && wanted != 0) || (wanted & ~allowed(*of.whole, tx)) != 0) return -FI_EBADFLAGS;
  auto alias = std::make_unique<Handle>(of);
  alias->fid.ops = &alias_base;
  if (tx) alias->tx_flags = wanted;
  if (rx) alias->rx_flags = wanted;
  ++of.whole->aliases;
  *out = &alias.release()->fid;
  return 0;
}

void Ep::done(const Done& done) {
  // [D137] Work counts where it says, and not at the endpoint.
  auto* const work = static_cast<fi_deferred_work*>(done.work);
  Cntr* cntr = work == nullptr ? counters[static_cast<std::size_t>(done.counted)]
                               : static_cast<Cntr*>(work->completion_cntr);
  if (cntr != nullptr && done.counts) cntr->add(1, done.error != 0);
  if (cntr != nullptr && work != nullptr) lets_go_of(*cntr);
  if (!done.report && done.error == 0) return;
  const bool tells_receiver = done.counted == Counted::receive ||
                              done.counted == Counted::remote_read ||
                              done.counted == Counted::remote_write;
  Cq* cq = tells_receiver ? rx : tx;
  if (cq == nullptr) return;
  Cq::Entry entry;
  entry.entry.op_context = done.context;
  entry.entry.flags = done.flags;
  entry.entry.len = done.length;
  entry.entry.buf = done.buffer;
  entry.entry.data = done.immediate;
  entry.entry.tag = done.tag;
  entry.entry.olen = done.excess;
  entry.entry.err = done.error;
  entry.entry.prov_errno = done.error;
  if (done.source != nullptr && av != nullptr && (caps & FI_SOURCE) != 0) {
    Peer& peer = *done.source;
    const std::uint64_t epoch = av->epoch;
    if (peer.name_epoch != epoch) {
      peer.name = av->name_of(peer.address);
      peer.name_epoch = epoch;
    }
    entry.source = peer.name;
  }
  cq->push(entry);
}

std::byte* Ep::region(const Segment& segment, std::uint64_t access) {
  const std::lock_guard lock(domain->mutex);
  const auto found = domain->regions.find(segment.key);
  if (found == domain->regions.end()) return nullptr;
  const Region& region = *found->second;
  const std::uint64_t offset = segment.address - region.base;
  if ((region.access & access) != access || segment.address < region.base || offset > region.size ||
      segment.length > region.size - offset)
    return nullptr;
  return region.memory + offset;
}

void Ep::accessed(std::span<const Segment> segments, std::uint64_t how) {
  const std::lock_guard lock(domain->mutex);
  std::array<Region*, kMostPieces> told{};
  std::size_t count = 0;
  for (const Segment& segment : segments) {
    const auto found = domain->regions.find(segment.key);
    if (found == domain->regions.end() || segment.length == 0) continue;
    Region* const region = found->second;
    // One operation is one event of a region, and of a counter that is there for both kinds.
    if (std::find(told.begin(), told.begin() + count, region) != told.begin() + count) continue;
    told[count++] = region;
    Cntr* const writes = (how & FI_REMOTE_WRITE) != 0 ? region->writes : nullptr;
    Cntr* const reads = (how & FI_REMOTE_READ) != 0 ? region->reads : nullptr;
    if (writes != nullptr) writes->add(1, false);
    if (reads != nullptr && reads != writes) reads->add(1, false);
  }
}

bool Ep::progress() {
  looked.fetch_add(1, std::memory_order_relaxed);
  std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock.owns_lock()) return true;  // somebody else does just that
  if (!enabled) return false;
  const bool busy = rdm->progress();
  if (has_due) begin_due();
  if (busy) {
    idle.store(0, std::memory_order_relaxed);
    return true;
  }
  return idle.fetch_add(1, std::memory_order_relaxed) < kSpins;
}

/// Answers peers, sends again and takes what comes while the program does something else; while it asks for
/// completions itself, this only looks on.
void Ep::keep() {
  std::uint32_t seen = looked;
  bool alone = false;
  while (!ends) {
    std::array<pollfd, 2> fds{{{keeper_wakes, POLLIN, 0}, {-1, POLLIN, 0}}};
    int sleep = kLookMs;
    if (alone) {
      const std::lock_guard lock(mutex);
      fds[1].fd = rdm->endpoint().file_descriptor();
      const auto next =
          std::chrono::ceil<std::chrono::milliseconds>(std::min<std::chrono::nanoseconds>(
              rdm->endpoint().next_deadline(), std::chrono::milliseconds(kLongestSleepMs)));
      sleep = static_cast<int>(next.count());
    }
    if (has_due) sleep = std::min(sleep, kLookMs);
    static_cast<void>(::poll(fds.data(), fds.size(), sleep));
    if (ends) return;
    if ((fds[0].revents & POLLIN) != 0) {
      std::uint64_t times = 0;
      static_cast<void>(!read(keeper_wakes, &times, sizeof times));
    }
    if (has_due) {
      const std::lock_guard lock(mutex);
      rdm->progress();
      begin_due();
    }
    const std::uint32_t now = looked;
    alone = now == seen;
    seen = now;
    if (!alone) continue;
    const std::lock_guard lock(mutex);
    rdm->progress();
  }
}

Peer* Ep::peer_of(fi_addr_t wanted) {
  const std::uint64_t epoch = av->epoch;
  if (peers_epoch != epoch) {
    peers.clear();
    peers_epoch = epoch;
  }
  if (wanted < peers.size() && peers[wanted] != nullptr) return peers[wanted];
  udp::Address address;
  if (!av->find(wanted, address)) return nullptr;
  if (wanted >= peers.size()) peers.resize(wanted + 1);
  peers[wanted] = rdm->peer(address);
  return peers[wanted];
}

int open_ep(fid_domain* outer, fi_info* info, fid_ep** out, void* context) {
  if (info == nullptr || info->ep_attr == nullptr || info->ep_attr->type != FI_EP_RDM)
    return -FI_EINVAL;
  if (info->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT) return -FI_ENOSYS;
  if ((info->tx_attr != nullptr && (info->tx_attr->op_flags & ~kTxFlags) != 0) ||
      (info->rx_attr != nullptr && (info->rx_attr->op_flags & ~kRxFlags) != 0))
    return -FI_EBADFLAGS;
  auto ep = std::make_unique<Ep>();
  udp::Address address = default_address(info->addr_format == FI_SOCKADDR_IN6);
  if (info->src_addr != nullptr && !from_sockaddr(info->src_addr, info->src_addrlen, address))
    return -FI_EINVAL;
  udp::EndpointOptions options = settings().endpoint;
  const bool loopback = address.is_loopback();
  if (options.paths == 0) options.paths = loopback ? 4 : 256;
  if (options.max_payload == 0) options.max_payload = loopback ? kQuarter : 8'192;
  options.user_data = greeting(settings().limits.eager);
  auto opened = open_endpoint(options, address);
  if (!opened) {
    complain(opened.error().text);
    const int why = bind_error(address);  // the codes are those of errno
    return why != 0 ? -why : -FI_EADDRNOTAVAIL;
  }
  ep->name = address;
  ep->name.port = opened.value().local_port();
  Limits limits = settings().limits;
  if (info->tx_attr != nullptr) {
    limits.outstanding = std::max(limits.outstanding, info->tx_attr->size);
    ep->tx_flags = info->tx_attr->op_flags;
  }
  if (info->rx_attr != nullptr) ep->rx_flags = info->rx_attr->op_flags;
  ep->shares_tx = info->ep_attr->tx_ctx_cnt == FI_SHARED_CONTEXT;
  ep->caps = info->caps;
  ep->whole = ep.get();
  ep->domain = static_cast<Domain*>(outer);
  ep->rdm = std::make_unique<Rdm>(std::move(opened.value()), ep->name, *ep, limits);
  ep->fid = {FI_CLASS_EP, context, &base};
  ep->ops = &operations;
  ep->cm = &names;
  ep->msg = &message_operations;
  ep->tagged = &tagged_operations;
  ep->rma = &rma_operations;
  ep->atomic = &atomic_operations;
  ep->collective = &collective_operations;
  ++ep->domain->users;
  const std::lock_guard lock(ep->domain->eps_mutex);
  ep->domain->eps.push_back(ep.get());
  for (Cntr* cntr : ep->domain->region_counters) cntr->progressed.bind(*ep);
  *out = ep.release();
  return 0;
}

}  // namespace strack::fabric
