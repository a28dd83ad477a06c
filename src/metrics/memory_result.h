// [D127] A run whose rows are in memory, column by column: what its result file would have, without the file.
//
// ResultWriter fills it (WriterOptions::memory). Whoever has it reads its columns where they lie, or has the file
// written after all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "metrics/records.h"
#include "metrics/result_file.h"

namespace strack::metrics {

/// A column of a table, for those who read. The memory is the result's.
struct ColumnView {
  std::string_view name;
  bool is_text = false;
  bool optional = false;  ///< rows may have no value
  std::span<const std::int64_t> numbers = {};
  std::span<const std::string> texts = {};
  std::span<const std::uint8_t> missing = {};  ///< 1: this row has no value; empty: all have one
};

struct TableView {
  std::string_view name;
  std::vector<ColumnView> columns;
};

class MemoryResult {
 public:
  MemoryResult(RunInfo run, std::string started_at);
  MemoryResult(const MemoryResult&) = delete;
  MemoryResult& operator=(const MemoryResult&) = delete;
  ~MemoryResult();

  void add(const LinkInfo& link);
  void add(const FlowRecord& flow);
  void add(const JobRecord& job);
  void add(const LinkSample& sample);
  void add(const FlowSample& sample);
  void add(const FlowEvent& event);
  void add(const ChannelInfo& channel);
  void add(const CommunicationRecord& one);
  void add(const ComputationInfo& one);
  /// Nothing is added after it; rows that have a number are in its order then, as in the file.
  void finish(const RunState& state, const Counters& counters);

  /// What the rows take.
  [[nodiscard]] std::int64_t size_bytes() const;
  [[nodiscard]] const RunInfo& run() const;
  [[nodiscard]] const RunState& state() const;
  [[nodiscard]] const Counters& counters() const;
  /// The tables of the file that have records, and its totals; not its views, nor the header.
  [[nodiscard]] std::vector<TableView> tables() const;

  [[nodiscard]] std::vector<FlowRecord> flows() const;
  [[nodiscard]] std::vector<JobRecord> jobs() const;
  [[nodiscard]] std::vector<CommunicationRecord> communications() const;
  [[nodiscard]] std::vector<ComputationInfo> computations() const;

  /// Adds every row to a file.
  void copy_to(ResultWriter& writer) const;
  /// The result file that the run would have left.
  [[nodiscard]] std::optional<FileError> write(const std::filesystem::path& path, bool force) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace strack::metrics
