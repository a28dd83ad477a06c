// The key table as text for people: `strack help scenario` and docs/scenarios.md.
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "sim/scenario/keys.h"
#include "sim/scenario/scenario.h"
#include "workload/lines.h"

namespace strack::sim {
namespace {

constexpr std::string_view kIntroduction =
    "A scenario is a TOML file that describes a run. Every key has a default, and the defaults are "
    "the evaluation of the STrack paper: 8192 hosts, 400 Gb/s, a base RTT of 8 us, a permutation "
    "of "
    "16 MB. An empty file is a scenario.";
constexpr std::string_view kValues =
    "Times are a number in the unit at the end of the key, or a text with a unit: ps, ns, us, ms, "
    "s, "
    "or RTT, the network's base RTT. Sizes are a number of bytes, or a text with a unit: B, KB "
    "(1000), KiB (1024), MB, MiB, GB, GiB, or BDP, the host's rate times the base RTT, or MTU. "
    "Rates "
    "are a number of Gb/s, or a text: \"400 Gb/s\", \"80 Mb/s\". Fractions are a number, or a "
    "text: "
    "\"1/4\", \"4:1\", \"25 %\".";
constexpr std::string_view kOverrides =
    "Any key can be set on the command line, after the file: --set topology.link_gbps=800. An "
    "entry of "
    "[[workload]], [[failure]] or [[impairment]] has its number: --set failure.0.random_links=256.";

[[nodiscard]] std::string accepts(const Key& key) {
  switch (key.kind) {
    case Kind::integer:
      return "number";
    case Kind::fraction:
      return "fraction";
    case Kind::real:
      return "number";
    case Kind::flag:
      return "true, false";
    case Kind::text:
      return "text";
    case Kind::choice:
      return fmt::format("\"{}\"", fmt::join(key.words, "\", \""));
    case Kind::size:
      return "size";
    case Kind::time:
      return "time";
    case Kind::rate:
      return "rate";
    case Kind::integers:
      return "list of numbers";
    case Kind::points:
      return "list of points";
  }
  return "";
}

/// "for kind = incast", or nothing.
[[nodiscard]] std::string condition(const Key& key) {
  if (key.applies.empty()) return "";
  std::string text(key.applies);
  text.replace(text.find('='), 1, " = ");
  for (std::size_t bar = text.find('|'); bar != text.npos; bar = text.find('|'))
    text.replace(bar, 1, " or ");
  return text;
}

[[nodiscard]] std::string heading(const Section& section) {
  if (section.several) return fmt::format("[{}], [[{}]]", section.name, section.name);
  return section.array ? fmt::format("[[{}]]", section.name) : fmt::format("[{}]", section.name);
}

/// Breaks a text into lines of at most `width` columns, each after `indent` blanks.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string out;
  std::string line;
  const auto flush = [&] {
    out += std::string(indent, ' ') + line + "\n";
    line.clear();
  };
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    if (!line.empty() && indent + line.size() + 1 + word.size() > width) flush();
    if (!line.empty()) line += ' ';
    line += word;
    text.remove_prefix(space == text.npos ? text.size() : space + 1);
  }
  if (!line.empty()) flush();
  return out;
}

[[nodiscard]] std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? "\\|" : std::string(1, c);
  return out;
}

}  // namespace

namespace {

constexpr std::size_t kHelpWidth = 100;

[[nodiscard]] std::string section_help(const Section& section) {
  std::string out = "\n";
  if (!section.name.empty()) out += heading(section) + "\n";
  out += wrapped(section.help, 2, kHelpWidth) + "\n";
  for (const Key& key : keys()) {
    if (key.section != section.name) continue;
    std::string line = fmt::format("  {}", key.name);
    if (!key.fallback.empty()) {
      line += fmt::format(" = {}", key.fallback);
    } else if (!key.otherwise.empty()) {
      line += fmt::format("  (otherwise {})", key.otherwise);
    }
    out += line + "\n";
    std::string help(key.help);
    if (key.kind == Kind::choice) help += fmt::format(" One of {}.", accepts(key));
    if (const std::string only = condition(key); !only.empty())
      help += fmt::format(" Only with {}.", only);
    out += wrapped(help, 6, kHelpWidth);
  }
  return out;
}

}  // namespace

Result<std::string, ScenarioError> help_text_of(const std::string& name) {
  if (const Section* section = find_section(name)) return section_help(*section).substr(1);
  std::vector<std::string_view> names;
  for (const Section& section : sections()) {
    if (!section.name.empty()) names.push_back(section.name);
  }
  const std::string_view near = nearest(name, names);
  return ScenarioError{
      "help scenario", 0,
      fmt::format("there is no section {}. {}", workload::printable(name),
                  near.empty() ? fmt::format("the sections are {}", fmt::join(names, ", "))
                               : fmt::format("did you mean {}?", near))};
}

std::string help_text() {
  std::string out = wrapped(kIntroduction, 0, kHelpWidth) + "\n" + wrapped(kValues, 0, kHelpWidth) +
                    "\n" + wrapped(kOverrides, 0, kHelpWidth);
  for (const Section& section : sections()) out += section_help(section);
  return out;
}

std::string documentation() {
  constexpr std::size_t kWidth = 120;
  std::string out =
      "<!-- Written by `scenario_docs --write` from the key tables in src/sim/scenario/sections "
      "and src/transports; do "
      "not edit. -->\n\n# Scenario files\n\n";
  out += wrapped(kIntroduction, 0, kWidth) + "\n" + wrapped(kValues, 0, kWidth) + "\n" +
         wrapped(kOverrides, 0, kWidth);
  out +=
      "\n`strack sim show FILE` prints a scenario with all its keys and what follows from them. "
      "The "
      "files in `scenarios/` are\nplaces to start from.\n";
  for (const Section& section : sections()) {
    out += section.name.empty() ? "\n## At the top\n\n"
                                : fmt::format("\n## `{}`\n\n", heading(section));
    out += wrapped(section.help, 0, kWidth);
    out += "\n| key | default | accepts | meaning |\n|---|---|---|---|\n";
    for (const Key& key : keys()) {
      if (key.section != section.name) continue;
      std::string help(key.help);
      if (const std::string only = condition(key); !only.empty())
        help += fmt::format(" Only with `{}`.", only);
      const std::string fallback =
          key.fallback.empty() ? std::string(key.otherwise) : fmt::format("`{}`", key.fallback);
      out += fmt::format("| `{}` | {} | {} | {} |\n", key.name, cell(fallback), cell(accepts(key)),
                         cell(help));
    }
  }
  return out;
}

}  // namespace strack::sim
