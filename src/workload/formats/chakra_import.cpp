#include "workload/formats/chakra_import.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "workload/formats/chakra_nodes.h"
#include "workload/formats/import_builder.h"
#include "workload/formats/import_ops.h"
#include "workload/lines.h"

namespace strack::workload {
namespace {

constexpr std::int64_t kLargestTag = (std::int64_t{1} << 32) - 1;
/// Of a collective's buffer, so that its product with the ranks fits 64 bits.
constexpr std::int64_t kLargestBuffer = std::int64_t{1} << 40;
constexpr std::int64_t kBarrier = 9;

struct CollectiveName {
  std::string_view name;
  std::optional<Collective> algorithm;
};
CollectiveName collective_of(std::int64_t type, Collective allreduce) {
  switch (type) {
    case 0:
      return {"AllReduce", allreduce};
    case 1:
      return {"Reduce", std::nullopt};
    case 2:
      return {"AllGather", Collective::allgather};
    case 3:
      return {"Gather", std::nullopt};
    case 4:
      return {"Scatter", std::nullopt};
    case 5:
      return {"Broadcast", Collective::broadcast};
    case 6:
      return {"AllToAll", Collective::alltoall};
    case 7:
    case 8:
      return {"ReduceScatter", Collective::reduce_scatter};
    case kBarrier:
      return {"Barrier", Collective::allreduce_double_binary_tree};
    default:
      return {"", std::nullopt};
  }
}

/// One rank's part in a collective.
struct Joining {
  OpId op = 0;
  Rank rank = 0;
  std::uint64_t node = 0;
  std::uint64_t offset = 0;
  std::int64_t type = 0;
  std::int64_t share = 0;
};
struct Group {
  std::optional<std::vector<Rank>> members;  ///< as a file has them
  std::vector<Joining> joinings;             ///< by rank, and within one in order
};

class Reader {
 public:
  Reader(std::span<const ChakraFile> files, const ChakraParams& params, bool follow_ctrl_deps)
      : files_(files),
        params_(params),
        follow_ctrl_deps_(follow_ctrl_deps),
        ops_(static_cast<Rank>(files.size())) {}

  Result<ChakraImport, ChakraError> read() {
    if (!read_groups()) return error_;
    for (rank_ = 0; rank_ < files_.size(); ++rank_) {
      if (!read_file()) return error_;
    }
    if (ops_.size() == 0) {
      rank_ = 0;
      fail(0, "no nodes in any file. a trace has some");
      return error_;
    }
    for (auto& [name, group] : groups_) {
      if (!group.joinings.empty() && !meet(name, group)) return error_;
    }
    auto graph = ops_.build();
    if (!graph) {
      const ImportOp& op = ops_.op(graph.error().op);
      found_ring_ = graph.error().is_ring;
      rank_ = op.rank;
      fail(op.place, graph.error().message);
      return error_;
    }
    return ChakraImport{std::move(graph.value()), collectives_, notes()};
  }
  /// Whether what was wrong is that nodes wait for each other.
  [[nodiscard]] bool found_ring() const { return found_ring_; }

 private:
  bool fail(std::uint64_t offset, std::string message) {
    error_ = {files_[rank_].name, offset, std::move(message)};
    return false;
  }

