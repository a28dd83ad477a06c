#include "cli/paper_status.h"

#include <algorithm>

#include <fmt/format.h>

#include "paper/row.h"

namespace strack::cli {
namespace {

std::string ours_text(const paper::Finding& finding) {
  return finding.values.empty() ? "-" : paper::value_text(finding.median, finding.check->unit);
}

}  // namespace

bool wanted(const PaperOptions& options, const std::string& id) {
  return options.rows.empty() ||
         std::find(options.rows.begin(), options.rows.end(), id) != options.rows.end();
}

void print_status(const PaperOptions& options, paper::Evidence& evidence,
                  const std::vector<paper::RowFinding>& findings) {
  for (const paper::RowFinding& finding : findings) {
    const paper::Row& row = *finding.row;
    if (!wanted(options, row.id)) continue;
    const paper::Evidence::Count& count = evidence.count(row.id);
    const std::string runs =
        count.planned == 0 ? "-" : fmt::format("{}/{}", count.done, count.planned);
    fmt::print("{:<9} {:>7}  {:<10}  {}\n", row.id, runs,
               row.checks.empty() ? "" : paper::name_of(finding.verdict),
               row.title_at(options.scale));
    for (const paper::Finding& one : finding.findings) {
      fmt::print("{:<17}  {:<10}  {:>9}  (paper {}) {}\n", "", paper::name_of(one.verdict),
                 ours_text(one),
                 one.check->paper ? paper::value_text(*one.check->paper, one.check->unit)
                                  : one.check->paper_text,
                 one.check->says);
    }
  }
}

Table status_table(const PaperOptions& options, paper::Evidence& evidence,
                   const std::vector<paper::RowFinding>& findings) {
  Table table({"row", "title", "verdict_of_row", "statement", "verdict", "unit", "paper_says",
               "paper", "ours", "least", "largest", "runs_done", "runs_planned"},
              7);
  const auto number = [](double value) { return fmt::format("{}", value); };
  for (const paper::RowFinding& finding : findings) {
    const paper::Row& row = *finding.row;
    if (!wanted(options, row.id)) continue;
    const paper::Evidence::Count& count = evidence.count(row.id);
    const std::string done = fmt::format("{}", count.done);
    const std::string planned = fmt::format("{}", count.planned);
    const std::string verdict(row.checks.empty() ? "" : paper::name_of(finding.verdict));
    if (finding.findings.empty()) {
      table.add({row.id, row.title_at(options.scale), verdict, "", "", "", "", "", "", "", "", done,
                 planned});
    }
    for (const paper::Finding& one : finding.findings) {
      const auto [least, largest] = std::minmax_element(one.values.begin(), one.values.end());
      const bool known = !one.values.empty();
      table.add({row.id, row.title_at(options.scale), verdict, one.check->says,
                 std::string(paper::name_of(one.verdict)), one.check->unit, one.check->paper_text,
                 one.check->paper ? number(*one.check->paper) : "", known ? number(one.median) : "",
                 known ? number(*least) : "", known ? number(*largest) : "", done, planned});
    }
  }
  return table;
}

}  // namespace strack::cli
