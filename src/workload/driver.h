// [D108] Whoever decides what a job does while it runs, where no graph was made before: a closed loop (src/loop).
//
// A driven job has channels and no nodes. Its driver is told what happens at a rank, and says what the rank
// does next: hosts do it at that very instant. It is called by the thread that runs the rank's host,
// for one rank in order of time; for several ranks at once. So it may write only what is the rank's own,
// and read of others' what they wrote before the message came that it is told of.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "workload/graph.h"

namespace strack::workload {

struct DriverEvent {
  enum class What : std::uint8_t {
    begins,    ///< the rank, at the job's start
    sent,      ///< a message of the rank's is wholly acknowledged
    received,  ///< a message for the rank is wholly there
    computed,
  };
  What what = What::begins;
  Rank rank = 0;              ///< begins, computed
  std::uint32_t channel = 0;  ///< sent, received
  std::uint32_t id = 0;       ///< as the order had it
  Instant time{};
};

/// What a rank is to do, at once.
struct DriverOrder {
  bool computes = false;
  Rank rank = 0;
  std::uint32_t channel = 0;  ///< of a message
  std::uint32_t id = 0;       ///< unique among what the rank has under way
  Picoseconds time{0};        ///< of a computation
  std::uint32_t job = 0;      ///< whoever carries it out fills it in
};

class Driver {
 public:
  virtual ~Driver() = default;
  /// Appends what the rank does now; it is done in that order.
  virtual void on_event(const DriverEvent& event, std::vector<DriverOrder>& orders) = 0;
  /// Of a message that was ordered and is not wholly sent.
  [[nodiscard]] virtual std::uint32_t bytes_of(std::uint32_t channel, std::uint32_t id) const = 0;
};

}  // namespace strack::workload
