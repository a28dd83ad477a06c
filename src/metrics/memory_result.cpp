#include "metrics/memory_result.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>
#include <numeric>
#include <tuple>
#include <utility>

#include "metrics/tables.h"

namespace strack::metrics {
namespace {

/// Plain values one after the other. Grows by realloc(), which moves pages of a large block and copies nothing, so
/// that there are never two of it.
template <class T>
class Values {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Values() = default;
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;
  ~Values() { std::free(data_); }

  void push_back(T value) {
    if (size_ == capacity_) reserve(std::max<std::size_t>(256, 2 * capacity_));
    data_[size_++] = value;
  }
  void fit() {
    if (size_ > 0 && size_ < capacity_) reserve(size_);
  }
  /// The value that was at order[i] is at i.
  void put_in(const std::vector<std::size_t>& order) {
    std::vector<T> old(data_, data_ + size_);
    for (std::size_t i = 0; i < size_; ++i) data_[i] = old[order[i]];
  }
  [[nodiscard]] T operator[](std::size_t i) const { return data_[i]; }
  [[nodiscard]] std::span<const T> span() const { return {data_, size_}; }

 private:
  void reserve(std::size_t count) {
    void* const moved = std::realloc(data_, count * sizeof(T));
    if (moved == nullptr) throw std::bad_alloc();
    data_ = static_cast<T*>(moved);
    capacity_ = count;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

struct MemoryColumn {
  Values<std::int64_t> numbers;
  std::vector<std::string> texts;
  Values<std::uint8_t> missing;  ///< of a column whose rows may have no value
  bool any_missing = false;
};

/// A row on its way in, as a Statement takes it.
class RowIn {
 public:
  explicit RowIn(MemoryColumn* first) : column_(first) {}

  template <WholeNumber T>
  RowIn& operator<<(T value) {
    (column_++)->numbers.push_back(static_cast<std::int64_t>(value));
    return *this;
  }
  RowIn& operator<<(const std::string& value) {
    text_bytes_ += value.size() + sizeof(std::string);
    (column_++)->texts.push_back(value);
    return *this;
  }
  template <class Tag>
  RowIn& operator<<(detail::Quantity<Tag> value) {
    return *this << value.count();
  }
  RowIn& operator<<(Instant value) { return perhaps(value != Instant::never(), value.ps); }
  template <class T>
  RowIn& operator<<(const std::optional<T>& value) {
    return perhaps(value.has_value(), value.value_or(T{}));
  }
  [[nodiscard]] std::size_t text_bytes() const { return text_bytes_; }

 private:
  template <class T>
  RowIn& perhaps(bool there, T value) {
    column_->missing.push_back(there ? 0 : 1);
    column_->any_missing = column_->any_missing || !there;
    return there ? *this << value : *this << 0;
  }

  MemoryColumn* column_;
  std::size_t text_bytes_ = 0;
};

/// A row on its way out.
class RowOut {
 public:
  RowOut(const MemoryColumn* first, std::size_t row) : column_(first), row_(row) {}

  template <WholeNumber T>
  RowOut& operator>>(T& value) {
    value = static_cast<T>((column_++)->numbers[row_]);
    return *this;
  }
  RowOut& operator>>(std::string& value) {
    value = (column_++)->texts[row_];
    return *this;
  }
  template <class Tag>
  RowOut& operator>>(detail::Quantity<Tag>& value) {
    return *this >> value.value;
  }
  RowOut& operator>>(Instant& value) {
    if (!is_missing()) return *this >> value.ps;
    value = Instant::never();
    return skip();
  }
  template <class T>
  RowOut& operator>>(std::optional<T>& value) {
    if (!is_missing()) return *this >> value.emplace();
    value.reset();
    return skip();
  }

 private:
  [[nodiscard]] bool is_missing() const { return column_->missing[row_] != 0; }
  RowOut& skip() {
    ++column_;
    return *this;
  }

  const MemoryColumn* column_;
  std::size_t row_;
};

template <class Record>
class MemoryTable {
 public:
  void add(const Record& record) {
    RowIn row(columns_.data());
    bind(row, Table<Record>::columns, record);
    text_bytes_ += row.text_bytes();
    ++rows_;
  }
  [[nodiscard]] Record get(std::size_t index) const {
    Record record;
    RowOut row(columns_.data(), index);
    fetch(row, Table<Record>::columns, record);
    return record;
  }
  [[nodiscard]] std::vector<Record> all() const {
    std::vector<Record> records;
    records.reserve(rows_);
    for (std::size_t i = 0; i < rows_; ++i) records.push_back(get(i));
    return records;
  }
  template <class Writer>
  void copy_to(Writer& writer) const {
    for (std::size_t i = 0; i < rows_; ++i) writer.add(get(i));
  }
  void finish() {
    for_each_column([this](const auto& column, MemoryColumn& c) {
      if (column.rule == ColumnRule::key) sort_by(c.numbers.span());
    });
    for (MemoryColumn& c : columns_) {
      c.numbers.fit();
      c.missing.fit();
    }
  }
  [[nodiscard]] std::size_t size_bytes() const { return rows_ * kRowBytes + text_bytes_; }
  [[nodiscard]] TableView view() const {
    TableView table{Table<Record>::name, {}};
    std::size_t i = 0;
    std::apply(
        [&](const auto&... column) {
          (table.columns.push_back(view_of(column, columns_[i++])), ...);
        },
        Table<Record>::columns);
    return table;
  }

 private:
  template <class C>
  [[nodiscard]] static ColumnView view_of(const C& column, const MemoryColumn& c) {
    return {.name = column.name,
            .is_text = column.type() == "TEXT",
            .optional = column.rule == ColumnRule::sometimes || column.is_optional(),
            .numbers = c.numbers.span(),
            .texts = c.texts,
            .missing = c.any_missing ? c.missing.span() : std::span<const std::uint8_t>{}};
  }
  template <class Do>
  void for_each_column(Do&& act) {
    std::size_t i = 0;
    std::apply([&](const auto&... column) { (act(column, columns_[i++]), ...); },
               Table<Record>::columns);
  }
  void sort_by(std::span<const std::int64_t> key) {
    if (std::is_sorted(key.begin(), key.end())) return;
    std::vector<std::size_t> order(rows_);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return key[a] < key[b]; });
    for (MemoryColumn& c : columns_) {
      if (!c.numbers.span().empty()) c.numbers.put_in(order);
      if (!c.missing.span().empty()) c.missing.put_in(order);
      if (c.texts.empty()) continue;
      std::vector<std::string> old = std::move(c.texts);
      c.texts.clear();
      for (const std::size_t i : order) c.texts.push_back(std::move(old[i]));
    }
  }