  [[nodiscard]] std::vector<std::string> notes() const {
    std::vector<std::string> out;
    const auto note = [&](std::uint64_t count, std::string_view one, std::string_view many,
                          std::string_view text) {
      if (count > 0) out.push_back(fmt::format("{} {}", counted(count, one, many), text));
    };
    note(timeless_, "computation has", "computations have",
         "operations but no duration_micros, so no time goes by");
    note(invalid_, "node is", "nodes are", "of type 0, invalid: no time goes by");
    note(calls_, "collective is a call", "collectives are calls",
         "on the CPU without attributes: the duration is what counts");
    if (!follow_ctrl_deps_) {
      out.push_back(
          "control and data dependencies together make nodes wait for each other: data "
          "dependencies alone are followed, as Chakra's own feeder does");
    }
    note(absent_, "control dependency is", "control dependencies are",
         "on nodes that the file does not have: left out");
    note(own_, "dependency is", "dependencies are", "of a node on itself: left out");
    if (empty_.count > 0) {
      out.push_back(fmt::format(
          "{} comm_size 0, or none (the first: node {} of {}): nothing is moved. a "
          "converter that did not see the tensors writes that",
          counted(empty_.count, "collective has", "collectives have"), empty_.node, empty_.file));
    }
    if (guessed_ > 0) {
      out.push_back(fmt::format("{} described nowhere: members are the ranks that name it",
                                counted(guessed_, "group is", "groups are")));
    }
    note(ops_.other_sizes(), "receive names", "receives name",
         "another size than the send it gets: the send's counts");
    return out;
  }

  // --- groups

  bool wrong_groups(const std::string& message) {
    error_ = {params_.groups.name, 0,
              message + ". a file of groups is such as {\"1\": [0, 1], \"2\": [2, 3]}"};
    return false;
  }
  bool read_groups() {
    if (params_.groups.bytes.empty()) return true;
    const auto all = nlohmann::json::parse(params_.groups.bytes, nullptr, false);
    if (!all.is_object()) return wrong_groups("this is no JSON object");
    for (const auto& [name, ranks] : all.items()) {
      auto members = members_of(ranks);
      if (!members) {
        return wrong_groups(
            fmt::format("group {} is no list of ranks, each once, from 0 to {}: there are {} files",
                        workload::quoted(name), files_.size() - 1, files_.size()));
      }
      groups_[name].members = std::move(members);
    }
    return true;
  }
  /// An empty list is everybody, as PyTorch writes it.
  [[nodiscard]] std::optional<std::vector<Rank>> members_of(const nlohmann::json& list) const {
    if (!list.is_array()) return std::nullopt;
    std::vector<Rank> members;
    for (const auto& item : list) {
      if (!item.is_number_unsigned() || item.get<std::uint64_t>() >= files_.size())
        return std::nullopt;
      members.push_back(item.get<Rank>());
    }
    if (members.empty()) {
      members.resize(files_.size());
      std::iota(members.begin(), members.end(), Rank{0});
    }
    std::vector<Rank> sorted = members;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return std::nullopt;
    return members;
  }
  /// PyTorch's: ['[{"pg_name": "1", "ranks": [0, 1], ...}]'], a text in a list. What is no such text
  /// is other metadata.
  void read_process_groups(std::string_view inputs) {
    const std::size_t begin = inputs.find("[{");
    const std::size_t end = inputs.rfind("}]");
    if (begin == inputs.npos || end == inputs.npos || end < begin) return;
    const auto list = nlohmann::json::parse(inputs.substr(begin, end + 2 - begin), nullptr, false);
    if (!list.is_array()) return;
    for (const auto& item : list) {
      if (!item.is_object() || !item.contains("pg_name") || !item["pg_name"].is_string() ||
          !item.contains("ranks")) {
        continue;
      }
      auto members = members_of(item["ranks"]);
      Group& group = groups_[item["pg_name"].get<std::string>()];
      if (members && !group.members) group.members = std::move(members);
    }
  }

  // --- nodes

  bool read_file() {
    const auto nodes = read_chakra_nodes(files_[rank_].bytes);
    if (!nodes) return fail(nodes.error().offset, nodes.error().message);
    by_id_.clear();
    const OpId first = ops_.size();
    for (const ChakraNode& node : nodes.value()) {
      if (!add_node(node)) return false;
    }
    for (std::size_t i = 0; i < nodes.value().size(); ++i) {
      const ChakraNode& node = nodes.value()[i];
      const OpId op = first + static_cast<OpId>(i);
      for (const bool data : {false, true}) {
        if (!data && !follow_ctrl_deps_) continue;
        for (const std::uint64_t id : data ? node.data_deps : node.ctrl_deps) {
          if (!require(node, op, id, data)) return false;
        }
      }
    }
    return true;
  }

