#include "workload/formats/topo_import.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "workload/formats/import_builder.h"
#include "workload/lines.h"

namespace strack::workload {
namespace {

constexpr std::int64_t kMostPorts = 65'536;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

class Reader {
 public:
  Result<HtsimTopology, TextError> read(std::string_view text) {
    LineReader lines(text);
    while (const std::optional<Line> line = lines.next()) {
      if (!read_line(*line)) return error_;
    }
    if (!check_whole()) return error_;
    return topology_;
  }

 private:
  enum class Key : std::uint8_t {
    nodes,
    tiers,
    podsize,
    tier,
    speed,
    radix_down,
    radix_up,
    oversubscribed,
    bundle,
    link_latency,
    switch_latency,
    queue_up,
    queue_down,
  };
  struct Name {
    std::string_view name;  ///< as people write it
    Key key;
    std::int64_t least;
    std::int64_t most;
  };
  static constexpr std::array<Name, 13> kNames{{
      {"Nodes", Key::nodes, 2, kMostRanks},
      {"Tiers", Key::tiers, 2, 3},
      {"Podsize", Key::podsize, 1, kMostRanks},
      {"Tier", Key::tier, 0, 2},
      {"Downlink_speed_Gbps", Key::speed, 1, 1'000'000},
      {"Radix_Down", Key::radix_down, 1, kMostPorts},
      {"Radix_Up", Key::radix_up, 1, kMostPorts},
      {"Oversubscribed", Key::oversubscribed, 1, kMostPorts},
      {"Bundle", Key::bundle, 1, kMostPorts},
      {"Downlink_Latency_ns", Key::link_latency, 1, 1'000'000'000},
      {"Switch_Latency_ns", Key::switch_latency, 0, 1'000'000'000},
      {"Queue_Up", Key::queue_up, 1, 1'000'000'000'000},
      {"Queue_Down", Key::queue_down, 1, 1'000'000'000'000},
  }};

  bool fail(int line, std::string message) {
    error_ = {line, std::move(message)};
    return false;
  }

  bool read_line(const Line& line) {
    const std::string word = lower(line.fields[0]);
    const auto* const name = std::find_if(kNames.begin(), kNames.end(),
                                          [&](const Name& n) { return lower(n.name) == word; });
    if (name == kNames.end()) {
      return fail(line.number,
                  fmt::format("{} is no word of a topology. those are Nodes, Tiers, Podsize and "
                              "Tier, then Downlink_speed_Gbps, Radix_Down, Radix_Up, "
                              "Oversubscribed, Bundle, Downlink_Latency_ns, Switch_Latency_ns, "
                              "Queue_Up and Queue_Down",
                              quoted(line.fields[0])));
    }
    if (line.fields.size() != 2) {
      return fail(line.number, fmt::format("{} has {} values. it has one, such as {} {}",
                                           name->name, line.fields.size() - 1, name->name,
                                           std::max<std::int64_t>(name->least, 1)));
    }
    const auto value = parse_within(line.fields[1], name->least, name->most);
    if (!value) {
      return fail(line.number, fmt::format("{} is {}. it is a number from {} to {}", name->name,
                                           quoted(line.fields[1]), name->least, name->most));
    }
    const bool of_all = name->key <= Key::podsize;
    if (of_all && tier_)
      return fail(line.number, fmt::format("{} after a Tier. the header comes first", name->name));
    if (!of_all && name->key != Key::tier && !tier_) {
      return fail(line.number,
                  fmt::format("{} before any Tier. it belongs to one, such as Tier 0", name->name));
    }
    if (name->key == Key::tier) return begin_tier(line, *value);
    const auto index = static_cast<std::size_t>(name->key);
    bool& given = given_[of_all ? kHeader : *tier_][index];
    if (given)
      return fail(line.number, fmt::format("{} a second time. it is written once", name->name));
    given = true;
    return set(line, *name, *value);
  }

  bool begin_tier(const Line& line, std::int64_t number) {
    if (!tiers_)
      return fail(line.number, "no Tiers before the first Tier. write Tiers 2 or Tiers 3");
    if (number >= *tiers_) {
      return fail(line.number, fmt::format("Tier {} of {} tiers. they count from 0 to {}", number,
                                           *tiers_, *tiers_ - 1));
    }
    tier_ = static_cast<std::size_t>(number);
    if (topology_.tiers[*tier_].line != 0) {
      return fail(line.number,
                  fmt::format("Tier {} a second time, after line {}. it is written once", number,
                              topology_.tiers[*tier_].line));
    }
    topology_.tiers[*tier_].line = line.number;
    return true;
  }

  bool set(const Line& line, const Name& name, std::int64_t value) {
    const auto number = static_cast<std::uint32_t>(value);  // of those that are small enough
    HtsimTier* const tier = tier_ ? &topology_.tiers[*tier_] : nullptr;
    switch (name.key) {
      case Key::nodes:
        topology_.nodes = number;
        return true;
      case Key::tiers:
        tiers_ = value;
        topology_.tiers.resize(number);
        return true;
      case Key::podsize:
        topology_.podsize = number;
        return true;
      case Key::tier:
        return true;
      case Key::speed:
        tier->downlink_speed = gbps(value);
        return true;
      case Key::radix_down:
        tier->radix_down = number;
        return true;
      case Key::radix_up:
      case Key::queue_up:
        if (*tier_ + 1 == topology_.tiers.size()) {
          return fail(line.number, fmt::format("{} in Tier {}. the top tier has nothing above it",
                                               name.name, *tier_));
        }
        if (name.key == Key::radix_up) {
          tier->radix_up = number;
        } else {
          tier->queue_up = bytes(value);
        }
        return true;
      case Key::oversubscribed:
        tier->oversubscribed = number;
        return true;
      case Key::bundle:
        tier->bundle = number;
        return true;
      case Key::link_latency:
        tier->downlink_latency = ns(value);
        return true;
      case Key::switch_latency:
        tier->switch_latency = ns(value);
        return true;
      case Key::queue_down:
        tier->queue_down = bytes(value);
        return true;
    }
    return true;
  }

  bool check_whole() {
    if (topology_.nodes == 0) return fail(0, "no Nodes. a topology has some, such as Nodes 32");
    if (!tiers_) return fail(0, "no Tiers. write Tiers 2 or Tiers 3");
    if (topology_.podsize == 0)
      return fail(0, fmt::format("no Podsize. a pod has so many hosts, in two tiers Podsize {}",
                                 topology_.nodes));
    for (std::size_t i = 0; i < topology_.tiers.size(); ++i) {
      const HtsimTier& tier = topology_.tiers[i];
      if (tier.line == 0) return fail(0, fmt::format("no Tier {} of {} tiers", i, *tiers_));
      const auto missing = [&](std::string_view name, std::string_view value) {
        return fail(tier.line, fmt::format("no {} in Tier {}. write one, such as {} {}", name, i,
                                           name, value));
      };
      if (tier.downlink_speed == gbps(0)) return missing("Downlink_speed_Gbps", "400");
      if (tier.radix_down == 0) return missing("Radix_Down", "8");
      if (tier.downlink_latency == ps(0)) return missing("Downlink_Latency_ns", "1000");
      if (i + 1 < topology_.tiers.size() && tier.radix_up == 0) return missing("Radix_Up", "8");
    }
    return true;
  }

  static constexpr std::size_t kHeader = 3;
  HtsimTopology topology_;
  TextError error_;
  std::optional<std::int64_t> tiers_;
  std::optional<std::size_t> tier_;
  std::array<std::array<bool, kNames.size()>, 4> given_{};
};

/// Finds out whether the numbers fit together, from the hosts up.
class Clos {
 public:
  explicit Clos(const HtsimTopology& topology) : t_(topology) {}

  Result<ClosFigures, TextError> figures() {
    const std::size_t count = t_.tiers.size();
    if (count != 2 && count != 3)
      return TextError{0, fmt::format("{} tiers. a network of ours has 2 or 3", count)};
    const HtsimTier& tor = t_.tiers[0];
    const HtsimTier& agg = t_.tiers[1];
    STRACK_CHECK(t_.podsize > 0 && tor.radix_down > 0 && agg.bundle > 0);  // as import_topo has it
    f_.tiers = static_cast<int>(count);
    f_.hosts_per_rack = tor.radix_down;
    if (tor.bundle != 1)
      return TextError{tor.line,
                       fmt::format("Bundle {} in Tier 0. a host has one link here", tor.bundle)};
    if (t_.nodes % t_.podsize != 0)
      return wrong(0, fmt::format("{} Nodes in pods of {}. Nodes is a multiple of Podsize",
                                  t_.nodes, t_.podsize));
    if (t_.podsize % tor.radix_down != 0) {
      return wrong(0, fmt::format("a Podsize of {} in racks of {}. it is a multiple of Tier 0's "
                                  "Radix_Down",
                                  t_.podsize, tor.radix_down));
    }
    f_.racks = t_.nodes / tor.radix_down;
    const std::uint32_t pods = t_.nodes / t_.podsize;
    const std::uint32_t racks_per_pod = t_.podsize / tor.radix_down;
    const std::uint64_t agg_ports = std::uint64_t{racks_per_pod} * agg.bundle;
    if (count == 2 && pods != 1) {
      return TextError{0, fmt::format("{} pods in two tiers, with nothing between them. write "
                                      "Podsize {}",
                                      pods, t_.nodes)};
    }
    if (tor.radix_up % agg.bundle != 0) return not_bundled(0);
    if (agg.radix_down != agg_ports) return wrong_radix(1, agg_ports);
    if (count == 2) {
      f_.spines = tor.radix_up / agg.bundle;
      f_.links_per_spine = agg.bundle;
    } else {
      const HtsimTier& core = t_.tiers[2];
      const std::uint64_t core_ports = std::uint64_t{pods} * core.bundle;
      if (core.radix_down != core_ports) return wrong_radix(2, core_ports);
      if (agg.radix_up % core.bundle != 0) return not_bundled(1);
      // A switch at the end of a bundle becomes as many as the bundle has links, each with its share of
      // the other ports: all capacities stay, but a packet leaves as it came, by the bundle's n-th link.
      if (agg.radix_up % agg.bundle != 0) {
        return wrong(1, fmt::format("Radix_Up {} with a Bundle of {} below. such a switch is split "
                                    "into {} here, so it is a multiple of that",
                                    agg.radix_up, agg.bundle, agg.bundle));
      }
      f_.racks_per_pod = racks_per_pod;
      f_.aggs_per_pod = tor.radix_up;
      f_.cores_per_agg = agg.radix_up / agg.bundle;
      if (agg.bundle > 1) note_split(1, agg.bundle);
      if (core.bundle > 1) note_split(2, core.bundle);
      f_.core_rate = core.downlink_speed;
      f_.core_latency = core.downlink_latency + (agg.switch_latency + core.switch_latency) / 2;
    }
    for (std::size_t i = 0; i + 1 < count; ++i) {
      if (!is_oversubscribed(i)) return oversubscribed(i);
    }
    f_.host_rate = tor.downlink_speed;
    f_.fabric_rate = agg.downlink_speed;
    f_.host_latency = tor.downlink_latency + tor.switch_latency / 2;
    f_.fabric_latency = agg.downlink_latency + (tor.switch_latency + agg.switch_latency) / 2;
    set_queue();
    return f_;
  }

 private:
  [[nodiscard]] TextError wrong(std::size_t tier, std::string message) const {
    return {t_.tiers[tier].line, std::move(message)};
  }
  [[nodiscard]] TextError not_bundled(std::size_t tier) const {
    return wrong(tier,
                 fmt::format("Radix_Up {} in bundles of {}. it is a multiple of the Bundle of "
                             "Tier {}",
                             t_.tiers[tier].radix_up, t_.tiers[tier + 1].bundle, tier + 1));
  }
  void note_split(std::size_t tier, std::uint32_t bundle) {
    f_.notes.push_back(
        fmt::format("bundles of {0} links to Tier {1}: each of its switches becomes {0} "
                    "with one link each",
                    bundle, tier));
  }
  [[nodiscard]] TextError wrong_radix(std::size_t tier, std::uint64_t fits) const {
    return wrong(tier,
                 fmt::format("Radix_Down {} in Tier {}. with what is below it is {}, one link "
                             "(or bundle) to each",
                             t_.tiers[tier].radix_down, tier, fits));
  }

  /// Where it is given it has to be the ratio of ports, which htsim checks, or that of rates.
  [[nodiscard]] bool is_oversubscribed(std::size_t tier) const {
    const HtsimTier& here = t_.tiers[tier];
    if (!here.oversubscribed) return true;
    const std::int64_t by = *here.oversubscribed;
    return here.radix_down == by * here.radix_up || down_rate(tier) == by * up_rate(tier);
  }
  [[nodiscard]] std::int64_t down_rate(std::size_t tier) const {
    return t_.tiers[tier].radix_down * (t_.tiers[tier].downlink_speed / gbps(1));
  }
  [[nodiscard]] std::int64_t up_rate(std::size_t tier) const {
    return t_.tiers[tier].radix_up * (t_.tiers[tier + 1].downlink_speed / gbps(1));
  }
  [[nodiscard]] TextError oversubscribed(std::size_t tier) const {
    return wrong(tier,
                 fmt::format("Oversubscribed {} in Tier {}, but a switch has {} Gb/s down and "
                             "{} up. leave it out, or change Radix_Up",
                             *t_.tiers[tier].oversubscribed, tier, down_rate(tier), up_rate(tier)));
  }

  void set_queue() {
    std::optional<Bytes> smallest;
    for (const HtsimTier& tier : t_.tiers) {
      for (const std::optional<Bytes>& queue : {tier.queue_up, tier.queue_down}) {
        if (!queue) continue;
        f_.queue_limit = std::max(f_.queue_limit.value_or(*queue), *queue);
        smallest = std::min(smallest.value_or(*queue), *queue);
      }
    }
    if (f_.queue_limit != smallest) {
      f_.notes.push_back(fmt::format("queues of {} to {} bytes: all ports have the largest here",
                                     smallest->count(), f_.queue_limit->count()));
    }
  }

  const HtsimTopology& t_;
  ClosFigures f_;
};

}  // namespace

Result<HtsimTopology, TextError> import_topo(std::string_view text) { return Reader().read(text); }

Result<ClosFigures, TextError> clos_of(const HtsimTopology& topology) {
  return Clos(topology).figures();
}

}  // namespace strack::workload
