#include "workload/formats/chakra_import.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "workload/formats/chakra_wire.h"
#include "workload/formats/import_builder.h"
#include "workload/formats/import_ops.h"
#include "workload/lines.h"

namespace strack::workload {
namespace {

constexpr std::int64_t kLargestTag = (std::int64_t{1} << 32) - 1;
/// Of a collective's buffer, so that its product with the ranks fits 64 bits.
constexpr std::int64_t kLargestBuffer = std::int64_t{1} << 40;

enum class NodeType : std::uint64_t {
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
struct Node {
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> id;
  std::uint64_t type = 0;
  std::uint64_t duration_micros = 0;
  std::vector<std::uint64_t> deps;
  std::optional<std::int64_t> comm_type;
  std::optional<std::int64_t> comm_size;
  std::optional<std::int64_t> comm_src;
  std::optional<std::int64_t> comm_dst;
  std::optional<std::int64_t> comm_tag;
  bool has_operations = false;
  bool is_of_a_part = false;
};

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
    case 9:
      return {"Barrier", Collective::allreduce_double_binary_tree};
    default:
      return {"", std::nullopt};
  }
}

std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

class Reader {
 public:
  Reader(std::span<const ChakraFile> files, const ChakraParams& params)
      : files_(files), params_(params), ops_(static_cast<Rank>(files.size())) {}

  Result<ChakraImport, ChakraError> read() {
    for (rank_ = 0; rank_ < files_.size(); ++rank_) {
      if (!read_file()) return error_;
      if (rank_ > 0 && in_this_file_ != kinds_.size()) {
        fail(files_[rank_].bytes.size(),
             fmt::format("{} collectives, but {} has {}. all ranks take part in all of them",
                         in_this_file_, quoted(files_[0].name), kinds_.size()));
        return error_;
      }
    }
    if (ops_.size() == 0) {
      rank_ = 0;
      fail(0, "no nodes in any file. a trace has some");
      return error_;
    }
    auto graph = ops_.build();
    if (!graph) {
      const ImportOp& op = ops_.op(graph.error().op);
      rank_ = op.rank;
      fail(op.place, graph.error().message);
      return error_;
    }
    ChakraImport out{std::move(graph.value()), static_cast<std::uint32_t>(kinds_.size()), {}};
    if (timeless_ > 0) {
      out.notes.push_back(fmt::format(
          "{} computations have operations but no duration_micros, and take no time", timeless_));
    }
    if (ops_.other_sizes() > 0) {
      out.notes.push_back(
          fmt::format("{} receives name another size than the send they get: the send's counts",
                      ops_.other_sizes()));
    }
    return out;
  }

 private:
  bool fail(std::uint64_t offset, std::string message) {
    error_ = {files_[rank_].name, offset, std::move(message)};
    return false;
  }
  bool not_protobuf(std::uint64_t offset, std::string_view what) {
    return fail(offset, fmt::format("{} is cut short or no protocol buffer. the file is a row of "
                                    "messages, each behind its length",
                                    what));
  }

  bool read_file() {
    WireReader file(files_[rank_].bytes);
    by_id_.clear();
    deps_.clear();
    in_this_file_ = 0;
    bool is_first = true;
    while (!file.at_end()) {
      const std::uint64_t begin = file.offset();
      const std::optional<std::string_view> message = file.delimited();
      if (!message) return not_protobuf(begin, "a message");
      const std::uint64_t body = file.offset() - message->size();
      if (is_first) {
        is_first = false;
        if (!check_metadata(*message, body)) return false;
        continue;
      }
      Node node;
      node.offset = begin;
      if (!read_node(*message, body, node) || !add_node(node)) return false;
    }
    if (is_first) return fail(0, "the file is empty. a trace begins with its metadata");
    for (const Dependency& d : deps_) {
      const auto it = by_id_.find(d.id);
      if (it == by_id_.end()) {
        return fail(d.offset,
                    fmt::format("a node depends on node {}, which this file does not have", d.id));
      }
      if (it->second == d.op) return fail(d.offset, fmt::format("node {} depends on itself", d.id));
      ops_.require(d.op, it->second);
    }
    return true;
  }

