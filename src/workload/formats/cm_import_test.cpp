#include "workload/formats/cm_import.h"

#include <string>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "workload/formats/import_testing.h"

namespace strack::workload {
namespace {

CmImport read(std::string_view text, CmTime unit = CmTime::picoseconds) {
  const auto matrix = import_cm(text, unit);
  EXPECT_TRUE(matrix) << matrix.error().line << ": " << matrix.error().message;
  return matrix ? matrix.value() : CmImport{};
}

TEST(CmImport, ReadsTheExample) {
  const CmImport matrix = read(trace("relay4.cm"));
  EXPECT_EQ(matrix.flows, 5u);
  EXPECT_EQ(matrix.words, 0u);
  EXPECT_EQ(matrix.graph.ranks(), 4u);
  EXPECT_EQ(describe(matrix.graph),
            "0: 0->1 100000 B [1000000 ps]\n"
            "1: 1->2 100000 B [0 received]\n"
            "2: 3->2 50000 B\n"
            "3: 2->3 4096 B [1 received, 2 received]\n"
            "4: 2->0 4096 B [3 sent]\n");
  ASSERT_EQ(matrix.failures.size(), 1u);
  EXPECT_EQ(matrix.failures[0].tier, CmFailure::Tier::tor);
  EXPECT_EQ(matrix.failures[0].switch_id, 0u);
  EXPECT_EQ(matrix.failures[0].link_id, 1u);
  EXPECT_EQ(matrix.failures[0].line, 14);
  ASSERT_EQ(matrix.notes.size(), 1u);
  EXPECT_EQ(matrix.notes[0], "1 priority is ignored");
}

// Some editors put a mark before a text.
TEST(CmImport, AByteOrderMarkIsNoText) {
  EXPECT_EQ(describe(read("\xef\xbb\xbf" + trace("relay4.cm")).graph),
            describe(read(trace("relay4.cm")).graph));
}

TEST(CmImport, EveryLineIsAConnectionOfItsOwn) {
  const CmImport matrix =
      read("Nodes 2\nConnections 2\n0->1 start 0 size 1\n0->1 start 0 size 2\n");
  EXPECT_EQ(matrix.graph.channels().size(), 2u);
}

TEST(CmImport, MessagesOfOneIdShareItsConnection) {
  const CmImport matrix = read(
      "Nodes 2\nConnections 3\n0->1 id 1 msg 1 start 0 size 1\n0->1 id 1 msg 2 start 0 size 2\n"
      "0->1 id 2 msg 1 start 0 size 3\n");
  EXPECT_EQ(matrix.graph.channels().size(), 2u);
  EXPECT_EQ(matrix.graph.node(0).channel, matrix.graph.node(1).channel);
}

// The number behind msg may be left out, wherever the word stands.
TEST(CmImport, MessagesWithoutANumber) {
  const CmImport matrix = read(
      "Nodes 2\nConnections 4\n0->1 id 1 start 0 size 1 msg\n0->1 id 1 msg start 0 size 2\n"
      "0->1 id 1 msg 7 start 0 size 3\n0->1 id 2 start 0 size 4\n");
  EXPECT_EQ(matrix.graph.channels().size(), 2u);
  EXPECT_EQ(matrix.graph.node(0).channel, matrix.graph.node(1).channel);
  EXPECT_EQ(matrix.graph.node(0).channel, matrix.graph.node(2).channel);
  EXPECT_EQ(matrix.notes, std::vector<std::string>{});
}

// Files are about whose header was not kept up with what follows.
TEST(CmImport, WrongCountsAreSaid) {
  EXPECT_EQ(
      read("Nodes 2\nConnections 40\nTriggers 1\n0->1 start 0 size 1 addon\n"
           "failure switch_type TOR switch_id 1 link_id 0\n")
          .notes,
      (std::vector<std::string>{
          "Connections is 40 in the header, but 1 follow: those are read, unless the file is cut "
          "short",
          "Triggers is 1 in the header, but 0 follow: those are read, unless the file is cut "
          "short",
          "Failures is 0 in the header, but 1 follow: those are read, unless the file is cut "
          "short",
          "1 time addon: ignored"}));
  EXPECT_EQ(read("Nodes 2\n0->1 start 0 size 1\n").notes.size(), 1u);
}

TEST(CmImport, SizeZeroHasNoEnd) {
  const CmImport matrix = read("Nodes 2\nConnections 1\n0->1 start 0.000000 size 0\n");
  EXPECT_EQ(describe(matrix.graph), "0: 0->1 4294967295 B\n");
  EXPECT_EQ(matrix.notes,
            (std::vector<std::string>{
                "1 connection has size 0, which has no end in htsim: here it is 4294967295 bytes. "
                "say when the run ends, such as run.end_ms=1"}));
}

TEST(CmImport, StartIsInTheUnitAskedFor) {
  const std::string_view text = "Nodes 2\nConnections 1\n0->1 start 2.5 size 9\n";
  EXPECT_EQ(describe(read(text, CmTime::microseconds).graph), "0: 0->1 9 B [2500000 ps]\n");
  EXPECT_EQ(describe(read(text, CmTime::picoseconds).graph), "0: 0->1 9 B [2 ps]\n");
}

// A trigger fired where nobody waits is told to who does, by a message without bytes.
TEST(CmImport, TellsOtherRanksOfATrigger) {
  const CmImport matrix = read(
      "Nodes 4\nConnections 4\nTriggers 1\n0->1 start 0 size 10 recv_done_trigger 1\n"
      "2->3 trigger 1 size 20\n2->0 trigger 1 size 30\n1->3 trigger 1 size 40\n"
      "trigger id 1 oneshot\n");
  EXPECT_EQ(matrix.words, 1u);
  EXPECT_EQ(describe(matrix.graph),
            "0: 0->1 10 B\n"
            "1: 2->3 20 B [4 received]\n"
            "2: 2->0 30 B [4 received]\n"
            "3: 1->3 40 B [0 received]\n"
            "4: 1->2 0 B [0 received]\n");
  ASSERT_EQ(matrix.notes.size(), 1u);
  EXPECT_EQ(matrix.notes[0],
            "1 message without bytes tells other nodes of a trigger: htsim's are heard everywhere");
}

TEST(CmImport, ABarrierWaitsForAllItsFires) {
  const CmImport matrix = read(
      "Nodes 3\nConnections 4\nTriggers 1\n0->1 start 0 size 1 send_done_trigger 5\n"
      "1->0 start 0 size 2 send_done_trigger 5 \n1->2 start 0 size 3 send_done_trigger 5\n"
      "0->2 trigger 5 size 4\ntrigger id 5 count 3 barrier\n");
  EXPECT_EQ(describe(matrix.graph),
            "0: 0->1 1 B\n"
            "1: 1->0 2 B\n"
            "2: 1->2 3 B\n"
            "3: 0->2 4 B [0 sent, 4 received]\n"
            "4: 1->0 0 B [1 sent, 2 sent]\n");
}

// Every fire of a multishot starts the next connection in line.
TEST(CmImport, AMultishotStartsOneConnectionEachTime) {
  const CmImport matrix = read(
      "Nodes 3\nConnections 4\nTriggers 1\n0->1 start 0 size 1 send_done_trigger 1\n"
      "0->2 start 0 size 2 send_done_trigger 1\n0->1 trigger 1 size 3\n0->2 trigger 1 size 4\n"
      "trigger id 1 multishot\n");
  EXPECT_EQ(describe(matrix.graph),
            "0: 0->1 1 B\n"
            "1: 0->2 2 B\n"
            "2: 0->1 3 B [0 sent]\n"
            "3: 0->2 4 B [1 sent]\n");
  ASSERT_EQ(matrix.notes.size(), 1u);
  EXPECT_EQ(
      matrix.notes[0],
      "1 multishot trigger is fired more than once: what counts is the order of the file, not "
      "that of times");
}

// 100 fires and 100 starts: not 10,000 waits, but one place where all meet.
TEST(CmImport, LargeBarriersMeetAtOneRank) {
  std::string text = "Nodes 200\nConnections 200\nTriggers 1\n";
  for (int i = 0; i < 100; ++i)
    text += fmt::format("{}->{} start 0 size 1 send_done_trigger 1\n", i, i + 100);
  for (int i = 0; i < 100; ++i) text += fmt::format("{}->{} trigger 1 size 1\n", i, i + 100);
  const CmImport matrix = read(text + "trigger id 1 barrier count 100\n");
  EXPECT_EQ(matrix.words, 198u);
  EXPECT_EQ(matrix.graph.size(), 200u + 198 + 1);
}

TEST(CmImport, TakesTheLargestFlowAndHeaderOfManyNodes) {
  const CmImport matrix =
      read("Nodes 1048576\nConnections 1\n1048575->0 start 0 size 4294967295\n");
  EXPECT_EQ(matrix.graph.ranks(), 1'048'576u);
  EXPECT_EQ(matrix.graph.bytes(), bytes(4'294'967'295));
}

// [D91] A flow of 4 GiB is several messages, and triggers are about all of them.
TEST(CmImport, TriggersOfLargeFlows) {
  const CmImport matrix = read(
      "Nodes 3\nConnections 3\nTriggers 2\n0->1 start 0 size 4294967296 recv_done_trigger 1\n"
      "1->2 trigger 1 size 20 send_done_trigger 2\n1->0 trigger 2 size 30\n"
      "trigger id 1 oneshot\ntrigger id 2 oneshot\n");
  EXPECT_EQ(matrix.flows, 3u);
  EXPECT_EQ(describe(matrix.graph),
            "0: 0->1 2147483648 B\n"
            "1: 0->1 2147483648 B\n"
            "2: 1->2 20 B [0 received, 1 received]\n"
            "3: 1->0 30 B [2 sent]\n");
  // A ring behind one is named by its line.
  const auto ring = import_cm(
      "Nodes 2\nConnections 2\nTriggers 1\n0->1 start 0 size 9000000000\n"
      "1->0 trigger 1 size 9000000000 send_done_trigger 1\ntrigger id 1 oneshot\n",
      CmTime::picoseconds);
  ASSERT_FALSE(ring);
  EXPECT_EQ(ring.error().line, 5);
}

TEST(CmImport, LargeFlowsAreBounded) {
  std::string text = "Nodes 2\nConnections 8193\n";
  for (int i = 0; i < 8'193; ++i) text += "0->1 start 0 size 1099511627776\n";
  const auto matrix = import_cm(text, CmTime::picoseconds);
  ASSERT_FALSE(matrix);
  EXPECT_EQ(matrix.error().line, 2 + 8'193);
}

struct Wrong {
  const char* text;
  const char* error;
};
TEST(CmImport, SaysWhichLineCannotBe) {
  const Wrong wrongs[] = {
      {"", "0: no Nodes. a matrix begins with them, such as Nodes 16"},
      {"Nodes 2\n", "0: no connections. a matrix has some, such as 0->1 start 0 size 4096"},
      {"Nodes 1\n", "1: Nodes is \"1\". it is a number from 2 to 1048576"},
      {"Nodes 99999999999\n", "1: Nodes is \"99999999999\". it is a number from 2 to 1048576"},
      {"Nodes\n", "1: Nodes has 0 values. it has one, such as Nodes 16"},
      {"Nodes 2\nNodes 2\n", "2: Nodes a second time. it is written once"},
      {"nodes 2\n",
       "1: \"nodes\" begins no line of a connection matrix. one begins with Nodes, Connections, "
       "Triggers, Failures, a connection such as 0->1, trigger or failure"},
      {"0->1 start 0 size 1\n",
       "1: no Nodes before this line. a matrix begins with one, such as Nodes 16"},
      {"Nodes 2\n0->1 start 0 size 1\nConnections 1\n",
       "3: Connections after the first connection. the header comes first"},
      {"Nodes 2\n0->2 start 0 size 1\n",
       "2: the connection is \"0->2\". it is source->destination, such as 0->1, with nodes from 0 "
       "to 1"},
      {"Nodes 2\n->1 start 0 size 1\n",
       "2: the connection is \"->1\". it is source->destination, such as 0->1, with nodes from 0 "
       "to "
       "1"},
      {"Nodes 2\n1->1 start 0 size 1\n",
       "2: 1->1 goes from a node to itself. it goes to another one"},
      {"Nodes 2\n0->1 start 0\n", "2: no size. a connection needs one, such as size 4096"},
      {"Nodes 2\n0->1 start 0 size 1099511627777\n",
       "2: size is \"1099511627777\". it is a number from 0 to 1099511627776"},
      {"Nodes 2\n0->1 start 0 size\n",
       "2: nothing follows size. it needs a number, such as size 1"},
      {"Nodes 2\n0->1 size 5\n",
       "2: neither start nor trigger. a connection needs one of them, such as start 0"},
      {"Nodes 2\n0->1 start 1 trigger 1 size 5\n",
       "2: both start and trigger. a connection has one of them"},
      {"Nodes 2\n0->1 start -1 size 5\n",
       "2: start is \"-1\". it is from 0 to 3600000000000000, in picoseconds"},
      {"Nodes 2\n0->1 start 0 size 1 weight\n",
       "2: \"weight\" is no word of a connection. those are id, msg, start, trigger, size, "
       "send_done_trigger, recv_done_trigger, prio and addon"},
      {"Nodes 2\n0->1 id 0 start 0 size 1\n",
       "2: id is \"0\". it is a number from 1 to 4294967295"},
      {"Nodes 2\n0->1 id 1 id 2 start 0 size 1\n", "2: id a second time. it is written once"},
      {"Nodes 3\n0->1 id 1 start 0 size 1\n0->2 id 1 start 0 size 1\n",
       "3: id 1 is that of 0->1 in line 2. take another id"},
      {"Nodes 3\n0->1 id 1 start 0 size 1\n0->1 id 1 start 0 size 1\n",
       "3: id 1 is used in line 2. take another id, or tell the messages of one apart, such as id "
       "1 "
       "msg 2"},
      {"Nodes 3\n0->1 id 1 msg 1 start 0 size 1\n0->1 id 1 msg 1 start 0 size 1\n",
       "3: id 1 msg 1 is used in line 2. take another msg"},
      {"Nodes 3\n0->1 msg 1 start 0 size 1\n",
       "2: msg without id. it numbers the messages of one id, such as id 1 msg 2"},
      {"Nodes 2\nConnections 1\n0->1 trigger 3 size 1\n",
       "3: trigger is 3, which no line describes. write one, such as trigger id 3 oneshot"},
      {"Nodes 2\nConnections 1\nTriggers 1\n0->1 trigger 3 size 1\ntrigger id 3 oneshot\n",
       "4: trigger 3 is fired by no connection, so this one would never start. write "
       "recv_done_trigger 3 behind one"},
      {"Nodes 2\nConnections 3\nTriggers 1\n0->1 start 0 size 1 send_done_trigger 3\n"
       "0->1 start 0 size 1 send_done_trigger 3\n0->1 trigger 3 size 1\ntrigger id 3 oneshot\n",
       "7: oneshot trigger 3 is fired 2 times. it is fired once; to wait for all of them write "
       "barrier count 2"},
      {"Nodes 2\nConnections 2\nTriggers 1\n0->1 start 0 size 1 send_done_trigger 3\n"
       "0->1 trigger 3 size 1\ntrigger id 3 barrier count 4000000000\n",
       "6: barrier 3 has count 4000000000 and is fired 1 times. both are the same, such as count "
       "1"},
      {"Nodes 2\nConnections 3\nTriggers 1\n0->1 start 0 size 1 send_done_trigger 3\n"
       "0->1 trigger 3 size 1\n0->1 trigger 3 size 1\ntrigger id 3 multishot\n",
       "6: multishot trigger 3 is fired 1 times and starts one connection each time, so this one, "
       "number 2, would never start"},
      {"Nodes 2\nConnections 2\nTriggers 2\n0->1 trigger 1 size 1 recv_done_trigger 2\n"
       "1->0 trigger 2 size 1 recv_done_trigger 1\ntrigger id 1 oneshot\ntrigger id 2 oneshot\n",
       "4: the triggers make this connection wait for itself, so it would never start"},
      {"Nodes 2\ntrigger id 1\n",
       "2: no kind. a trigger is oneshot, multishot or barrier, such as trigger id 1 oneshot"},
      {"Nodes 2\ntrigger oneshot\n", "2: no id. a trigger needs one, such as trigger id 1 oneshot"},
      {"Nodes 2\ntrigger id 1 oneshot barrier\n",
       "2: both oneshot and barrier. a trigger is one of them"},
      {"Nodes 2\ntrigger id 1 barrier\n",
       "2: no count. a barrier needs one, such as trigger id 1 barrier count 2"},
      {"Nodes 2\ntrigger id 1 twice\n",
       "2: \"twice\" is no word of a trigger. those are id, oneshot, multishot, barrier and count"},
      {"Nodes 2\ntrigger id 1 oneshot\ntrigger id 1 oneshot\n",
       "3: trigger 1 is described in line 2. once is enough"},
      {"Nodes 2\nfailure switch_type SPINE switch_id 0 link_id 0\n",
       "2: switch_type is \"SPINE\". it is TOR, AGG or CORE"},
      {"Nodes 2\nfailure switch_type TOR switch_id 0\n",
       "2: a failure needs three words, such as failure switch_type TOR switch_id 0 link_id 0"},
      {"Nodes 2\nfailure port 1\n",
       "2: \"port\" is no word of a failure. those are switch_type, switch_id and link_id"},
  };
  for (const Wrong& wrong : wrongs) {
    const auto matrix = import_cm(wrong.text, CmTime::picoseconds);
    ASSERT_FALSE(matrix) << wrong.text;
    EXPECT_EQ(fmt::format("{}: {}", matrix.error().line, matrix.error().message), wrong.error);
  }
}

}  // namespace
}  // namespace strack::workload
