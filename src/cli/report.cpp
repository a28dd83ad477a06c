#include "cli/report.h"

#include <atomic>
#include <cstdio>
#include <new>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/interrupt.h"
#include "cli/same_file.h"
#include "cli/text.h"
#include "report/run_report.h"
#include "report/save.h"
#include "run/build_info.h"

namespace strack::cli {
namespace {

namespace fs = std::filesystem;

/// Beside the results: a page for one has its name, one for several is report.html.
fs::path default_out(const report::RunReport& made) {
  const fs::path first(made.report.runs.front().file);
  if (made.report.runs.size() > 1) return first.parent_path() / "report.html";
  fs::path page = first;
  page.replace_extension(".html");
  return page;
}

/// 0, or an error has been printed.
int check_page(const fs::path& out, const ReportOptions& options) {
  if (find_same_file(out, options.files) != nullptr)
    return fail(out.string() + ": is one of the result files. choose another --out");
  const auto error = report::check_page_path(out, {options.force});
  return error ? fail(error->message) : 0;
}

int make(const ReportOptions& options) {
  // What cannot work is said before files of gigabytes are read.
  if (!options.out.empty()) {
    if (const int status = check_page(options.out, options)) return status;
  }
  if (!options.png.empty()) {
    const auto browser = report::find_browser();
    if (!browser) return fail(browser.error().message, 2);
  }
  report::RunReport made = report::report_on(options.files, options.title);
  for (const std::string& message : made.unreadable) static_cast<void>(fail(message, 1));
  if (made.read == 0) return 2;
  // Until here Ctrl-C just ends the program; from here on files are being written.
  const std::atomic<bool>& stop = stop_on_signals();

  report::Made& by = made.report.made;
  by.version = run::kBuildInfo.version;
  by.commit = run::kBuildInfo.commit;
  by.at = strack::utc_now();
  by.command = "strack report";
  for (const fs::path& file : options.files) by.command += " " + file.string();

  const fs::path out = options.out.empty() ? default_out(made) : options.out;
  if (const int status = check_page(out, options)) return status;
  if (const auto error = report::save_page(made.report, out, {options.force})) {
    return fail(error->message, 1);
  }
  if (!options.csv.empty()) {
    const auto count = report::save_csv(made.report, options.csv);
    if (!count) return fail(count.error().message, 1);
    fmt::print("{} CSV files: {}\n", count.value(), options.csv.string());
  }
  if (!options.png.empty()) {
    const auto count = report::save_png(made.report, out, options.png, &stop);
    if (stop) return kInterruptedStatus;
    if (!count) return fail(count.error().message, 1);
    fmt::print("{} pictures: {}\n", count.value(), options.png.string());
  }
  fmt::print("report: {}\n", out.string());
  return made.unreadable.empty() ? 0 : 1;
}

}  // namespace

int report(const ReportOptions& options) {
  try {
    return make(options);
  } catch (const std::bad_alloc&) {
    return fail("there is not enough memory for this report. name fewer files", 1);
  }
}

}  // namespace strack::cli