  /// Its contents do not matter, but that there is one does: else the first node would be lost.
  bool check_metadata(std::string_view message, std::uint64_t offset) {
    WireReader reader(message, offset);
    while (!reader.at_end()) {
      const std::uint64_t begin = reader.offset();
      const std::optional<WireField> field = reader.field();
      if (!field) return not_protobuf(begin, "the metadata");
      // A Node has its id, a number, where the metadata has its version, a text.
      if (field->number == 1 && field->kind == WireField::Kind::number)
        return fail(begin, "a node where the metadata should be. a trace begins with its metadata");
    }
    return true;
  }

  bool read_node(std::string_view message, std::uint64_t offset, Node& node) {
    WireReader reader(message, offset);
    while (!reader.at_end()) {
      const std::uint64_t begin = reader.offset();
      const std::optional<WireField> field = reader.field();
      if (!field) return not_protobuf(begin, "a node");
      const bool is_number = field->kind == WireField::Kind::number;
      switch (field->number) {
        case 1:
          if (!is_number) return fail(begin, "a node's id is no number");
          node.id = field->value;
          break;
        case 3:
          if (!is_number) return fail(begin, "a node's type is no number");
          node.type = field->value;
          break;
        case 4:
        case 5:
          if (is_number) {
            node.deps.push_back(field->value);
          } else if (!read_packed(*field, reader.offset(), node.deps)) {
            return not_protobuf(begin, "a list of dependencies");
          }
          break;
        case 7:
          if (!is_number) return fail(begin, "a node's duration_micros is no number");
          node.duration_micros = field->value;
          break;
        case 10:
          if (is_number) return fail(begin, "a node's attribute is a number");
          if (!read_attribute(field->bytes, reader.offset() - field->bytes.size(), node))
            return false;
          break;
        default:
          break;
      }
    }
    return true;
  }

  static bool read_packed(const WireField& field, std::uint64_t end,
                          std::vector<std::uint64_t>& values) {
    WireReader reader(field.bytes, end - field.bytes.size());
    while (!reader.at_end()) {
      const std::optional<std::uint64_t> value = reader.varint();
      if (!value) return false;
      values.push_back(*value);
    }
    return true;
  }

  bool read_attribute(std::string_view message, std::uint64_t offset, Node& node) {
    WireReader reader(message, offset);
    std::string_view name;
    std::optional<std::int64_t> number;
    std::string_view text;
    bool has_false = false;
    while (!reader.at_end()) {
      const std::uint64_t begin = reader.offset();
      const std::optional<WireField> field = reader.field();
      if (!field) return not_protobuf(begin, "an attribute");
      if (field->kind == WireField::Kind::bytes) {
        if (field->number == 1) name = field->bytes;
        if (field->number == 29) text = field->bytes;
        if (field->number == 28 && !find_false(field->bytes, has_false))
          return not_protobuf(begin, "a list of an attribute");
        continue;
      }
      switch (field->number) {
        case 7:   // int32 is written with its sign in 64 bits
        case 9:   // int64
        case 11:  // uint32
        case 13:  // uint64
        case 19:  // fixed32
        case 21:  // fixed64
        case 27:  // bool
          number = static_cast<std::int64_t>(field->value);
          break;
        case 15:  // sint32
        case 17:  // sint64
          number = unzigzag(field->value);
          break;
        case 23:  // sfixed32
          number = static_cast<std::int32_t>(static_cast<std::uint32_t>(field->value));
          break;
        case 25:  // sfixed64
          number = static_cast<std::int64_t>(field->value);
          break;
        default:
          break;
      }
    }
    if (name == "comm_type") node.comm_type = number.value_or(0);
    if (name == "comm_size") node.comm_size = number.value_or(0);
    if (name == "comm_src") node.comm_src = number.value_or(0);
    if (name == "comm_dst") node.comm_dst = number.value_or(0);
    if (name == "comm_tag") node.comm_tag = number.value_or(0);
    if (name == "num_ops") node.has_operations = number.value_or(0) != 0;
    if (name == "involved_dim" && has_false) node.is_of_a_part = true;
    if (name == "pg_name" && !text.empty()) node.is_of_a_part = true;
    return true;
  }

