// Completion queues, counters, event queues and poll sets: what has happened, and waiting for it.
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>

#include "fabric/provider.h"

namespace strack::fabric {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kLongestSleepMs = 50;  ///< timers of the transport are looked after in between
constexpr std::chrono::microseconds kSpin{50};

/// What a program can sleep at, and of which kind that is.
int tell_wait(const Waiting& waiting, int command, void* arg) {
  switch (command) {
    case FI_GETWAIT:
      *static_cast<int*>(arg) = waiting.file_descriptor();
      return 0;
    case FI_GETWAITOBJ:
      *static_cast<fi_wait_obj*>(arg) = FI_WAIT_FD;
      return 0;
    default:
      return -FI_ENOSYS;
  }
}

/// Tells of an error. The program's buffer for more about it stays its own, since there is no more; how long that is
/// stands in the entries of programs for 1.5 and later.
template <class Entry>
void tell_error(const Entry& from, Entry& out, std::uint32_t api_version) {
  std::memcpy(&out, &from, offsetof(Entry, err_data));
  if (FI_VERSION_GE(api_version, FI_VERSION(1, 5))) out.err_data_size = 0;
}

// ---- Completion queues ----

int close_cq(fid* inner) {
  auto& cq = self<Cq, fid_cq>(inner);
  if (cq.users > 0) return -FI_EBUSY;
  --cq.domain->users;
  delete &cq;
  return 0;
}

int control_cq(fid* inner, int command, void* arg) {
  auto& cq = self<Cq, fid_cq>(inner);
  return cq.waits ? tell_wait(cq.progressed.waiting, command, arg) : -FI_ENOSYS;
}

/// What is there now, without progress.
ssize_t take_entries(Cq& cq, void* out, std::size_t count, fi_addr_t* sources) {
  const std::lock_guard lock(cq.mutex);
  std::size_t taken = 0;
  for (; taken < count && !cq.entries.empty(); ++taken) {
    const Cq::Entry& next = cq.entries.front();
    if (next.entry.err != 0) break;
    // The structs of all formats are the beginnings of one another, and of the one for errors.
    std::memcpy(static_cast<std::byte*>(out) + taken * cq.entry_size, &next.entry, cq.entry_size);
    if (sources != nullptr) sources[taken] = next.source;
    cq.entries.pop_front();
  }
  if (cq.entries.empty()) cq.progressed.waiting.clear();
  if (taken > 0) return static_cast<ssize_t>(taken);
  if (cq.entries.empty()) return -FI_EAGAIN;
  return cq.entries.front().entry.err != 0 ? -FI_EAVAIL : 0;  // 0: none was asked for
}

ssize_t read_from(fid_cq* outer, void* out, std::size_t count, fi_addr_t* sources) {
  Cq& cq = static_cast<Cq&>(*outer);
  const ssize_t taken = take_entries(cq, out, count, sources);
  if (taken != -FI_EAGAIN && count > 0) return taken;  // who asks for none asks for progress
  cq.progressed.progress();
  return take_entries(cq, out, count, sources);
}

ssize_t read_cq(fid_cq* outer, void* out, std::size_t count) {
  return read_from(outer, out, count, nullptr);
}

ssize_t wait_and_read_from(fid_cq* outer, void* out, std::size_t count, fi_addr_t* sources,
                           const void*, int timeout_ms) {
  Cq& cq = static_cast<Cq&>(*outer);
  if (!cq.waits) return -FI_ENOSYS;
  ssize_t taken = -FI_EAGAIN;  // another reader may be faster
  cq.progressed.wait_until(timeout_ms, [&] {
    taken = take_entries(cq, out, count, sources);
    return taken != -FI_EAGAIN;
  });
  return taken;
}

ssize_t wait_and_read(fid_cq* outer, void* out, std::size_t count, const void* condition,
                      int timeout_ms) {
  return wait_and_read_from(outer, out, count, nullptr, condition, timeout_ms);
}

ssize_t read_error(fid_cq* outer, fi_cq_err_entry* out, std::uint64_t) {
  Cq& cq = static_cast<Cq&>(*outer);
  const std::lock_guard lock(cq.mutex);
  if (cq.entries.empty() || cq.entries.front().entry.err == 0) return -FI_EAGAIN;
  tell_error(cq.entries.front().entry, *out, cq.domain->fabric->api_version);
  cq.entries.pop_front();
  if (cq.entries.empty()) cq.progressed.waiting.clear();
  return 1;
}

int signal_cq(fid_cq* outer) {
  static_cast<Cq&>(*outer).progressed.interrupt();
  return 0;
}

const char* describe(int error, char* out, std::size_t size) {
  const char* text = fi_strerror(error);
  if (out != nullptr && size > 0) {
    std::strncpy(out, text, size - 1);
    out[size - 1] = '\0';
    return out;
  }
  return text;
}

const char* describe_cq(fid_cq*, int error, const void*, char* out, std::size_t size) {
  return describe(error, out, size);
}

fi_ops cq_base{.size = sizeof(fi_ops),
               .close = close_cq,
               .bind = kMissing,
               .control = control_cq,
               .ops_open = kMissing,
               .tostr = kMissing,
               .ops_set = kMissing};
fi_ops_cq cq_operations{.size = sizeof(fi_ops_cq),
                        .read = read_cq,
                        .readfrom = read_from,
                        .readerr = read_error,
                        .sread = wait_and_read,
                        .sreadfrom = wait_and_read_from,
                        .signal = signal_cq,
                        .strerror = describe_cq};

// ---- Counters ----

int close_cntr(fid* inner) {
  auto& cntr = self<Cntr, fid_cntr>(inner);
  if (cntr.is_held()) return -FI_EBUSY;
  {
    const std::lock_guard lock(cntr.domain->eps_mutex);
    std::erase(cntr.domain->region_counters, &cntr);
  }
  --cntr.domain->users;
  delete &cntr;
  return 0;
}

std::uint64_t read_cntr(fid_cntr* outer) {
  Cntr& cntr = static_cast<Cntr&>(*outer);
  cntr.progressed.progress();
  const std::uint64_t value = cntr.value;
  cntr.shown_value = value;
  return value;
}

std::uint64_t read_cntr_errors(fid_cntr* outer) {
  Cntr& cntr = static_cast<Cntr&>(*outer);
  cntr.progressed.progress();
  const std::uint64_t errors = cntr.errors;
  cntr.shown_errors = errors;
  return errors;
}

int set_to(fid_cntr* outer, bool error, std::uint64_t value, bool add) {
  Cntr& cntr = static_cast<Cntr&>(*outer);
  if (add) {
    cntr.add(value, error);
  } else {
    cntr.set(value, error);
  }
  return 0;
}

int wait_cntr(fid_cntr* outer, std::uint64_t threshold, int timeout_ms) {
  Cntr& cntr = static_cast<Cntr&>(*outer);
  const std::uint64_t errors = cntr.errors;
  const bool met = cntr.progressed.wait_until(timeout_ms, [&] {
    cntr.progressed.waiting.clear();  // whatever woke us, the value is looked at now
    return cntr.value >= threshold || cntr.errors != errors;
  });
  const std::uint64_t value = cntr.value;
  cntr.shown_value = value;
  if (value >= threshold) return 0;
  return met ? -FI_EAVAIL : -FI_ETIMEDOUT;
}

fi_ops cntr_base{.size = sizeof(fi_ops),
                 .close = close_cntr,
                 .bind = kMissing,
                 .control =
                     [](fid* inner, int command, void* arg) {
                       return tell_wait(self<Cntr, fid_cntr>(inner).progressed.waiting, command,
                                        arg);
                     },
                 .ops_open = kMissing,
                 .tostr = kMissing,
                 .ops_set = kMissing};
fi_ops_cntr cntr_operations{
    .size = sizeof(fi_ops_cntr),
    .read = read_cntr,
    .readerr = read_cntr_errors,
    .add = [](fid_cntr* cntr, std::uint64_t value) { return set_to(cntr, false, value, true); },
    .set = [](fid_cntr* cntr, std::uint64_t value) { return set_to(cntr, false, value, false); },
    .wait = wait_cntr,
    .adderr = [](fid_cntr* cntr, std::uint64_t value) { return set_to(cntr, true, value, true); },
    .seterr = [](fid_cntr* cntr, std::uint64_t value) { return set_to(cntr, true, value, false); }};

// ---- Event queues ----

int close_eq(fid* inner) {
  auto& eq = self<Eq, fid_eq>(inner);
  if (eq.users > 0) return -FI_EBUSY;
  --eq.fabric->users;
  delete &eq;
  return 0;
}

ssize_t take_event(Eq& eq, std::uint32_t* event, void* out, std::size_t size, std::uint64_t flags) {
  const std::lock_guard lock(eq.mutex);
  if (eq.events.empty()) return -FI_EAGAIN;
  const Event& next = eq.events.front();
  if (next.error != 0) return -FI_EAVAIL;
  if (size < next.bytes.size()) return -FI_ETOOSMALL;
  *event = next.event;
  if (!next.bytes.empty()) std::memcpy(out, next.bytes.data(), next.bytes.size());
  const auto taken = static_cast<ssize_t>(next.bytes.size());
  if ((flags & FI_PEEK) == 0) eq.events.pop_front();
  if (eq.events.empty()) eq.waiting.clear();
  return taken;
}

ssize_t read_eq(fid_eq* outer, std::uint32_t* event, void* out, std::size_t size,
                std::uint64_t flags) {
  return take_event(static_cast<Eq&>(*outer), event, out, size, flags);
}

ssize_t read_eq_error(fid_eq* outer, fi_eq_err_entry* out, std::uint64_t) {
  Eq& eq = static_cast<Eq&>(*outer);
  const std::lock_guard lock(eq.mutex);
  if (eq.events.empty() || eq.events.front().error == 0) return -FI_EAGAIN;
  tell_error(eq.events.front().entry, *out, eq.fabric->api_version);
  eq.events.pop_front();
  if (eq.events.empty()) eq.waiting.clear();
  return sizeof(fi_eq_err_entry);
}

ssize_t write_eq(fid_eq* outer, std::uint32_t event, const void* bytes, std::size_t size,
                 std::uint64_t) {
  Eq& eq = static_cast<Eq&>(*outer);
  if (!eq.writable) return -FI_EINVAL;
  Event written;
  written.event = event;
  const auto* from = static_cast<const std::byte*>(bytes);
  written.bytes.assign(from, from + size);
  eq.push(std::move(written));
  return static_cast<ssize_t>(size);
}

ssize_t wait_and_read_eq(fid_eq* outer, std::uint32_t* event, void* out, std::size_t size,
                         int timeout_ms, std::uint64_t flags) {
  Eq& eq = static_cast<Eq&>(*outer);
  const auto end = Clock::now() + std::chrono::milliseconds(timeout_ms);
  while (true) {
    const ssize_t got = take_event(eq, event, out, size, flags);
    if (got != -FI_EAGAIN || (timeout_ms >= 0 && Clock::now() >= end)) return got;
    eq.waiting.wait(timeout_ms < 0 ? kLongestSleepMs : std::min(timeout_ms, kLongestSleepMs));
  }
}

const char* describe_eq(fid_eq*, int error, const void*, char* out, std::size_t size) {
  return describe(error, out, size);
}

fi_ops eq_base{
    .size = sizeof(fi_ops),
    .close = close_eq,
    .bind = kMissing,
    .control = [](fid* inner, int command,
                  void* arg) { return tell_wait(self<Eq, fid_eq>(inner).waiting, command, arg); },
    .ops_open = kMissing,
    .tostr = kMissing,
    .ops_set = kMissing};
fi_ops_eq eq_operations{.size = sizeof(fi_ops_eq),
                        .read = read_eq,
                        .readerr = read_eq_error,
                        .write = write_eq,
                        .sread = wait_and_read_eq,
                        .strerror = describe_eq};

// ---- Poll sets ----

struct PollSet : fid_poll {
  Domain* domain = nullptr;
  std::mutex mutex;
  std::vector<fid_t> members;
};

/// A member stays as long as the set looks at it.
std::atomic<int>& users_of(fid* member) {
  return member->fclass == FI_CLASS_CQ ? self<Cq, fid_cq>(member).users
                                       : self<Cntr, fid_cntr>(member).users;
}

int close_poll(fid* inner) {
  auto& set = self<PollSet, fid_poll>(inner);
  for (fid_t member : set.members) --users_of(member);
  --set.domain->users;
  delete &set;
  return 0;
}

int poll_all(fid_poll* outer, void** contexts, int count) {
  PollSet& set = static_cast<PollSet&>(*outer);
  const std::lock_guard lock(set.mutex);
  int found = 0;
  for (fid_t member : set.members) {
    if (found == count) break;
    bool has = false;
    if (member->fclass == FI_CLASS_CQ) {
      auto& cq = self<Cq, fid_cq>(member);
      cq.progressed.progress();
      has = !cq.empty();
    } else {
      auto& cntr = self<Cntr, fid_cntr>(member);
      cntr.progressed.progress();
      const std::uint64_t value = cntr.value;
      const std::uint64_t errors = cntr.errors;
      has = cntr.polled_value.exchange(value) != value;
      has |= cntr.polled_errors.exchange(errors) != errors;
    }
    if (has) contexts[found++] = member->context;
  }
  return found;
}

int add_to_poll(fid_poll* outer, fid* member, std::uint64_t) {
  PollSet& set = static_cast<PollSet&>(*outer);
  if (member->fclass != FI_CLASS_CQ && member->fclass != FI_CLASS_CNTR) return -FI_EINVAL;
  const std::lock_guard lock(set.mutex);
  if (std::find(set.members.begin(), set.members.end(), member) != set.members.end()) return 0;
  set.members.push_back(member);
  ++users_of(member);
  return 0;
}

int remove_from_poll(fid_poll* outer, fid* member, std::uint64_t) {
  PollSet& set = static_cast<PollSet&>(*outer);
  const std::lock_guard lock(set.mutex);
  if (std::erase(set.members, member) == 0) return -FI_EINVAL;
  --users_of(member);
  return 0;
}

fi_ops poll_base{.size = sizeof(fi_ops),
                 .close = close_poll,
                 .bind = kMissing,
                 .control = kMissing,
                 .ops_open = kMissing,
                 .tostr = kMissing,
                 .ops_set = kMissing};
fi_ops_poll poll_operations{.size = sizeof(fi_ops_poll),
                            .poll = poll_all,
                            .poll_add = add_to_poll,
                            .poll_del = remove_from_poll};

bool can_wait(fi_wait_obj object) {
  return object == FI_WAIT_NONE || object == FI_WAIT_UNSPEC || object == FI_WAIT_FD ||
         object == FI_WAIT_YIELD;
}

}  // namespace

