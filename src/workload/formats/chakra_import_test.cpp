#include "workload/formats/chakra_import.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "workload/formats/chakra_wire.h"
#include "workload/formats/import_testing.h"

namespace strack::workload {
namespace {

// ---- Protocol buffers, written ----

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
/// Of a oneof, where a 0 is written; of the others it is not, as proto3 has it.
std::string number(std::uint32_t field, std::uint64_t value) {
  return varint(field << 3) + varint(value);
}
std::string singular(std::uint32_t field, std::uint64_t value) {
  return value == 0 ? "" : number(field, value);
}
std::string blob(std::uint32_t field, const std::string& bytes) {
  return varint(field << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string attribute(const std::string& name, const std::string& value) {
  return blob(10, blob(1, name) + value);
}
std::string node(std::uint64_t id, std::uint64_t type, const std::string& rest = "") {
  const std::string body = singular(1, id) + singular(3, type) + rest;
  return varint(body.size()) + body;
}
std::string transfer(std::uint64_t src, std::uint64_t dst, std::uint64_t size,
                     std::uint64_t tag = 0) {
  return attribute("comm_src", number(7, src)) + attribute("comm_dst", number(7, dst)) +
         attribute("comm_size", number(9, size)) + attribute("comm_tag", number(11, tag));
}
std::string collective(std::uint64_t type, std::uint64_t size) {
  return attribute("comm_type", number(9, type)) + attribute("comm_size", number(9, size));
}
const std::string kMetadata = varint(7) + blob(1, "0.0.4");

Result<ChakraImport, ChakraError> read(const std::vector<std::string>& ranks,
                                       const ChakraParams& params = {}) {
  std::vector<ChakraFile> files;
  for (const std::string& rank : ranks)
    files.push_back({fmt::format("t.{}.et", files.size()), rank});
  return import_chakra(files, params);
}
std::string described(const std::vector<std::string>& ranks, const ChakraParams& params = {}) {
  const auto trace = read(ranks, params);
  if (trace) return describe(trace.value().graph);
  return fmt::format("{}:{}: {}", trace.error().file, trace.error().offset, trace.error().message);
}

TEST(ChakraImport, ReadsTheExample) {
  const auto trace_of_two = read({trace("step.0.et"), trace("step.1.et")}, {.chunk = mb(1)});
  ASSERT_TRUE(trace_of_two) << trace_of_two.error().message;
  EXPECT_EQ(trace_of_two.value().collectives, 1u);
  EXPECT_EQ(describe(trace_of_two.value().graph),
            "0: 0 computes 20000000 ps\n"
            "1: 0 computes 5000000 ps [8 sent]\n"
            "2: 0->1 4096 B [1 sent]\n"
            "3: 1 computes 22000000 ps\n"
            "4: 1 computes 5000000 ps [10 sent]\n"
            "5: 1 computes 10000000 ps [6 sent]\n"
            "6: 1 computes 0 ps [2 received, 4 sent]\n"
            "7: 0 computes 0 ps [0 sent]\n"
            "8: 0 computes 0 ps [11 sent, 12 received, 13 sent, 14 received, 7 sent]\n"
            "9: 1 computes 0 ps [3 sent]\n"
            "10: 1 computes 0 ps [11 received, 12 sent, 13 received, 14 sent, 9 sent]\n"
            "11: 0->1 500000 B [7 sent]\n"
            "12: 1->0 500000 B [9 sent]\n"
            "13: 0->1 500000 B [12 received, 7 sent]\n"
            "14: 1->0 500000 B [11 received, 9 sent]\n");
}

TEST(ChakraImport, ReadsDependenciesPackedOrNotAndSkipsTheUnknown) {
  const std::string unknown = blob(2, "a name") + number(6, 77) + blob(8, "\x08\x01") +
                              blob(99, "x") + varint(100 << 3 | 1) + std::string(8, 'x') +
                              varint(101 << 3 | 5) + std::string(4, 'x') +
                              attribute("is_cpu_op", number(27, 1)) +
                              attribute("share", varint(3 << 3 | 1) + std::string(8, '\0'));
  EXPECT_EQ(described({kMetadata + node(5, 4, number(7, 3) + unknown) + node(9, 2, number(4, 5)) +
                       node(7, 1, blob(5, varint(5) + varint(9)))}),
            "0: 0 computes 3000000 ps\n"
            "1: 0 computes 0 ps [0 sent]\n"
            "2: 0 computes 0 ps [0 sent, 1 sent]\n");
}

TEST(ChakraImport, MatchesSendsAndReceives) {
  EXPECT_EQ(
      described({kMetadata + node(1, 5, transfer(0, 1, 10, 1)) + node(2, 5, transfer(0, 1, 20, 2)),
                 kMetadata + node(1, 6, transfer(0, 1, 20, 2)) + node(2, 6, transfer(0, 1, 10, 1)) +
                     node(3, 4, number(5, 1))}),
      "0: 0->1 10 B\n1: 0->1 20 B\n2: 1 computes 0 ps [1 received]\n");
}

// Whatever type an attribute's number has.
TEST(ChakraImport, ReadsNumbersOfAllKinds) {
  const std::string fixed4("\x10\0\0\0", 4);
  const std::string fixed8("\x10\0\0\0\0\0\0\0", 8);
  const std::string kinds[] = {number(7, 16),
                               number(9, 16),
                               number(11, 16),
                               number(13, 16),
                               number(15, 32),
                               number(17, 32),
                               varint(19 << 3 | 5) + fixed4,
                               varint(21 << 3 | 1) + fixed8,
                               varint(23 << 3 | 5) + fixed4,
                               varint(25 << 3 | 1) + fixed8};
  for (const std::string& kind : kinds) {
    EXPECT_EQ(
        described(
            {kMetadata +
                 node(1, 5, attribute("comm_dst", number(7, 1)) + attribute("comm_size", kind)),
             kMetadata +
                 node(1, 6, attribute("comm_src", number(7, 0)) + attribute("comm_size", kind))}),
        "0: 0->1 16 B\n");
  }
}

// A rank hands nothing on before it has reached the collective itself.
TEST(ChakraImport, RanksJoinCollectivesWhenTheyAreReady) {
  const std::string fast = kMetadata + node(1, 7, collective(5, 100));
  const std::string slow =
      kMetadata + node(1, 4, number(7, 50)) + node(2, 7, number(5, 1) + collective(5, 100));
  EXPECT_EQ(described({fast, slow, fast}),
            "0: 1 computes 50000000 ps\n"
            "1: 0 computes 0 ps\n"
            "2: 0 computes 0 ps [1 sent, 7 sent]\n"
            "3: 1 computes 0 ps [0 sent]\n"
            "4: 1 computes 0 ps [3 sent, 7 received, 8 sent]\n"
            "5: 2 computes 0 ps\n"
            "6: 2 computes 0 ps [5 sent, 8 received]\n"
            "7: 0->1 100 B [1 sent]\n"
            "8: 1->2 100 B [3 sent, 7 received]\n");
}

TEST(ChakraImport, CollectivesAreOfTheSizeThatARankPutsIn) {
  const auto bytes_of = [](std::uint64_t type) {
    const std::string rank = kMetadata + node(1, 7, collective(type, 400));
    const auto trace = read({rank, rank, rank, rank});
    EXPECT_TRUE(trace) << trace.error().message;
    return trace ? trace.value().graph.bytes() : bytes(-1);
  };
  EXPECT_EQ(bytes_of(0), bytes(6 * 400));      // AllReduce: 2 (N - 1) times the buffer
  EXPECT_EQ(bytes_of(2), bytes(4 * 3 * 400));  // AllGather: everybody's share to all others
  EXPECT_EQ(bytes_of(5), bytes(3 * 400));      // Broadcast
  EXPECT_EQ(bytes_of(6), bytes(3 * 400));      // AllToAll: all but its own part
  EXPECT_EQ(bytes_of(7), bytes(3 * 400));      // ReduceScatter
  EXPECT_EQ(bytes_of(8), bytes(3 * 400));
  EXPECT_GT(bytes_of(9), bytes(0));  // Barrier
}

TEST(ChakraImport, NotesComputationsWithoutTime) {
  const auto trace = read({kMetadata + node(1, 4, attribute("num_ops", number(9, 1'000)))});
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace.value().notes.size(), 1u);
  EXPECT_EQ(trace.value().notes[0],
            "1 computation has operations but no duration_micros, so no time goes by");
}

// Protobuf writes no field that has its default: neither id 0 nor a dependency's absence.
TEST(ChakraImport, WhatIsNotWrittenIsItsDefault) {
  EXPECT_EQ(described({kMetadata + node(0, 4, number(7, 3)) + node(1, 4, number(5, 0)),
                       varint(0) + node(0, 0) + node(1, 1, number(5, 0))}),
            "0: 0 computes 3000000 ps\n"
            "1: 0 computes 0 ps [0 sent]\n"
            "2: 1 computes 0 ps\n"
            "3: 1 computes 0 ps [2 sent]\n");
  // A node that is all defaults has no bytes: it is of type 0, invalid.
  const auto read_it = read({kMetadata + varint(0)});
  ASSERT_TRUE(read_it) << read_it.error().message;
  EXPECT_EQ(read_it.value().notes,
            (std::vector<std::string>{"1 node is of type 0, invalid: no time goes by"}));
}

// Converters leave out the CPU operations that called others.
TEST(ChakraImport, DependenciesThatCannotBeAreLeftOut) {
  const auto trace_of_one = read({kMetadata + node(5, 4, number(4, 3) + number(5, 5))});
  ASSERT_TRUE(trace_of_one) << trace_of_one.error().message;
  EXPECT_EQ(trace_of_one.value().notes,
            (std::vector<std::string>{
                "1 control dependency is on nodes that the file does not have: left out",
                "1 dependency is of a node on itself: left out"}));
}

TEST(ChakraImport, DataDependenciesAreStrongerThanControl) {
  const auto got = read({kMetadata + node(1, 4, number(4, 2)) + node(2, 4, number(5, 1))});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(describe(got.value().graph), "0: 0 computes 0 ps\n1: 0 computes 0 ps [0 sent]\n");
  EXPECT_EQ(got.value().notes,
            (std::vector<std::string>{
                "control and data dependencies together make nodes wait for each other: data "
                "dependencies alone are followed, as Chakra's own feeder does"}));
}

std::string in_group(const std::string& name, std::uint64_t type, std::uint64_t size) {
  return collective(type, size) + attribute("pg_name", blob(29, name));
}

TEST(ChakraImport, GroupsAreThoseThatNameThem) {
  const auto rank = [](const char* group) {
    return kMetadata + node(0, 7, in_group(group, 5, 100));
  };
  const auto got = read({rank("a"), rank("b"), rank("a"), rank("b")});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got.value().collectives, 2u);
  EXPECT_EQ(got.value().notes,
            (std::vector<std::string>{
                "2 groups are described nowhere: members are the ranks that name it"}));
  EXPECT_EQ(describe(got.value().graph),
            "0: 0 computes 0 ps\n"
            "1: 0 computes 0 ps [0 sent, 4 sent]\n"
            "2: 2 computes 0 ps\n"
            "3: 2 computes 0 ps [2 sent, 4 received]\n"
            "4: 0->2 100 B [0 sent]\n"
            "5: 1 computes 0 ps\n"
            "6: 1 computes 0 ps [5 sent, 9 sent]\n"
            "7: 3 computes 0 ps\n"
            "8: 3 computes 0 ps [7 sent, 9 received]\n"
            "9: 1->3 100 B [5 sent]\n");
}

// As ASTRA-sim takes it, and in the order that it has: a broadcast begins at the first of the group.
TEST(ChakraImport, GroupsAreThoseOfTheFile) {
  const std::string rank = kMetadata + node(0, 7, in_group("1", 5, 100));
  const std::string idle = kMetadata + node(0, 4);
  const std::vector<std::string> ranks{rank, idle, rank};
  const auto got = read(ranks, {.groups = {"g.json", R"({"1": [2, 0], "7": [1]})"}});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got.value().notes, std::vector<std::string>{});
  EXPECT_NE(describe(got.value().graph).find("2->0 100 B"), std::string::npos);
  const auto error = [&](std::string_view groups) {
    return described(ranks, {.groups = {"g.json", groups}});
  };
  EXPECT_EQ(error(R"({"1": [0, 1]})"),
            "t.2.et:8: node 0 is a collective of group \"1\", of which rank 2 is no member. its "
            "members are 0, 1");
  EXPECT_EQ(
      error(R"({"1": [0, 1, 2]})"),
      "t.0.et:8: node 0 is collective number 1 of group \"1\", but \"t.1.et\" has 0. all ranks "
      "of group \"1\" take part in all of them");
  const std::string like = ". a file of groups is such as {\"1\": [0, 1], \"2\": [2, 3]}";
  EXPECT_EQ(error("[1]"), "g.json:0: this is no JSON object" + like);
  for (const char* const list : {"3", "[3]", "[-1]", "[0, 0]", "[\"0\"]"}) {
    EXPECT_EQ(
        error(fmt::format("{{\"1\": {}}}", list)),
        "g.json:0: group \"1\" is no list of ranks, each once, from 0 to 2: there are 3 files" +
            like);
  }
}

// PyTorch writes its groups into a metadata node, as a text in a list; an empty list is everybody.
TEST(ChakraImport, GroupsAreThoseOfTheMetadata) {
  const std::string groups =
      R"(['[{"pg_name": "0", "ranks": [], "group_size": 4}, {"pg_name": "9", "ranks": [1, 3]}]'])";
  const std::string begin = kMetadata + node(1, 1, blob(8, blob(1, groups)));
  const std::string all = node(2, 7, in_group("0", 5, 10));
  const std::string odd = node(3, 7, in_group("9", 5, 20));
  const auto got = read({begin + all, begin + all + odd, begin + all, begin + all + odd});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got.value().notes, std::vector<std::string>{});
  EXPECT_EQ(got.value().graph.bytes(), bytes(3 * 10 + 20));
}

TEST(ChakraImport, WhatMovesNothing) {
  const auto got =
      read({kMetadata + node(1, 7, in_group("alone", 0, 8)) + node(2, 7, collective(0, 0)) +
                node(3, 7, number(7, 5) + attribute("is_cpu_op", number(27, 1))),
            kMetadata + node(2, 7, attribute("comm_type", number(9, 0)))});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got.value().collectives, 0u);
  EXPECT_EQ(
      describe(got.value().graph),
      "0: 0 computes 0 ps\n1: 0 computes 0 ps\n2: 0 computes 5000000 ps\n3: 1 computes 0 ps\n");
  EXPECT_EQ(got.value().notes,
            (std::vector<std::string>{
                "1 collective is a call on the CPU without attributes: the duration is what counts",
                "2 collectives have comm_size 0, or none (the first: node 2 of t.0.et): nothing is "
                "moved. a converter that did not see the tensors writes that",
                "1 group is described nowhere: members are the ranks that name it"}));
}

TEST(ChakraImport, DimensionsOfANetworkAreRefused) {
  const auto dims = [](const std::string& list) {
    return kMetadata +
           node(1, 7, collective(0, 8) + attribute("involved_dim", blob(28, blob(1, list))));
  };
  EXPECT_EQ(
      described({dims(std::string("\1\0", 2)), dims("\1\1")}),
      "t.0.et:8: node 1 is a collective along some dimensions of a network (involved_dim has a "
      "false), and which ranks those are is not in the trace. name groups by pg_name, with a "
      "file of them");
  EXPECT_TRUE(read({dims("\1\1"), dims("\1\1")}));
}

// ---- JSON ----

const char* const kJsonRank = R"({"version": "0.0.4"}
{"id": "1", "type": "COMP_NODE", "durationMicros": "7", "attr": [{"name": "is_cpu_op", "boolVal": false}]}{
  "name": "the node with id 0, a \" and a }",
  "type": "COMM_COLL_NODE", "ctrlDeps": ["99"], "dataDeps": ["1"],
  "attr": [{"name": "comm_type", "int64Val": "5"}, {"name": "comm_size", "int64Val": "100"},
           {"name": "involved_dim", "boolList": {"values": [true]}}]
})";

TEST(ChakraImport, ReadsProtobufsJson) {
  EXPECT_EQ(described({kJsonRank, kJsonRank}),
            "0: 0 computes 7000000 ps\n"
            "1: 1 computes 7000000 ps\n"
            "2: 0 computes 0 ps [0 sent]\n"
            "3: 0 computes 0 ps [2 sent, 6 sent]\n"
            "4: 1 computes 0 ps [1 sent]\n"
            "5: 1 computes 0 ps [4 sent, 6 received]\n"
            "6: 0->1 100 B [2 sent]\n");
}

TEST(ChakraImport, ReadsTheFeedersJson) {
  const std::string sends = R"({"workload_graph": [
    {"Id": 0, "NodeType": 4, "runtime": 3, "ctrlDeps": [9], "data_deps": [], "is_cpu_op": true},
    {"Id": 1, "NodeType": 5, "data_deps": [0], "comm_dst": 1, "comm_size": 64, "comm_tag": 2}]})";
  const std::string receives =
      R"({"workload_graph": [{"Id": 4, "NodeType": 6, "comm_src": 0, "comm_size": 64, "comm_tag": 2}]})";
  EXPECT_EQ(described({sends, receives}), "0: 0 computes 3000000 ps\n1: 0->1 64 B [0 sent]\n");
}