  /// In a BoolList, packed or one by one.
  static bool find_false(std::string_view list, bool& has_false) {
    WireReader reader(list);
    while (!reader.at_end()) {
      const std::optional<WireField> field = reader.field();
      if (!field) return false;
      if (field->number != 1) continue;
      std::vector<std::uint64_t> values{field->value};
      if (field->kind == WireField::Kind::bytes) {
        values.clear();
        if (!read_packed(*field, 0, values)) return false;
      }
      for (const std::uint64_t value : values) has_false = has_false || value == 0;
    }
    return true;
  }

  bool add_node(const Node& node) {
    if (!node.id) return fail(node.offset, "a node without id. every node has one of its own");
    ImportOp op;
    op.rank = rank_;
    op.place = node.offset;
    switch (static_cast<NodeType>(node.type)) {
      case NodeType::metadata:
      case NodeType::load:
      case NodeType::store:
      case NodeType::compute: {
        constexpr auto kMost = static_cast<std::uint64_t>(kLongestWait / us(1));
        if (node.duration_micros > kMost) {
          return fail(node.offset, fmt::format("node {} takes {} us. it takes at most {}", *node.id,
                                               node.duration_micros, kMost));
        }
        op.amount = us(static_cast<std::int64_t>(node.duration_micros)).count();
        if (op.amount == 0 && node.has_operations) ++timeless_;
        break;
      }
      case NodeType::send:
      case NodeType::recv:
        if (!set_transfer(node, op)) return false;
        break;
      case NodeType::collective:
        if (!set_collective(node, op)) return false;
        break;
      default:
        return fail(node.offset, fmt::format("node {} is of type {}. types are from 1 to 7",
                                             *node.id, node.type));
    }
    const OpId id = ops_.add(op);
    const auto [it, is_new] = by_id_.try_emplace(*node.id, id);
    if (!is_new) {
      return fail(node.offset, fmt::format("node {} a second time, after that at byte {}", *node.id,
                                           ops_.op(it->second).place));
    }
    for (const std::uint64_t dep : node.deps) deps_.push_back({id, dep, node.offset});
    return true;
  }

  bool set_transfer(const Node& node, ImportOp& op) {
    const bool sends = static_cast<NodeType>(node.type) == NodeType::send;
    op.kind = sends ? OpKind::send : OpKind::recv;
    const auto ranks = static_cast<std::int64_t>(files_.size());
    const std::optional<std::int64_t>& peer = sends ? node.comm_dst : node.comm_src;
    const std::optional<std::int64_t>& self = sends ? node.comm_src : node.comm_dst;
    if (!peer || *peer < 0 || *peer >= ranks || *peer == rank_) {
      return fail(
          node.offset,
          fmt::format("{} of node {} is {}. it is another rank, from 0 to {}: there are {} files",
                      sends ? "comm_dst" : "comm_src", *node.id,
                      peer ? fmt::format("{}", *peer) : "missing", ranks - 1, ranks));
    }
    if (self && *self != rank_) {
      return fail(node.offset,
                  fmt::format("{} of node {} is {}, in the file of rank {}. the files "
                              "are handed over in the order of ranks",
                              sends ? "comm_src" : "comm_dst", *node.id, *self, rank_));
    }
    const std::int64_t size = node.comm_size.value_or(0);
    if (size < 0 || size > kMostMessageBytes) {
      return fail(node.offset,
                  fmt::format("comm_size of node {} is {}. a message has from 0 to {} bytes",
                              *node.id, size, kMostMessageBytes));
    }
    const std::int64_t tag = node.comm_tag.value_or(0);
    if (tag < 0 || tag > kLargestTag) {
      return fail(node.offset, fmt::format("comm_tag of node {} is {}. it is from 0 to {}",
                                           *node.id, tag, kLargestTag));
    }
    op.peer = static_cast<Rank>(*peer);
    op.amount = size;
    op.tag = tag;
    return true;
  }

