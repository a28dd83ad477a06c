#include "workload/formats/cm_export.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "workload/formats/import_builder.h"

namespace strack::workload {
namespace {

/// A moment of a message that others wait for.
struct Event {
  NodeId message = 0;
  Moment moment = Moment::sent;
  friend auto operator<=>(const Event&, const Event&) = default;
};
using Events = std::vector<Event>;  // sorted, each once

/// Waits for starts and for computations without length, followed to the messages behind them, may
/// add up; a graph where they add up to more than this is refused.
constexpr std::size_t kMostEvents = 50'000'000;

class Writer {
 public:
  Writer(const Graph& graph, CmTime unit, CmConnections connections)
      : graph_(graph), unit_(unit), connections_(connections) {}

  Result<CmExport, TextError> write() {
    if (graph_.ranks() < 2 || graph_.messages() == 0)
      return TextError{0, "no messages. a connection matrix has at least one, between two nodes"};
    if (!check_computations() || !collect_waits() || !make_triggers()) return error_;
    CmExport out;
    auto at = std::back_inserter(out.text);
    fmt::format_to(at, "Nodes {}\nConnections {}\n", graph_.ranks(), graph_.messages());
    if (!triggers_.empty()) fmt::format_to(at, "Triggers {}\n", triggers_.size());
    std::uint32_t line = 0;
    std::vector<Connection> connections = count_messages();
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Graph::Node& node = graph_.node(id);
      if (node.computes) continue;
      ++line;
      fmt::format_to(at, "{}->{} id ", node.rank, graph_.receiver(id));
      Connection& connection = connections[node.channel];
      if (connections_ == CmConnections::shared && connection.messages > 1) {
        if (connection.id == 0) connection.id = line;
        fmt::format_to(at, "{} msg {}", connection.id, ++connection.written);
      } else {
        fmt::format_to(at, "{}", line);
      }
      if (const std::uint32_t trigger = started_by_[id]; trigger != 0) {
        fmt::format_to(at, " trigger {}", trigger);
      } else if (unit_ == CmTime::picoseconds) {
        fmt::format_to(at, " start {}", times_[id].count());
      } else {
        fmt::format_to(at, " start {}", microseconds(times_[id]));
      }
      if (node.amount == 0) ++out.words;
      fmt::format_to(at, " size {}", std::max<std::int64_t>(node.amount, 1));
      if (fires_[0][id] != 0) fmt::format_to(at, " send_done_trigger {}", fires_[0][id]);
      if (fires_[1][id] != 0) fmt::format_to(at, " recv_done_trigger {}", fires_[1][id]);
      out.text += '\n';
    }
    for (std::size_t t = 0; t < triggers_.size(); ++t) {
      if (triggers_[t] == 1) {
        fmt::format_to(at, "trigger id {} oneshot\n", t + 1);
      } else {
        fmt::format_to(at, "trigger id {} barrier count {}\n", t + 1, triggers_[t]);
      }
    }
    return out;
  }

