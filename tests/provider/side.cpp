#include "side.h"

namespace strack::fabric {

Side::Side(int peer) : peer_(peer), random_(static_cast<unsigned>(getpid())) {
  open();
  for (std::size_t i = 0; i < kReceives + kShared; ++i) {
    Op& op = receives_.emplace_back();
    op.kind = i < kReceives ? Op::Kind::receive : Op::Kind::shared;
    op.memory.make(i < kReceives ? kLongest : 4 * kLongest);
  }
  for (std::size_t i = 0; i < kUnderWay; ++i) {
    Op& op = ops_.emplace_back();
    op.memory.make(kLongest);
    free_.push_back(&op);
  }
  probe_.kind = Op::Kind::probe;
  probe_.memory.make(kLongest);
  goodbye_.kind = Op::Kind::goodbye;
  for (std::size_t i = 0; i < kSlots; ++i) idle_slots_.push_back(i);
  exchange_names();
}

Side::~Side() {
  for (fid* one : {&ep_->fid, &region_->fid, &cq_->fid, &av_->fid, &domain_->fid, &fabric_->fid})
    must(fi_close(one), "fi_close");
  fi_freeinfo(info_);
}

void Side::open() {
  fi_provider* provider = fi_prov_ini();
  check(provider != nullptr, "the provider says no");
  fi_info* hints = fi_allocinfo();
  hints->ep_attr->type = FI_EP_RDM;
  hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_MULTI_RECV;
  must(provider->getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &info_), "getinfo");
  fi_freeinfo(hints);
  must(provider->fabric(info_->fabric_attr, &fabric_, nullptr), "fabric");
  must(fi_domain(fabric_, info_, &domain_, nullptr), "fi_domain");
  fi_av_attr av{};
  must(fi_av_open(domain_, &av, &av_, nullptr), "fi_av_open");
  fi_cq_attr cq{};
  cq.format = FI_CQ_FORMAT_TAGGED;
  must(fi_cq_open(domain_, &cq, &cq_, nullptr), "fi_cq_open");
  memory_.resize(kScratch + 8);
  must(fi_mr_reg(domain_, memory_.data(), memory_.size(), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, kKey,
                 0, &region_, nullptr),
       "fi_mr_reg");
  must(fi_endpoint(domain_, info_, &ep_, nullptr), "fi_endpoint");
  must(fi_ep_bind(ep_, &av_->fid, 0), "bind");
  must(fi_ep_bind(ep_, &cq_->fid, FI_TRANSMIT | FI_RECV), "bind");
  const std::size_t least = kLongest;
  must(fi_setopt(&ep_->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least),
       "setopt");
  must(fi_enable(ep_), "fi_enable");
}

void Side::exchange_names() {
  char name[64] = {};
  std::size_t size = sizeof name;
  must(fi_getname(&ep_->fid, name, &size), "fi_getname");
  check(::write(peer_, name, sizeof name) == sizeof name, "the other process is gone");
  check(::read(peer_, name, sizeof name) == sizeof name, "the other process is gone");
  check(fi_av_insert(av_, name, 1, &address_, 0, nullptr) == 1, "fi_av_insert");
}

// ---- What is received ----

void Side::post_receives() {
  for (Op& op : receives_) post(op);
  must(fi_trecv(ep_, &theirs_, sizeof theirs_, nullptr, address_, kGoodbye, 0, &goodbye_), "trecv");
}

void Side::post(Op& op) {
  if (op.kind == Op::Kind::receive) {
    op.memory.shape(kLongest, random_() % 2 == 0);
    must(fi_trecvv(ep_, op.memory.pieces.data(), nullptr, op.memory.count, FI_ADDR_UNSPEC, 0, kSeed,
                   &op),
         "fi_trecvv");
    return;
  }
  op.memory.shape(4 * kLongest, false);
  fi_msg message{};
  message.msg_iov = op.memory.pieces.data();
  message.iov_count = 1;
  message.addr = FI_ADDR_UNSPEC;
  message.context = &op;
  must(fi_recvmsg(ep_, &message, FI_MULTI_RECV), "fi_recvmsg");
}

void Side::arrived(Op& op, const fi_cq_tagged_entry& got) {
  check(op.memory.holds(got.len, got.tag & kSeed), "a message");
  check((got.flags & FI_REMOTE_CQ_DATA) == 0 || got.data == got.tag, "a message's data");
  ++seen.tagged;
  post(op);
}

void Side::arrived_shared(Op& op, const fi_cq_tagged_entry& got) {
  if (got.len > 0) {
    const auto* bytes = static_cast<const std::uint8_t*>(got.buf);
    check(bytes >= op.memory.data() && bytes + got.len <= op.memory.data() + 4 * kLongest,
          "a message is in its buffer");
    check(holds(bytes, got.len, bytes[0]), "a message among several");
    check((got.flags & FI_REMOTE_CQ_DATA) == 0 || (got.data & 0xff) == bytes[0], "its data");
    ++seen.untagged;
  }
  if ((got.flags & FI_MULTI_RECV) != 0) post(op);
}