// ---- Waiting ----

Waiting::Waiting()
    : all_(epoll_create1(EPOLL_CLOEXEC)), event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  add(event_);
}
Waiting::~Waiting() {
  close(event_);
  close(all_);
}
void Waiting::add(int fd) const {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  static_cast<void>(epoll_ctl(all_, EPOLL_CTL_ADD, fd, &event));
}
void Waiting::remove(int fd) const {
  epoll_event event{};
  static_cast<void>(epoll_ctl(all_, EPOLL_CTL_DEL, fd, &event));
}
void Waiting::signal() {
  if (signalled_.exchange(true)) return;
  const std::uint64_t one = 1;
  static_cast<void>(!write(event_, &one, sizeof one));
}
void Waiting::clear() {
  if (!signalled_) return;
  // In this order: `signalled_` with nothing to read would be the end of all wake-ups. Nothing there: whoever
  // signals is about to write.
  std::uint64_t value = 0;
  if (read(event_, &value, sizeof value) == sizeof value) signalled_ = false;
}
void Waiting::wait(int timeout_ms) const {
  epoll_event event{};
  static_cast<void>(epoll_wait(all_, &event, 1, timeout_ms));
}

void Progressed::bind(Ep& ep) {
  const std::lock_guard lock(mutex_);
  if (std::find(eps_.begin(), eps_.end(), &ep) != eps_.end()) return;
  eps_.push_back(&ep);
  waiting.add(ep.rdm->endpoint().file_descriptor());
}
void Progressed::unbind(Ep& ep) {
  const std::lock_guard lock(mutex_);
  if (std::erase(eps_, &ep) > 0) waiting.remove(ep.rdm->endpoint().file_descriptor());
}
void Progressed::progress() {
  bool busy = false;
  {
    const std::lock_guard lock(mutex_);
    for (Ep* ep : eps_) busy |= ep->progress();
    busy |= eps_.empty();
  }
  // Who has had nothing to do for so long lets others have the processor: perhaps the peer itself.
  if (!busy) sched_yield();
}

