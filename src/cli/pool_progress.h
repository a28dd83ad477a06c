// A pool of runs as a command shows it: one line that says how far it is, and Ctrl-C.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "run/pool.h"

namespace strack::cli {

struct PoolView {
  unsigned jobs = 0;
  std::optional<std::uint32_t> threads;
  bool quiet = false;
};

/// run::run_all for somebody at a terminal. False: Ctrl-C came first.
[[nodiscard]] bool run_pool(const PoolView& view, const std::vector<run::PoolRun*>& runs);

}  // namespace strack::cli
