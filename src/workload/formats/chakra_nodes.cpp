#include "workload/formats/chakra_nodes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "workload/formats/chakra_wire.h"
#include "workload/lines.h"

namespace strack::workload {
namespace {

using Json = nlohmann::json;

std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

/// An attribute's value, of whatever type it was written.
struct Value {
  std::optional<std::int64_t> number;
  std::string text;
  bool has_false = false;  ///< of a list of booleans
};

void set_attribute(std::string_view name, const Value& value, ChakraNode& node) {
  const std::int64_t number = value.number.value_or(0);
  if (name == "comm_type") node.comm_type = number;
  if (name == "comm_size") node.comm_size = number;
  if (name == "comm_src") node.comm_src = number;
  if (name == "comm_dst") node.comm_dst = number;
  if (name == "comm_tag") node.comm_tag = number;
  if (name == "is_cpu_op") node.is_cpu_op = number != 0;
  if (name == "num_ops") node.has_operations = number != 0;
  if (name == "involved_dim") node.has_false_dim = value.has_false;
  // A name is a text; some writers have a number.
  if (name == "pg_name") node.pg_name = value.number ? fmt::format("{}", number) : value.text;
}

class Protobuf {
 public:
  explicit Protobuf(std::string_view bytes) : file_(bytes) {}

  Result<std::vector<ChakraNode>, ChakraNodesError> read() {
    std::vector<ChakraNode> nodes;
    bool is_first = true;
    while (!file_.at_end()) {
      const std::uint64_t begin = file_.offset();
      const std::optional<std::string_view> message = file_.delimited();
      if (!message) {
        not_protobuf(begin, "a message");
        return error_;
      }
      const std::uint64_t body = file_.offset() - message->size();
      if (is_first) {
        is_first = false;
        if (!check_metadata(*message, body)) return error_;
        continue;
      }
      ChakraNode node;
      node.offset = begin;
      if (!read_node(*message, body, node)) return error_;
      nodes.push_back(std::move(node));
    }
    return nodes;
  }

 private:
  bool fail(std::uint64_t offset, std::string message) {
    error_ = {offset, std::move(message)};
    return false;
  }
  bool not_protobuf(std::uint64_t offset, std::string_view what) {
    return fail(offset, fmt::format("{} is cut short or no protocol buffer. the file is a row of "
                                    "messages, each behind its length",
                                    what));
  }

  /// Its contents do not matter, but that there is one does: else the first node would be lost.
  bool check_metadata(std::string_view message, std::uint64_t offset) {
    WireReader reader(message, offset);
    while (!reader.at_end()) {
      const std::uint64_t begin = reader.offset();
      const std::optional<WireField> field = reader.field();
      if (!field) return not_protobuf(begin, "the metadata");
      // Metadata has a version and attributes; a Node has its id, a number, and its type.
      if (field->kind == WireField::Kind::number && (field->number == 1 || field->number == 3))
        return fail(begin, "a node where the metadata should be. a trace begins with its metadata");
    }
    return true;
  }

  bool read_node(std::string_view message, std::uint64_t offset, ChakraNode& node) {
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
        case 5: {
          std::vector<std::uint64_t>& deps = field->number == 4 ? node.ctrl_deps : node.data_deps;
          if (is_number) {
            deps.push_back(field->value);
          } else if (!read_packed(field->bytes, deps)) {
            return not_protobuf(begin, "a list of dependencies");
          }
          break;
        }
        case 7:
          if (!is_number) return fail(begin, "a node's duration_micros is no number");
          node.duration_micros = field->value;
          break;
        case 8:
          if (is_number) return fail(begin, "a node's inputs are a number");
          if (!read_inputs(field->bytes, node)) return not_protobuf(begin, "a node's inputs");
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
    if (node.type != static_cast<std::uint64_t>(ChakraType::metadata)) node.inputs.clear();
    return true;
  }

  static bool read_packed(std::string_view bytes, std::vector<std::uint64_t>& values) {
    WireReader reader(bytes);
    while (!reader.at_end()) {
      const std::optional<std::uint64_t> value = reader.varint();
      if (!value) return false;
      values.push_back(*value);
    }
    return true;
  }

  static bool read_inputs(std::string_view message, ChakraNode& node) {
    WireReader reader(message);
    while (!reader.at_end()) {
      const std::optional<WireField> field = reader.field();
      if (!field) return false;
      if (field->number == 1) node.inputs = field->bytes;
    }
    return true;
  }

