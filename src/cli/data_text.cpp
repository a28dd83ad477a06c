#include "cli/data_text.h"

#include "cli/summary_text.h"
#include "report/csv.h"
#include "report/figures.h"

namespace strack::cli {

std::string json_list(const std::vector<NamedSummary>& runs) {
  std::string text;
  for (const NamedSummary& run : runs)
    text += (text.empty() ? "[\n  " : ",\n  ") + json_text(run.file, run.summary);
  return text.empty() ? "[]\n" : text + "\n]\n";
}

std::string csv_list(const std::vector<NamedSummary>& runs) {
  std::vector<report::Run> rows;
  for (const NamedSummary& run : runs) rows.push_back(report::run_row(run.file, run.summary));
  return report::csv(rows);
}

}  // namespace strack::cli
