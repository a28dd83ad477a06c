#include "cli/vectors.h"

#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/text.h"
#include "report/save.h"
#include "sim/scenario/files.h"
#include "transports/vectors.h"

namespace strack::cli {
namespace {

std::size_t steps_of(const std::vector<transports::TestVector>& vectors) {
  std::size_t steps = 0;
  for (const transports::TestVector& vector : vectors) steps += vector.steps.size();
  return steps;
}

}  // namespace

int vectors_export(const VectorsExportOptions& options) {
  const auto form = options.json ? transports::VectorForm::json : transports::VectorForm::text;
  const std::string text =
      transports::write_vectors(transports::make_vectors(), form, !options.events);
  if (options.out.empty()) {
    fmt::print("{}", text);
    return 0;
  }
  std::error_code none;
  const auto there = std::filesystem::status(options.out, none);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there))
    return fail(options.out.string() + ": is not a plain file. choose another --out");
  if (std::filesystem::exists(there) && !options.force)
    return fail(fmt::format("{}: exists. choose another --out, or --force to replace it",
                            options.out.string()));
  if (const auto error = report::write_file(options.out, text)) return fail(error->message);
  fmt::print("vectors: {}\n", options.out.string());
  return 0;
}

int vectors_check(const VectorsCheckOptions& options) {
  const std::string name = options.file.string();
  const auto text = sim::read_file(options.file);
  if (!text) return fail(fmt::format("{}: {}", name, text.error().message));
  const auto answered = transports::read_vectors(text.value());
  if (!answered) return fail(fmt::format("{}: {}", name, answered.error()));
  const auto problems = transports::check_vectors(answered.value(), transports::make_vectors());
  if (options.json) {
    nlohmann::ordered_json found;
    found["vectors"] = answered.value().size();
    found["steps"] = steps_of(answered.value());
    found["agrees"] = problems.empty();
    found["problems"] = problems;
    fmt::print("{}\n", found.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return problems.empty() ? 0 : 1;
  }
  for (const std::string& problem : problems)
    static_cast<void>(fail(fmt::format("{}: {}", name, problem)));
  if (!problems.empty())
    return fail(fmt::format("{}: {} problems in {} vectors", name, problems.size(),
                            answered.value().size()),
                1);
  fmt::print("{} vectors of {} steps: every decision and every state agrees\n",
             answered.value().size(), steps_of(answered.value()));
  return 0;
}

int vectors_list(const Formats& formats) {
  Table table({"vector", "reaches", "steps"}, 2);
  for (const transports::TestVector& vector : transports::make_vectors()) {
    table.add({vector.name, fmt::format("{}", fmt::join(vector.reached, " ")),
               fmt::format("{}", vector.steps.size())});
  }
  if (!table.print_as(formats)) fmt::print("{}", table.text());
  return 0;
}

}  // namespace strack::cli