/// A write of the peer's that brought data.
void Side::noted(const fi_cq_tagged_entry& got) {
  check((got.flags & FI_REMOTE_CQ_DATA) != 0, "data of a write");
  ++seen.noted;
  seen.noted_sum += got.data;
}

/// Now and then looks for messages that no receive is posted for: to know of them, to throw them away or to take them.
void Side::probe() {
  if (probe_.flags != 0 || ++turns_ % 16 != 0) return;
  constexpr std::uint64_t kHow[] = {FI_PEEK, FI_PEEK | FI_DISCARD, FI_PEEK | FI_CLAIM};
  fi_msg_tagged look{};
  look.addr = FI_ADDR_UNSPEC;
  look.tag = kProbed;
  look.ignore = kSeed;
  look.context = &probe_;
  probe_.flags = kHow[random_() % 3];
  must(fi_trecvmsg(ep_, &look, probe_.flags), "a probe");
}

/// The end of a probe, or of what was claimed by one.
void Side::probed(const fi_cq_tagged_entry& got) {
  check((got.tag & ~kSeed) == kProbed && got.len <= kLongest, "what a probe finds");
  const std::uint64_t was = probe_.flags;
  probe_.flags = 0;
  if (was == (FI_PEEK | FI_CLAIM)) {
    probe_.memory.shape(got.len, random_() % 2 == 0);
    fi_msg_tagged claim{};
    claim.msg_iov = probe_.memory.pieces.data();
    claim.iov_count = probe_.memory.count;
    claim.addr = FI_ADDR_UNSPEC;
    claim.tag = got.tag;
    claim.context = &probe_;
    probe_.flags = random_() % 4 == 0 ? FI_CLAIM | FI_DISCARD : FI_CLAIM;
    return must(fi_trecvmsg(ep_, &claim, probe_.flags), "a claim");
  }
  if (was == FI_CLAIM) check(probe_.memory.holds(got.len, got.tag & kSeed), "a claimed message");
  if (was != FI_PEEK) ++seen.probed;
  discarded += (was & FI_DISCARD) != 0;
}

bool Side::take() {
  fi_cq_tagged_entry some[32];
  const ssize_t got = fi_cq_read(cq_, some, 32);
  if (got == -FI_EAVAIL) {
    fi_cq_err_entry error{};
    must(fi_cq_readerr(cq_, &error, 0), "fi_cq_readerr");
    if (error.op_context != nullptr) over(*static_cast<Op*>(error.op_context), error.err);
    return true;
  }
  if (got == -FI_EAGAIN) return false;
  must(got, "fi_cq_read");
  for (ssize_t i = 0; i < got; ++i) {
    if ((some[i].flags & FI_REMOTE_WRITE) != 0) {
      noted(some[i]);
      continue;
    }
    Op& op = *static_cast<Op*>(some[i].op_context);
    if (op.kind == Op::Kind::receive) {
      arrived(op, some[i]);
    } else if (op.kind == Op::Kind::shared) {
      arrived_shared(op, some[i]);
    } else if (op.kind == Op::Kind::probe) {
      probed(some[i]);
    } else {
      over(op, 0);
    }
  }
  return true;
}

// ---- What is sent ----

void Side::begin_one() {
  constexpr Begin kAll[] = {
      &Side::send_tagged,   &Side::send_tagged,   &Side::send_flagged, &Side::send_flagged,
      &Side::send_untagged, &Side::send_untagged, &Side::send_probed,  &Side::inject,
      &Side::inject,        &Side::write,         &Side::write,        &Side::write,
      &Side::inject_write,  &Side::fetch,         &Side::add,          &Side::compare};
  if (free_.empty()) return;
  Op& op = *free_.back();
  op.seed = random_() & kSeed;
  const std::int64_t status = (this->*kAll[random_() % std::size(kAll)])(op);
  if (status == -FI_EAGAIN) {
    op.kind = Op::Kind::free;
    return;
  }
  if (status != 0) {
    ++refused;
    op.kind = Op::Kind::free;
  } else if (op.kind != Op::Kind::free) {
    free_.pop_back();
  } else {
    ++done;  // injected: nobody tells of it any more
  }
}