TEST(ChakraImport, AByteOrderMarkIsNoJson) {
  const std::string mark = "\xef\xbb\xbf";
  const std::string sends =
      R"({"workload_graph": [{"Id": 1, "NodeType": 5, "comm_dst": 1, "comm_size": 64, "comm_tag": 2}]})";
  const std::string receives =
      R"({"workload_graph": [{"Id": 4, "NodeType": 6, "comm_src": 0, "comm_size": 64, "comm_tag": 2}]})";
  EXPECT_EQ(described({mark + sends, mark + receives}), "0: 0->1 64 B\n");
}

TEST(ChakraImport, SaysWhatIsWrongWithJson) {
  const std::string meta = R"({"version": "x"})";
  const std::pair<std::string, std::string> wrongs[] = {
      {"{\"a\": ",
       "0: this is no JSON object, or it is cut short. the file is a row of objects, the metadata "
       "and "
       "the nodes, or one with a workload_graph"},
      {R"({"schema": "1.0.2", "nodes": []})",
       "0: this is PyTorch's own trace, of one rank's host. link it to the device's trace and "
       "convert "
       "it (chakra_trace_link, chakra_converter), and take the result"},
      {R"({"id": "1"})",
       "0: a node where the metadata should be. a trace begins with its metadata"},
      {meta + R"({"id": "x"})", "16: id of node number 0 is \"x\". it is a whole number"},
      {meta + R"({"id": 1.5})", "16: id of node number 0 is 1.5. it is a whole number"},
      {meta + R"({"type": "SLEEP"})",
       "16: type of node 0 is \"SLEEP\". it is one such as COMP_NODE or COMM_COLL_NODE"},
      {meta + R"({"dataDeps": [{}]})", "16: dataDeps of node number 0 has {}. it is a list of ids"},
      {meta + R"({"attr": [3]})", "16: node 0 has an attribute without a name"},
      {R"({"workload_graph": 3})", "0: workload_graph is no list. it is one of nodes"},
      {R"({"workload_graph": [3]})", "0: node number 0 is no object"},
      {"\x1f\x8b..", "0: the file is compressed. unpack it first: gzip -d"},
  };
  for (const auto& [text, error] : wrongs) EXPECT_EQ(described({text}), "t.0.et:" + error);
}

