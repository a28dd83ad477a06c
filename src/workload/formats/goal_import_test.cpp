#include "workload/formats/goal_import.h"

#include <string>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "workload/formats/import_testing.h"

namespace strack::workload {
namespace {

GoalImport read(std::string_view text, Picoseconds unit = ns(1)) {
  const auto schedule = import_goal(text, unit);
  EXPECT_TRUE(schedule) << schedule.error().line << ": " << schedule.error().message;
  return schedule ? schedule.value() : GoalImport{};
}

TEST(GoalImport, ReadsTheExample) {
  const GoalImport schedule = read(trace("pipeline3.goal"));
  EXPECT_EQ(describe(schedule.graph),
            "0: 0 computes 5000000 ps\n"
            "1: 0->1 65536 B [0 sent]\n"
            "2: 0 computes 5000000 ps [0 sent]\n"
            "3: 0->1 65536 B [2 sent]\n"
            "4: 1 computes 8000000 ps [1 received]\n"
            "5: 1->2 65536 B [4 sent]\n"
            "6: 1 computes 8000000 ps [3 received, 4 sent]\n"
            "7: 1->2 65536 B [6 sent]\n"
            "8: 2 computes 1000000 ps [5 received, 7 received]\n");
  EXPECT_TRUE(schedule.notes.empty());
}

TEST(GoalImport, IgnoresCommentsAndBlanks) {
  EXPECT_EQ(describe(read("num_ranks 2 // two\n/* rank 7 {\n} */ rank 1 {\r\n\trecv 0b from 0 }\n"
                          "rank 0 { send 0 b to 1 /* end */ }")
                         .graph),
            "0: 0->1 0 B\n");
}

TEST(GoalImport, AByteOrderMarkIsNoText) {
  EXPECT_EQ(describe(read("\xef\xbb\xbf"
                          "num_ranks 2\nrank 0 { send 0 b to 1 }\nrank 1 { recv 0b from 0 }")
                         .graph),
            "0: 0->1 0 B\n");
}

TEST(GoalImport, MatchesSendsInOrder) {
  EXPECT_EQ(describe(read("num_ranks 2\nrank 0 {\nsend 1b to 1 tag 5\nsend 2b to 1 tag 6\n"
                          "send 3b to 1 tag 5\n}\nrank 1 {\na: recv 1b from 0 tag 5\n"
                          "b: recv 3b from 0 tag 5\nc: recv 2b from 0 tag 6\n"
                          "x: calc 1\nx requires b\ny: calc 1\ny requires c\n}\n")
                         .graph),
            "0: 0->1 1 B\n1: 0->1 2 B\n2: 0->1 3 B\n"
            "3: 1 computes 1000 ps [2 received]\n4: 1 computes 1000 ps [1 received]\n");
}

// A worker sends its second part only when the first has been answered, and both are received from
// anybody: what comes first is taken first, whatever the order of ranks in the file.
TEST(GoalImport, WildcardsTakeWhatComesFirst) {
  const auto read = import_goal(
      "num_ranks 3\n"
      "rank 0 {\na: recv 8b from -1 tag -1\nx: send 1b to 2 tag 9\nx requires a\n"
      "b: recv 8b from -1 tag -1\nb requires x\n}\n"
      "rank 1 {\nw: recv 4b from 2 tag 3\ns: send 8b to 0 tag 1\ns requires w\n}\n"
      "rank 2 {\nf: send 8b to 0 tag 2\ng: recv 1b from 0 tag 9\nh: send 4b to 1 tag 3\n"
      "h requires g\n}\n");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(describe(read.value().graph),
            "0: 1->0 8 B [2 received]\n"
            "1: 2->0 8 B\n"
            "2: 2->1 4 B [3 received]\n"
            "3: 0->2 1 B [1 received]\n");
}

// The wildcard comes first in the file, yet leaves the only send of tag 5 to who needs that one.
TEST(GoalImport, WildcardsTakeWhatIsLeft) {
  EXPECT_EQ(describe(read("num_ranks 3\nrank 0 {\nsend 1b to 2 tag 5\n}\nrank 1 {\n"
                          "send 2b to 2 tag 6\n}\nrank 2 {\nany: recv 2b from -1 tag -1\n"
                          "one: recv 1b from 0 tag 5\nx: calc 1\nx requires any\n}\n")
                         .graph),
            "0: 0->2 1 B\n1: 1->2 2 B\n2: 2 computes 1000 ps [1 received]\n");
}

// What requires a receive waits for the message and for what the receive required.
TEST(GoalImport, AReceiveThatRequiresSomethingJoinsBoth) {
  EXPECT_EQ(describe(read("num_ranks 2\nrank 0 {\nsend 1b to 1\n}\nrank 1 {\na: calc 7\n"
                          "r: recv 1b from 0\nb: calc 1\nc: calc 2\nr requires a\nb requires r\n"
                          "c irequires r\n}\n")
                         .graph),
            "0: 0->1 1 B\n"
            "1: 1 computes 7000 ps\n"
            "2: 1 computes 1000 ps [4 sent]\n"
            "3: 1 computes 2000 ps [5 started]\n"
            "4: 1 computes 0 ps [0 received, 5 sent]\n"
            "5: 1 computes 0 ps [1 sent]\n");
}

TEST(GoalImport, IrequiresWaitsForTheStart) {
  EXPECT_EQ(describe(read("num_ranks 2\nrank 0 {\nb irequires a\na: send 1b to 1\nb: calc 1\n}\n"
                          "rank 1 {\nrecv 1b from 0\n}\n")
                         .graph),
            "0: 0->1 1 B\n1: 0 computes 1000 ps [0 started]\n");
}

TEST(GoalImport, CalcIsInTheUnitAskedFor) {
  EXPECT_EQ(describe(read("num_ranks 1\nrank 0 {\ncalc 3\n}\n", us(1)).graph),
            "0: 0 computes 3000000 ps\n");
}

TEST(GoalImport, NotesWhatItIgnores) {
  const GoalImport schedule = read(
      "num_ranks 2\nrank 0 {\nsend 10b to 1 tag 1 cpu 2 nic 1\n}\nrank 1 {\n"
      "recv 20b from 0 cpu 0 tag 1\n}\n");
  ASSERT_EQ(schedule.notes.size(), 2u);
  EXPECT_EQ(schedule.notes[0],
            "1 receive names another size than the send it gets: the send's counts");
  EXPECT_EQ(schedule.notes[1], "2 times cpu or nic other than 0: ignored, there is one of each");
  EXPECT_EQ(schedule.graph.node(0).amount, 10);
}

struct Wrong {
  const char* text;
  const char* error;
};
TEST(GoalImport, SaysWhichLineCannotBe) {
  const Wrong wrongs[] = {
      {"",
       "1: the file ends here. expected num_ranks, with which a schedule begins, such as "
       "num_ranks 16"},
      {"\nrank 0 {\n}",
       "2: found \"rank\". expected num_ranks, with which a schedule begins, such "
       "as num_ranks 16"},
      {"num_ranks 0\n", "1: num_ranks is \"0\". it is a number from 1 to 1048576"},
      {"num_ranks 4000000000\n",
       "1: num_ranks is \"4000000000\". it is a number from 1 to 1048576"},
      {"num_ranks\n", "2: num_ranks is missing. it is a number from 1 to 1048576"},
      {"num_ranks 2\n", "0: no operations. a rank has some, such as send 4096b to 1"},
      {"num_ranks 2\nrank 2 {\n}\n", "2: rank is \"2\". it is a number from 0 to 1"},
      {"num_ranks 2\nrank 0\nsend 1b to 1\n", "3: found \"send\". expected {, such as rank 0 {"},
      {"num_ranks 2\nrank 0 {\n}\nrank 0 {\n}\n",
       "4: rank 0 a second time, after line 2. it is written once"},
      {"num_ranks 2\nrank 0 {\ncalc 1\n", "4: rank 0 of line 2 never ends. end it with }"},
      {"num_ranks 2\nsend 1b to 1\n", "2: found \"send\". expected rank, such as rank 0 {"},
      {"num_ranks 2\nrank 0 {\n5\n}\n",
       "3: found \"5\". expected send, recv, calc, a label such as a: send 4096b to 1, or a "
       "requirement such as a requires b"},
      {"num_ranks 2\nrank 0 {\na: put 5b to 1\n}\n",
       "3: \"put\" is no operation. those are send, recv and calc, and between labels requires and "
       "irequires"},
      {"num_ranks 2\nrank 0 {\nsend 5 to 1\n}\n",
       "3: found \"to\". expected b, for bytes, such as send 4096b to 1"},
      {"num_ranks 2\nrank 0 {\nsend 5b from 1\n}\n",
       "3: found \"from\". expected to, such as send 4096b to 1"},
      {"num_ranks 2\nrank 0 {\nsend 5b to -1\n}\n",
       "3: the destination is \"-1\". it is a number from 0 to 1"},
      {"num_ranks 2\nrank 0 {\nsend 5b to 0\n}\n", "3: rank 0 sends to itself. it is another rank"},
      {"num_ranks 2\nrank 0 {\nsend 1099511627777b to 1\n}\n",
       "3: the size is \"1099511627777\". it is a number from 0 to 1099511627776"},
      {"num_ranks 2\nrank 0 {\ncalc 5b\n}\n",
       "3: calc has no b behind its number. it is a time, such as calc 1000"},
      {"num_ranks 2\nrank 0 {\ncalc 99999999999999999\n}\n",
       "3: the time of calc is \"99999999999999999\". it is a number from 0 to 3600000000000"},
      {"num_ranks 2\nrank 0 {\ncalc 5 tag 1\n}\n",
       "3: \"tag\" behind calc. what can follow is cpu and nic, then the next line"},
      {"num_ranks 2\nrank 0 {\nsend 5b to 1 tag 1 tag 2\n}\n",
       "3: tag a second time. it is written once"},
      {"num_ranks 2\nrank 0 {\nsend 5b to 1 tag -1\n}\n",
       "3: tag is \"-1\". it is a number from 0 to 4294967294"},
      {"num_ranks 2\nrank 0 {\na: calc 5\na: calc 6\n}\n",
       "4: label \"a\" is that of line 3. take another one"},
      {"num_ranks 2\nrank 0 {\na: calc 5\na requires b\n}\n",
       "4: no label \"b\" in rank 0. requirements are between labels of one rank"},
      {"num_ranks 2\nrank 0 {\na: calc 5\na requires\n}\n",
       "5: found \"}\". expected a label, such as a requires b"},
      {"num_ranks 2\nrank 0 {\na: calc 5\na requires a\n}\n",
       "4: \"a\" requires itself. it requires another one"},
      {"num_ranks 2\nrank 0 {\na: calc 5\nb: calc 6\na requires b b\n}\n",
       "5: \"b\" behind a requirement. it names two labels, such as a requires b"},
      {"num_ranks 2\nrank 0 {\na: calc 5\nb: calc 6\na requires b\nb irequires a\n}\n",
       "3: this operation waits for itself"},
      {"num_ranks 2\nrank 0 {\nsend 5b to 1 tag 3\n}\n",
       "3: no receive for this send: rank 1 receives nothing more from rank 0 with tag 3"},
      {"num_ranks 2\nrank 0 {\ncalc 1\n}\nrank 1 {\nrecv 5b from 0\n}\n",
       "6: no send for this receive: rank 0 sends rank 1 nothing more with tag 0"},
      {"num_ranks 2\nrank 0 {\nrecv 5b from -1 tag -1\n}\n",
       "3: no send for this receive: any rank sends rank 0 nothing more with any tag"},
      {"num_ranks 2\n/* rank 0 {\n\n",
       "2: a comment begins with /* and never ends. end it with */"},
  };
  for (const Wrong& wrong : wrongs) {
    const auto schedule = import_goal(wrong.text);
    ASSERT_FALSE(schedule) << wrong.text;
    EXPECT_EQ(fmt::format("{}: {}", schedule.error().line, schedule.error().message), wrong.error);
  }
}

}  // namespace
}  // namespace strack::workload