/// Short ones mostly, as programs have them.
void Side::shape(Op& op, std::size_t least, std::size_t most) {
  const std::size_t size = random_() % (random_() % 4 == 0 ? most : 2'000) + least;
  op.memory.shape(std::min(size, most), random_() % 4 == 0);
  op.memory.fill(op.seed);
}

std::int64_t Side::counted(std::int64_t status, std::uint64_t& of, std::size_t bytes) {
  if (status != 0) return status;
  ++of;
  payload += bytes;
  return 0;
}

std::int64_t Side::send_tagged(Op& op) {
  op.kind = Op::Kind::send;
  shape(op, 0, kLongest);
  Memory& of = op.memory;
  scattered += of.count > 1;
  const std::int64_t status =
      of.count > 1 ? fi_tsendv(ep_, of.pieces.data(), nullptr, of.count, address_, op.seed, &op)
                   : fi_tsend(ep_, of.data(), of.size(), nullptr, address_, op.seed, &op);
  return counted(status, sent.tagged, of.size());
}

/// With data, and complete only when it has left, is there, or has met its receive.
std::int64_t Side::send_flagged(Op& op) {
  constexpr std::uint64_t kWhen[] = {FI_TRANSMIT_COMPLETE, FI_DELIVERY_COMPLETE, FI_MATCH_COMPLETE};
  op.kind = Op::Kind::send;
  shape(op, 0, kLongest);
  fi_msg_tagged message{};
  message.msg_iov = op.memory.pieces.data();
  message.iov_count = op.memory.count;
  message.addr = address_;
  message.tag = message.data = op.seed;
  message.context = &op;
  const std::uint64_t when = kWhen[random_() % std::size(kWhen)];
  late += when != FI_TRANSMIT_COMPLETE;
  return counted(fi_tsendmsg(ep_, &message, when | FI_COMPLETION | FI_REMOTE_CQ_DATA), sent.tagged,
                 op.memory.size());
}

std::int64_t Side::send_probed(Op& op) {
  op.kind = Op::Kind::send;
  shape(op, 0, kLongest);
  return counted(fi_tsendv(ep_, op.memory.pieces.data(), nullptr, op.memory.count, address_,
                           kProbed | op.seed, &op),
                 sent.probed, op.memory.size());
}

std::int64_t Side::send_untagged(Op& op) {
  op.kind = Op::Kind::send;
  shape(op, 1, kLongest);
  Memory& of = op.memory;
  const std::int64_t status =
      of.count > 1 ? fi_sendv(ep_, of.pieces.data(), nullptr, of.count, address_, &op)
                   : fi_senddata(ep_, of.data(), of.size(), nullptr, op.seed, address_, &op);
  return counted(status, sent.untagged, of.size());
}

std::int64_t Side::inject(Op& op) {
  op.memory.shape(1 + random_() % kInjected, false);
  op.memory.fill(op.seed);
  const std::uint8_t* bytes = op.memory.data();
  const std::size_t size = op.memory.size();
  switch (random_() % 4) {
    case 0:
      return counted(fi_tinject(ep_, bytes, size, address_, op.seed), sent.tagged, size);
    case 1:
      return counted(fi_tinjectdata(ep_, bytes, size, op.seed, address_, op.seed), sent.tagged,
                     size);
    case 2:
      return counted(fi_inject(ep_, bytes, size, address_), sent.untagged, size);
    default:
      return counted(fi_injectdata(ep_, bytes, size, op.seed, address_), sent.untagged, size);
  }
}

/// What is written is read back, by an operation of its own.
std::int64_t Side::write(Op& op) {
  if (idle_slots_.empty()) return -FI_EAGAIN;
  op.kind = Op::Kind::write;
  op.slot = idle_slots_.front();
  shape(op, 1, kLongest);
  const std::uint64_t to = op.slot * kLongest;
  const fi_rma_iov remote{to, op.memory.size(), kKey};
  fi_msg_rma message{};
  message.msg_iov = op.memory.pieces.data();
  message.iov_count = op.memory.count;
  message.addr = address_;
  message.rma_iov = &remote;
  message.rma_iov_count = 1;
  message.context = &op;
  message.data = op.seed;
  std::uint64_t unnoted = 0;
  const bool notes = random_() % 3 == 0;
  const std::uint64_t flags = FI_COMPLETION | (notes ? FI_REMOTE_CQ_DATA : FI_DELIVERY_COMPLETE);
  const std::int64_t status = notes || random_() % 2 == 0
                                  ? fi_writemsg(ep_, &message, flags)
                                  : fi_writev(ep_, op.memory.pieces.data(), nullptr,
                                              op.memory.count, address_, to, kKey, &op);
  if (status != 0) return status;
  idle_slots_.pop_front();
  if (notes) sent.noted_sum += op.seed;
  return counted(status, notes ? sent.noted : unnoted, op.memory.size());
}

std::int64_t Side::inject_write(Op& op) {
  const std::int64_t status =
      fi_inject_writedata(ep_, &op.seed, sizeof op.seed, op.seed, address_, kScratch, kKey);
  if (status == 0) sent.noted_sum += op.seed;
  return counted(status, sent.noted, sizeof op.seed);
}

std::int64_t Side::fetch(Op& op) {
  op.kind = Op::Kind::fetch;
  op.words[0] = 1 + op.seed % 9;
  const std::int64_t status =
      fi_fetch_atomic(ep_, op.words.data(), 1, nullptr, &op.words[2], nullptr, address_, kSum, kKey,
                      FI_UINT64, FI_SUM, &op);
  if (status == 0) sent.added += op.words[0];
  return status;
}

std::int64_t Side::add(Op& op) {
  op.words[0] = 1 + op.seed % 9;
  const bool injects = random_() % 2 == 0;
  const std::int64_t status =
      injects ? fi_inject_atomic(ep_, op.words.data(), 1, address_, kSum, kKey, FI_UINT64, FI_SUM)
              : fi_atomic(ep_, op.words.data(), 1, nullptr, address_, kSum, kKey, FI_UINT64, FI_SUM,
                          &op);
  op.kind = injects ? Op::Kind::free : Op::Kind::add;
  if (status == 0) sent.added += op.words[0];
  return status;
}

/// Nobody else changes that word, so what it holds is known; one time in four it is compared with something else.
std::int64_t Side::compare(Op& op) {
  if (compares_) return -FI_EAGAIN;
  op.kind = Op::Kind::compare;
  op.words = {random_(), compared_with_ + (random_() % 4 == 0), 0};
  const std::int64_t status =
      fi_compare_atomic(ep_, op.words.data(), 1, nullptr, &op.words[1], nullptr, &op.words[2],
                        nullptr, address_, kCompared, kKey, FI_UINT64, FI_CSWAP, &op);
  compares_ = status == 0;
  return status;
}

// ---- What is over ----

void Side::read_back(Op& op) {
  op.memory.clear();
  op.kind = Op::Kind::read;
  std::int64_t status = -FI_EAGAIN;
  while (status == -FI_EAGAIN) {
    status = fi_readv(ep_, op.memory.pieces.data(), nullptr, op.memory.count, address_,
                      op.slot * kLongest, kKey, &op);
  }
  if (status == 0) return;
  ++refused;
  set_free(op);
}

void Side::check_done(Op& op) {
  if (op.kind == Op::Kind::read) {
    check(op.memory.holds(op.memory.size(), op.seed), "what was written and read back");
  } else if (op.kind == Op::Kind::fetch) {
    check(op.words[2] + op.words[0] <= sent.added, "what an addition found");
  } else if (op.kind == Op::Kind::compare) {
    check(op.words[2] == compared_with_, "what a comparison found");
    if (op.words[1] == compared_with_) compared_with_ = op.words[0];
    ++compared;
  }
}

void Side::over(Op& op, int error) {
  if (op.kind == Op::Kind::probe) {
    check(error == FI_ENOMSG, "a probe");
    op.flags = 0;
    return;
  }
  if (op.kind == Op::Kind::goodbye) {
    peer_is_done_ = error == 0;
    return;
  }
  if (op.kind == Op::Kind::receive || op.kind == Op::Kind::shared) return;  // one that came half
  ++(error == 0 ? done : failed);
  if (error == 0) check_done(op);
  if (error == 0 && op.kind == Op::Kind::write) return read_back(op);
  set_free(op);
}

void Side::set_free(Op& op) {
  if (op.kind == Op::Kind::write || op.kind == Op::Kind::read) idle_slots_.push_back(op.slot);
  if (op.kind == Op::Kind::compare) compares_ = false;
  op.kind = Op::Kind::free;
  free_.push_back(&op);
}

void Side::say_goodbye() {
  std::int64_t status = -FI_EAGAIN;
  while (status == -FI_EAGAIN) {
    status = fi_tinject(ep_, &sent, sizeof sent, address_, kGoodbye);
    step();
  }
  must(status, "the last message");
}

std::uint64_t Side::sum() const {
  std::uint64_t value = 0;
  std::memcpy(&value, memory_.data() + kSum, sizeof value);
  return value;
}

bool Side::all_is_here() const {
  Totals now = seen;
  now.added = sum();
  return peer_is_done_ && now == theirs_;
}

void Side::tell_missing() const {
  const auto n = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::fprintf(
      stderr,
      "seen, of what was sent%s: %llu of %llu tagged, %llu of %llu to probe for, %llu of %llu "
      "untagged, %llu of %llu noted, their sum %llu of %llu, added %llu of %llu\n",
      peer_is_done_ ? "" : " (no word of it)", n(seen.tagged), n(theirs_.tagged), n(seen.probed),
      n(theirs_.probed), n(seen.untagged), n(theirs_.untagged), n(seen.noted), n(theirs_.noted),
      n(seen.noted_sum), n(theirs_.noted_sum), n(sum()), n(theirs_.added));
}

}  // namespace strack::fabric