 private:
  /// A channel as it is written; its id is the number of its first line.
  struct Connection {
    std::uint32_t messages = 0;
    std::uint32_t written = 0;
    std::uint32_t id = 0;
  };
  [[nodiscard]] std::vector<Connection> count_messages() const {
    std::vector<Connection> connections(graph_.channels().size());
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!graph_.node(id).computes) ++connections[graph_.node(id).channel].messages;
    }
    return connections;
  }

  bool fail(std::string message) {
    error_ = {0, std::move(message)};
    return false;
  }
  static std::string microseconds(Picoseconds time) {
    std::string text = fmt::format("{}.{:06}", time.count() / 1'000'000, time.count() % 1'000'000);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text;
  }

  bool check_computations() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Graph::Node& node = graph_.node(id);
      if (node.computes && node.amount > 0) {
        return fail(
            fmt::format("node {} computes for {} at rank {}. a connection matrix has no "
                        "computations; GOAL has",
                        id, format_time(ps(node.amount)), node.rank));
      }
    }
    return true;
  }

  /// What each node waits for, in terms of messages sent and received.
  bool collect_waits() {
    const std::uint32_t size = graph_.size();
    times_.assign(size, ps(0));
    for (const Graph::Timed& timed : graph_.timed())
      times_[timed.node] = std::max(times_[timed.node], timed.time);
    waits_.assign(size, {});
    std::vector<std::uint32_t> left(size, 0);
    for (NodeId id = 0; id < size; ++id) {
      for (const Moment moment : {Moment::started, Moment::sent, Moment::received}) {
        for (const NodeId next : graph_.after(moment, id)) ++left[next];
      }
    }
    std::vector<NodeId> ready;
    for (NodeId id = 0; id < size; ++id) {
      if (left[id] == 0) ready.push_back(id);
    }
    std::size_t total = 0;
    while (!ready.empty()) {
      const NodeId id = ready.back();
      ready.pop_back();
      Events& waits = waits_[id];
      std::sort(waits.begin(), waits.end());
      waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
      total += waits.size();
      const bool computes = graph_.node(id).computes;
      for (const Moment moment : {Moment::started, Moment::sent, Moment::received}) {
        for (const NodeId next : graph_.after(moment, id)) {
          if (computes || moment == Moment::started) {
            waits_[next].insert(waits_[next].end(), waits.begin(), waits.end());
            times_[next] = std::max(times_[next], times_[id]);
            total += waits.size();
          } else {
            waits_[next].push_back({id, moment});
            ++total;
          }
          if (total > kMostEvents) {
            return fail(
                fmt::format("more than {} waits, once computations without length are "
                            "replaced by what they wait for",
                            kMostEvents));
          }
          if (--left[next] == 0) ready.push_back(next);
        }
      }
    }
    return true;
  }

  bool make_triggers() {
    const std::uint32_t size = graph_.size();
    started_by_.assign(size, 0);
    fires_[0].assign(size, 0);
    fires_[1].assign(size, 0);
    std::map<Events, std::uint32_t> known;
    for (NodeId id = 0; id < size; ++id) {
      if (graph_.node(id).computes || waits_[id].empty()) continue;
      if (times_[id] > ps(0)) {
        return fail(
            fmt::format("message {} has a time, {}, and waits for others too. a connection "
                        "has either a start or a trigger",
                        id, format_time(times_[id])));
      }
      const auto [it, is_new] = known.try_emplace(waits_[id], 0);
      if (is_new) {
        triggers_.push_back(waits_[id].size());
        it->second = static_cast<std::uint32_t>(triggers_.size());
        for (const Event& event : waits_[id]) {
          std::uint32_t& fires = fires_[event.moment == Moment::sent ? 0 : 1][event.message];
          if (fires != 0) {
            return fail(fmt::format(
                "message {} waits for message {} to be {}, and another one waits for that and for "
                "something else. a connection fires one trigger when it is {}",
                id, event.message, event.moment == Moment::sent ? "sent" : "received",
                event.moment == Moment::sent ? "sent" : "received"));
          }
          fires = it->second;
        }
      }
      started_by_[id] = it->second;
    }
    return true;
  }

  const Graph& graph_;
  CmTime unit_;
  CmConnections connections_;
  TextError error_;
  std::vector<Picoseconds> times_;
  std::vector<Events> waits_;
  std::vector<std::uint32_t> started_by_;  ///< trigger, or 0
  std::vector<std::uint32_t> fires_[2];    ///< trigger, or 0: when sent, when received
  std::vector<std::size_t> triggers_;      ///< how many events each one needs
};

}  // namespace

Result<CmExport, TextError> export_cm(const Graph& graph, CmTime start_unit,
                                      CmConnections connections) {
  return Writer(graph, start_unit, connections).write();
}

}  // namespace strack::workload
