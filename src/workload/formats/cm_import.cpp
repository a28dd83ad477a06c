#include "workload/formats/cm_import.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "workload/formats/import_builder.h"
#include "workload/lines.h"

namespace strack::workload {
namespace {

constexpr std::int64_t kLargestId = (std::int64_t{1} << 32) - 1;
/// A trigger is wired flow by flow up to so many pairs of fires and starts. Beyond, fires meet at one
/// rank and starts hear from there, so that the graph's size stays proportional to the file's.
constexpr std::size_t kMostPairs = 4'096;

/// A msg without a number: the next one of its id.
constexpr std::int64_t kNextMessage = -1;

[[nodiscard]] bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Flow {
  int line = 0;
  Rank src = 0;
  Rank dst = 0;
  std::int64_t size = 0;
  std::int64_t id = 0;   ///< 0: none
  std::int64_t msg = 0;  ///< 0: none
  std::optional<Picoseconds> start;
  std::int64_t trigger = 0;  ///< 0: none
  std::int64_t send_done = 0;
  std::int64_t recv_done = 0;
};

/// One of a flow's moments, which makes a trigger fire.
struct Fire {
  std::uint32_t flow = 0;
  Moment moment = Moment::sent;
};

struct Trigger {
  enum class Kind : std::uint8_t { oneshot, multishot, barrier };
  int line = 0;
  Kind kind = Kind::oneshot;
  std::int64_t count = 0;
  std::vector<Fire> fires;
  std::vector<std::uint32_t> starts;
};

struct Header {
  std::optional<std::int64_t> nodes, connections, triggers, failures;
};

class Reader {
 public:
  explicit Reader(CmTime unit) : unit_(unit) {}

  Result<CmImport, TextError> read(std::string_view text) {
    LineReader lines(text);
    while (const std::optional<Line> line = lines.next()) {
      if (!read_line(*line)) return error_;
    }
    if (!check_counts() || !connect_triggers()) return error_;
    return build();
  }

 private:
  bool fail(int line, std::string message) {
    error_ = {line, std::move(message)};
    return false;
  }

  bool read_line(const Line& line) {
    const std::string_view word = line.fields[0];
    if (word.find("->") != word.npos) return begin_records(line) && read_flow(line);
    if (word == "trigger") return begin_records(line) && read_trigger(line);
    if (word == "failure") return begin_records(line) && read_failure(line);
    return read_header(line);
  }

  bool read_header(const Line& line) {
    struct Count {
      std::string_view name;
      std::optional<std::int64_t>* value;
      std::int64_t least;
      std::int64_t most;
    };
    const std::array<Count, 4> counts{{{"Nodes", &header_.nodes, 2, kMostRanks},
                                       {"Connections", &header_.connections, 1, kLargestId},
                                       {"Triggers", &header_.triggers, 0, kLargestId},
                                       {"Failures", &header_.failures, 0, kLargestId}}};
    const std::string_view word = line.fields[0];
    const auto* const count =
        std::find_if(counts.begin(), counts.end(), [&](const Count& c) { return c.name == word; });
    if (count == counts.end()) {
      return fail(line.number, fmt::format("{} begins no line of a connection matrix. one begins "
                                           "with Nodes, Connections, Triggers, Failures, a "
                                           "connection such as 0->1, trigger or failure",
                                           quoted(word)));
    }
    if (records_begun_) {
      return fail(line.number,
                  fmt::format("{} after the first connection. the header comes first", word));
    }
    if (count->value->has_value())
      return fail(line.number, fmt::format("{} a second time. it is written once", word));
    if (line.fields.size() != 2) {
      return fail(line.number, fmt::format("{} has {} values. it has one, such as {} 16", word,
                                           line.fields.size() - 1, word));
    }
    const auto value = parse_within(line.fields[1], count->least, count->most);
    if (!value) {
      return fail(line.number, fmt::format("{} is {}. it is a number from {} to {}", word,
                                           quoted(line.fields[1]), count->least, count->most));
    }
    *count->value = value;
    return true;
  }

