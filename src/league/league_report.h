// The league for people: the page, docs/league.md, and the same for programs.
#pragma once

#include <string>

#include "league/cases.h"
#include "league/results.h"
#include "league/standings.h"
#include "report/model.h"

namespace strack::league {

/// Who made it is left open.
[[nodiscard]] report::Report make_report(Scale scale, const Results& results,
                                         const Standings& standings);
[[nodiscard]] std::string make_markdown(Scale scale, const Results& results,
                                        const Standings& standings);
/// One object: cases, and for each scheme its cells; what is infinite or not known is null.
[[nodiscard]] std::string make_json(Scale scale, const Results& results,
                                    const Standings& standings);

}  // namespace strack::league
