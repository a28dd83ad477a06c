#include "cli/misspelt.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "sim/scenario/keys.h"

namespace strack::cli {
namespace {

/// The names of what a command has: its commands, or where a word begins with a dash its options.
std::vector<std::string> names_of(const CLI::App& command, bool options) {
  std::vector<std::string> names;
  if (options) {
    for (const CLI::Option* option : command.get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  } else {
    for (const CLI::App* one : command.get_subcommands([](const CLI::App*) { return true; }))
      names.push_back(one->get_name());
  }
  return names;
}

}  // namespace

std::string misspelt(const CLI::App& app, const CLI::ParseError& error) {
  // As far as the words were understood.
  const CLI::App* at = &app;
  std::string called = app.get_name();
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    called += " " + at->get_name();
  }
  const std::string lists = fmt::format("\n       `{} --help` lists what there is", called);
  const std::vector<std::string> left = at->remaining();
  const bool extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  if (!extra || left.empty()) return error.what() + lists;
  // The first option, where the words before it may have been files; else the first word.
  const auto dash = std::find_if(left.begin(), left.end(),
                                 [](const std::string& word) { return word.starts_with('-'); });
  const bool option = dash != left.end();
  const std::string& word = option ? *dash : left.front();
  const std::vector<std::string> names = names_of(*at, option);
  if (names.empty()) return error.what() + lists;
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string_view near = sim::nearest(word.substr(0, word.find('=')), candidates);
  return fmt::format("`{}` has no {} '{}'{}", called, option ? "option" : "command", word,
                     near.empty() ? lists : fmt::format(". did you mean `{} {}`?", called, near));
}

}  // namespace strack::cli
