// What the files of the Python module share.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "metrics/memory_result.h"
#include "metrics/sqlite.h"

namespace strack::python {

/// Becomes strack.RunError: something cannot be run, read or written.
struct RunError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The rows of an SQL query, column by column: (name, values, missing). `values` is an array of int64
/// or float64, or a list of texts; `missing` is an array of flags, or None where every row has a value.
[[nodiscard]] pybind11::list query(const std::string& file, const std::string& sql);

/// A table of a run whose rows are in memory: (name, values, missing, optional) of each column, as above. The arrays are
/// that memory, which nobody may write to; None where this table is in the file only.
[[nodiscard]] pybind11::object table_in_memory(const std::shared_ptr<metrics::MemoryResult>& result,
                                               const std::string& name);

/// A graph of messages as a GOAL schedule. Node i is a message from `rank` to `peer`, or where
/// that is -1 a computation; `amount` is bytes, or nanoseconds. `node` waits for `moment` of `other`.
[[nodiscard]] std::string goal_of(std::uint32_t ranks, const pybind11::array_t<std::int64_t>& rank,
                                  const pybind11::array_t<std::int64_t>& peer,
                                  const pybind11::array_t<std::int64_t>& amount,
                                  const pybind11::array_t<std::int64_t>& not_before,
                                  const pybind11::array_t<std::int64_t>& node,
                                  const pybind11::array_t<std::int64_t>& other,
                                  const pybind11::array_t<std::int64_t>& moment);

}  // namespace strack::python
