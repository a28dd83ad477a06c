// One rank's Chakra execution trace as its nodes, whichever of the ways it is written in:
//  - protobuf: a GlobalMetadata, then Nodes, each behind its length;
//  - JSON: the same messages as protobuf's own JSON, one after the other (chakra_jsonizer);
//  - JSON: one object with a "workload_graph" of nodes, as Chakra's feeder reads it.
// Protobuf does not write a field that has its default, so what is not there is 0, or empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace strack::workload {

enum class ChakraType : std::uint64_t {
  invalid = 0,
  metadata = 1,
  load = 2,
  store = 3,
  compute = 4,
  send = 5,
  recv = 6,
  collective = 7,
};

/// A node as the file has it.
struct ChakraNode {
  std::uint64_t offset = 0;  ///< in the file, for errors
  std::uint64_t id = 0;
  std::uint64_t type = 0;  ///< a ChakraType, or a number that is none
  std::uint64_t duration_micros = 0;
  std::vector<std::uint64_t> ctrl_deps;
  std::vector<std::uint64_t> data_deps;
  std::string inputs;  ///< of a metadata node: where PyTorch's process groups are written
  // Attributes, where there is one of the name:
  std::optional<std::int64_t> comm_type;
  std::optional<std::int64_t> comm_size;
  std::optional<std::int64_t> comm_src;
  std::optional<std::int64_t> comm_dst;
  std::optional<std::int64_t> comm_tag;
  std::string pg_name;  ///< of the ranks that take part
  bool is_cpu_op = false;
  bool has_operations = false;
  bool has_false_dim = false;  ///< involved_dim leaves out a dimension of a network
};

/// What cannot be, and how many bytes into the file.
struct ChakraNodesError {
  std::uint64_t offset = 0;
  std::string message;
};

/// All nodes of a file, in its order.
[[nodiscard]] Result<std::vector<ChakraNode>, ChakraNodesError> read_chakra_nodes(
    std::string_view bytes);

}  // namespace strack::workload