  bool require(const ChakraNode& node, OpId op, std::uint64_t id, bool data) {
    const auto it = by_id_.find(id);
    if (it == by_id_.end()) {
      if (!data) {
        ++absent_;
        return true;
      }
      return fail(
          node.offset,
          fmt::format("node {} depends on node {}, which this file does not have", node.id, id));
    }
    if (it->second == op) {
      ++own_;
      return true;
    }
    ops_.require(op, it->second);
    return true;
  }

  bool add_node(const ChakraNode& node) {
    ImportOp op;
    op.rank = rank_;
    op.place = node.offset;
    std::optional<Joining> joining;
    switch (static_cast<ChakraType>(node.type)) {
      case ChakraType::invalid:
        ++invalid_;
        break;
      case ChakraType::metadata:
        read_process_groups(node.inputs);
        if (!set_time(node, op)) return false;
        break;
      case ChakraType::load:
      case ChakraType::store:
      case ChakraType::compute:
        if (!set_time(node, op)) return false;
        if (op.amount == 0 && node.has_operations) ++timeless_;
        break;
      case ChakraType::send:
      case ChakraType::recv:
        if (!set_transfer(node, op)) return false;
        break;
      case ChakraType::collective:
        if (node.is_cpu_op && !node.comm_type && !node.comm_size) {
          ++calls_;
          if (!set_time(node, op)) return false;
          break;
        }
        joining.emplace();
        if (!set_collective(node, op, *joining)) return false;
        break;
      default:
        return fail(node.offset, fmt::format("node {} is of type {}. types are from 0 to 7",
                                             node.id, node.type));
    }
    const OpId id = ops_.add(op);
    if (joining && op.kind == OpKind::collective) {
      joining->op = id;
      groups_[node.pg_name].joinings.push_back(*joining);
    }
    const auto [it, is_new] = by_id_.try_emplace(node.id, id);
    if (!is_new) {
      return fail(node.offset, fmt::format("node {} a second time, after that at byte {}", node.id,
                                           ops_.op(it->second).place));
    }
    return true;
  }

  bool set_time(const ChakraNode& node, ImportOp& op) {
    constexpr auto kMost = static_cast<std::uint64_t>(kLongestWait / us(1));
    if (node.duration_micros > kMost) {
      return fail(node.offset, fmt::format("node {} takes {} us. it takes at most {}", node.id,
                                           node.duration_micros, kMost));
    }
    op.amount = us(static_cast<std::int64_t>(node.duration_micros)).count();
    return true;
  }

  bool set_transfer(const ChakraNode& node, ImportOp& op) {
    const bool sends = static_cast<ChakraType>(node.type) == ChakraType::send;
    op.kind = sends ? OpKind::send : OpKind::recv;
    const auto ranks = static_cast<std::int64_t>(files_.size());
    const std::optional<std::int64_t>& peer = sends ? node.comm_dst : node.comm_src;
    const std::optional<std::int64_t>& self = sends ? node.comm_src : node.comm_dst;
    if (!peer || *peer < 0 || *peer >= ranks || *peer == rank_) {
      return fail(
          node.offset,
          fmt::format("{} of node {} is {}. it is another rank, from 0 to {}: there are {} files",
                      sends ? "comm_dst" : "comm_src", node.id,
                      peer ? fmt::format("{}", *peer) : "missing", ranks - 1, ranks));
    }
    if (self && *self != rank_) {
      return fail(node.offset, fmt::format("{} of node {} is {}, in the file of rank {}. the files "
                                           "are handed over in the order of ranks",
                                           sends ? "comm_src" : "comm_dst", node.id, *self, rank_));
    }
    const std::int64_t size = node.comm_size.value_or(0);
    if (size < 0 || size > kMostMessageBytes) {
      return fail(node.offset,
                  fmt::format("comm_size of node {} is {}. a message has from 0 to {} bytes",
                              node.id, size, kMostMessageBytes));
    }
    const std::int64_t tag = node.comm_tag.value_or(0);
    if (tag < 0 || tag > kLargestTag) {
      return fail(node.offset, fmt::format("comm_tag of node {} is {}. it is from 0 to {}", node.id,
                                           tag, kLargestTag));
    }
    op.peer = static_cast<Rank>(*peer);
    op.amount = size;
    op.tag = tag;
    return true;
  }

