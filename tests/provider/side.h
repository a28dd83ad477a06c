// One of two processes that do all that the provider can, at random and at once, and look at every byte.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

#include "fabric/provider.h"

extern "C" fi_provider* fi_prov_ini(void);

namespace strack::fabric {

constexpr std::size_t kLongest = 200'000;
constexpr std::size_t kGap = 16;         ///< bytes between two pieces, which nobody may touch
constexpr std::size_t kInjected = 4096;  ///< the most that is injected
constexpr std::size_t kSlots = 16;       ///< of remote memory, each written and read back by itself
constexpr std::size_t kReceives = 16;
constexpr std::size_t kShared = 2;  ///< buffers for several messages, each for four of the longest
constexpr std::size_t kUnderWay = 64;
constexpr std::uint64_t kKey = 7;
// Tags: what is in a message, its kind above. Those that are probed for have no receive of their own.
constexpr std::uint64_t kSeed = 0xffff;
constexpr std::uint64_t kProbed = std::uint64_t{1} << 60;
constexpr std::uint64_t kGoodbye = std::uint64_t{1} << 61;
// Words of remote memory behind the slots.
constexpr std::uint64_t kSum = kSlots * kLongest;
constexpr std::uint64_t kCompared = kSum + 8;
constexpr std::uint64_t kScratch = kSum + 16;

inline void must(std::int64_t status, const char* what) {
  if (status >= 0) return;
  std::fprintf(stderr, "%s: %s\n", what, fi_strerror(static_cast<int>(-status)));
  std::exit(1);
}
inline void check(bool fine, const char* what) {
  if (fine) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  std::exit(1);
}

inline std::uint8_t byte_of(std::uint64_t seed, std::size_t i) {
  return static_cast<std::uint8_t>(seed + i * 31 + (i >> 8) * 7);
}
/// Whether these are bytes of `seed`, from the `first` on.
inline bool holds(const std::uint8_t* bytes, std::size_t size, std::uint64_t seed,
                  std::size_t first = 0) {
  for (std::size_t i = 0; i < size; ++i) {
    if (bytes[i] != byte_of(seed, first + i)) return false;
  }
  return true;
}

/// Memory in one piece, or in three with gaps between them.
class Memory {
 public:
  std::array<iovec, 3> pieces{};
  std::size_t count = 0;

  void make(std::size_t room) { bytes_.assign(room + 2 * kGap, 0); }
  void shape(std::size_t size, bool scattered) {
    const std::size_t second = size / 5;
    const std::size_t third = size / 2;
    std::uint8_t* at = bytes_.data();
    pieces[0] = {at, scattered ? second : size};
    pieces[1] = {at + second + kGap, third - second};
    pieces[2] = {at + third + 2 * kGap, size - third};
    count = scattered ? 3 : 1;
    for (std::size_t i = 0; i + 1 < count; ++i) std::memset(end_of(pieces[i]), 0xee, kGap);
  }
  void fill(std::uint64_t seed) {
    std::size_t n = 0;
    for (std::size_t p = 0; p < count; ++p) {
      for (std::uint8_t* b = start_of(pieces[p]); b != end_of(pieces[p]); ++b)
        *b = byte_of(seed, n++);
    }
  }
  void clear() {
    for (std::size_t p = 0; p < count; ++p)
      std::fill(start_of(pieces[p]), end_of(pieces[p]), std::uint8_t{0});
  }
  [[nodiscard]] bool holds(std::size_t size, std::uint64_t seed) const {
    std::size_t seen = 0;
    for (std::size_t p = 0; p < count; ++p) {
      const std::size_t here = std::min(pieces[p].iov_len, size - seen);
      if (!fabric::holds(start_of(pieces[p]), here, seed, seen)) return false;
      seen += here;
      const std::uint8_t* gap = end_of(pieces[p]);
      if (p + 1 < count && std::any_of(gap, gap + kGap, [](std::uint8_t b) { return b != 0xee; }))
        return false;
    }
    return seen == size;
  }
  [[nodiscard]] std::size_t size() const {
    std::size_t all = 0;
    for (std::size_t p = 0; p < count; ++p) all += pieces[p].iov_len;
    return all;
  }
  [[nodiscard]] std::uint8_t* data() { return bytes_.data(); }

