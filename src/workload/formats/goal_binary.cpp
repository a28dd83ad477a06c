#include "workload/formats/goal_binary.h"

#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "workload/formats/import_builder.h"
#include "workload/formats/import_ops.h"

namespace strack::workload {
namespace {

constexpr std::uint64_t kCookie = 4'223;
/// A schedule that LogGOPSim has used up: it runs in the file itself where memory is short.
constexpr std::uint64_t kUsedUp = 2'342;
constexpr std::uint64_t kBase = 8;  ///< where positions count from
constexpr std::uint64_t kTable = kBase + 6;
constexpr std::uint64_t kOperationBytes = 39;
constexpr std::uint32_t kAny = ~std::uint32_t{0};

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return value;
}

class Reader {
 public:
  Reader(std::string_view bytes, Picoseconds calc_unit) : bytes_(bytes), calc_unit_(calc_unit) {}

  Result<GoalImport, TextError> read() {
    if (u64(0) == kUsedUp && bytes_.size() >= kBase) {
      fail(0, "LogGOPSim has used this schedule up (--save-mem). make it again with txt2bin");
      return error_;
    }
    if (!has(kBase, 6)) {
      fail(bytes_.size(), "the schedule is cut short. it has a number of ranks");
      return error_;
    }
    const std::uint64_t ranks = u32(kBase);
    if (ranks < 1 || ranks > kMostRanks || !has(kTable, 16 * ranks)) {
      fail(kBase, fmt::format("{} ranks in {} bytes. there are from 1 to {}, each with 16 bytes in "
                              "the table behind",
                              ranks, bytes_.size(), kMostRanks));
      return error_;
    }
    ranks_ = static_cast<Rank>(ranks);
    ImportOps ops(ranks_);
    for (Rank rank = 0; rank < ranks_; ++rank) {
      if (!read_rank(rank, ops)) return error_;
    }
    if (ops.size() == 0) {
      fail(kBase, "no operations. a rank has some");
      return error_;
    }
    auto graph = ops.build();
    if (!graph) {
      const ImportOp& op = ops.op(graph.error().op);
      fail(op.place, fmt::format("rank {}: {}", op.rank, graph.error().message));
      return error_;
    }
    return GoalImport{std::move(graph.value()), goal_notes(ops, resources_)};
  }

 private:
  bool fail(std::uint64_t offset, const std::string& message) {
    error_ = {0, fmt::format("byte {}: {}", offset, message)};
    return false;
  }
  [[nodiscard]] bool has(std::uint64_t offset, std::uint64_t size) const {
    return offset <= bytes_.size() && size <= bytes_.size() - offset;
  }
  [[nodiscard]] std::uint64_t number(std::uint64_t offset, std::size_t size) const {
    return has(offset, size) ? little_endian(bytes_.substr(offset, size)) : 0;
  }
  [[nodiscard]] std::uint32_t u32(std::uint64_t offset) const {
    return static_cast<std::uint32_t>(number(offset, 4));
  }
  [[nodiscard]] std::uint64_t u64(std::uint64_t offset) const { return number(offset, 8); }

  bool read_rank(Rank rank, ImportOps& ops) {
    const std::uint64_t entry = kTable + 16 * std::uint64_t{rank};
    const std::uint64_t size = bytes_.size() - kBase;
    if (u64(entry) > size || u64(entry + 8) > size || u64(entry) > u64(entry + 8) ||
        u64(entry + 8) - u64(entry) < 8) {
      return fail(entry, fmt::format("the part of rank {} is from {} to {}. the file has {} bytes "
                                     "from where they count",
                                     rank, u64(entry), u64(entry + 8), size));
    }
    const std::uint64_t begin = kBase + u64(entry);
    const std::uint64_t end = kBase + u64(entry + 8);
    const std::uint64_t count = u32(begin);
    const std::uint64_t roots = u32(begin + 4);
    const std::uint64_t first = begin + 8 + 4 * roots;
    const std::uint64_t list = first + kOperationBytes * count;
    if (list > end) {
      return fail(begin,
                  fmt::format("rank {} has {} operations and {} roots, more than its {} bytes "
                              "hold",
                              rank, count, roots, end - begin));
    }
    const OpId before = ops.size();
    for (std::uint64_t i = 0; i < count; ++i) {
      if (!read_operation(first + kOperationBytes * i, rank, ops)) return false;
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t at = first + kOperationBytes * i + 23;
      for (const bool has_started : {false, true}) {
        const std::uint64_t entry_at = at + (has_started ? 8 : 0);
        if (!read_requirements(entry_at, list, end, before, count, static_cast<OpId>(i),
                               has_started, ops))
          return false;
      }
    }
    return true;
  }

