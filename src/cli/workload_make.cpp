// `strack workload make`: a scenario of a training step, from a model and how it is spread over GPUs.
#include <algorithm>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "cli/text.h"
#include "cli/workload.h"
#include "sim/scenario/scenario.h"

namespace strack::cli {
namespace {

/// As TOML: words and amounts with units in quotes, numbers as they are.
std::string value_text(const std::string& value) {
  const bool plain = value == "true" || value == "false" ||
                     (!value.empty() && value.find_first_not_of("0123456789.") == value.npos);
  return plain ? value : fmt::format("\"{}\"", value);
}

std::string scenario_text(const WorkloadMakeOptions& options, std::uint64_t hosts) {
  std::uint64_t rack = std::min<std::uint64_t>(hosts / 2, 16);  // a network has two racks
  while (hosts % rack != 0) --rack;
  std::string text = "# Written by `strack workload make`: all keys are in docs/scenarios.md.\n";
  text += fmt::format(
      "description = \"A training step\"\n\n[topology]\nhosts = {}  # pp x dp x rails\n"
      "hosts_per_rack = {}\n\n[workload]\nkind = \"training\"\n",
      hosts, rack);
  for (const auto& [key, value] : options.keys)
    text += fmt::format("{} = {}\n", key, value_text(value));
  const bool placed = std::any_of(options.keys.begin(), options.keys.end(),
                                  [](const auto& one) { return one.first == "placement"; });
  if (!placed)
    text +=
        "# placement = \"striped\"  # rings go through the spines; as it is, neighbours are in one "
        "rack\n";
  return text;
}

}  // namespace

int workload_make(const WorkloadMakeOptions& options) {
  // Counts that decide how many hosts there are.
  std::string wrong;
  const auto count = [&](std::string_view name, std::uint64_t usual) {
    for (const auto& [key, value] : options.keys) {
      if (key != name) continue;
      const bool number = !value.empty() && value.size() <= 9 &&
                          value.find_first_not_of("0123456789") == value.npos;
      const std::uint64_t parsed = number ? std::stoull(value) : 0;
      if (parsed == 0 && wrong.empty())
        wrong = fmt::format("workload make: --{} is {}. it is a number from 1, such as --{} 8",
                            name, value.empty() ? "empty" : value, name);
      return parsed;
    }
    return usual;
  };
  const std::uint64_t pp = count("pp", 1);
  const std::uint64_t dp = count("dp", 1);
  const std::uint64_t rails = count("rails", 1);
  if (!wrong.empty()) return fail(wrong);
  const std::uint64_t hosts = pp * dp * rails;
  if (hosts > 1'048'576 || hosts < 2) {
    return fail(
        fmt::format("workload make: pp x dp x rails is {}: that many hosts are needed, and "
                    "there are 2 to 1048576. try --pp 8 --dp 16",
                    hosts));
  }
  const std::string text = scenario_text(options, hosts);
  const auto loaded =
      sim::load_text(text, options.out.empty() ? "step.toml" : options.out.string());
  if (!loaded) return fail("workload make: " + loaded.error().message);
  const int status = write_text(text, options.out, options.force);
  if (status != 0) return status;
  for (const std::string& note : loaded.value().about) fmt::print(stderr, "note: {}\n", note);
  for (const std::string& note : loaded.value().notes) fmt::print(stderr, "warning: {}\n", note);
  return 0;
}

}  // namespace strack::cli