  /// What a record means depends on the header, so it has to be there.
  bool begin_records(const Line& line) {
    records_begun_ = true;
    if (!header_.nodes)
      return fail(line.number,
                  "no Nodes before this line. a matrix begins with one, such as Nodes 16");
    return true;
  }

  /// The number behind word i of a line.
  std::optional<std::int64_t> number_after(const Line& line, std::size_t i, std::int64_t least,
                                           std::int64_t most) {
    const std::string_view word = line.fields[i];
    if (i + 1 >= line.fields.size()) {
      fail(line.number, fmt::format("nothing follows {}. it needs a number, such as {} {}", word,
                                    word, std::max<std::int64_t>(least, 1)));
      return std::nullopt;
    }
    const auto value = parse_within(line.fields[i + 1], least, most);
    if (!value) {
      fail(line.number, fmt::format("{} is {}. it is a number from {} to {}", word,
                                    quoted(line.fields[i + 1]), least, most));
    }
    return value;
  }

  std::optional<Rank> rank_of(const Line& line, std::string_view text) {
    const auto rank = parse_within(text, 0, *header_.nodes - 1);
    if (!rank) {
      fail(line.number, fmt::format("the connection is {}. it is source->destination, such as "
                                    "0->1, with nodes from 0 to {}",
                                    quoted(line.fields[0]), *header_.nodes - 1));
      return std::nullopt;
    }
    return static_cast<Rank>(*rank);
  }

  bool read_ends(const Line& line, Flow& flow) {
    const std::string_view pair = line.fields[0];
    const std::size_t arrow = pair.find("->");
    const auto src = rank_of(line, pair.substr(0, arrow));
    if (!src) return false;
    const auto dst = rank_of(line, pair.substr(arrow + 2));
    if (!dst) return false;
    if (*src == *dst) {
      return fail(line.number,
                  fmt::format("{} goes from a node to itself. it goes to another one", pair));
    }
    flow.src = *src;
    flow.dst = *dst;
    return true;
  }

  bool read_flow(const Line& line) {
    Flow flow;
    flow.line = line.number;
    if (!read_ends(line, flow)) return false;
    struct Field {
      std::string_view name;
      std::int64_t* value;
      std::int64_t least;
      std::int64_t most;
      bool given = false;
    };
    std::int64_t priority = 0;
    std::array<Field, 7> fields{{{"id", &flow.id, 1, kLargestId},
                                 {"msg", &flow.msg, 1, kLargestId},
                                 {"size", &flow.size, 0, kMostMessageBytes},
                                 {"trigger", &flow.trigger, 1, kLargestId},
                                 {"send_done_trigger", &flow.send_done, 1, kLargestId},
                                 {"recv_done_trigger", &flow.recv_done, 1, kLargestId},
                                 {"prio", &priority, 0, kLargestId}}};
    for (std::size_t i = 1; i < line.fields.size(); i += 2) {
      const std::string_view word = line.fields[i];
      if (word == "addon") {
        ++addons_;
        --i;  // nothing follows it
        continue;
      }
      if (word == "msg" && !fields[1].given &&
          (i + 1 == line.fields.size() || !is_digit(line.fields[i + 1].front()))) {
        flow.msg = kNextMessage;
        fields[1].given = true;
        --i;
        continue;
      }
      if (word == "start") {
        if (flow.start) return fail(line.number, "start a second time. it is written once");
        if (!read_start(line, i, flow)) return false;
        continue;
      }
      const auto field = std::find_if(fields.begin(), fields.end(),
                                      [&](const Field& f) { return f.name == word; });
      if (field == fields.end()) {
        return fail(line.number,
                    fmt::format("{} is no word of a connection. those are id, msg, start, trigger, "
                                "size, send_done_trigger, recv_done_trigger, prio and addon",
                                quoted(word)));
      }
      if (field->given)
        return fail(line.number, fmt::format("{} a second time. it is written once", word));
      const auto value = number_after(line, i, field->least, field->most);
      if (!value) return false;
      *field->value = *value;
      field->given = true;
    }
    if (!fields[2].given)
      return fail(line.number, "no size. a connection needs one, such as size 4096");
    if (!flow.start && flow.trigger == 0) {
      return fail(line.number,
                  "neither start nor trigger. a connection needs one of them, such as start 0");
    }
    if (flow.start && flow.trigger != 0)
      return fail(line.number, "both start and trigger. a connection has one of them");
    if (fields[6].given) ++priorities_;
    if (flow.size == 0) {
      flow.size = kEndless;
      ++endless_;
    }
    if (!check_id(flow)) return false;
    flows_.push_back(flow);
    return true;
  }