  bool read_operation(std::uint64_t at, Rank rank, ImportOps& ops) {
    ImportOp op;
    op.rank = rank;
    op.place = at;
    const std::uint64_t type = number(at + 4, 1);
    const std::uint32_t peer = u32(at + 5);
    const std::uint64_t amount = u64(at + 9);
    const std::uint32_t tag = u32(at + 17);
    if (number(at + 21, 1) != 0 || number(at + 22, 1) != 0) ++resources_;
    if (type == 3) {
      const auto most = static_cast<std::uint64_t>(kLongestWait / calc_unit_);
      if (amount > most) {
        return fail(at + 9, fmt::format("the time of calc is {}. it is a number from 0 to {}",
                                        amount, most));
      }
      op.amount = (static_cast<std::int64_t>(amount) * calc_unit_).count();
      ops.add(op);
      return true;
    }
    if (type != 1 && type != 2) {
      return fail(
          at + 4,
          fmt::format("an operation of type {}. they are 1 (send), 2 (recv) and 3 (calc)", type));
    }
    const bool receives = type == 2;
    op.kind = receives ? OpKind::recv : OpKind::send;
    if (peer == rank || (peer >= ranks_ && !(receives && peer == kAny))) {
      return fail(at + 5, fmt::format("rank {} {} rank {}. it is another rank, from 0 to {}", rank,
                                      receives ? "receives from" : "sends to", peer, ranks_ - 1));
    }
    if (amount > static_cast<std::uint64_t>(kMostMessageBytes)) {
      return fail(at + 9, fmt::format("the size is {}. it is a number from 0 to {}", amount,
                                      kMostMessageBytes));
    }
    op.peer = peer == kAny ? kNobody : peer;
    op.amount = static_cast<std::int64_t>(amount);
    op.tag = receives && tag == kAny ? kAnyTag : std::int64_t{tag};
    ops.add(op);
    return true;
  }

  /// Who requires an operation's end or start: `at` has their count and where they are in the list.
  bool read_requirements(std::uint64_t at, std::uint64_t list, std::uint64_t end, OpId before,
                         std::uint64_t count, OpId op, bool has_started, ImportOps& ops) {
    const std::uint64_t requiring = u32(at);
    const std::uint64_t where = list + 4 * std::uint64_t{u32(at + 4)};
    if (requiring == 0) return true;
    if (where > end || 4 * requiring > end - where) {
      return fail(at,
                  fmt::format("{} operations require this one, more than the list has", requiring));
    }
    for (std::uint64_t i = 0; i < requiring; ++i) {
      const std::uint32_t other = u32(where + 4 * i);
      if (other >= count || other == op) {
        return fail(where + 4 * i, fmt::format("operation {} requires operation {}. it is another "
                                               "one, from 0 to {}",
                                               other, op, count - 1));
      }
      // A list may be shared, but a file that names one over and over asks for more than it holds.
      if (++requirements_ > bytes_.size())
        return fail(at, "more requirements than the file has bytes");
      ops.require(before + other, before + op, has_started);
    }
    return true;
  }

  std::string_view bytes_;
  Picoseconds calc_unit_;
  TextError error_;
  Rank ranks_ = 0;
  std::uint32_t resources_ = 0;
  std::uint64_t requirements_ = 0;
};

}  // namespace

bool is_goal_binary(std::string_view bytes) {
  if (bytes.size() < kBase) return false;
  const std::uint64_t cookie = little_endian(bytes.substr(0, kBase));
  return cookie == kCookie || cookie == kUsedUp;
}

Result<GoalImport, TextError> import_goal_binary(std::string_view bytes, Picoseconds calc_unit) {
  return Reader(bytes, calc_unit).read();
}

}  // namespace strack::workload
