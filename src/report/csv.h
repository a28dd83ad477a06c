// Figures and tables as comma separated values (RFC 4180), for other programs.
#pragma once

#include <string>

#include "report/model.h"

namespace strack::report {

[[nodiscard]] std::string csv(const Figure& figure);
[[nodiscard]] std::string csv(const Table& table);
[[nodiscard]] std::string csv(const std::vector<Run>& runs);

}  // namespace strack::report