  bool set_collective(const ChakraNode& node, ImportOp& op, Joining& joining) {
    const std::int64_t type = node.comm_type.value_or(0);
    const CollectiveName what = collective_of(type, params_.allreduce);
    if (!what.algorithm) {
      return fail(node.offset,
                  fmt::format("comm_type of node {} is {}{}{}. what is supported is AllReduce, "
                              "AllGather, Broadcast, AllToAll, ReduceScatter and Barrier",
                              node.id, type, what.name.empty() ? "" : ", ", what.name));
    }
    if (node.has_false_dim) {
      return fail(node.offset,
                  fmt::format("node {} is a collective along some dimensions of a network "
                              "(involved_dim has a false), and which ranks those are is not in the "
                              "trace. name groups by pg_name, with a file of them",
                              node.id));
    }
    const std::int64_t share = type == kBarrier ? 1 : node.comm_size.value_or(0);
    if (share < 0 || share > kLargestBuffer) {
      return fail(node.offset,
                  fmt::format("comm_size of node {} is {}. a collective has from 0 to {} bytes",
                              node.id, share, kLargestBuffer));
    }
    if (share == 0) {
      if (empty_.count++ == 0) empty_ = {1, node.id, files_[rank_].name};
      return true;  // a computation without time
    }
    op.kind = OpKind::collective;
    joining = {0, rank_, node.id, node.offset, type, share};
    return true;
  }

  // --- collectives

  bool fail(const Joining& at, std::string message) {
    rank_ = at.rank;
    return fail(at.offset, std::move(message));
  }

  /// The collectives of one group: the i-th at each of its ranks are one.
  bool meet(const std::string& name, Group& group) {
    const std::string called =
        name.empty() ? "" : fmt::format(" of group {}", workload::quoted(name));
    std::map<Rank, std::vector<const Joining*>> by_rank;
    for (const Joining& joining : group.joinings) by_rank[joining.rank].push_back(&joining);
    if (!group.members && name.empty()) {
      group.members.emplace(files_.size());
      std::iota(group.members->begin(), group.members->end(), Rank{0});
    } else if (!group.members) {
      ++guessed_;
      group.members.emplace();
      for (const auto& [rank, theirs] : by_rank) group.members->push_back(rank);
    }
    const std::vector<Rank>& members = *group.members;
    for (const auto& [rank, theirs] : by_rank) {
      if (std::find(members.begin(), members.end(), rank) == members.end()) {
        return fail(*theirs.front(),
                    fmt::format("node {} is a collective{}, of which rank {} is no "
                                "member. its members are {}",
                                theirs.front()->node, called, rank,
                                printable(fmt::format("{}", fmt::join(members, ", ")))));
      }
    }
    // Who has the most has one that somebody else misses.
    const auto* most = &*by_rank.begin();
    for (const auto& entry : by_rank) {
      if (entry.second.size() > most->second.size()) most = &entry;
    }
    for (const Rank member : members) {
      const std::size_t count = by_rank.contains(member) ? by_rank[member].size() : 0;
      if (count == most->second.size()) continue;
      return fail(*most->second[count],
                  fmt::format("node {} is collective number {}{}, but {} has {}. all ranks{} take "
                              "part in all of them",
                              most->second[count]->node, count + 1, called,
                              workload::quoted(files_[member].name), count, called));
    }
    if (members.size() == 1) {
      if (name.empty()) {
        return fail(group.joinings.front(),
                    "a collective of one rank. hand over the files of all ranks");
      }
      for (const Joining& joining : group.joinings) ops_.make_empty(joining.op);
      return true;
    }
    const auto shared = std::make_shared<const std::vector<Rank>>(members);
    for (std::size_t i = 0; i < most->second.size(); ++i) {
      const Joining& first = *by_rank[members.front()][i];
      for (const Rank member : members) {
        const Joining& other = *by_rank[member][i];
        if (other.type == first.type && other.share == first.share) {
          ops_.join(other.op, collectives_);
          continue;
        }
        return fail(
            other, fmt::format("node {} is collective number {}{}, of type {} and {} bytes; "
                               "in {} that one is of type {} and {} bytes",
                               other.node, i + 1, called, other.type, other.share,
                               workload::quoted(files_[first.rank].name), first.type, first.share));
      }
      if (!add_collective(first, shared)) return false;
    }
    return true;
  }