  bool read_start(const Line& line, std::size_t i, Flow& flow) {
    if (i + 1 >= line.fields.size())
      return fail(line.number, "nothing follows start. it needs a time, such as start 0");
    const std::optional<Decimal> number = parse_decimal(line.fields[i + 1]);
    const std::int64_t factor = unit_ == CmTime::picoseconds ? 1 : 1'000'000;
    const auto time = number ? whole_product(*number, factor) : std::nullopt;
    if (!time || number->digits < 0 || ps(*time) > kLongestWait) {
      return fail(line.number,
                  fmt::format("start is {}. it is from 0 to {}, in {}", quoted(line.fields[i + 1]),
                              kLongestWait.count() / factor,
                              unit_ == CmTime::picoseconds ? "picoseconds" : "microseconds"));
    }
    flow.start = ps(*time);
    return true;
  }

  /// An id is one connection's; several lines of it are its messages.
  bool check_id(const Flow& flow) {
    if (flow.msg != 0 && flow.id == 0)
      return fail(flow.line,
                  "msg without id. it numbers the messages of one id, such as id 1 msg 2");
    if (flow.id == 0) return true;
    const auto [it, is_new] = first_of_id_.try_emplace(flow.id, flow);
    if (!is_new) {
      const Flow& first = it->second;
      if (first.src != flow.src || first.dst != flow.dst) {
        return fail(flow.line, fmt::format("id {} is that of {}->{} in line {}. take another id",
                                           flow.id, first.src, first.dst, first.line));
      }
      if (flow.msg == 0 || first.msg == 0) {
        return fail(flow.line, fmt::format("id {} is used in line {}. take another id, or tell the "
                                           "messages of one apart, such as id {} msg 2",
                                           flow.id, first.line, flow.id));
      }
      ++lines_of_id_[flow.id];
    }
    if (flow.msg != 0 && flow.msg != kNextMessage) {
      const auto [message, fresh] = line_of_message_.try_emplace({flow.id, flow.msg}, flow.line);
      if (!fresh) {
        return fail(flow.line, fmt::format("id {} msg {} is used in line {}. take another msg",
                                           flow.id, flow.msg, message->second));
      }
    }
    return true;
  }

  bool read_trigger(const Line& line) {
    Trigger trigger;
    trigger.line = line.number;
    std::int64_t id = 0;
    std::string_view kind;
    for (std::size_t i = 1; i < line.fields.size(); ++i) {
      const std::string_view word = line.fields[i];
      if (word == "oneshot" || word == "multishot" || word == "barrier") {
        if (!kind.empty())
          return fail(line.number,
                      fmt::format("both {} and {}. a trigger is one of them", kind, word));
        kind = word;
      } else if (word == "id" || word == "count") {
        std::int64_t& value = word == "id" ? id : trigger.count;
        if (value != 0)
          return fail(line.number, fmt::format("{} a second time. it is written once", word));
        const auto number = number_after(line, i, 1, kLargestId);
        if (!number) return false;
        value = *number;
        ++i;
      } else {
        return fail(line.number, fmt::format("{} is no word of a trigger. those are id, oneshot, "
                                             "multishot, barrier and count",
                                             quoted(word)));
      }
    }
    if (id == 0)
      return fail(line.number, "no id. a trigger needs one, such as trigger id 1 oneshot");
    if (kind.empty()) {
      return fail(line.number, fmt::format("no kind. a trigger is oneshot, multishot or barrier, "
                                           "such as trigger id {} oneshot",
                                           id));
    }
    if (kind == "barrier" && trigger.count == 0) {
      return fail(line.number, fmt::format("no count. a barrier needs one, such as trigger id {} "
                                           "barrier count 2",
                                           id));
    }
    trigger.kind = kind == "oneshot"     ? Trigger::Kind::oneshot
                   : kind == "multishot" ? Trigger::Kind::multishot
                                         : Trigger::Kind::barrier;
    const auto [it, is_new] = triggers_.try_emplace(id, trigger);
    if (!is_new) {
      return fail(line.number, fmt::format("trigger {} is described in line {}. once is enough", id,
                                           it->second.line));
    }
    return true;
  }