TEST(ChakraImport, SaysWhichByteCannotBe) {
  struct Wrong {
    std::vector<std::string> ranks;
    std::string error;
  };
  const std::string cut =
      " is cut short or no protocol buffer. the file is a row of messages, each behind its length";
  const std::string reduce = kMetadata + node(1, 7, collective(0, 8));
  const Wrong wrongs[] = {
      {{}, ":0: 0 files. there is one for each rank, from 1 to 1048576"},
      {{""}, "t.0.et:0: the file is empty. a trace begins with its metadata"},
      {{kMetadata}, "t.0.et:0: no nodes in any file. a trace has some"},
      {{node(1, 4)},
       "t.0.et:1: a node where the metadata should be. a trace begins with its metadata"},
      {{kMetadata + "\x05"}, "t.0.et:8: a message" + cut},
      {{kMetadata + std::string(10, '\xff')}, "t.0.et:8: a message" + cut},
      {{kMetadata + varint(~std::uint64_t{0}) + "x"}, "t.0.et:8: a message" + cut},
      {{kMetadata + varint(1) + "\x08"}, "t.0.et:9: a node" + cut},
      {{kMetadata + varint(1) + "\x0b"}, "t.0.et:9: a node" + cut},
      {{kMetadata + node(1, 4, blob(10, "\x0a\x7f"))}, "t.0.et:15: an attribute" + cut},
      {{kMetadata + node(1, 4, blob(4, "\xff"))}, "t.0.et:13: a list of dependencies" + cut},
      {{kMetadata + node(1, 8)}, "t.0.et:8: node 1 is of type 8. types are from 0 to 7"},
      {{kMetadata + node(1, 4) + node(1, 4)},
       "t.0.et:13: node 1 a second time, after that at byte 8"},
      {{kMetadata + node(1, 4, number(5, 2))},
       "t.0.et:8: node 1 depends on node 2, which this file does not have"},
      {{kMetadata + node(1, 4, number(5, 2)) + node(2, 4, number(5, 1))},
       "t.0.et:8: this operation waits for itself"},
      {{kMetadata + node(1, 4, number(7, 3'600'000'001))},
       "t.0.et:8: node 1 takes 3600000001 us. it takes at most 3600000000"},
      {{kMetadata + node(1, 5, transfer(0, 5, 1))},
       "t.0.et:8: comm_dst of node 1 is 5. it is another rank, from 0 to 0: there are 1 files"},
      {{kMetadata + node(1, 6)},
       "t.0.et:8: comm_src of node 1 is missing. it is another rank, from 0 to 0: there are 1 "
       "files"},
      {{kMetadata + node(1, 5, transfer(3, 1, 1)), kMetadata},
       "t.0.et:8: comm_src of node 1 is 3, in the file of rank 0. the files are handed over in the "
       "order of ranks"},
      {{kMetadata + node(1, 5, transfer(0, 1, 1)), kMetadata},
       "t.0.et:8: no receive for this send: rank 1 receives nothing more from rank 0 with tag 0"},
      {{kMetadata + node(1, 5, transfer(0, 1, std::uint64_t{1} << 41)), kMetadata},
       "t.0.et:8: comm_size of node 1 is 2199023255552. a message has from 0 to 1099511627776 "
       "bytes"},
      {{kMetadata + node(1, 7, collective(3, 8)), kMetadata},
       "t.0.et:8: comm_type of node 1 is 3, Gather. what is supported is AllReduce, AllGather, "
       "Broadcast, AllToAll, ReduceScatter and Barrier"},
      {{kMetadata + node(1, 7, collective(0, ~std::uint64_t{0})), kMetadata},
       "t.0.et:8: comm_size of node 1 is -1. a collective has from 0 to 1099511627776 bytes"},
      {{kMetadata + node(1, 7, collective(0, std::uint64_t{1} << 40)),
        kMetadata + node(1, 7, collective(0, std::uint64_t{1} << 40))},
       "t.0.et:8: with node 1 the collectives have more than 20000000 messages. take larger "
       "chunks, "
       "or fewer collectives"},
      {{reduce}, "t.0.et:8: a collective of one rank. hand over the files of all ranks"},
      {{reduce, kMetadata},
       "t.0.et:8: node 1 is collective number 1, but \"t.1.et\" has 0. all ranks take part in all "
       "of "
       "them"},
      {{kMetadata, reduce},
       "t.1.et:8: node 1 is collective number 1, but \"t.0.et\" has 0. all ranks take part in all "
       "of "
       "them"},
      {{reduce, kMetadata + node(1, 7, collective(2, 8))},
       "t.1.et:8: node 1 is collective number 1, of type 2 and 8 bytes; in \"t.0.et\" that one is "
       "of "
       "type 0 and 8 bytes"},
  };
  for (const Wrong& wrong : wrongs) EXPECT_EQ(described(wrong.ranks), wrong.error);
  EXPECT_EQ(
      described({reduce, reduce, reduce}, {.allreduce = Collective::allreduce_halving_doubling}),
      "t.0.et:8: 3 ranks: halving-doubling works for powers of two, such as 2");
}

}  // namespace
}  // namespace strack::workload