  bool set_collective(const Node& node, ImportOp& op) {
    op.kind = OpKind::collective;
    const std::int64_t type = node.comm_type.value_or(0);
    const CollectiveName what = collective_of(type, params_.allreduce);
    if (!what.algorithm) {
      return fail(node.offset,
                  fmt::format("comm_type of node {} is {}{}{}. what is supported is AllReduce, "
                              "AllGather, Broadcast, AllToAll, ReduceScatter and Barrier",
                              *node.id, type, what.name.empty() ? "" : ", ", what.name));
    }
    if (node.is_of_a_part && !params_.groups_are_everybody) {
      return fail(node.offset, fmt::format("node {} is a collective of a part of the ranks "
                                           "(involved_dim or pg_name), which is not supported",
                                           *node.id));
    }
    const auto ranks = static_cast<std::int64_t>(files_.size());
    const bool barrier = type == 9;
    const std::int64_t share = barrier ? 1 : node.comm_size.value_or(0);
    if (share < 1 || share > kLargestBuffer) {
      return fail(node.offset,
                  fmt::format("comm_size of node {} is {}. a collective has from 1 to {} bytes",
                              *node.id, share, kLargestBuffer));
    }
    CollectiveParams params;
    params.collective = *what.algorithm;
    params.ranks = static_cast<Rank>(ranks);
    params.size = bytes(*what.algorithm == Collective::allgather ? share * ranks : share);
    params.chunk = params_.chunk;
    if (in_this_file_ == kinds_.size()) {
      if (rank_ > 0) {
        return fail(node.offset, fmt::format("node {} is collective number {}, but {} has {}. all "
                                             "ranks take part in all of them",
                                             *node.id, in_this_file_ + 1, quoted(files_[0].name),
                                             kinds_.size()));
      }
      if (!check_size(node, params)) return false;
      kinds_.push_back({type, share});
      ops_.add_collective(params);
    } else if (kinds_[in_this_file_] != std::pair{type, share}) {
      return fail(
          node.offset,
          fmt::format("node {} is collective number {}, of type {} and {} bytes; in {} that "
                      "one is of type {} and {} bytes",
                      *node.id, in_this_file_ + 1, type, share, quoted(files_[0].name),
                      kinds_[in_this_file_].first, kinds_[in_this_file_].second));
    }
    op.amount = static_cast<std::int64_t>(in_this_file_++);
    return true;
  }

  /// Before anything is made from it: a few bytes of trace can ask for any number of messages.
  bool check_size(const Node& node, const CollectiveParams& p) {
    if (p.ranks < 2)
      return fail(node.offset, "a collective of one rank. hand over two files or more");
    const std::uint64_t chunks =
        static_cast<std::uint64_t>(p.size / p.chunk) + 2 * std::uint64_t{p.ranks};
    const std::uint64_t left = params_.most_messages - messages_;
    if (chunks > left / 2 / p.ranks) {
      return fail(
          node.offset,
          fmt::format("with node {} the collectives have more than {} messages. take larger "
                      "chunks, or fewer collectives",
                      *node.id, params_.most_messages));
    }
    messages_ += 2 * chunks * p.ranks;
    // What make_collective refuses for other reasons, found before the graph is built.
    CollectiveParams small = p;
    small.size = bytes(1);
    const auto made = make_collective(small);
    if (!made) return fail(node.offset, made.error());
    return true;
  }

  struct Dependency {
    OpId op;
    std::uint64_t id;
    std::uint64_t offset;
  };
  std::span<const ChakraFile> files_;
  const ChakraParams& params_;
  ImportOps ops_;
  ChakraError error_;
  Rank rank_ = 0;
  std::unordered_map<std::uint64_t, OpId> by_id_;  ///< looked up, never walked
  std::vector<Dependency> deps_;
  std::vector<std::pair<std::int64_t, std::int64_t>> kinds_;  ///< type and comm_size, by collective
  std::size_t in_this_file_ = 0;
  std::uint64_t messages_ = 0;
  std::uint32_t timeless_ = 0;
};

}  // namespace

Result<ChakraImport, ChakraError> import_chakra(std::span<const ChakraFile> files,
                                                const ChakraParams& params) {
  if (files.empty() || files.size() > kMostRanks) {
    return ChakraError{"", 0,
                       fmt::format("{} files. there is one for each rank, from 1 to {}",
                                   files.size(), kMostRanks)};
  }
  return Reader(files, params).read();
}

}  // namespace strack::workload