  bool add_collective(const Joining& joining,
                      const std::shared_ptr<const std::vector<Rank>>& members) {
    const auto ranks = static_cast<std::int64_t>(members->size());
    CollectiveParams params;
    params.collective = *collective_of(joining.type, params_.allreduce).algorithm;
    params.ranks = static_cast<Rank>(ranks);
    params.size =
        bytes(params.collective == Collective::allgather ? joining.share * ranks : joining.share);
    params.chunk = params_.chunk;
    if (!check_size(joining, params)) return false;
    ops_.add_collective(params, members);
    ++collectives_;
    return true;
  }

  /// Before anything is made from it: a few bytes of trace can ask for any number of messages.
  bool check_size(const Joining& joining, const CollectiveParams& p) {
    const std::uint64_t chunks =
        static_cast<std::uint64_t>(p.size / p.chunk) + 2 * std::uint64_t{p.ranks};
    const std::uint64_t left = params_.most_messages - messages_;
    if (chunks > left / 2 / p.ranks) {
      return fail(
          joining,
          fmt::format("with node {} the collectives have more than {} messages. take larger "
                      "chunks, or fewer collectives",
                      joining.node, params_.most_messages));
    }
    messages_ += 2 * chunks * p.ranks;
    // What make_collective refuses for other reasons, found before the graph is built.
    CollectiveParams small = p;
    small.size = bytes(1);
    const auto made = make_collective(small);
    if (!made) return fail(joining, made.error());
    return true;
  }

  struct Empty {
    std::uint64_t count = 0;
    std::uint64_t node = 0;
    std::string file;
  };
  std::span<const ChakraFile> files_;
  const ChakraParams& params_;
  bool follow_ctrl_deps_;
  bool found_ring_ = false;
  ImportOps ops_;
  ChakraError error_;
  Rank rank_ = 0;
  std::unordered_map<std::uint64_t, OpId> by_id_;  ///< looked up, never walked
  std::map<std::string, Group> groups_;
  std::uint32_t collectives_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t timeless_ = 0;
  std::uint64_t invalid_ = 0;
  std::uint64_t calls_ = 0;
  std::uint64_t absent_ = 0;
  std::uint64_t own_ = 0;
  std::uint64_t guessed_ = 0;
  Empty empty_;
};

}  // namespace

Result<ChakraImport, ChakraError> import_chakra(std::span<const ChakraFile> files,
                                                const ChakraParams& params) {
  if (files.empty() || files.size() > kMostRanks) {
    return ChakraError{"", 0,
                       fmt::format("{} files. there is one for each rank, from 1 to {}",
                                   files.size(), kMostRanks)};
  }
  Reader all(files, params, true);
  auto read = all.read();
  if (read || !all.found_ring()) return read;
  // Of PyTorch's traces control dependencies say who called whom, and a caller may wait for the called.
  auto without = Reader(files, params, false).read();
  return without ? std::move(without) : std::move(read);
}

}  // namespace strack::workload