  static constexpr std::size_t kColumns =
      std::tuple_size_v<std::remove_cvref_t<decltype(Table<Record>::columns)>>;
  /// Of a row's numbers, with a flag for each; its texts come on top.
  static constexpr std::size_t kRowBytes = 9 * kColumns;

  std::array<MemoryColumn, kColumns> columns_;
  std::size_t rows_ = 0;
  std::size_t text_bytes_ = 0;
};

}  // namespace

struct MemoryResult::Impl {
  RunInfo run;
  RunState state;
  Counters counters;
  /// In the file's order. Settings and workloads come with the run, and are filled at its end.
  std::tuple<MemoryTable<Setting>, MemoryTable<WorkloadInfo>, MemoryTable<FlowRecord>,
             MemoryTable<JobRecord>, MemoryTable<LinkInfo>, MemoryTable<LinkSample>,
             MemoryTable<FlowSample>, MemoryTable<ChannelInfo>, MemoryTable<FlowEvent>,
             MemoryTable<CommunicationRecord>, MemoryTable<ComputationInfo>>
      tables;
  MemoryColumn total_names;
  MemoryColumn total_values;

  template <class Record>
  [[nodiscard]] MemoryTable<Record>& table() {
    return std::get<MemoryTable<Record>>(tables);
  }
};

MemoryResult::MemoryResult(RunInfo run, std::string started_at) : impl_(std::make_unique<Impl>()) {
  impl_->run = std::move(run);
  impl_->state.started_at = std::move(started_at);
}
MemoryResult::~MemoryResult() = default;

void MemoryResult::add(const LinkInfo& link) { impl_->table<LinkInfo>().add(link); }
void MemoryResult::add(const FlowRecord& flow) { impl_->table<FlowRecord>().add(flow); }
void MemoryResult::add(const JobRecord& job) { impl_->table<JobRecord>().add(job); }
void MemoryResult::add(const LinkSample& sample) { impl_->table<LinkSample>().add(sample); }
void MemoryResult::add(const FlowSample& sample) { impl_->table<FlowSample>().add(sample); }
void MemoryResult::add(const FlowEvent& event) { impl_->table<FlowEvent>().add(event); }
void MemoryResult::add(const ChannelInfo& channel) { impl_->table<ChannelInfo>().add(channel); }
void MemoryResult::add(const CommunicationRecord& one) {
  impl_->table<CommunicationRecord>().add(one);
}
void MemoryResult::add(const ComputationInfo& one) { impl_->table<ComputationInfo>().add(one); }

void MemoryResult::finish(const RunState& state, const Counters& counters) {
  Impl& m = *impl_;
  m.state = state;
  m.counters = counters;
  std::sort(m.counters.own.begin(), m.counters.own.end(),
            [](const OwnTotal& a, const OwnTotal& b) { return a.name < b.name; });
  for (const Setting& setting : m.run.settings) m.table<Setting>().add(setting);
  for (const WorkloadInfo& info : m.run.workloads) m.table<WorkloadInfo>().add(info);
  std::apply([](auto&... table) { (table.finish(), ...); }, m.tables);
  std::vector<std::pair<std::string, std::int64_t>> totals;
  for_each_total(counters, [&](std::string_view name, auto value) {
    if constexpr (std::integral<decltype(value)>) {
      totals.emplace_back(name, static_cast<std::int64_t>(value));
    } else {
      totals.emplace_back(name, value.count());
    }
  });
  for (const OwnTotal& own : counters.own)
    totals.emplace_back(own.name, static_cast<std::int64_t>(own.value));
  std::sort(totals.begin(), totals.end());
  for (const auto& [name, value] : totals) {
    m.total_names.texts.push_back(name);
    m.total_values.numbers.push_back(value);
  }
}

std::int64_t MemoryResult::size_bytes() const {
  return static_cast<std::int64_t>(
      std::apply([](const auto&... table) { return (table.size_bytes() + ...); }, impl_->tables));
}
const RunInfo& MemoryResult::run() const { return impl_->run; }
const RunState& MemoryResult::state() const { return impl_->state; }
const Counters& MemoryResult::counters() const { return impl_->counters; }

std::vector<TableView> MemoryResult::tables() const {
  std::vector<TableView> all;
  std::apply([&all](const auto&... table) { (all.push_back(table.view()), ...); }, impl_->tables);
  TableView totals{"counters", std::vector<ColumnView>(2)};
  totals.columns[0] = {.name = "name", .is_text = true, .texts = impl_->total_names.texts};
  totals.columns[1] = {.name = "value", .numbers = impl_->total_values.numbers.span()};
  all.push_back(std::move(totals));
  return all;
}

std::vector<FlowRecord> MemoryResult::flows() const { return impl_->table<FlowRecord>().all(); }
std::vector<JobRecord> MemoryResult::jobs() const { return impl_->table<JobRecord>().all(); }
std::vector<CommunicationRecord> MemoryResult::communications() const {
  return impl_->table<CommunicationRecord>().all();
}
std::vector<ComputationInfo> MemoryResult::computations() const {
  return impl_->table<ComputationInfo>().all();
}

void MemoryResult::copy_to(ResultWriter& writer) const {
  const auto copy = [&writer](const auto&... table) { (table.copy_to(writer), ...); };
  const auto& t = impl_->tables;
  copy(std::get<MemoryTable<FlowRecord>>(t), std::get<MemoryTable<JobRecord>>(t),
       std::get<MemoryTable<LinkInfo>>(t), std::get<MemoryTable<LinkSample>>(t),
       std::get<MemoryTable<FlowSample>>(t), std::get<MemoryTable<ChannelInfo>>(t),
       std::get<MemoryTable<FlowEvent>>(t), std::get<MemoryTable<CommunicationRecord>>(t),
       std::get<MemoryTable<ComputationInfo>>(t));
}

std::optional<FileError> MemoryResult::write(const std::filesystem::path& path, bool force) const {
  const RunState& state = impl_->state;
  const auto created = ResultWriter::create(
      path, impl_->run,
      {.force = force, .started_at = state.started_at, .finished_at = state.finished_at});
  if (!created) return created.error();
  ResultWriter& writer = *created.value();
  copy_to(writer);
  return writer.finish(state.status, state.now, impl_->counters, state.wall_seconds,
                       state.cpu_seconds);
}

}  // namespace strack::metrics
