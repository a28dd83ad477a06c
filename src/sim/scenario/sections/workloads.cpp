// [workload], or each [[workload]] in turn; and what holds for all of them together.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/scenario/sections/sections.h"
#include "workload/collectives.h"
#include "workload/lines.h"

namespace strack::sim {
namespace {

constexpr std::string_view kAll = "all";  // of `only`

/// What a workload is called that has no name.
[[nodiscard]] std::string usual_name(const WorkloadSpec& w) {
  if (w.kind == WorkloadKind::collective)
    return std::string(workload::name_of(w.collective.collective));
  return w.kind == WorkloadKind::trace ? w.trace : std::string(name_of(w.kind));
}

class WorkloadsResolver : Resolving {
 public:
  explicit WorkloadsResolver(Resolution& resolution) : Resolving(resolution) {}

  void resolve() {
    if (r_.all.workloads.empty()) {
      resolve_one();
    } else {
      for (Group& entry : r_.all.workloads) {
        entry.check_applies();
        set_.exchange(entry);
        resolve_one();
        set_.exchange(entry);
      }
      check_room();
    }
    resolve_only();
  }

 private:
  [[nodiscard]] const WorkloadSpec* find(std::string_view name) const {
    for (const WorkloadSpec& w : out_.workloads) {
      if (w.name == name) return &w;
    }
    return nullptr;
  }

  void resolve_one() {
    WorkloadSpec& w = out_.workloads.emplace_back();
    resolve_workload(r_);
    Setting& setting = set_["workload.name"];
    if (!setting.given) {
      const std::string usual = usual_name(w);
      std::string name = usual;
      for (int again = 2; find(name) != nullptr; ++again) name = fmt::format("{}-{}", usual, again);
      w.name = name;
      if (!r_.all.workloads.empty()) setting.derived = toml_string(name);
      return;
    }
    const std::string& name = set_.text("workload.name");
    if (name.empty() || name == kAll || name != workload::printable(name) || name.size() > 100 ||
        name.find_first_of(",;\"'[]{}") != name.npos) {
      setting.fail_value(setting.key->needs);
    }
    if (find(name) != nullptr)
      setting.fail_value("another workload is called that. take another name");
    w.name = name;
  }

  /// The ranks find hosts beside each other. Of several seeds the first: whoever runs another loads the
  /// scenario with it.
  void check_room() {
    const auto hosts = place_jobs(out_, out_.seeds.front());
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      const WorkloadSpec& w = out_.workloads[i];
      const std::uint64_t needed = std::uint64_t{w.jobs} * w.ranks();
      if (w.has_jobs() && hosts[i].size() < needed) no_room(i, hosts[i].size(), needed);
    }
  }
  [[noreturn]] void no_room(std::size_t which, std::uint64_t found, std::uint64_t needed) {
    const WorkloadSpec& w = out_.workloads[which];
    const Group& entry = r_.all.workloads[which];
    throw Failed{
        {entry.file, entry.line,
         fmt::format("{} has {} ranks, each on a host of its own, and {} of {} hosts are left for "
                     "it beside the other jobs. fewer ranks, another placement or share_hosts = "
                     "true would work",
                     workload::quoted(w.name), needed, found, topology().hosts())}};
  }

  void resolve_only() {
    const Setting& setting = set_["run.only"];
    if (!setting.given) return;
    const std::string& only = set_.text("run.only");
    if (only == kAll) return;
    if (find(only) == nullptr) {
      std::string names;
      for (const WorkloadSpec& w : out_.workloads)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", workload::quoted(w.name));
      setting.fail_value(fmt::format("the workloads are {}; \"all\" is all of them", names));
    }
    for (WorkloadSpec& w : out_.workloads) w.enabled = w.name == only;
  }
};

}  // namespace

void resolve_workloads(Resolution& resolution) { WorkloadsResolver(resolution).resolve(); }

}  // namespace strack::sim