 private:
  static std::uint8_t* start_of(const iovec& one) {
    return static_cast<std::uint8_t*>(one.iov_base);
  }
  static std::uint8_t* end_of(const iovec& one) { return start_of(one) + one.iov_len; }

  std::vector<std::uint8_t> bytes_;
};

/// An operation of this side's; libfabric's context points at it.
struct Op {
  enum class Kind { free, receive, shared, goodbye, probe, send, write, read, fetch, add, compare };
  Kind kind = Kind::free;
  std::size_t slot = 0;
  std::uint64_t seed = 0;
  std::uint64_t flags = 0;  ///< of a probe
  std::array<std::uint64_t, 3>
      words{};  ///< of an atomic: the operand, what is compared, what was there
  Memory memory;
};

/// What one side has sent, and the other has to see.
struct Totals {
  std::uint64_t tagged = 0, probed = 0, untagged = 0, noted = 0, noted_sum = 0, added = 0;
  bool operator==(const Totals&) const = default;
};

class Side {
 public:
  explicit Side(int peer);
  ~Side();
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  void post_receives();
  /// Something at random, if there is room for it.
  void begin_one();
  /// Takes what is done and looks for messages that no receive is posted for.
  void step() {
    probe();
    while (take()) {
    }
  }
  [[nodiscard]] std::size_t under_way() const { return kUnderWay - free_.size(); }
  void say_goodbye();
  /// Whether the other side is done and everything that it has sent is here.
  [[nodiscard]] bool all_is_here() const;
  /// What is missing, in words.
  void tell_missing() const;

  std::uint64_t done = 0, failed = 0, refused = 0;
  std::uint64_t payload = 0;  ///< bytes of messages and writes
  std::uint64_t scattered = 0, late = 0, compared = 0, discarded = 0;
  Totals sent, seen;

 private:
  using Begin = std::int64_t (Side::*)(Op&);

  void open();
  void exchange_names();
  bool take();
  void post(Op& op);
  std::int64_t send_tagged(Op& op);
  std::int64_t send_flagged(Op& op);
  std::int64_t send_probed(Op& op);
  std::int64_t send_untagged(Op& op);
  std::int64_t inject(Op& op);
  std::int64_t write(Op& op);
  std::int64_t inject_write(Op& op);
  std::int64_t fetch(Op& op);
  std::int64_t add(Op& op);
  std::int64_t compare(Op& op);
  void shape(Op& op, std::size_t least, std::size_t most);
  [[nodiscard]] std::int64_t counted(std::int64_t status, std::uint64_t& of, std::size_t bytes);
  void read_back(Op& op);
  void probe();
  void probed(const fi_cq_tagged_entry& got);
  void arrived(Op& op, const fi_cq_tagged_entry& got);
  void arrived_shared(Op& op, const fi_cq_tagged_entry& got);
  void noted(const fi_cq_tagged_entry& got);
  void over(Op& op, int error);
  void check_done(Op& op);
  void set_free(Op& op);
  [[nodiscard]] std::uint64_t sum() const;

  int peer_;
  std::mt19937_64 random_;
  fi_info* info_ = nullptr;
  fid_fabric* fabric_ = nullptr;
  fid_domain* domain_ = nullptr;
  fid_av* av_ = nullptr;
  fid_cq* cq_ = nullptr;
  fid_mr* region_ = nullptr;
  fid_ep* ep_ = nullptr;
  fi_addr_t address_ = FI_ADDR_NOTAVAIL;
  std::vector<std::uint8_t> memory_;
  std::deque<Op> receives_, ops_;
  Op probe_, goodbye_;
  Totals theirs_;
  bool peer_is_done_ = false;
  unsigned turns_ = 0;
  bool compares_ = false;            ///< one at a time
  std::uint64_t compared_with_ = 0;  ///< what that word of the peer's holds
  std::vector<Op*> free_;
  std::deque<std::size_t> idle_slots_;
};

}  // namespace strack::fabric
