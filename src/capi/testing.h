// For tests: memory that runs out.
#pragma once

namespace strack {

/// From now on, so many allocations of this thread succeed and those after them fail. Less than 0: all
/// succeed.
void fail_allocation_after(int allocations);

}  // namespace strack
