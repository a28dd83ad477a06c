// A value for every key that is not its default, for tests that go through all of them: what a test says by hand, and
// for the keys of transports that it does not know, what their kind and range allow.
#pragma once

#include <algorithm>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/keys.h"
#include "transports/registry.h"

namespace strack::sim {

struct Sample {
  std::string_view section;
  std::string_view key;
  std::string_view value;
  std::string_view around;  ///< what else it needs: whole lines, in front
};

/// All of them, as errors list them.
inline std::string section_names() {
  std::string names;
  for (const Section& section : sections()) {
    if (section.name.empty()) continue;
    if (!names.empty()) names += ", ";
    names += section.name;
  }
  return names;
}

/// The first of a few values of its kind that is neither its default nor out of range.
inline std::string sample_value(const Key& key) {
  switch (key.kind) {
    case Kind::integer: {
      const std::string low = std::to_string(key.low.num);
      return key.fallback == low ? std::to_string(key.low.num + 1) : low;
    }
    case Kind::flag:
      return key.fallback == "true" ? "false" : "true";
    case Kind::fraction:
      if (key.low.num >= key.low.den) return key.fallback == "2" ? "3" : "2";
      return key.fallback == "0.25" ? "0.5" : "0.25";
    case Kind::choice: {
      const std::string first = '"' + std::string(key.words[0]) + '"';
      return key.fallback == first ? '"' + std::string(key.words[1]) + '"' : first;
    }
    case Kind::size:
      return key.fallback == "\"2 MTU\"" ? "\"3 MTU\"" : "\"2 MTU\"";
    case Kind::time:
      return key.fallback == "\"2 RTT\"" ? "\"3 RTT\"" : "\"2 RTT\"";
    case Kind::rate:
      return "\"1 Gb/s\"";
    default:
      return "";  // no transport has such a key
  }
}

/// Those given, and one for each key of a transport, and of what transports share, that they leave out.
inline std::vector<Sample> with_transports(std::span<const Sample> given) {
  static std::deque<std::string> values;
  std::vector<Sample> all(given.begin(), given.end());
  for (const Key& key : keys()) {
    const auto owns = [&](const transports::Descriptor* t) { return t->section == key.section; };
    if (key.section != "window" && std::ranges::none_of(transports::all(), owns)) continue;
    const bool known = std::ranges::any_of(
        given, [&](const Sample& s) { return s.section == key.section && s.key == key.name; });
    if (known) continue;
    values.push_back(sample_value(key));
    all.push_back({key.section, key.name, values.back(), ""});
  }
  return all;
}

}  // namespace strack::sim
