// `strack topology`: networks as files, to be changed by hand and named in a scenario.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/text.h"
#include "cli/workload.h"
#include "sim/scenario/network_file.h"
#include "sim/scenario/network_make.h"
#include "workload/amount.h"

namespace strack::cli {
namespace {

struct MakeOptions {
  sim::DragonflyParams dragonfly;
  sim::PlanesParams planes;
  std::string rate = "400Gbps";
  std::string latency = "500ns";
  std::string global_latency = "1us";
  std::filesystem::path out;
  bool force = false;
};

std::optional<BitsPerSecond> rate_of(const std::string& text) {
  const auto amount = workload::parse_amount(text);
  if (!amount) return std::nullopt;
  const auto unit = workload::rate_unit(amount->unit);
  if (!unit) return std::nullopt;
  const auto value = workload::exact_product(amount->number, *unit);
  if (!value || *value <= 0) return std::nullopt;
  return BitsPerSecond{*value};
}

int write(const MakeOptions& options, const Result<std::string, workload::TextError>& made) {
  if (!made) return fail("topology make: " + made.error().message);
  // What is written can be read.
  if (const auto read = sim::parse_network(made.value()); !read)
    return fail("topology make: " + read.error().message);
  return write_text(made.value(), options.out, options.force);
}

/// The words that all shapes have; what they say goes into `links`.
void add_figures(CLI::App* command, MakeOptions& options) {
  command->add_option("--rate", options.rate, "of links")->type_name("RATE")->capture_default_str();
  command->add_option("--latency", options.latency, "of links")
      ->type_name("TIME")
      ->capture_default_str();
  command->add_option("--out", options.out, "the file to write; standard output")
      ->type_name("FILE");
  command->add_flag("--force", options.force, "replace an existing file");
}
/// Or what is wrong with them.
std::string take_figures(const MakeOptions& options, sim::LinkFigures& links) {
  const auto rate = rate_of(options.rate);
  if (!rate) return fmt::format("--rate is {}. it is such as 400Gbps", options.rate);
  const auto latency = workload::parse_time(options.latency);
  if (!latency || *latency <= ps(0))
    return fmt::format("--latency is {}. it is such as 500ns", options.latency);
  links = {*rate, *latency};
  return {};
}

void add_count(CLI::App* command, const char* name, std::uint32_t& value, const char* help) {
  command->add_option(name, value, help)
      ->check(CLI::Range(1u, 65'536u))
      ->type_name("NUMBER")
      ->capture_default_str();
}

Command add_dragonfly(CLI::App& make, const char* name, const char* help, bool plus) {
  auto options = std::make_shared<MakeOptions>();
  options->dragonfly.plus = plus;
  CLI::App* command = make.add_subcommand(name, help);
  sim::DragonflyParams& p = options->dragonfly;
  add_count(command, "--groups", p.groups, "groups");
  add_count(command, "--routers", p.routers,
            plus ? "leaf switches of a group, and as many spines" : "routers of a group");
  add_count(command, "--hosts", p.hosts, plus ? "hosts of a leaf switch" : "hosts of a router");
  add_count(command, "--globals", p.globals,
            plus ? "links of a spine to other groups" : "links of a router to other groups");
  command->add_option("--global-latency", options->global_latency, "of links between groups")
      ->type_name("TIME")
      ->capture_default_str();
  add_figures(command, *options);
  return {command, [options] {
            sim::DragonflyParams& params = options->dragonfly;
            if (const std::string wrong = take_figures(*options, params.links); !wrong.empty())
              return fail("topology make: " + wrong);
            const auto latency = workload::parse_time(options->global_latency);
            if (!latency || *latency <= ps(0))
              return fail(fmt::format("topology make: --global-latency is {}. it is such as 1us",
                                      options->global_latency));
            params.global_latency = *latency;
            return write(*options, sim::make_dragonfly(params));
          }};
}

Command add_planes(CLI::App& make) {
  auto options = std::make_shared<MakeOptions>();
  CLI::App* command = make.add_subcommand(
      "planes", "NICs with several ports, each in a leaf-spine network of its own.");
  sim::PlanesParams& p = options->planes;
  add_count(command, "--planes", p.planes, "planes, and ports of a NIC");
  add_count(command, "--leaves", p.leaves, "leaf switches of a plane");
  add_count(command, "--hosts", p.hosts, "hosts of a leaf switch");
  add_count(command, "--spines", p.spines, "spines of a plane");
  add_figures(command, *options);
  return {command, [options] {
            if (const std::string wrong = take_figures(*options, options->planes.links);
                !wrong.empty())
              return fail("topology make: " + wrong);
            return write(*options, sim::make_planes(options->planes));
          }};
}

}  // namespace

std::vector<Command> add_topology(CLI::App& app) {
  CLI::App* topology = app.add_subcommand(
      "topology", "Makes networks of well-known shapes, as files for [topology] file.");
  topology->require_subcommand(0, 1);
  CLI::App* make = topology->add_subcommand(
      "make",
      "Writes a network as a .net file, which can be changed by hand. A scenario names it:\n"
      "[topology] file = \"dragonfly.net\". What may stand in it: docs/networks.md.");
  make->require_subcommand(0, 1);
  std::vector<Command> commands;
  commands.push_back(
      add_dragonfly(*make, "dragonfly",
                    "Groups of routers, all linked to each other, and so are groups.", false));
  commands.push_back(
      add_dragonfly(*make, "dragonfly-plus",
                    "Groups of leaf and spine switches; spines are linked to other groups.", true));
  commands.push_back(add_planes(*make));
  commands.push_back({make, [] { return no_command("topology make --help"); }});
  commands.push_back({topology, [] { return no_command("topology --help"); }});
  return commands;
}

}  // namespace strack::cli