  bool read_failure(const Line& line) {
    CmFailure failure;
    failure.line = line.number;
    bool has_type = false;
    std::array<std::optional<std::int64_t>, 2> numbers;  // switch_id, link_id
    for (std::size_t i = 1; i < line.fields.size(); i += 2) {
      const std::string_view word = line.fields[i];
      if (word == "switch_type") {
        const std::string_view type = i + 1 < line.fields.size() ? line.fields[i + 1] : "";
        if (type != "TOR" && type != "AGG" && type != "CORE") {
          return fail(line.number,
                      fmt::format("switch_type is {}. it is TOR, AGG or CORE", quoted(type)));
        }
        failure.tier = type == "TOR"   ? CmFailure::Tier::tor
                       : type == "AGG" ? CmFailure::Tier::agg
                                       : CmFailure::Tier::core;
        has_type = true;
      } else if (word == "switch_id" || word == "link_id") {
        const auto number = number_after(line, i, 0, kLargestId);
        if (!number) return false;
        numbers[word == "link_id" ? 1 : 0] = number;
      } else {
        return fail(line.number, fmt::format("{} is no word of a failure. those are switch_type, "
                                             "switch_id and link_id",
                                             quoted(word)));
      }
    }
    if (!has_type || !numbers[0] || !numbers[1]) {
      return fail(line.number,
                  "a failure needs three words, such as failure switch_type TOR "
                  "switch_id 0 link_id 0");
    }
    failure.switch_id = static_cast<std::uint32_t>(*numbers[0]);
    failure.link_id = static_cast<std::uint32_t>(*numbers[1]);
    failures_.push_back(failure);
    return true;
  }

  bool check_counts() {
    if (!header_.nodes) return fail(0, "no Nodes. a matrix begins with them, such as Nodes 16");
    if (flows_.empty())
      return fail(0, "no connections. a matrix has some, such as 0->1 start 0 size 4096");
    if (const int line = line_of_too_much(flows_)) return fail(line, std::string(kTooMuchLarge));
    // Not an error: such files are about, and all that is needed is there.
    const auto compare = [this](std::string_view name, std::int64_t said, std::size_t found) {
      if (said == static_cast<std::int64_t>(found)) return;
      notes_.push_back(
          fmt::format("{} is {} in the header, but {} follow: those are read, unless the "
                      "file is cut short",
                      name, said, found));
    };
    compare("Connections", header_.connections.value_or(0), flows_.size());
    compare("Triggers", header_.triggers.value_or(0), triggers_.size());
    compare("Failures", header_.failures.value_or(0), failures_.size());
    return true;
  }

  /// Who fires each trigger and whom it starts; refused where a flow would never start.
  bool connect_triggers() {
    for (std::uint32_t i = 0; i < flows_.size(); ++i) {
      const Flow& flow = flows_[i];
      const std::array<std::pair<std::int64_t, std::string_view>, 3> named{
          {{flow.trigger, "trigger"},
           {flow.send_done, "send_done_trigger"},
           {flow.recv_done, "recv_done_trigger"}}};
      for (std::size_t which = 0; which < named.size(); ++which) {
        const auto& [id, word] = named[which];
        if (id == 0) continue;
        const auto it = triggers_.find(id);
        if (it == triggers_.end()) {
          return fail(flow.line,
                      fmt::format("{} is {}, which no line describes. write one, such as "
                                  "trigger id {} oneshot",
                                  word, id, id));
        }
        if (which == 0) {
          it->second.starts.push_back(i);
        } else {
          it->second.fires.push_back({i, which == 1 ? Moment::sent : Moment::received});
        }
      }
    }
    for (const auto& [id, trigger] : triggers_) {
      if (!check_trigger(id, trigger)) return false;
    }
    return true;
  }

