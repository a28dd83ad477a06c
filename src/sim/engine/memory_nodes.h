// Machines whose memory is in several nodes (NUMA), each near to some processors. A run whose threads do not fit beside
// one node is spread over as many as it takes: each worker stays at the processors of its node, and the part of the
// network that it begins every window with is moved there. Connections and packets come to lie there by themselves, since who
// first writes to memory gets it from the nearest node.
//
// With one node, or a run that fits beside one, nothing is done: the system places threads as well as anybody.
#pragma once

#include <sched.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace strack::sim {

/// Processors by number, from a text such as "0-3,8".
[[nodiscard]] std::vector<std::uint32_t> processors_in(std::string_view list);

class MemoryNodes {
 public:
  struct Node {
    std::uint32_t number = 0;                 ///< the system's
    std::vector<std::uint32_t> processors{};  ///< that this process may use; never none
  };

  /// As the system describes them in such a folder, for a process that may use those processors.
  MemoryNodes(const std::filesystem::path& folder, const cpu_set_t& allowed);
  /// This machine's, for this thread.
  [[nodiscard]] static MemoryNodes here();

  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  /// The node of a worker, of so many; null: it may be anywhere. Neighbours are together.
  [[nodiscard]] const Node* node_of(std::uint32_t worker, std::uint32_t workers) const;

 private:
  std::vector<Node> nodes_;
};

/// This thread stays beside a node. False: the system says no.
bool stay_at(const MemoryNodes::Node& node);
/// Moves memory there, and what is first written of it later comes from there: whole pages, without their edges. False: the
/// system says no, and all is as it was.
bool move_to(const MemoryNodes::Node& node, void* memory, std::size_t size);

/// While it is there a thread may be where it wants; then it may be where it could be before.
class KeepsAffinity {
 public:
  KeepsAffinity();
  ~KeepsAffinity();
  KeepsAffinity(const KeepsAffinity&) = delete;
  KeepsAffinity& operator=(const KeepsAffinity&) = delete;

 private:
  cpu_set_t before_;
};

}  // namespace strack::sim
