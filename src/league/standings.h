// Who came where: every scheme's times over the bound in every case, and ranks.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "league/cases.h"
#include "league/results.h"

namespace strack::league {

/// One scheme in one case, over its seeds. A run that is not finished counts as infinitely slow.
struct Cell {
  std::size_t seeds = 0;  ///< 0: it was not run
  double median = 0;      ///< times over the bound
  double worst = 0;
  double median_us = 0;
  double worst_us = 0;
  std::size_t rank = 0;  ///< from 1; 0 where it was not run
  std::size_t unfinished = 0;
  Ending ending = Ending::finished;  ///< of the worst run
  std::string why;                   ///< of all that ended so
  double at_least = 0;               ///< times over the bound that it was given in vain
};

/// What a scheme asked of the network, over all its runs.
struct Cost {
  double deepest_queue = 0;  ///< bytes
  double headroom = 0;       ///< the largest of any run: what each port sets aside for PFC
  double drops = 0;          ///< for each data packet, as the next three
  double trims = 0;
  double resent = 0;
  double control = 0;  ///< packets
  double pauses = 0;   ///< frames for each thousand data packets
  double cpu_s = 0;
};

struct Standing {
  std::string scheme;
  std::string label;
  std::string fabric;
  std::vector<Cell> cells;  ///< by case
  double mean_rank = 0;     ///< over the cases it was run in
  std::size_t firsts = 0;   ///< nobody who did not finish is first
  double mean = 0;          ///< geometric mean of the medians of the cases it finished
  double worst = 0;         ///< of all medians
  std::size_t ran = 0;
  std::size_t finished = 0;    ///< cases with a finite median
  std::size_t unfinished = 0;  ///< cases with any unfinished run
  Cost cost;
};

struct Standings {
  std::vector<const Case*> cases;  ///< those with any run, in the order of the table
  std::vector<double> bound_us;    ///< median over seeds, by case
  std::vector<Standing> rows;      ///< by mean rank
  std::size_t seeds = 0;           ///< the most that any cell has
};

/// [D59] All transports of a case are held against one bound, the least that any of them has: headers
/// differ, and long ones are the transport's own choice. Whoever is within this much of another is
/// not slower.
inline constexpr double kTie = 1.01;

[[nodiscard]] Standings judge(const std::vector<Outcome>& outcomes);

/// 1 + how many are faster by more than kTie. Those who are infinitely slow are last, also among themselves.
[[nodiscard]] std::vector<std::size_t> ranks(const std::vector<double>& medians);

/// "1.05", "12.4", "137"
[[nodiscard]] std::string times_text(double times);
/// "1.05"; "1.05 (19 of 20)" where not every case was finished.
[[nodiscard]] std::string mean_text(const Standing& row);
/// The median as a few characters: "1.05"; ">590", "stuck", "fails" or "cannot" where it has none;
/// nothing where it was not run.
[[nodiscard]] std::string cell_text(const Cell& cell);

}  // namespace strack::league
