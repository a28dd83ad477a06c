#include "paper/median.h"

#include <memory>
#include <vector>

#include "report/figures.h"

namespace strack::paper {
namespace {

using Values = std::vector<double>;

/// SQLite keeps room for one pointer per group, zero at first.
Values*& values_of(sqlite3_context* context) {
  return *static_cast<Values**>(sqlite3_aggregate_context(context, sizeof(Values*)));
}

void step(sqlite3_context* context, int /*count*/, sqlite3_value** arguments) {
  if (sqlite3_value_type(arguments[0]) == SQLITE_NULL) return;
  Values*& values = values_of(context);
  if (values == nullptr) values = new Values;
  values->push_back(sqlite3_value_double(arguments[0]));
}

void finish(sqlite3_context* context) {
  const std::unique_ptr<Values> values(values_of(context));
  if (values == nullptr) return sqlite3_result_null(context);
  sqlite3_result_double(context, report::spread_of(*values).median);
}

}  // namespace

bool add_median(const metrics::Database& database) {
  return sqlite3_create_function_v2(database.handle(), "median", 1,
                                    SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr, nullptr, step,
                                    finish, nullptr) == SQLITE_OK;
}

}  // namespace strack::paper
