// [D117] Who keeps the state of a run while it runs, so that another can go on with it.
#pragma once

#include <functional>

#include "sim/engine/archive.h"
#include "sim/simulation.h"

namespace strack::sim {

class Keeper {
 public:
  virtual ~Keeper() = default;
  /// Asked between windows, now and then: whether the state is wanted.
  [[nodiscard]] virtual bool due() = 0;
  /// save(archive) writes the state; all that was before it has been told. `stopped`: the run ends here.
  virtual void keep(const std::function<void(Saver&)>& save, const Progress& progress,
                    bool stopped) = 0;
};

}  // namespace strack::sim