  bool read_attribute(std::string_view message, std::uint64_t offset, ChakraNode& node) {
    WireReader reader(message, offset);
    std::string_view name;
    Value value;
    while (!reader.at_end()) {
      const std::uint64_t begin = reader.offset();
      const std::optional<WireField> field = reader.field();
      if (!field) return not_protobuf(begin, "an attribute");
      if (field->kind == WireField::Kind::bytes) {
        if (field->number == 1) name = field->bytes;
        if (field->number == 29) value.text = field->bytes;
        if (field->number == 28 && !find_false(field->bytes, value.has_false))
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
        case 25:  // sfixed64
        case 27:  // bool
          value.number = static_cast<std::int64_t>(field->value);
          break;
        case 15:  // sint32
        case 17:  // sint64
          value.number = unzigzag(field->value);
          break;
        case 23:  // sfixed32
          value.number = static_cast<std::int32_t>(static_cast<std::uint32_t>(field->value));
          break;
        default:
          break;
      }
    }
    set_attribute(name, value, node);
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
        if (!read_packed(field->bytes, values)) return false;
      }
      for (const std::uint64_t value : values) has_false = has_false || value == 0;
    }
    return true;
  }

  WireReader file_;
  ChakraNodesError error_;
};

/// In protobuf's JSON a 64-bit number is a text, in the feeder's a number.
std::optional<std::int64_t> number_in(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (value.is_number_unsigned()) return static_cast<std::int64_t>(value.get<std::uint64_t>());
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  const char* const end = text.data() + text.size();
  std::int64_t number = 0;
  if (const auto [at, error] = std::from_chars(text.data(), end, number);
      error == std::errc{} && at == end)
    return number;
  std::uint64_t large = 0;
  if (const auto [at, error] = std::from_chars(text.data(), end, large);
      error == std::errc{} && at == end)
    return static_cast<std::int64_t>(large);
  return std::nullopt;
}

class JsonText {
 public:
  explicit JsonText(std::string_view text)
      : text_(text), at_(text.size() - without_bom(text).size()) {}

  Result<std::vector<ChakraNode>, ChakraNodesError> read() {
    bool is_first = true;
    while (skip_blanks()) {
      const std::size_t begin = at_;
      const std::size_t end = end_of_object();
      const Json object = Json::parse(text_.substr(begin, end - begin), nullptr, false);
      at_ = end;
      if (!object.is_object()) {
        fail(begin,
             "this is no JSON object, or it is cut short. the file is a row of objects, the "
             "metadata and the nodes, or one with a workload_graph");
        return error_;
      }
      if (is_first && object.contains("workload_graph")) {
        if (!read_workload_graph(object["workload_graph"])) return error_;
      } else if (is_first && object.contains("schema") && object.contains("nodes")) {
        fail(begin,
             "this is PyTorch's own trace, of one rank's host. link it to the device's trace and "
             "convert it (chakra_trace_link, chakra_converter), and take the result");
        return error_;
      } else if (is_first && (object.contains("id") || object.contains("type"))) {
        fail(begin, "a node where the metadata should be. a trace begins with its metadata");
        return error_;
      } else if (!is_first && !read_node(object, begin)) {
        return error_;
      }
      is_first = false;
    }
    return std::move(nodes_);
  }

