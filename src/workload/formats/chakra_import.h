// Chakra execution traces: what each rank computes, sends, receives and takes part in, one file for
// each rank, protobuf or JSON (chakra_nodes.h).
//
// What is read of a node: id, type, ctrl_deps, data_deps, duration_micros, and of its attributes
// comm_type, comm_size, comm_src, comm_dst, comm_tag, involved_dim, pg_name and is_cpu_op. Everything
// else is skipped.
//  - Computations, loads, stores and metadata take duration_micros. Operation counts (num_ops) are not
//    turned into times. Nodes of type 0 (invalid) take no time; what waits for them goes on. So do
//    control dependencies on nodes that the file does not have, and a node's on itself: converters of
//    PyTorch's traces write both. Where control and data dependencies make a ring, only those of data
//    are followed, as Chakra's feeder does.
//  - Sends and receives are matched by source, destination and tag, in the order of the files
//    (import_ops.h). A send has ended when it is wholly acknowledged.
//  - The i-th collective of a group at one rank is the i-th at all others of it. It becomes the messages
//    of make_collective; a rank joins in when its own node's dependencies have ended, and its node ends
//    when all its messages are sent and received. comm_size is what a rank puts in: for AllGather its
//    share, for all others the whole buffer; with 0 bytes nothing is moved. Broadcasts begin at the
//    group's first rank; a Barrier is an AllReduce of one byte. Reduce, Gather and Scatter are refused.
//    A collective on the CPU without attributes is the call that starts one: it takes its duration.
//  - A group is named by pg_name; without one it is everybody. Who is in it is written in the file of
//    groups that ASTRA-sim takes ({"1": [0, 1], "2": [2, 3]}), else in PyTorch's metadata node, else it
//    is those that name it. A group of one rank moves nothing.
//  - Collectives along some dimensions of a network (involved_dim with a false) are refused: a trace does
//    not say which ranks those are.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "workload/collectives.h"
#include "workload/graph.h"

namespace strack::workload {

/// One rank's trace; files are handed over in the order of ranks.
struct ChakraFile {
  std::string name;  ///< for errors
  std::string_view bytes;
};

struct ChakraParams {
  Collective allreduce = Collective::allreduce_ring;
  Bytes chunk = bytes(131'072);              ///< largest message of a collective
  std::uint64_t most_messages = 20'000'000;  ///< of all collectives together
  ChakraFile groups{};  ///< who is in which group; empty: as the traces have it
};

/// What is wrong, and where: which file, and how many bytes into it.
struct ChakraError {
  std::string file;
  std::uint64_t offset = 0;
  std::string message;
};

struct ChakraImport {
  Graph graph;
  std::uint32_t collectives = 0;
  std::vector<std::string> notes;  ///< what was left out, for people
};

[[nodiscard]] Result<ChakraImport, ChakraError> import_chakra(std::span<const ChakraFile> files,
                                                              const ChakraParams& params = {});

}  // namespace strack::workload
