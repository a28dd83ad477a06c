#include "sim/scenario/keys.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <vector>

#include <fmt/format.h>

#include "sim/scenario/sections/sections.h"
#include "transports/registry.h"

namespace strack::sim {
namespace {

/// All sections and keys, put together once.
struct Table {
  std::vector<Section> sections;
  std::vector<Key> keys;
  std::deque<std::string> helps;  ///< of sections that several have a part in

  void add(const Section& section, std::span<const Key> own) {
    sections.push_back(section);
    add_keys(section.name, own);
  }
  void add_keys(std::string_view section, std::span<const Key> own) {
    for (Key key : own) {
      key.section = section;
      keys.push_back(key);
    }
  }
  /// [transport], which any transport may put its keys into, and the sections of the others.
  void add_transports() {
    const SectionKeys shared = transport_section();
    add(shared.section, shared.keys);
    for (const transports::Descriptor* transport : transports::all()) {
      if (transport->section != shared.section.name) continue;
      sections.back().help =
          helps.emplace_back(fmt::format("{} {}", sections.back().help, transport->help));
      add_keys(transport->section, transport->keys);
    }
    for (const transports::Descriptor* transport : transports::all()) {
      if (transport->section == shared.section.name || transport->keys.empty()) continue;
      add({transport->section, false, transport->help}, transport->keys);
    }
  }

  Table() {
    for (const SectionKeys* before :
         {&kTopSection, &kTopologySection, &kSwitchSection, &kPfcSection, &kHostSection}) {
      add(before->section, before->keys);
    }
    add_transports();
    for (const SectionKeys* after :
         {&kPathsSection, &kWindowSection, &kWorkloadSection, &kFailureSection, &kImpairmentSection,
          &kRecordSection, &kRunSection}) {
      add(after->section, after->keys);
      if (after == &kWorkloadSection) add_keys(after->section.name, kTrainingKeys);
    }
  }
};

[[nodiscard]] const Table& table() {
  static const Table all;
  return all;
}

/// Insertions, deletions, replacements and swaps of neighbours from one word to the other.
[[nodiscard]] std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::string quoted_words(std::span<const std::string_view> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += fmt::format("\"{}\"", words[i]);
  }
  return text;
}

std::string Key::remedy() const {
  return kind == Kind::choice ? fmt::format("{} {}", needs, quoted_words(words))
                              : std::string(needs);
}

std::span<const Section> sections() { return table().sections; }
std::span<const Key> keys() { return table().keys; }

const Section* find_section(std::string_view name) {
  for (const Section& section : sections()) {
    if (section.name == name) return &section;
  }
  return nullptr;
}

const Key* find_key(std::string_view section, std::string_view name) {
  for (const Key& key : keys()) {
    if (key.section == section && key.name == name) return &key;
  }
  return nullptr;
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr std::size_t kLongestWord = 40;
  if (word.size() > kLongestWord) return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3);
  for (const std::string_view candidate : candidates) {
    // "latency" for "host_latency_ns", "rto" for "rto_us": a part of the name that someone left
    // out.
    const bool part = word.size() >= 3 && candidate.find(word) != candidate.npos;
    const std::size_t away = part ? 1 : distance(word, candidate);
    if (away >= word.size()) continue;  // nothing in common
    if (away < best_distance || (away == best_distance && best.empty())) {
      best = candidate;
      best_distance = away;
    }
  }
  return best;
}

}  // namespace strack::sim
