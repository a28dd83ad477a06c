// The module strack._core: src/run, result files and reports for the Python around it (strack/*.py),
// which is what people use. No call holds the interpreter's lock while it works.
#include "bindings.h"

#include <pybind11/stl.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/data_text.h"
#include "metrics/summary.h"
#include "report/run_report.h"
#include "run/build_info.h"
#include "run/pool.h"
#include "run/run.h"
#include "sim/scenario/keys.h"
#include "sim/scenario/scenario.h"
#include "transports/registry.h"

namespace strack::python {
namespace py = pybind11;
namespace fs = std::filesystem;
namespace {

/// Becomes strack.ScenarioError.
struct ScenarioError : std::runtime_error {
  explicit ScenarioError(const sim::ScenarioError& found)
      : std::runtime_error(found.text()), error(found) {}
  sim::ScenarioError error;
};

/// Raises what Python knows the exceptions as: they are declared there, with their documentation.
void translate(std::exception_ptr thrown) {
  const auto raise = [](const char* name, const py::object& made) {
    PyErr_SetObject(py::module_::import("strack.errors").attr(name).ptr(), made.ptr());
  };
  const auto kind = [](const char* name) {
    return py::module_::import("strack.errors").attr(name);
  };
  try {
    std::rethrow_exception(std::move(thrown));
  } catch (const ScenarioError& wrong) {
    raise("ScenarioError", kind("ScenarioError")(wrong.what(), wrong.error.file, wrong.error.line));
  } catch (const RunError& wrong) {
    raise("RunError", kind("RunError")(wrong.what()));
  }
}

/// A scenario with every key decided.
py::dict load(const std::string& file, const std::optional<std::string>& text,
              const std::vector<std::string>& overrides) {
  const auto loaded = [&] {
    const py::gil_scoped_release free;
    const fs::path path(file);
    return text ? sim::load_text(*text, file, path.parent_path(), overrides)
                : sim::load(path, overrides);
  }();
  if (!loaded) throw ScenarioError(loaded.error());
  const sim::Scenario& scenario = loaded.value();
  py::list settings;
  for (const metrics::Setting& s : scenario.settings)
    settings.append(py::make_tuple(s.key, s.value, s.amount, s.origin));
  py::dict made;
  made["name"] = scenario.name;
  made["description"] = scenario.description;
  made["scheme"] = scenario.scheme;
  made["seeds"] = scenario.seeds;
  made["toml"] = sim::to_toml(scenario);
  made["settings"] = settings;
  made["notes"] = scenario.notes;
  made["hosts"] = scenario.config.topology.hosts();
  made["base_rtt_ps"] = scenario.base_rtt.count();
  made["bdp_bytes"] = scenario.bdp.count();
  made["memory_bytes"] = sim::memory_estimate(scenario).count();
  return made;
}

/// (section, key, help, words) of every key there is; words are those of a choice.
py::list keys() {
  py::list all;
  for (const sim::Key& key : sim::keys()) {
    py::list words;
    for (const std::string_view word : key.words) words.append(std::string(word));
    all.append(py::make_tuple(std::string(key.section), std::string(key.name),
                              std::string(key.help), words));
  }
  return all;
}

py::list schemes() {
  py::list all;
  for (const transports::Descriptor* transport : transports::all()) {
    for (const transports::Scheme& scheme : transport->schemes)
      all.append(py::make_tuple(std::string(scheme.name), std::string(scheme.label)));
  }
  return all;
}

/// What the thread that runs tells the one that waits for it.
class Mailbox final : public run::Watcher {
 public:
  void on_progress(const sim::Progress& progress) override {
    const std::lock_guard lock(mutex_);
    progress_ = progress;
  }
  void on_warning(const std::string& text) override {
    const std::lock_guard lock(mutex_);
    warnings_.push_back(text);
  }
  void finish() {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    changed_.notify_all();
  }
  [[nodiscard]] bool wait(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [this] { return finished_; });
  }
  [[nodiscard]] sim::Progress progress() {
    const std::lock_guard lock(mutex_);
    return progress_;
  }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  sim::Progress progress_;
  std::vector<std::string> warnings_;
  bool finished_ = false;
};

py::dict as_dict(const sim::Progress& p) {
  py::dict made;
  made["now_ps"] = p.now.ps;
  made["flows_done"] = p.flows_done;
  made["flows"] = p.flows;
  made["jobs_done"] = p.jobs_done;
  made["jobs"] = p.jobs;
  made["bytes_acked"] = p.bytes_acked;
  made["bytes"] = p.bytes;
  made["packet_hops"] = p.packet_hops;
  return made;
}

/// How often a run looks for Ctrl-C, `cancel` and who wants to hear of its progress.
constexpr std::chrono::milliseconds kLook{50};

/// Runs a plan on a thread of its own, so that this one can look after Python. What a callback or a
/// signal handler raises ends the run, and is raised here once the file is whole.
Result<run::Outcome, run::Problem> execute(const run::Plan& plan, Mailbox& mailbox,
                                           const py::object& progress, const py::object& cancel) {
  std::atomic<bool> stop{false};
  std::optional<Result<run::Outcome, run::Problem>> outcome;
  std::exception_ptr failure;
  std::thread worker([&] {
    try {
      outcome.emplace(run::execute(plan, mailbox, stop));
    } catch (...) {
      failure = std::current_exception();
    }
    mailbox.finish();
  });
  std::optional<py::error_already_set> raised;
  const auto look = [&] {
    try {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      if (!cancel.is_none() && cancel.attr("is_set")().cast<bool>()) stop = true;
      if (!progress.is_none()) progress(as_dict(mailbox.progress()));
    } catch (py::error_already_set& error) {
      raised.emplace(error);
      stop = true;
    }
  };
  const auto finished = [&] {
    const py::gil_scoped_release free;
    return mailbox.wait(kLook);
  };
  while (!raised && !finished()) look();
  {
    const py::gil_scoped_release free;
    worker.join();
  }
  if (!raised) look();  // how far it came in the end
  if (raised) throw py::error_already_set(*raised);
  if (failure) std::rethrow_exception(failure);
  return *outcome;
}

py::dict run_one(const std::string& file, const std::optional<std::string>& text,
                 const std::vector<std::string>& overrides, std::optional<std::uint64_t> seed,
                 std::optional<std::uint32_t> threads, const std::string& out, bool force,
                 std::int64_t memory, const py::object& progress, const py::object& cancel) {
  const auto planned = [&] {
    const py::gil_scoped_release free;
    run::Request request{file, overrides, seed, threads, out, force};
    request.text = text;
    request.memory = memory;
    return run::plan(request);
  }();
  if (!planned) throw RunError(planned.error().message);
  Mailbox mailbox;
  const auto outcome = execute(planned.value(), mailbox, progress, cancel);
  if (!outcome) throw RunError(outcome.error().message);
  py::dict made;
  made["out"] = planned.value().out.string();
  made["status"] = std::string(metrics::to_text(outcome.value().status));
  made["wall_seconds"] = outcome.value().wall_seconds;
  made["cpu_seconds"] = outcome.value().cpu_seconds;
  made["warnings"] = mailbox.warnings();
  made["in_memory"] = std::const_pointer_cast<metrics::MemoryResult>(outcome.value().in_memory);
  return made;
}

/// What lies at `out`: "none", "same" (this very run, complete), "scenario" or "version" (of another).
std::string old_result(const std::string& out, const std::string& scenario, std::uint64_t seed) {
  run::PoolRun one;
  one.seed = seed;
  one.out = out;
  one.scenario = scenario;
  const auto old = run::look_at_old(one);
  if (!old) throw RunError(old.error().message);
  switch (old.value()) {
    case run::OldResult::none:
      return "none";
    case run::OldResult::same:
      return "same";
    case run::OldResult::scenario:
      return "scenario";
    case run::OldResult::version:
      return "version";
  }
  return "none";
}

/// The JSON of `strack sim summary --json`: a list with one entry.
std::string summary(const std::string& file) {
  const py::gil_scoped_release free;
  const auto made = metrics::summarise(file);
  if (!made) throw RunError(made.error().message);
  return cli::json_list({{file, made.value()}});
}

/// The same of a run in memory, as if it were that file.
std::string summary_in_memory(const metrics::MemoryResult& result, const std::string& file) {
  const py::gil_scoped_release free;
  return cli::json_list({{file, metrics::summarise(result)}});
}

void write_file(const metrics::MemoryResult& result, const std::string& file) {
  const py::gil_scoped_release free;
  const auto wrong = result.write(file, true);
  if (wrong) throw RunError(wrong->message);
}

std::string report(const std::vector<std::string>& files, const std::string& title) {
  const py::gil_scoped_release free;
  report::RunReport made = report::report_on({files.begin(), files.end()}, title);
  if (made.read == 0 || !made.unreadable.empty())
    throw RunError(made.unreadable.empty() ? "a report needs at least one result file"
                                           : made.unreadable.front());
  report::Made& by = made.report.made;
  by.version = run::kBuildInfo.version;
  by.commit = run::kBuildInfo.commit;
  by.at = utc_now();
  by.command = "strack.report()";
  return report::html(made.report, report::page_template());
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  using namespace py::literals;
  module.doc() = "What the package strack is built on. Use strack, not this.";
  module.attr("version") = STRACK_VERSION;
  py::register_exception_translator(translate);
  module.def("load", &load, "file"_a, "text"_a = py::none(),
             "overrides"_a = std::vector<std::string>{});
  module.def("keys", &keys);
  module.def("schemes", &schemes);
  module.def("run", &run_one, "file"_a, "text"_a, "overrides"_a, "seed"_a, "threads"_a, "out"_a,
             "force"_a, "memory"_a, "progress"_a, "cancel"_a);
  py::class_<metrics::MemoryResult, std::shared_ptr<metrics::MemoryResult>>(module, "_MemoryResult")
      .def_property_readonly("scenario",
                             [](const metrics::MemoryResult& r) { return r.run().scenario; })
      .def_property_readonly("size_bytes", &metrics::MemoryResult::size_bytes)
      .def("table", &table_in_memory, "name"_a)
      .def("summary", &summary_in_memory, "file"_a)
      .def("write", &write_file, "file"_a);
  module.def("old_result", &old_result, "out"_a, "scenario"_a, "seed"_a);
  module.def("safe_name", &run::safe_name, "text"_a);
  module.def("query", &query, "file"_a, "sql"_a);
  module.def("summary", &summary, "file"_a);
  module.def("report", &report, "files"_a, "title"_a = "");
  module.def("goal", &goal_of, "ranks"_a, "rank"_a, "peer"_a, "amount"_a, "not_before"_a, "node"_a,
             "other"_a, "moment"_a);
}

}  // namespace strack::python