bool Progressed::wait_until(int timeout_ms, const std::function<bool()>& done) {
  const auto start = Clock::now();
  const auto end = start + std::chrono::milliseconds(timeout_ms);
  while (true) {
    progress();
    if (done()) return true;
    if (interrupted_.exchange(false)) {
      waiting.clear();
      return done();
    }
    const auto now = Clock::now();
    if (timeout_ms >= 0 && now >= end) return false;
    if (now - start < kSpin) continue;
    int sleep = kLongestSleepMs;
    if (timeout_ms >= 0) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(end - now).count() + 1;
      sleep = static_cast<int>(std::min<std::int64_t>(sleep, left));
    }
    waiting.wait(sleep);
  }
}

void Cq::push(const Entry& entry) {
  const std::lock_guard lock(mutex);
  entries.push_back(entry);
  if (waits) progressed.waiting.signal();
}
bool Cq::empty() {
  const std::lock_guard lock(mutex);
  return entries.empty();
}
void Eq::push(Event event) {
  const std::lock_guard lock(mutex);
  events.push_back(std::move(event));
  waiting.signal();
}

int open_cq(fid_domain* outer, fi_cq_attr* attr, fid_cq** out, void* context) {
  static const fi_cq_attr kDefault{};
  if (attr == nullptr) attr = const_cast<fi_cq_attr*>(&kDefault);
  // A condition of waiting is a hint: who waits may be woken before it holds.
  if (!can_wait(attr->wait_obj)) return -FI_ENOSYS;
  // Which vector of interrupts tells of it is a hint that nothing here has a use for.
  if ((attr->flags & ~FI_AFFINITY) != 0) return -FI_EBADFLAGS;
  auto cq = std::make_unique<Cq>();
  if (attr->size > cq->entries.max_size()) return -FI_ENOMEM;
  cq->domain = static_cast<Domain*>(outer);
  cq->format = attr->format == FI_CQ_FORMAT_UNSPEC ? FI_CQ_FORMAT_TAGGED : attr->format;
  switch (cq->format) {
    case FI_CQ_FORMAT_CONTEXT:
      cq->entry_size = sizeof(fi_cq_entry);
      break;
    case FI_CQ_FORMAT_MSG:
      cq->entry_size = sizeof(fi_cq_msg_entry);
      break;
    case FI_CQ_FORMAT_DATA:
      cq->entry_size = sizeof(fi_cq_data_entry);
      break;
    case FI_CQ_FORMAT_TAGGED:
      cq->entry_size = sizeof(fi_cq_tagged_entry);
      break;
    default:
      return -FI_ENOSYS;
  }
  if (attr->format == FI_CQ_FORMAT_UNSPEC && attr != &kDefault) attr->format = cq->format;
  cq->waits = attr->wait_obj != FI_WAIT_NONE;
  cq->fid = {FI_CLASS_CQ, context, &cq_base};
  cq->ops = &cq_operations;
  ++cq->domain->users;
  *out = cq.release();
  return 0;
}

