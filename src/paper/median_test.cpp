#include "paper/median.h"

#include <gtest/gtest.h>

namespace strack::paper {
namespace {

// What a query says of all seeds is what a report would say of them.
TEST(Median, OfEachGroup) {
  metrics::Database database;
  ASSERT_TRUE(database.open_in_memory());
  ASSERT_TRUE(add_median(database));
  ASSERT_TRUE(database.execute(
      "CREATE TABLE runs(size, us); INSERT INTO runs VALUES (1, 10), (1, 2), (1, 1), (2, 4), "
      "(2, 7), (3, NULL), (3, 5), (4, NULL)"));
  sqlite3_stmt* query = nullptr;
  ASSERT_EQ(sqlite3_prepare_v2(database.handle(),
                               "SELECT median(us) FROM runs GROUP BY size ORDER BY size", -1,
                               &query, nullptr),
            SQLITE_OK);
  for (const double expected : {2.0, 5.5, 5.0}) {
    ASSERT_EQ(sqlite3_step(query), SQLITE_ROW);
    EXPECT_EQ(sqlite3_column_double(query, 0), expected);
  }
  ASSERT_EQ(sqlite3_step(query), SQLITE_ROW);
  EXPECT_EQ(sqlite3_column_type(query, 0), SQLITE_NULL);
  EXPECT_EQ(sqlite3_step(query), SQLITE_DONE);
  sqlite3_finalize(query);
}

}  // namespace
}  // namespace strack::paper