  bool check_trigger(std::int64_t id, const Trigger& trigger) {
    if (trigger.starts.empty()) return true;
    const std::size_t fires = trigger.fires.size();
    if (fires == 0) {
      return fail(
          flows_[trigger.starts[0]].line,
          fmt::format("trigger {} is fired by no connection, so this one would never start. "
                      "write recv_done_trigger {} behind one",
                      id, id));
    }
    switch (trigger.kind) {
      case Trigger::Kind::oneshot:
        if (fires == 1) return true;
        return fail(trigger.line,
                    fmt::format("oneshot trigger {} is fired {} times. it is fired "
                                "once; to wait for all of them write barrier count {}",
                                id, fires, fires));
      case Trigger::Kind::barrier:
        if (static_cast<std::int64_t>(fires) == trigger.count) return true;
        return fail(trigger.line, fmt::format("barrier {} has count {} and is fired {} times. both "
                                              "are the same, such as count {}",
                                              id, trigger.count, fires, fires));
      case Trigger::Kind::multishot:
        if (fires >= trigger.starts.size()) return true;
        return fail(flows_[trigger.starts[fires]].line,
                    fmt::format("multishot trigger {} is fired {} times and starts one connection "
                                "each time, so this one, number {}, would never start",
                                id, fires, fires + 1));
    }
    return true;
  }

  Result<CmImport, TextError> build() {
    ImportBuilder builder(static_cast<Rank>(*header_.nodes));
    for (const Flow& flow : flows_) {
      const bool shared = flow.id != 0 && lines_of_id_.contains(flow.id);
      nodes_.push_back(builder.message(flow.src, flow.dst, bytes(flow.size), !shared));
      if (flow.start && *flow.start > ps(0)) builder.not_before(nodes_.back(), *flow.start);
    }
    std::size_t guessed = 0;
    for (const auto& [id, trigger] : triggers_) {
      if (trigger.starts.empty()) continue;
      if (trigger.kind == Trigger::Kind::multishot) {
        if (trigger.fires.size() > 1) ++guessed;
        for (std::size_t i = 0; i < trigger.starts.size(); ++i)
          connect_pairs(builder, {trigger.fires[i]}, {trigger.starts[i]});
      } else if (trigger.fires.size() * trigger.starts.size() <= kMostPairs) {
        connect_pairs(builder, trigger.fires, trigger.starts);
      } else {
        connect_at_one_rank(builder, trigger);
      }
    }
    auto graph = builder.build();
    if (!graph) {
      // A ring has a flow in it, and flows have the lowest numbers.
      const auto flow = std::lower_bound(nodes_.begin(), nodes_.end(), graph.error());
      return TextError{
          flow != nodes_.end() ? flows_.begin()[flow - nodes_.begin()].line : 0,
          "the triggers make this connection wait for itself, so it would never start"};
    }
    CmImport out{std::move(graph.value()), static_cast<std::uint32_t>(flows_.size()), words_,
                 failures_, notes_};
    if (endless_ > 0) {
      out.notes.push_back(
          fmt::format("{} size 0, which has no end in htsim: here it is {} bytes. "
                      "say when the run ends, such as run.end_ms=1",
                      counted(endless_, "connection has", "connections have"), kEndless));
    }
    if (addons_ > 0)
      out.notes.push_back(fmt::format("{} addon: ignored", counted(addons_, "time", "times")));
    if (words_ > 0)
      out.notes.push_back(
          counted(words_, "message without bytes tells", "messages without bytes tell") +
          " other nodes of a trigger: htsim's are heard everywhere");
    if (guessed > 0) {
      out.notes.push_back(fmt::format(
          "{} fired more than once: what counts is the order of the file, not that of times",
          counted(guessed, "multishot trigger is", "multishot triggers are")));
    }
    if (priorities_ > 0)
      out.notes.push_back(counted(priorities_, "priority is ignored", "priorities are ignored"));
    return out;
  }

