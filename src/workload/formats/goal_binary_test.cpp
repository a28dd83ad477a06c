#include "workload/formats/goal_binary.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "workload/formats/import_testing.h"

namespace strack::workload {
namespace {

// ---- Schedules, written from the layout ----

std::string number(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}
struct Op {
  int type = 3;
  std::uint32_t peer = 0;
  std::uint64_t size = 0;
  std::uint32_t tag = 0;
  std::vector<std::uint32_t> required_by{};
  std::vector<std::uint32_t> start_required_by{};
  int cpu = 0;
};
using Ops = std::vector<Op>;
constexpr std::uint32_t kAny = ~std::uint32_t{0};

std::string schedule(const std::vector<Ops>& ranks) {
  std::string table;
  std::string parts;
  for (const Ops& ops : ranks) {
    std::string nodes;
    std::string list;
    std::uint32_t listed = 0;
    for (const Op& op : ops) {
      nodes += number(0, 4) + number(static_cast<std::uint64_t>(op.type), 1) + number(op.peer, 4) +
               number(op.size, 8) + number(op.tag, 4) +
               number(static_cast<std::uint64_t>(op.cpu), 1) + number(0, 1);
      for (const auto* who : {&op.required_by, &op.start_required_by}) {
        nodes += number(who->size(), 4) + number(listed, 4);
        for (const std::uint32_t other : *who) list += number(other, 4);
        listed += static_cast<std::uint32_t>(who->size());
      }
    }
    const std::size_t begin = 6 + 16 * ranks.size() + parts.size();
    parts += number(ops.size(), 4) + number(1, 4) + number(0, 4) + nodes + list;
    table += number(begin, 8) + number(6 + 16 * ranks.size() + parts.size(), 8);
  }
  return number(4'223, 8) + number(ranks.size(), 4) + number(0, 1) + number(0, 1) + table + parts;
}

std::string described(const std::string& bytes) {
  EXPECT_TRUE(is_goal_binary(bytes));
  const auto read = import_goal_binary(bytes);
  return read ? describe(read.value().graph)
              : fmt::format("{}: {}", read.error().line, read.error().message);
}

// The same schedule as text and as bytes is the same graph.
TEST(GoalBinary, IsTheTextInBytes) {
  const auto text = import_goal(
      "num_ranks 2\n"
      "rank 0 {\na: calc 100\nb: send 4096b to 1 tag 7\nb requires a\n"
      "c: recv 8b from 1 tag 4294967294\n}\n"
      "rank 1 {\na: recv 4096b from -1 tag -1\nb: calc 50 cpu 1\nb irequires a\n"
      "c: send 8b to 0 tag 4294967294\nc requires a\nc requires b\n}\n");
  ASSERT_TRUE(text) << text.error().message;
  const std::string bytes = schedule({{{.size = 100, .required_by = {1}},
                                       {.type = 1, .peer = 1, .size = 4096, .tag = 7},
                                       {.type = 2, .peer = 1, .size = 8, .tag = kAny - 1}},
                                      {{.type = 2,
                                        .peer = kAny,
                                        .size = 4096,
                                        .tag = kAny,
                                        .required_by = {2},
                                        .start_required_by = {1}},
                                       {.size = 50, .required_by = {2}, .cpu = 1},
                                       {.type = 1, .peer = 0, .size = 8, .tag = kAny - 1}}});
  EXPECT_EQ(described(bytes), describe(text.value().graph));
  EXPECT_EQ(import_goal_binary(bytes).value().notes, text.value().notes);
  EXPECT_FALSE(is_goal_binary("num_ranks 2\n"));
}

TEST(GoalBinary, SaysWhichByteCannotBe) {
  const auto with = [](std::size_t at, const std::string& bytes) {
    std::string text =
        schedule({{{.size = 1, .required_by = {1}}, {.type = 1, .peer = 1, .size = 9}},
                  {{.type = 2, .peer = 0, .size = 9}}});
    return text.replace(at, bytes.size(), bytes);
  };
  // 8 + 6 + 2 * 16 = 46: the first rank's part; 58 its first operation, 97 its second, 136 its list.
  const std::pair<std::string, std::string> wrongs[] = {
      {number(2'342, 8),
       "byte 0: LogGOPSim has used this schedule up (--save-mem). make it again with txt2bin"},
      {number(4'223, 8), "byte 8: the schedule is cut short. it has a number of ranks"},
      {with(8, number(0, 4)),
       "byte 8: 0 ranks in 191 bytes. there are from 1 to 1048576, each with 16 bytes in the table "
       "behind"},
      {with(14, number(400, 8)),
       "byte 14: the part of rank 0 is from 400 to 132. the file has 183 bytes from where they "
       "count"},
      {with(46, number(9, 4)),
       "byte 46: rank 0 has 9 operations and 1 roots, more than its 94 bytes hold"},
      {with(62, number(4, 1)),
       "byte 62: an operation of type 4. they are 1 (send), 2 (recv) and 3 (calc)"},
      {with(67, number(1, 8) + number(0, 4)).replace(67, 8, number(~std::uint64_t{0}, 8)),
       "byte 67: the time of calc is 18446744073709551615. it is a number from 0 to 3600000000000"},
      {with(102, number(0, 4)),
       "byte 102: rank 0 sends to rank 0. it is another rank, from 0 to 1"},
      {with(102, number(kAny, 4)),
       "byte 102: rank 0 sends to rank 4294967295. it is another rank, from 0 to 1"},
      {with(106, number(std::uint64_t{1} << 41, 8)),
       "byte 106: the size is 2199023255552. it is a number from 0 to 1099511627776"},
      {with(81, number(5, 4)), "byte 81: 5 operations require this one, more than the list has"},
      {with(136, number(7, 4)),
       "byte 136: operation 7 requires operation 0. it is another one, from 0 to 1"},
      {with(136, number(0, 4)),
       "byte 136: operation 0 requires operation 0. it is another one, from 0 to 1"},
      {with(169, number(3, 4)),
       "byte 152: rank 1: no send for this receive: rank 0 sends rank 1 nothing more with tag 3"},
  };
  for (const auto& [bytes, error] : wrongs) EXPECT_EQ(described(bytes), "0: " + error);
}

}  // namespace
}  // namespace strack::workload