int open_cntr(fid_domain* outer, fi_cntr_attr* attr, fid_cntr** out, void* context) {
  if (attr != nullptr && (!can_wait(attr->wait_obj) || attr->events != FI_CNTR_EVENTS_COMP))
    return -FI_ENOSYS;
  if (attr != nullptr && attr->flags != 0) return -FI_EBADFLAGS;
  auto cntr = std::make_unique<Cntr>();
  cntr->domain = static_cast<Domain*>(outer);
  cntr->fid = {FI_CLASS_CNTR, context, &cntr_base};
  cntr->ops = &cntr_operations;
  ++cntr->domain->users;
  *out = cntr.release();
  return 0;
}

int open_eq(fid_fabric* outer, fi_eq_attr* attr, fid_eq** out, void* context) {
  if (attr != nullptr && !can_wait(attr->wait_obj)) return -FI_ENOSYS;
  auto eq = std::make_unique<Eq>();
  eq->fabric = static_cast<Fabric*>(outer);
  eq->writable = attr != nullptr && (attr->flags & FI_WRITE) != 0;
  eq->fid = {FI_CLASS_EQ, context, &eq_base};
  eq->ops = &eq_operations;
  ++eq->fabric->users;
  *out = eq.release();
  return 0;
}

int open_poll(fid_domain* outer, fi_poll_attr* attr, fid_poll** out) {
  if (attr != nullptr && attr->flags != 0) return -FI_EINVAL;
  auto set = std::make_unique<PollSet>();
  set->domain = static_cast<Domain*>(outer);
  set->fid = {FI_CLASS_POLL, nullptr, &poll_base};
  set->ops = &poll_operations;
  ++set->domain->users;
  *out = set.release();
  return 0;
}

/// Whether a program may go to sleep at these objects' descriptors: nothing waits in them already.
int try_wait(fid_fabric*, fid** fids, int count) {
  for (int i = 0; i < count; ++i) {
    switch (fids[i]->fclass) {
      case FI_CLASS_CQ: {
        auto& cq = self<Cq, fid_cq>(fids[i]);
        cq.progressed.progress();
        if (!cq.empty()) return -FI_EAGAIN;
        break;
      }
      case FI_CLASS_CNTR: {
        auto& cntr = self<Cntr, fid_cntr>(fids[i]);
        cntr.progressed.waiting.clear();
        cntr.progressed.progress();
        // Whoever counted before the descriptor was cleared has woken nobody.
        if (cntr.has_news()) {
          cntr.shown_errors = cntr.errors.load();  // who never looks at errors sleeps the next time
          return -FI_EAGAIN;
        }
        break;
      }
      case FI_CLASS_EQ: {
        auto& eq = self<Eq, fid_eq>(fids[i]);
        const std::lock_guard lock(eq.mutex);
        if (!eq.events.empty()) return -FI_EAGAIN;
        break;
      }
      default:
        return -FI_EINVAL;
    }
  }
  return 0;
}

}  // namespace strack::fabric