  [[nodiscard]] Rank place_of(const Fire& fire) const {
    return fire.moment == Moment::sent ? flows_[fire.flow].src : flows_[fire.flow].dst;
  }
  NodeId word(ImportBuilder& builder, Rank from, Rank to) {
    ++words_;
    return builder.message(from, to, bytes(0), /*own_channel=*/false);
  }

  /// Every start waits for every fire. A rank hears once of all that happens at another one.
  void connect_pairs(ImportBuilder& builder, const std::vector<Fire>& fires,
                     const std::vector<std::uint32_t>& starts) {
    std::map<Rank, std::vector<NodeId>> heard;  // words, by who gets them
    for (const std::uint32_t flow : starts) {
      const Rank rank = flows_[flow].src;
      const auto [words, is_new] = heard.try_emplace(rank);
      if (is_new) {
        std::map<Rank, NodeId> from;
        for (const Fire& fire : fires) {
          const Rank place = place_of(fire);
          if (place == rank) continue;
          const auto [it, is_first] = from.try_emplace(place, 0);
          if (is_first) {
            it->second = word(builder, place, rank);
            words->second.push_back(it->second);
          }
          builder.wait(it->second, nodes_[fire.flow], fire.moment);
        }
      }
      for (const Fire& fire : fires) {
        if (place_of(fire) == rank) builder.wait(nodes_[flow], nodes_[fire.flow], fire.moment);
      }
      for (const NodeId other : words->second) builder.wait(nodes_[flow], other, Moment::received);
    }
  }

  /// For large barriers: all fires meet at the rank of the first start, and the others hear from it.
  void connect_at_one_rank(ImportBuilder& builder, const Trigger& trigger) {
    const Rank meeting = flows_[trigger.starts[0]].src;
    const NodeId met = builder.compute(meeting, ps(0));
    std::map<Rank, NodeId> from;
    for (const Fire& fire : trigger.fires) {
      const Rank place = place_of(fire);
      if (place == meeting) {
        builder.wait(met, nodes_[fire.flow], fire.moment);
        continue;
      }
      const auto [it, is_new] = from.try_emplace(place, 0);
      if (is_new) {
        it->second = word(builder, place, meeting);
        builder.wait(met, it->second, Moment::received);
      }
      builder.wait(it->second, nodes_[fire.flow], fire.moment);
    }
    std::map<Rank, NodeId> to;
    for (const std::uint32_t flow : trigger.starts) {
      const Rank rank = flows_[flow].src;
      if (rank == meeting) {
        builder.wait(nodes_[flow], met, Moment::sent);
        continue;
      }
      const auto [it, is_new] = to.try_emplace(rank, 0);
      if (is_new) {
        it->second = word(builder, meeting, rank);
        builder.wait(it->second, met, Moment::sent);
      }
      builder.wait(nodes_[flow], it->second, Moment::received);
    }
  }

  CmTime unit_;
  TextError error_;
  Header header_;
  bool records_begun_ = false;
  std::vector<Flow> flows_;
  std::vector<NodeId> nodes_;  ///< by flow, [D91] the first of a large one
  std::map<std::int64_t, Flow> first_of_id_;
  std::map<std::int64_t, int> lines_of_id_;  ///< ids of more than one line
  std::map<std::pair<std::int64_t, std::int64_t>, int> line_of_message_;
  std::map<std::int64_t, Trigger> triggers_;
  std::vector<CmFailure> failures_;
  std::vector<std::string> notes_;
  std::uint32_t priorities_ = 0;
  std::uint32_t endless_ = 0;
  std::uint32_t addons_ = 0;
  std::uint32_t words_ = 0;
};

}  // namespace

Result<CmImport, TextError> import_cm(std::string_view text, CmTime start_unit) {
  return Reader(start_unit).read(text);
}

}  // namespace strack::workload
