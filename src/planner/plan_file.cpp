// A plan file -> Plan.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "planner/plan.h"
#include "run/sweep_plan.h"
#include "sim/scenario/files.h"
#include "transports/registry.h"

namespace strack::planner {
namespace fs = std::filesystem;
namespace {

using sim::ScenarioError;

/// What went wrong first; it stays in this file.
struct Failed {
  ScenarioError error;
};

/// However many parts there are, what they cost together is a number.
constexpr double kHighestPrice = 1e15;

int line_of(const toml::node& node) { return static_cast<int>(node.source().begin.line); }

/// A value as the file has it, for a message.
std::string found(const toml::node& node) {
  return node.visit([](const auto& value) -> std::string {
    using Node = std::remove_cvref_t<decltype(value)>;
    if constexpr (toml::is_string<Node>) return fmt::format("\"{}\"", value.get());
    if constexpr (toml::is_integer<Node> || toml::is_floating_point<Node> || toml::is_boolean<Node>)
      return fmt::format("{}", value.get());
    if constexpr (toml::is_array<Node>) return "a list";
    if constexpr (toml::is_table<Node>) return "a table";
    return "a date or time";
  });
}

class PlanReader {
 public:
  PlanReader(std::string file, fs::path folder)
      : file_(std::move(file)), folder_(std::move(folder)) {}

  Plan read(const toml::table& root) {
    keys(root, "a plan", {"scenario", "schemes", "seeds", "cost", "network", "failure"});
    need(root, 0, "scenario", "a plan names its job mix, such as scenario = \"step.toml\"");
    plan_.scenario =
        folder_ / text(root, "scenario", "it names a scenario, such as scenario = \"step.toml\"");
    need(root, 0, "schemes", "a plan has transports, such as schemes = [\"strack\"]");
    schemes(root);
    seeds(root);
    if (const toml::node* node = root.get("cost")) cost(*node);
    need(root, 0, "network", "a plan has at least one [[network]], with a name and what it sets");
    each(root, "network", [&](const toml::table& table) { network(table); });
    each(root, "failure", [&](const toml::table& table) { failure(table); });
    return std::move(plan_);
  }

 private:
  [[noreturn]] void fail(int line, const std::string& message) const {
    throw Failed{{file_, line, message}};
  }
  [[noreturn]] void wrong(std::string_view key, const toml::node& node,
                          std::string_view remedy) const {
    fail(line_of(node), fmt::format("{} is {}. {}", key, found(node), remedy));
  }
  void need(const toml::table& table, int line, std::string_view key,
            const std::string& remedy) const {
    if (!table.contains(key)) fail(line, remedy);
  }
  void keys(const toml::table& table, std::string_view where,
            std::initializer_list<std::string_view> known) const {
    for (const auto& [key, node] : table) {
      if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
      fail(static_cast<int>(key.source().begin.line),
           fmt::format("there is no key {} in {}. there are {}", key.str(), where,
                       fmt::join(known, ", ")));
    }
  }

  [[nodiscard]] std::string text(const toml::table& table, std::string_view key,
                                 std::string_view remedy) const {
    const toml::node& node = *table.get(key);
    const auto value = node.value_exact<std::string>();
    if (!value || value->empty()) wrong(key, node, remedy);
    return *value;
  }
  [[nodiscard]] std::vector<std::string> texts(const toml::table& table, std::string_view key,
                                               std::string_view remedy) const {
    std::vector<std::string> all;
    const toml::node* node = table.get(key);
    if (node == nullptr) return all;
    const toml::array* list = node->as_array();
    if (list == nullptr) wrong(key, *node, remedy);
    for (const toml::node& one : *list) {
      const auto value = one.value_exact<std::string>();
      if (!value) wrong(fmt::format("an item of {}", key), one, remedy);
      all.push_back(*value);
    }
    return all;
  }
  template <class Visit>
  void each(const toml::table& root, std::string_view key, Visit&& visit) const {
    const toml::node* node = root.get(key);
    if (node == nullptr) return;
    const toml::array* list = node->as_array();
    if (list == nullptr || !list->is_homogeneous<toml::table>())
      fail(line_of(*node), fmt::format("[{0}] is one of several: it is written [[{0}]]", key));
    for (const toml::node& one : *list) visit(*one.as_table());
  }

  void schemes(const toml::table& root) {
    plan_.schemes = texts(root, "schemes", "it is a list, such as schemes = [\"strack\"]");
    const toml::node* node = root.get("schemes");
    if (node != nullptr && plan_.schemes.empty())
      fail(line_of(*node), "schemes is empty. name one or more, such as schemes = [\"strack\"]");
    std::set<std::string> seen;
    for (const std::string& scheme : plan_.schemes) {
      const int line = line_of(*root.get("schemes"));
      if (transports::find(scheme).transport == nullptr)
        fail(line, fmt::format("there is no scheme {}. the schemes are {}", scheme,
                               fmt::join(transports::scheme_names(), ", ")));
      if (!seen.insert(scheme).second)
        fail(line, fmt::format("schemes has {} twice. once will do", scheme));
    }
  }

  void seeds(const toml::table& root) {
    plan_.seeds = {1};
    const toml::node* node = root.get("seeds");
    if (node == nullptr) return;
    std::string given;
    if (const auto number = node->value_exact<std::int64_t>()) given = fmt::format("{}", *number);
    if (const auto words = node->value_exact<std::string>()) given = *words;
    if (given.empty()) wrong("seeds", *node, "it is such as seeds = 1 or seeds = \"1-3\"");
    const auto seeds = run::parse_seeds(given);
    if (!seeds) fail(line_of(*node), seeds.error().message);
    plan_.seeds = seeds.value();
  }

