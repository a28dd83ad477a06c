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

}  // namespace
}  // namespace strack::cli
