// Runs that differ in nothing but the seed: what they have in the middle, how far apart they are, and which of
// them stand for all.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "report/figures.h"
#include "report/model.h"

namespace strack::report {

/// A row for each label and size: medians over seeds, with the least and the largest of the slowest.
[[nodiscard]] Table seed_table(std::string id, std::string title,
                               std::span<const LabelledSummary> runs);

/// One run of those among which is chosen.
struct Candidate {
  std::string configuration;  ///< all but the seed
  double value = kUnknown;    ///< what its seeds are ordered by
  bool recorded = false;      ///< whether it has anything to show
};

/// In which order runs are worth being shown, by their places: of each configuration the one in the middle of its
/// seeds, then the largest, then the least, then the others; those that have recorded nothing come last. Of
/// more configurations than `most` an even choice comes first.
[[nodiscard]] std::vector<std::size_t> worth_showing(std::span<const Candidate> runs,
                                                     std::size_t most);

}  // namespace strack::report