  void cost(const toml::node& node) {
    const toml::table* table = node.as_table();
    if (table == nullptr) wrong("cost", node, "it is a section, [cost]");
    keys(*table, "[cost]", {"switch", "switch_port", "host_port", "link"});
    const auto price = [&](std::string_view key, double& to) {
      const toml::node* value = table->get(key);
      if (value == nullptr) return;
      const auto number = value->value<double>();
      if (!number || !(*number >= 0) || !(*number <= kHighestPrice) || !value->is_number())
        wrong(key, *value, "a price is a number from 0 to 1e15");
      to = *number;
    };
    price("switch", plan_.prices.switches);
    price("switch_port", plan_.prices.switch_port);
    price("host_port", plan_.prices.host_port);
    price("link", plan_.prices.link);
  }

  [[nodiscard]] std::string name(const toml::table& table, std::string_view what) const {
    need(table, line_of(table), "name", fmt::format("a [[{0}]] has a name: name = \"...\"", what));
    return text(table, "name", "a name is a text");
  }
  [[nodiscard]] std::vector<std::string> set(const toml::table& table) const {
    std::vector<std::string> all =
        texts(table, "set", "it is a list, such as set = [\"topology.spines=16\"]");
    for (std::size_t i = 0; i < all.size(); ++i)
      refuse_axes(all[i], line_of(*table.get("set")->as_array()->get(i)));
    return all;
  }
  /// What the plan itself varies would silently win.
  void refuse_axes(const std::string& override_text, int line) const {
    std::string key = override_text.substr(0, override_text.find('='));
    std::erase_if(key, [](char c) { return c == ' ' || c == '\t'; });
    const bool scheme = key == "transport.scheme";
    if (scheme || key == "run.seed" || key == "run.seeds")
      fail(line, fmt::format("set has {}, which a plan decides for all. name it in {} = ... at the "
                             "plan's beginning",
                             key, scheme ? "schemes" : "seeds"));
  }

  void network(const toml::table& table) {
    keys(table, "[[network]]", {"name", "set"});
    Network made{name(table, "network"), set(table), line_of(table)};
    for (const Network& other : plan_.networks) {
      if (other.name == made.name)
        fail(made.line,
             fmt::format("two networks are called \"{}\". names tell them apart", made.name));
    }
    plan_.networks.push_back(std::move(made));
  }

  void failure(const toml::table& table) {
    keys(table, "[[failure]]", {"name", "set", "networks"});
    const std::string called = name(table, "failure");
    need(
        table, line_of(table), "set",
        fmt::format("the failure \"{}\" sets nothing. give it set = [\"failure.0.switch=spine 0\"]",
                    called));
    const Failure::Way way{set(table), line_of(table)};
    Failure* made = nullptr;
    for (Failure& other : plan_.failures) {
      if (other.name == called) made = &other;
    }
    if (made == nullptr) {
      made = &plan_.failures.emplace_back();
      made->name = called;
      made->ways.resize(plan_.networks.size());
    }
    for (const std::size_t network : networks_of(table)) {
      if (made->ways[network])
        fail(way.line, fmt::format("the failure \"{}\" is there twice for the network \"{}\". give "
                                   "it another name, or networks = [...] that differ",
                                   called, plan_.networks[network].name));
      made->ways[network] = way;
    }
  }

  [[nodiscard]] std::vector<std::size_t> networks_of(const toml::table& table) const {
    std::vector<std::size_t> all;
    const std::vector<std::string> wanted =
        texts(table, "networks", "it is a list of names, such as networks = [\"1:1\"]");
    for (std::size_t n = 0; n < plan_.networks.size(); ++n) {
      if (wanted.empty()) all.push_back(n);
    }
    for (const std::string& one : wanted) {
      const auto at = std::find_if(plan_.networks.begin(), plan_.networks.end(),
                                   [&](const Network& network) { return network.name == one; });
      if (at == plan_.networks.end())
        fail(line_of(*table.get("networks")),
             fmt::format("there is no network \"{}\". there are {}", one, network_names()));
      all.push_back(static_cast<std::size_t>(at - plan_.networks.begin()));
    }
    return all;
  }
  [[nodiscard]] std::string network_names() const {
    std::string names;
    for (const Network& one : plan_.networks)
      names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", one.name);
    return names;
  }

  std::string file_;
  fs::path folder_;
  Plan plan_;
};

}  // namespace

Result<Plan, ScenarioError> read_plan_text(std::string_view text, const std::string& file,
                                           const fs::path& folder) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    return ScenarioError{file, static_cast<int>(parsed.error().source().begin.line),
                         std::string(parsed.error().description())};
  }
  try {
    Plan plan = PlanReader(file, folder).read(parsed.table());
    plan.file = file;
    plan.name = fs::path(file).stem().string();
    return plan;
  } catch (const Failed& failed) {
    return failed.error;
  }
}

Result<Plan, ScenarioError> read_plan(const fs::path& file) {
  const auto text = sim::read_file(file);
  if (!text) return ScenarioError{file.string(), text.error().line, text.error().message};
  return read_plan_text(text.value(), file.string(), file.parent_path());
}

}  // namespace strack::planner
