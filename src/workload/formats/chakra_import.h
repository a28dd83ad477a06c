// Chakra execution traces: what each rank computes, sends, receives and takes part in, one file of
// protobuf messages for each rank (a GlobalMetadata, then Nodes, each behind its length).
//
// What is read of a node: id, type, ctrl_deps, data_deps, duration_micros, and of its attributes
// comm_type, comm_size, comm_src, comm_dst, comm_tag, involved_dim and pg_name. Everything else is
// skipped.
//  - Computations, loads, stores and metadata take duration_micros. Operation counts (num_ops) are not
//    turned into times.
//  - Sends and receives are matched by source, destination and tag, in the order of the files
//    (import_ops.h). A send has ended when it is wholly acknowledged.
//  - The i-th collective of a rank is the i-th of all others. It becomes the messages of
//    make_collective; a rank joins in when its own node's dependencies have ended, and its node ends
//    when all its messages are sent and received. comm_size is what a rank puts in: for AllGather its
//    share, for all others the whole buffer. Broadcasts begin at rank 0; a Barrier is an AllReduce of
//    one byte. Reduce, Gather and Scatter are refused.
//  - Collectives of a part of the ranks (involved_dim with a false, pg_name) are refused, unless
//    `groups_are_everybody`.
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
  bool groups_are_everybody = false;
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
