#include "report/differences.h"

#include <algorithm>

#include "transports/registry.h"

namespace strack::report {
namespace {

using metrics::RunInfo;
using metrics::Setting;

/// Whether a key is a parameter of a transport that is not this scheme's, nor of one whose section it reads.
bool is_of_another(std::string_view key, std::string_view scheme) {
  const std::size_t dot = key.find('.');
  for (const transports::Descriptor* transport : transports::all()) {
    if (dot == key.npos || key.substr(0, dot) != transport->section) continue;
    const bool its =
        std::any_of(transport->keys.begin(), transport->keys.end(),
                    [&](const sim::Key& own) { return own.name == key.substr(dot + 1); });
    if (!its) continue;
    const transports::Descriptor* runs = transports::find(scheme).transport;
    return runs != transport && (runs == nullptr || runs->switches.ecn != transport->section);
  }
  return false;
}

bool is_told_elsewhere(std::string_view key) {
  return key == "name" || key == "description" || key == "transport.scheme" ||
         key.starts_with("run.seed");
}

bool differ(const RunInfo& run, const Setting& setting, const RunInfo& other, Missing missing) {
  const Setting* its = setting_of(other, setting.key);
  if (its == nullptr)
    return missing == Missing::differs && setting.origin == "given" &&
           !is_of_another(setting.key, other.scheme);
  if (its->value == setting.value) return false;
  return other.scheme == run.scheme || setting.origin == "given" || its->origin == "given";
}

}  // namespace

const Setting* setting_of(const RunInfo& run, std::string_view key) {
  const auto found = std::find_if(run.settings.begin(), run.settings.end(),
                                  [key](const Setting& one) { return one.key == key; });
  if (found == run.settings.end() || is_of_another(key, run.scheme)) return nullptr;
  return &*found;
}

std::vector<std::string> differing_keys(std::span<const RunInfo* const> runs, Missing missing) {
  std::vector<std::string> keys;
  for (const RunInfo* run : runs) {
    for (const Setting& setting : run->settings) {
      if (setting.origin == "derived" || is_told_elsewhere(setting.key) ||
          is_of_another(setting.key, run->scheme) ||
          std::find(keys.begin(), keys.end(), setting.key) != keys.end())
        continue;
      if (std::any_of(runs.begin(), runs.end(),
                      [&](const RunInfo* other) { return differ(*run, setting, *other, missing); }))
        keys.push_back(setting.key);
    }
  }
  return keys;
}

}  // namespace strack::report
