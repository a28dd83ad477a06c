// The league's cases, as one table: who sends what over which network, what goes wrong, which time
// counts, and what physics would allow. `strack league` runs every scheme over all of them.
//
// A case is a scenario text, so anybody can run one alone; whatever fabric a transport wants (lossy,
// trimming, lossless) follows from its scheme, and the cases do not say.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/units.h"
#include "workload/generators.h"
#include "workload/workload.h"

namespace strack::league {

enum class Scale : std::uint8_t {
  quick,  ///< 128 hosts mostly: minutes for all
  full,   ///< up to 8192 hosts
};
[[nodiscard]] std::string_view name_of(Scale scale);
[[nodiscard]] std::optional<Scale> scale_of(std::string_view name);

/// Which of a run's times counts: the slowest flow's, unless it says otherwise.
struct Measure {
  bool jobs = false;     ///< the slowest job's
  int percentile = 100;  ///< of flows, by nearest rank; 100 is the slowest
  Bytes largest{0};      ///< only flows of at most this size; 0: all
};

/// Cases that are run together: at the full scale at most an hour on two processors.
struct Part {
  std::string_view id;
  std::string_view title;
};

struct Case {
  std::string_view id;
  std::string_view title;  ///< a few words, for the head of a column
  std::string_view part;
  std::string_view about;  ///< what happens, a sentence or two
  std::string_view bound;  ///< what its times are divided by
  Measure measure = {};
  std::string_view common;  ///< lines of a scenario at both scales
  std::string_view quick;   ///< and at each
  std::string_view full;
  /// Its flows, where no kind of workload has them.
  workload::Flows (*flows)(const workload::Racks& racks, std::uint64_t seed) = nullptr;
};

/// Whatever is not done by then is not finished. Ten times what any case takes at best.
inline constexpr Picoseconds kTimeLimit = ms(100);

[[nodiscard]] std::span<const Part> parts();
[[nodiscard]] std::span<const Case> cases();  ///< by part
/// Null where there is none.
[[nodiscard]] const Case* find_case(std::string_view id);
[[nodiscard]] const Part* find_part(std::string_view id);

/// The case as a scenario file. One with flows of its own needs workload.file besides.
[[nodiscard]] std::string scenario_text(const Case& of, Scale scale);

// --- Flows of their own --------------------------------------------------------------------------

inline constexpr Bytes kVictimSize = mb(1);
/// 32 hosts send 4 MB each to host 0; 100 us later each other host of its rack gets 1 MB from a host
/// that has no part in the incast: the victims.
[[nodiscard]] workload::Flows incast_with_victims(const workload::Racks& racks, std::uint64_t seed);

/// Ranks of an AllToAll among experts, in groups of up to 64, a quarter of the hosts in a small
/// network. Each sends 4 MB in all to the others of its group; of a group's members, in an order that
/// the seed draws, the k-th most popular gets a share in proportion to 1 / sqrt(k).
[[nodiscard]] workload::Flows experts_alltoall(const workload::Racks& racks, std::uint64_t seed);

}  // namespace strack::league