 private:
  bool fail(std::uint64_t offset, std::string message) {
    error_ = {offset, std::move(message)};
    return false;
  }
  bool skip_blanks() {
    at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    return at_ < text_.size();
  }
  /// Behind the bracket that closes the one here, or the end of the text.
  [[nodiscard]] std::size_t end_of_object() const {
    std::size_t depth = 0;
    bool quoted = false;
    for (std::size_t i = at_; i < text_.size(); ++i) {
      const char c = text_[i];
      if (quoted) {
        if (c == '\\') ++i;
        if (c == '"') quoted = false;
      } else if (c == '"') {
        quoted = true;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if ((c == '}' || c == ']') && (depth <= 1 || --depth == 0)) {
        return i + 1;
      }
    }
    return text_.size();
  }

  bool read_workload_graph(const Json& graph) {
    if (!graph.is_array()) return fail(0, "workload_graph is no list. it is one of nodes");
    for (const Json& node : graph) {
      if (!read_node(node, 0)) return false;
    }
    return true;
  }

  bool read_node(const Json& object, std::uint64_t offset) {
    ChakraNode node;
    node.offset = offset;
    if (!object.is_object())
      return fail(offset, fmt::format("node number {} is no object", nodes_.size()));
    if (!read_number(object, offset, {"id", "Id"}, node.id) || !read_type(object, offset, node) ||
        !read_number(object, offset, {"durationMicros", "duration_micros", "runtime"},
                     node.duration_micros) ||
        !read_list(object, offset, {"ctrlDeps", "ctrl_deps"}, node.ctrl_deps) ||
        !read_list(object, offset, {"dataDeps", "data_deps"}, node.data_deps)) {
      return false;
    }
    if (node.type == static_cast<std::uint64_t>(ChakraType::metadata) &&
        object.contains("inputs") && object["inputs"].is_object()) {
      node.inputs = object["inputs"].value("values", Json("")).is_string()
                        ? object["inputs"].value("values", "")
                        : "";
    }
    // The feeder's nodes have them beside the others, protobuf's in a list.
    for (const char* const name :
         {"comm_type", "comm_size", "comm_src", "comm_dst", "comm_tag", "is_cpu_op", "num_ops"}) {
      std::uint64_t number = 0;
      if (!object.contains(name)) continue;
      if (!read_number(object, offset, {name}, number)) return false;
      set_attribute(name, {static_cast<std::int64_t>(number), {}, false}, node);
    }
    if (object.contains("pg_name")) set_attribute("pg_name", value_of(object["pg_name"]), node);
    if (object.contains("attr") && object["attr"].is_array()) {
      for (const Json& attribute : object["attr"]) {
        if (!attribute.is_object() || !attribute.contains("name") ||
            !attribute["name"].is_string()) {
          return fail(offset, fmt::format("node {} has an attribute without a name", node.id));
        }
        const std::string name = attribute["name"];
        for (const auto& [key, value] : attribute.items()) {
          if (key != "name" && key != "docString") set_attribute(name, value_of(value), node);
        }
      }
    }
    nodes_.push_back(std::move(node));
    return true;
  }

  static Value value_of(const Json& value) {
    Value out;
    if (value.is_object() && value.contains("values") && value["values"].is_array()) {
      for (const Json& item : value["values"])
        out.has_false = out.has_false || (item.is_boolean() && !item.get<bool>());
      return out;
    }
    out.number = number_in(value);
    if (!out.number && value.is_string()) out.text = value.get<std::string>();
    return out;
  }

  /// The first of some names that is there; none is a 0.
  bool read_number(const Json& object, std::uint64_t offset,
                   std::initializer_list<const char*> names, std::uint64_t& number) {
    for (const char* const name : names) {
      if (!object.contains(name)) continue;
      const std::optional<std::int64_t> value = number_in(object[name]);
      if (!value) {
        return fail(offset,
                    fmt::format("{} of node number {} is {}. it is a whole number", name,
                                nodes_.size(), printable(object[name].dump(-1, ' ', true))));
      }
      number = static_cast<std::uint64_t>(*value);
      return true;
    }
    return true;
  }
  bool read_list(const Json& object, std::uint64_t offset, std::initializer_list<const char*> names,
                 std::vector<std::uint64_t>& values) {
    for (const char* const name : names) {
      if (!object.contains(name)) continue;
      const Json& list = object[name];
      for (const Json& item : list.is_array() ? list : Json::array({list})) {
        const std::optional<std::int64_t> value = number_in(item);
        if (!value) {
          return fail(offset, fmt::format("{} of node number {} has {}. it is a list of ids", name,
                                          nodes_.size(), printable(item.dump(-1, ' ', true))));
        }
        values.push_back(static_cast<std::uint64_t>(*value));
      }
    }
    return true;
  }
  /// A name in protobuf's JSON, a number in the feeder's.
  bool read_type(const Json& object, std::uint64_t offset, ChakraNode& node) {
    constexpr std::array<std::string_view, 8> kTypes{
        "INVALID_NODE", "METADATA_NODE",  "MEM_LOAD_NODE",  "MEM_STORE_NODE",
        "COMP_NODE",    "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE"};
    if (!object.contains("type") || !object["type"].is_string())
      return read_number(object, offset, {"type", "NodeType"}, node.type);
    const auto& name = object["type"].get_ref<const std::string&>();
    const auto* const type = std::find(kTypes.begin(), kTypes.end(), name);
    if (type == kTypes.end()) {
      return fail(offset, fmt::format("type of node {} is {}. it is one such as COMP_NODE or "
                                      "COMM_COLL_NODE",
                                      node.id, workload::quoted(name)));
    }
    node.type = static_cast<std::uint64_t>(type - kTypes.begin());
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<ChakraNode> nodes_;
  ChakraNodesError error_;
};

/// A protobuf file begins with the length of its metadata; one of 123 bytes looks like a bracket.
bool is_json(std::string_view bytes) {
  bytes = without_bom(bytes);
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  if (first == bytes.npos || bytes[first] != '{') return false;
  const std::size_t next = bytes.find_first_not_of(" \t\r\n", first + 1);
  return next == bytes.npos || bytes[next] == '"' || bytes[next] == '}';
}

}  // namespace

Result<std::vector<ChakraNode>, ChakraNodesError> read_chakra_nodes(std::string_view bytes) {
  if (bytes.empty())
    return ChakraNodesError{0, "the file is empty. a trace begins with its metadata"};
  if (bytes.starts_with("\x1f\x8b")) {
    return ChakraNodesError{0, "the file is compressed. unpack it first: gzip -d"};
  }
  return is_json(bytes) ? JsonText(bytes).read() : Protobuf(bytes).read();
}

}  // namespace strack::workload
