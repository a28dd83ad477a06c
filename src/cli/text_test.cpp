#include "cli/text.h"

#include <gtest/gtest.h>

namespace strack::cli {
namespace {

TEST(Text, TableAlignsItsColumns) {
  Table table({"name", "flows", "max us"}, 1);
  table.add({"a", "1", "12.5"});
  table.add({"longer", "8192", "3.1"});
  EXPECT_EQ(table.text(),
            "name    flows  max us\n"
            "a           1    12.5\n"
            "longer   8192     3.1\n");
}

// What is too wide goes on below, with what tells the lines apart.
TEST(Text, TableFitsATerminal) {
  Table table({"name", "flows", "max us"}, 1);
  table.add({"a", "1", "12.5"});
  EXPECT_EQ(table.text(19), "name  flows  max us\na         1    12.5\n");
  EXPECT_EQ(table.text(18),
            "name  flows\na         1\n\n"
            "name  max us\na       12.5\n");
  EXPECT_EQ(table.text(5), table.text(18));  // one at a time, at least
}

TEST(Text, TableForSpreadsheets) {
  Table table({"name", "of"}, 1);
  table.add({"a, b", ""});
  EXPECT_EQ(table.csv(), "name,of\n\"a, b\",\n");
}

// Help on a narrow terminal: what is told of an option stays in its column.
TEST(Text, HelpIsWrapped) {
  EXPECT_EQ(wrapped("Says what changed\n  --json    for programs only\n", 0, 12),
            "Says what changed\n  --json    for programs only\n");
  EXPECT_EQ(wrapped("Says what changed\n  --json    for programs only\n", 20, 12),
            "Says what changed\n  --json    for\n            programs\n            only\n");
  EXPECT_EQ(wrapped("  one and two", 8, 12), "  one\n  and\n  two\n");
  EXPECT_EQ(wrapped("unbreakable\n\n", 4, 12), "unbreakable\n\n");
}

TEST(Text, OneIsNoPlural) {
  EXPECT_EQ(count_of(0, "flow"), "0 flows");
  EXPECT_EQ(count_of(1, "flow"), "1 flow");
  EXPECT_EQ(part_of(1, 16, "flow"), "1 of 16 flows is");
  EXPECT_EQ(part_of(1, 1, "flow"), "1 of 1 flow is");
  EXPECT_EQ(part_of(2, 16, "flow"), "2 of 16 flows are");
}

}  // namespace
}  // namespace strack::cli
