#include "base/csv_text.h"

#include <gtest/gtest.h>

namespace strack {
namespace {

TEST(CsvText, ACellIsQuotedWhereItMustBe) {
  EXPECT_EQ(csv_cell("16 MB"), "16 MB");
  EXPECT_EQ(csv_cell(""), "");
  EXPECT_EQ(csv_cell("a, b"), "\"a, b\"");
  EXPECT_EQ(csv_cell("say \"no\""), "\"say \"\"no\"\"\"");
}

TEST(CsvText, CellsComeBackAsTheyWere) {
  const std::vector<std::string> cells{"a, b", "", "say \"no\"", "3"};
  std::string line;
  for (const std::string& cell : cells) line += (line.empty() ? "" : ",") + csv_cell(cell);
  EXPECT_EQ(csv_cells(line), cells);
  EXPECT_EQ(csv_cells(""), std::vector<std::string>{""});
}

TEST(CsvText, ANumberIsTheWholeText) {
  EXPECT_EQ(number_of("1.5e3"), 1500.0);
  EXPECT_EQ(number_of("16 MB"), std::nullopt);
  EXPECT_EQ(number_of(""), std::nullopt);
  EXPECT_EQ(number_of("inf"), std::nullopt);
}

}  // namespace
}  // namespace strack
