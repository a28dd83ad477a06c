// Rows of a result file as arrays, and arrays as a graph of messages: no value is ever a text on the way.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bindings.h"
#include "workload/formats/goal_export.h"
#include "workload/graph.h"

namespace strack::python {
namespace py = pybind11;
namespace {

using metrics::Database;
using metrics::Statement;

/// The array takes the vector's memory over.
template <class T>
py::array array_of(std::vector<T>&& values) {
  auto owner = std::make_unique<std::vector<T>>(std::move(values));
  T* const data = owner->data();
  const auto size = static_cast<py::ssize_t>(owner->size());
  const py::capsule keep(owner.get(),
                         [](void* memory) { delete static_cast<std::vector<T>*>(memory); });
  static_cast<void>(owner.release());
  return py::array_t<T>(size, data, keep);
}

/// One column, of the widest type that its rows have had.
class Column {
 public:
  Column(std::string name, const char* declared) : name_(std::move(name)) {
    const std::string type = declared == nullptr ? "" : declared;
    if (type == "REAL") kind_ = SQLITE_FLOAT;
    if (type == "TEXT") kind_ = SQLITE_TEXT;
  }

  void take(sqlite3_stmt* row, int index) {
    const int type = sqlite3_column_type(row, index);
    if (type == SQLITE_NULL) {
      missing_.resize(size(), false);
      missing_.push_back(true);
      add_nothing();
      return;
    }
    if (type != kind_ && type != SQLITE_INTEGER) widen(type);
    if (kind_ == SQLITE_INTEGER) {
      integers_.push_back(sqlite3_column_int64(row, index));
    } else if (kind_ == SQLITE_FLOAT) {
      reals_.push_back(sqlite3_column_double(row, index));
    } else {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(row, index));
      texts_.emplace_back(text, static_cast<std::size_t>(sqlite3_column_bytes(row, index)));
    }
  }

  [[nodiscard]] py::tuple done() {
    py::object missing = py::none();
    if (!missing_.empty()) {
      missing_.resize(size(), false);
      missing = array_of(std::move(missing_)).attr("view")("bool");
    }
    if (kind_ == SQLITE_INTEGER)
      return py::make_tuple(name_, array_of(std::move(integers_)), missing);
    if (kind_ == SQLITE_FLOAT) return py::make_tuple(name_, array_of(std::move(reals_)), missing);
    py::list texts;
    for (const std::string& text : texts_) texts.append(text);
    return py::make_tuple(name_, texts, missing);
  }

 private:
  [[nodiscard]] std::size_t size() const {
    return kind_ == SQLITE_INTEGER ? integers_.size()
           : kind_ == SQLITE_FLOAT ? reals_.size()
                                   : texts_.size();
  }
  void add_nothing() {
    if (kind_ == SQLITE_INTEGER) {
      integers_.push_back(0);
    } else if (kind_ == SQLITE_FLOAT) {
      reals_.push_back(0);
    } else {
      texts_.emplace_back();
    }
  }
  /// An expression may give a number here and a text there.
  void widen(int type) {
    if (kind_ == SQLITE_TEXT) return;
    if (type == SQLITE_FLOAT) {
      reals_.assign(integers_.begin(), integers_.end());
    } else {
      type = SQLITE_TEXT;
      for (const std::int64_t value : integers_) texts_.push_back(fmt::format("{}", value));
      for (const double value : reals_) texts_.push_back(fmt::format("{}", value));
      reals_.clear();
    }
    integers_.clear();
    kind_ = type;
  }

