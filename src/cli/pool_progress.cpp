#include "cli/pool_progress.h"

#include <string>

#include <fmt/format.h>

#include "cli/interrupt.h"
#include "cli/progress.h"

namespace strack::cli {

bool run_pool(const PoolView& view, const std::vector<run::PoolRun*>& runs) {
  ProgressLine line(!view.quiet);
  run::PoolOptions options;
  options.jobs = view.jobs;
  options.threads = view.threads;
  options.on_progress = [&line](const run::PoolProgress& p) {
    if (!line.due()) return;
    line.show(fmt::format("{} of {} runs done, {} running{}  {}", p.done, p.missing, p.running,
                          p.failed > 0 ? fmt::format(", {} FAILED", p.failed) : std::string(),
                          time_left(line.seconds(), p.share)));
  };
  return run::run_all(options, runs, stop_on_signals());
}

}  // namespace strack::cli
