// What rows say in SQL of several seeds.
#pragma once

#include "metrics/sqlite.h"

namespace strack::paper {

/// Adds the aggregate median(x) to what queries may use: as reports take the median over seeds. Nothing counts as nothing.
[[nodiscard]] bool add_median(const metrics::Database& database);

}  // namespace strack::paper