  std::string name_;
  int kind_ = SQLITE_INTEGER;
  std::vector<std::int64_t> integers_;
  std::vector<double> reals_;
  std::vector<std::string> texts_;
  std::vector<std::uint8_t> missing_;  ///< as long as the newest that is missing
};

/// Reads all rows; without the interpreter's lock, since a file may have millions.
std::vector<Column> read(const std::string& file, const std::string& sql) {
  Database database;
  if (!database.open(file, Database::Access::read, 5'000))
    throw RunError(database.failure(file).message);
  sqlite3_stmt* raw = nullptr;
  const int prepared = sqlite3_prepare_v2(database.handle(), sql.c_str(),
                                          static_cast<int>(sql.size()), &raw, nullptr);
  const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> rows(raw, sqlite3_finalize);
  if (prepared != SQLITE_OK) throw RunError(fmt::format("{}: {}", file, database.message()));
  if (raw == nullptr) throw RunError("the query is empty. write one, such as SELECT * FROM flows");
  std::vector<Column> columns;
  const int count = sqlite3_column_count(raw);
  for (int i = 0; i < count; ++i)
    columns.emplace_back(sqlite3_column_name(raw, i), sqlite3_column_decltype(raw, i));
  int step = sqlite3_step(raw);
  for (; step == SQLITE_ROW; step = sqlite3_step(raw)) {
    for (int i = 0; i < count; ++i) columns[static_cast<std::size_t>(i)].take(raw, i);
  }
  if (step != SQLITE_DONE) throw RunError(fmt::format("{}: {}", file, database.message()));
  return columns;
}

struct Graph {
  const std::int64_t* rank;
  const std::int64_t* peer;
  const std::int64_t* amount;
  const std::int64_t* not_before;
  std::int64_t size;
};

constexpr std::int64_t kMostBytes = (std::int64_t{1} << 32) - 1;
constexpr std::int64_t kMostTime = 3'600'000'000'000;  // ns

void add_node(workload::GraphBuilder& builder, const Graph& graph, std::int64_t i,
              std::int64_t ranks) {
  const std::int64_t rank = graph.rank[i];
  const std::int64_t peer = graph.peer[i];
  const std::int64_t amount = graph.amount[i];
  const auto in_range = [&](std::int64_t r) { return r >= 0 && r < ranks; };
  if (!in_range(rank) || (peer != -1 && !in_range(peer)))
    throw py::value_error(fmt::format("node {}: rank {} is none of 0 to {}", i,
                                      in_range(rank) ? peer : rank, ranks - 1));
  if (rank == peer)
    throw py::value_error(
        fmt::format("node {}: rank {} sends to itself. a message goes to another", i, rank));
  if (peer != -1 && (amount < 1 || amount > kMostBytes))
    throw py::value_error(
        fmt::format("node {}: a message has 1 to {} bytes, not {}", i, kMostBytes, amount));
  if (peer == -1 && (amount < 0 || amount > kMostTime))
    throw py::value_error(
        fmt::format("node {}: a computation takes 0 to {} ns, not {}", i, kMostTime, amount));
  const workload::NodeId node =
      peer == -1 ? builder.compute(static_cast<workload::Rank>(rank), ns(amount))
                 : builder.message(static_cast<workload::Rank>(rank),
                                   static_cast<workload::Rank>(peer), bytes(amount));
  const std::int64_t start = graph.not_before[i];
  if (start < 0 || start > kMostTime)
    throw py::value_error(
        fmt::format("node {}: it starts at 0 to {} ns, not {}", i, kMostTime, start));
  if (start > 0) builder.not_before(node, ns(start));
}

}  // namespace

py::list query(const std::string& file, const std::string& sql) {
  std::vector<Column> columns = [&] {
    const py::gil_scoped_release free;
    return read(file, sql);
  }();
  py::list list;
  for (Column& column : columns) list.append(column.done());
  return list;
}

py::object table_in_memory(const std::shared_ptr<metrics::MemoryResult>& result,
                           const std::string& name) {
  // Lives as long as an array of it does.
  using Owner = std::shared_ptr<const metrics::MemoryResult>;
  const py::capsule keep(new Owner(result), [](void* p) { delete static_cast<Owner*>(p); });
  const auto array_at = [&keep](const auto* data, std::size_t size) {
    py::array made(py::dtype::of<std::remove_cvref_t<decltype(*data)>>(),
                   static_cast<py::ssize_t>(size), data, keep);
    made.attr("flags").attr("writeable") = false;
    return made;
  };
  for (const metrics::TableView& table : result->tables()) {
    if (table.name != name) continue;
    py::list columns;
    for (const metrics::ColumnView& c : table.columns) {
      py::object values;
      if (c.is_text) {
        py::list texts;
        for (const std::string& text : c.texts) texts.append(text);
        values = std::move(texts);
      } else {
        values = array_at(c.numbers.data(), c.numbers.size());
      }
      py::object missing = py::none();
      if (!c.missing.empty())
        missing = array_at(c.missing.data(), c.missing.size()).attr("view")("bool");
      columns.append(py::make_tuple(std::string(c.name), values, missing, c.optional));
    }
    return columns;
  }
  return py::none();
}

std::string goal_of(std::uint32_t ranks, const py::array_t<std::int64_t>& rank,
                    const py::array_t<std::int64_t>& peer, const py::array_t<std::int64_t>& amount,
                    const py::array_t<std::int64_t>& not_before,
                    const py::array_t<std::int64_t>& node, const py::array_t<std::int64_t>& other,
                    const py::array_t<std::int64_t>& moment) {
  workload::GraphBuilder builder(ranks);
  const Graph graph{rank.data(), peer.data(), amount.data(), not_before.data(), rank.size()};
  for (std::int64_t i = 0; i < graph.size; ++i) add_node(builder, graph, i, ranks);
  const auto in_range = [&](std::int64_t n) { return n >= 0 && n < graph.size; };
  for (py::ssize_t i = 0; i < node.size(); ++i) {
    const std::int64_t from = other.data()[i];
    const std::int64_t to = node.data()[i];
    if (!in_range(from) || !in_range(to))
      throw py::value_error(fmt::format("wait {}: node {} is none of 0 to {}", i,
                                        in_range(to) ? from : to, graph.size - 1));
    builder.wait(static_cast<workload::NodeId>(to), static_cast<workload::NodeId>(from),
                 static_cast<workload::Moment>(moment.data()[i]));
  }
  auto built = builder.build();
  if (!built) throw py::value_error(built.error());
  const auto text = workload::export_goal(built.value());
  if (!text) throw py::value_error(text.error().message);
  return text.value().text;
}

}  // namespace strack::python
