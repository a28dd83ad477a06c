// [workload] kind = "trace": what another tool says.
#include "workload/formats/trace.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/scenario/files.h"
#include "sim/scenario/sections/sections.h"
#include "sim/scenario/sections/trace_format.h"
#include "workload/amount.h"
#include "workload/graph.h"
#include "workload/lines.h"

namespace strack::sim {
namespace {

class TraceResolver : Resolving {
 public:
  explicit TraceResolver(Resolution& resolution) : Resolving(resolution) {}

  void resolve() {
    const Setting& setting = set_["workload.file"];
    if (!setting.given) {
      set_["workload.kind"].fail(
          "kind is \"trace\", but no file is named. say which, such as file = \"step.goal\"");
    }
    WorkloadSpec& w = out_.workloads.back();
    w.trace = set_.text("workload.file");
    w.jobs = 1;
    workload::Trace read = read_trace_named(setting, w.trace);
    if (read.graph.ranks() > topology().hosts()) {
      later("workload.file", "topology.hosts")
          .fail(
              fmt::format("{} has {} ranks, each on a host of its own. there are {} hosts: hosts = "
                          "{} would do",
                          workload::quoted(w.trace), read.graph.ranks(), topology().hosts(),
                          full_racks(read.graph.ranks())));
    }
    resolve_placement(r_, workload::Placement::packed, read.graph.ranks());
    for (const workload::Graph::Timed& timed : read.graph.timed()) {
      check_before_end(w.start + timed.time, setting,
                       fmt::format("{} has a message that starts at", workload::quoted(w.trace)));
    }
    for (const workload::CmFailure& failed : read.failures) trace_failure(failed);
    out_.notes.insert(out_.notes.end(), read.notes.begin(), read.notes.end());
    w.graph = std::make_shared<const workload::Graph>(std::move(read.graph));
  }

 private:
  /// The hosts of as many racks as hold so many.
  [[nodiscard]] std::uint64_t full_racks(std::uint32_t hosts) {
    const std::uint64_t rack = topology().hosts_per_rack;
    return (hosts + rack - 1) / rack * rack;
  }

  workload::Trace read_trace_named(const Setting& setting, const std::string& name) {
    workload::TraceParams params;
    params.start_unit = set_.choice<workload::CmTime>("workload.time_unit");
    params.calc_unit = set_.time("workload.calc_unit_ns");
    const auto format = set_.choice<TraceFormatKey>("workload.format");
    if (format != TraceFormatKey::automatic) {
      params.format = static_cast<workload::TraceFormat>(static_cast<int>(format) - 1);
    } else if (const auto by_name = workload::trace_format_of(name)) {
      params.format = *by_name;
    } else {
      setting.fail(
          fmt::format("file is {}, and its name does not say what it is. names end in .cm, "
                      ".goal, .et or .json; for another say which, such as format = \"goal\"",
                      workload::quoted(name)));
    }
    // A key that another format reads would be there without effect.
    const auto only_for = [&](const char* id, workload::TraceFormat its) {
      Setting& key = set_[id];
      if (params.format == its) return;
      if (key.given && key.literal.text() != key.key->fallback) {
        key.fail(fmt::format("{} is {}, but the trace is {}. leave it out: it is for {}",
                             key.key->name, key.literal.found(), workload::name_of(params.format),
                             workload::name_of(its)));
      }
      key.hidden = true;
    };
    only_for("workload.time_unit", workload::TraceFormat::cm);
    only_for("workload.calc_unit_ns", workload::TraceFormat::goal);
    only_for("workload.comm_groups", workload::TraceFormat::chakra);
    if (set_.given("workload.comm_groups")) {
      const std::string groups = set_.text("workload.comm_groups");
      params.comm_groups = {(r_.folder / groups).string(),
                            beside(set_["workload.comm_groups"], groups)};
    }

    const auto files = trace_files(r_.folder / name);
    if (!files)
      setting.fail(fmt::format("file is {}: {}", workload::quoted(name), files.error().message));
    // What is wrong with the name is said at the key, what is wrong with the text at its line.
    std::vector<workload::TraceFile> texts;
    for (const std::filesystem::path& file : files.value()) {
      auto text = read_file(file);
      if (!text) {
        setting.fail(fmt::format("file is {}: {}", workload::quoted(name), text.error().message));
      }
      texts.push_back({file.string(), std::move(text.value())});
    }
    auto read = workload::import_trace(texts, params);
    if (!read) throw Failed{{read.error().file, read.error().line, read.error().message}};
    return std::move(read.value());
  }

  /// A failed link of a connection matrix: the n-th uplink of a ToR or of an aggregation switch.
  void trace_failure(const workload::CmFailure& failed) {
    const TopologyParams& t = topology();
    const auto wrong = [&](const std::string& message) {
      throw Failed{{(r_.folder / out_.workloads.back().trace).string(), failed.line, message}};
    };
    if (t.graph != nullptr) {
      wrong(
          "a failed link of a fat tree, but the network is from a file. leave the line out and "
          "write [[failure]] in the scenario");
    }
    using Tier = workload::CmFailure::Tier;
    const bool is_tor = failed.tier == Tier::tor;
    if (failed.tier == Tier::core || (!is_tor && t.tiers == 2)) {
      wrong(fmt::format(
          "a failed link of {} switch. a link is known here by the switch below it: "
          "name a {}, or leave the line out and write [[failure]] in the scenario",
          failed.tier == Tier::core ? "a core" : "an AGG", t.tiers == 2 ? "TOR" : "TOR or an AGG"));
    }
    const std::uint32_t switches = is_tor ? t.racks : t.racks / t.racks_per_pod * t.aggs_per_pod;
    const std::uint32_t uplinks = is_tor ? r_.rack_uplinks : t.cores_per_agg;
    const std::string_view name = is_tor ? "TOR" : "AGG";
    if (failed.switch_id >= switches) {
      wrong(fmt::format("switch_id is {}. the network has {} {} switches, so it is from 0 to {}",
                        failed.switch_id, switches, name, switches - 1));
    }
    if (failed.link_id >= uplinks) {
      wrong(
          fmt::format("link_id is {}. it is an uplink of the switch, and a {} has {}: from 0 to "
                      "{}",
                      failed.link_id, name, uplinks, uplinks - 1));
    }
    r_.trace_failures.push_back(
        {is_tor ? LinkRef::Tier::fabric : LinkRef::Tier::core, failed.switch_id, failed.link_id});
    Failure f;
    f.link = r_.trace_failures.back();
    out_.config.failures.failures.push_back(f);
  }
};

}  // namespace

void resolve_trace(Resolution& resolution) { TraceResolver(resolution).resolve(); }

}  // namespace strack::sim
