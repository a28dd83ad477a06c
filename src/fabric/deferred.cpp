// [D137] Operations that wait for a counter: by flag, by alias, or in a domain's queue of work.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "fabric/provider.h"

namespace strack::fabric {
namespace {

/// Whose counter it is, or null where it is another domain's or none.
Cntr* counter_of(const Domain& domain, fid_cntr* outer) {
  auto* const cntr = static_cast<Cntr*>(outer);
  return cntr != nullptr && cntr->domain == &domain ? cntr : nullptr;
}

/// What an operation's own call does, by an alias for which everything waits.
template <class Op, class Call>
int post(const Deferred& when, const Op& op, const Call& call) {
  if (op.ep == nullptr) return -FI_EINVAL;
  Handle alias = static_cast<Handle&>(*op.ep);
  if (alias.whole->domain != when.counter->domain) return -FI_EINVAL;
  if ((alias.whole->caps & FI_TRIGGER) == 0) return -FI_EOPNOTSUPP;
  alias.when = &when;
  return static_cast<int>(call(&alias, &op.msg, op.flags));
}

int post(const Deferred& when, const fi_deferred_work& work) {
  switch (work.op_type) {
    case FI_OP_RECV:
      return post(when, *work.op.msg, fi_recvmsg);
    case FI_OP_SEND:
      return post(when, *work.op.msg, fi_sendmsg);
    case FI_OP_TRECV:
      return post(when, *work.op.tagged, fi_trecvmsg);
    case FI_OP_TSEND:
      return post(when, *work.op.tagged, fi_tsendmsg);
    case FI_OP_READ:
      return post(when, *work.op.rma, fi_readmsg);
    case FI_OP_WRITE:
      return post(when, *work.op.rma, fi_writemsg);
    case FI_OP_ATOMIC:
      return post(when, *work.op.atomic, fi_atomicmsg);
    case FI_OP_FETCH_ATOMIC: {
      const fi_msg_fetch& found = work.op.fetch_atomic->fetch;
      return post(when, *work.op.fetch_atomic,
                  [&](fid_ep* ep, const fi_msg_atomic* message, std::uint64_t flags) {
                    return fi_fetch_atomicmsg(ep, message, found.msg_iov, found.desc,
                                              found.iov_count, flags);
                  });
    }
    case FI_OP_COMPARE_ATOMIC: {
      const fi_msg_fetch& found = work.op.compare_atomic->fetch;
      const fi_msg_compare& with = work.op.compare_atomic->compare;
      return post(when, *work.op.compare_atomic,
                  [&](fid_ep* ep, const fi_msg_atomic* message, std::uint64_t flags) {
                    return fi_compare_atomicmsg(ep, message, with.msg_iov, with.desc,
                                                with.iov_count, found.msg_iov, found.desc,
                                                found.iov_count, flags);
                  });
    }
    default:
      return -FI_ENOSYS;
  }
}

int queue(const Domain& domain, fi_deferred_work& work) {
  Deferred when;
  when.counter = counter_of(domain, work.triggering_cntr);
  when.threshold = work.threshold;
  when.name = &work;
  when.errors_too = true;
  if (when.counter == nullptr) return -FI_EINVAL;
  when.end = counter_of(domain, work.completion_cntr);
  if (work.completion_cntr != nullptr && when.end == nullptr) return -FI_EINVAL;
  if (work.op_type != FI_OP_CNTR_SET && work.op_type != FI_OP_CNTR_ADD) return post(when, work);
  when.target = counter_of(domain, work.op.cntr->cntr);
  when.value = work.op.cntr->value;
  when.add = work.op_type == FI_OP_CNTR_ADD;
  if (when.target == nullptr || work.completion_cntr != nullptr) return -FI_EINVAL;
  ++when.target->users;
  defer(std::move(when));
  return 0;
}

/// Of what is due and has found no room yet, too.
std::size_t take_back_due(Domain& domain, const std::function<bool(const Deferred&)>& chosen) {
  std::size_t count = domain.take_back(chosen);
  const std::lock_guard all(domain.eps_mutex);
  for (Ep* ep : domain.eps) {
    const std::lock_guard at_rest(ep->mutex);
    const std::lock_guard lock(ep->due_mutex);
    count += std::erase_if(ep->due, [&](const Deferred& one) {
      const bool taken = chosen(one);
      if (taken) one.forget();
      return taken;
    });
  }
  return count;
}

}  // namespace

bool Deferred::due() const {
  return counter->value + (errors_too ? counter->errors.load() : 0) >= threshold;
}

void Deferred::forget() const {
  if (target != nullptr) --target->users;
  if (end != nullptr) ep->lets_go_of(*end);
}

void defer(Deferred one) {
  Cntr& counter = *one.counter;
  {
    Domain& domain = *counter.domain;
    const std::lock_guard lock(domain.deferred_mutex);
    const Place place{&counter, one.errors_too, one.threshold, ++domain.arrivals};
    domain.deferred.emplace(place, std::move(one));
    ++counter.waited_for;
  }
  counter.fire();  // it may have come so far before anybody knew
}

void Cntr::add(std::uint64_t n, bool failed) {
  (failed ? errors : value) += n;
  progressed.waiting.signal();
  if (waited_for > 0) fire();
}
void Cntr::set(std::uint64_t to, bool failed) {
  (failed ? errors : value) = to;
  progressed.waiting.signal();
  if (waited_for > 0) fire();
}

bool Cntr::is_held() const {
  if (users > 0) {
    // Whoever saw work's end in the value may be faster than the endpoint, which is about to let go of it.
    const std::lock_guard lock(domain->eps_mutex);
    for (Ep* ep : domain->eps) const std::lock_guard at_rest(ep->mutex);
  }
  return users > 0 || waited_for > 0;
}

std::size_t Domain::take_back(const std::function<bool(const Deferred&)>& chosen,
                              std::vector<Deferred>* taken) {
  const std::lock_guard lock(deferred_mutex);
  std::size_t count = 0;
  for (auto at = deferred.begin(); at != deferred.end();) {
    Deferred& one = at->second;
    if (!chosen(one)) {
      ++at;
      continue;
    }
    --one.counter->waited_for;
    if (taken != nullptr) {
      taken->push_back(std::move(one));
    } else {
      one.forget();
    }
    at = deferred.erase(at);
    ++count;
  }
  return count;
}

/// An endpoint's lock may be held, its own or another's: what is due is handed on and begins when its endpoint
/// moves next. All of it is handed on under one lock, so that an endpoint that ends is given nothing more.
void Cntr::begin_deferred() {
  std::vector<Deferred> changes;
  {
    const std::lock_guard lock(domain->deferred_mutex);
    auto& all = domain->deferred;
    while (true) {
      auto next = all.end();
      for (const bool errors_too : {false, true}) {
        const auto first = all.lower_bound({this, errors_too, 0, 0});
        if (first == all.end() || first->first.counter != this ||
            first->first.errors_too != errors_too || !first->second.due())
          continue;
        if (next == all.end() || std::pair(first->first.threshold, first->first.arrived) <
                                     std::pair(next->first.threshold, next->first.arrived))
          next = first;
      }
      if (next == all.end()) break;
      --waited_for;
      Deferred one = std::move(next->second);
      all.erase(next);
      if (one.ep == nullptr) {
        changes.push_back(std::move(one));
      } else {
        Ep& ep = *one.ep;
        ep.give(std::move(one));
      }
    }
  }
  for (const Deferred& one : changes) {
    if (one.add) {
      one.target->add(one.value, false);
    } else {
      one.target->set(one.value, false);
    }
    --one.target->users;
  }
}

/// Counters move counters, by as many as there are: one after the other, and not within each other.
void Cntr::fire() {
  thread_local std::vector<Cntr*>* round = nullptr;
  ++users;
  if (round != nullptr) {
    round->push_back(this);
    return;
  }
  std::vector<Cntr*> moved{this};
  round = &moved;
  for (std::size_t i = 0; i < moved.size(); ++i) {
    moved[i]->begin_deferred();
    --moved[i]->users;
  }
  round = nullptr;
}

void Ep::give(Deferred one) {
  {
    const std::lock_guard lock(due_mutex);
    due.push_back(std::move(one));
    has_due = true;
  }
  wake();
}

void Ep::holds(Cntr& cntr) {
  const std::lock_guard lock(ends_mutex);
  ++ends_of_work[&cntr];
  ++cntr.users;
}

void Ep::lets_go_of(Cntr& cntr) {
  const std::lock_guard lock(ends_mutex);
  const auto found = ends_of_work.find(&cntr);
  if (found == ends_of_work.end()) return;
  if (--found->second == 0) ends_of_work.erase(found);
  --cntr.users;
}

void Ep::wake() {
  const std::uint64_t one = 1;
  static_cast<void>(!write(keeper_wakes, &one, sizeof one));
}

int Ep::defer(const Handle& handle, Action action, const Request& request) {
  Deferred one;
  if (handle.when != nullptr) {
    one = *handle.when;
  } else {
    const auto* const triggered = static_cast<const fi_triggered_context*>(request.context);
    if (triggered == nullptr || triggered->event_type != FI_TRIGGER_THRESHOLD) return -FI_EINVAL;
    one.counter = counter_of(*domain, triggered->trigger.threshold.cntr);
    one.threshold = triggered->trigger.threshold.threshold;
    one.name = request.context;
    if (one.counter == nullptr) return -FI_EINVAL;
  }
  one.ep = this;
  one.action = action;
  one.request = request;
  if (handle.when != nullptr) one.request.work = const_cast<void*>(handle.when->name);
  if (one.end != nullptr) holds(*one.end);
  fabric::defer(std::move(one));
  begin_due();
  return 0;
}

void Ep::begin_due() {
  while (true) {
    const Deferred* next = nullptr;
    {
      const std::lock_guard lock(due_mutex);
      has_due = !due.empty();
      if (due.empty()) return;
      next = &due.front();  // stays where it is, whatever is added behind it
    }
    const int error = (rdm.get()->*next->action)(next->request);
    if (error == -FI_EAGAIN) return;
    Deferred begun;
    {
      const std::lock_guard lock(due_mutex);
      begun = std::move(due.front());
      due.pop_front();
    }
    if (error != 0) failed(begun, -error);
  }
}

/// As the operation itself would tell.
void Ep::failed(const Deferred& one, int error) {
  const Request& request = one.request;
  const std::uint64_t kind = (request.flags & FI_TAGGED) != 0 ? FI_TAGGED : FI_MSG;
  Done over{.context = request.context, .tag = request.tag, .error = error, .work = request.work};
  if (one.action == &Rdm::send) {
    over.counted = Counted::send;
    over.flags = FI_SEND | kind;
  } else if (one.action == &Rdm::receive) {
    over.counted = Counted::receive;
    over.flags = FI_RECV | kind;
  } else {
    const bool reads = one.action == &Rdm::read || request.result.size() > 0;
    over.counted = reads ? Counted::read : Counted::write;
    over.flags = (one.action == &Rdm::atomic ? FI_ATOMIC : FI_RMA) | (reads ? FI_READ : FI_WRITE);
  }
  done(over);
}

bool Ep::cancel_deferred(const void* context) {
  const auto chosen = [&](const Deferred& one) {
    return one.ep == this && one.request.context == context;
  };
  std::vector<Deferred> taken;
  if (domain->take_back(chosen, &taken) == 0) {
    const std::lock_guard lock(due_mutex);
    const auto found = std::find_if(due.begin(), due.end(), chosen);
    if (found == due.end()) return false;
    taken.push_back(*found);
    due.erase(found);
  }
  for (const Deferred& one : taken) failed(one, FI_ECANCELED);
  return true;
}

int control_domain(fid* inner, int command, void* arg) {
  auto& domain = self<Domain, fid_domain>(inner);
  switch (command) {
    case FI_MAP_RAW_MR: {
      const auto& map = *static_cast<const struct fi_mr_map_raw*>(arg);
      if (map.key_size != sizeof *map.key || map.flags != 0) return -FI_EINVAL;
      std::memcpy(map.key, map.raw_key, map.key_size);
      return 0;
    }
    case FI_UNMAP_KEY:
      return 0;
    case FI_QUEUE_WORK:
      return arg == nullptr ? -FI_EINVAL : queue(domain, *static_cast<fi_deferred_work*>(arg));
    case FI_CANCEL_WORK: {
      const auto wanted = [arg](const Deferred& one) { return one.errors_too && one.name == arg; };
      return take_back_due(domain, wanted) > 0 ? 0 : -FI_ENOENT;
    }
    case FI_FLUSH_WORK:
      if (arg != nullptr) return -FI_EINVAL;
      static_cast<void>(take_back_due(domain, [](const Deferred& one) { return one.errors_too; }));
      return 0;
    default:
      return -FI_ENOSYS;
  }
}

}  // namespace strack::fabric
