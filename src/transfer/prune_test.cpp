#include "transfer/prune.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace strack::transfer {
namespace {

/// The other side: folders and what is in them.
struct Disk {
  std::map<std::string, std::vector<Names::Name>> folders;
  std::set<std::string> stubborn;  ///< cannot be removed
  std::vector<std::string> removed;

  void answer(Prune& prune) {
    while (const auto message = prune.next()) {
      if (const List* list = std::get_if<List>(&*message)) {
        const auto found = folders.find(list->path);
        EXPECT_TRUE(found == folders.end() ? prune.on(Removed{list->number, "is not there"})
                                           : prune.on(Names{list->number, true, 0, found->second}));
        continue;
      }
      const Remove& remove = std::get<Remove>(*message);
      const bool stays = stubborn.count(remove.path) > 0;
      if (!stays) removed.push_back(remove.path);
      EXPECT_TRUE(prune.on(Removed{remove.number, stays ? "is busy" : ""}));
    }
    EXPECT_TRUE(prune.over());
  }
};

const std::vector<Prune::Known> kSource{
    {"t", true}, {"t/a", false}, {"t/d", true}, {"t/d/b", false}};

Disk disk() {
  return {{{"t", {{false, "a"}, {true, "d"}, {false, "x"}, {true, "e"}}},
           {"t/d", {{false, "b"}, {false, "y"}}},
           {"t/e", {{true, "f"}, {false, "z.o"}}},
           {"t/e/f", {{false, "w"}}}},
          {},
          {}};
}

std::vector<std::string> sorted(std::vector<std::string> paths) {
  std::sort(paths.begin(), paths.end());
  return paths;
}

// [D171] A folder of the source that could not be read to its end is not looked into; patterns below it count from its source on.
TEST(Prune, WhatWasNotSeenWholeIsLeftAlone) {
  Disk there = disk();
  Prune prune({{"t", true, false}, {"t/a", false}, {"t/d", true}, {"t/d/b", false}},
              {{"/d/y"}, false, {}, {}});
  there.answer(prune);
  EXPECT_TRUE(there.removed.empty());
}

// What the source lacks goes, innermost first; what it has stays.
TEST(Prune, WhatTheSourceLacksGoes) {
  Disk there = disk();
  Prune prune(kSource, {});
  there.answer(prune);
  EXPECT_EQ(sorted(there.removed),
            (std::vector<std::string>{"t/d/y", "t/e", "t/e/f", "t/e/f/w", "t/e/z.o", "t/x"}));
  EXPECT_EQ(there.removed.back(), "t/e");
  EXPECT_EQ(prune.count(), 6u);
}

// As rsync does: what a pattern names stays, and so does a folder that it is in.
TEST(Prune, WhatIsExcludedIsSpared) {
  Disk there = disk();
  Prune::Options options;
  options.exclude = {"*.o", "d/y"};
  Prune prune(kSource, options);
  there.answer(prune);
  EXPECT_EQ(sorted(there.removed), (std::vector<std::string>{"t/e/f", "t/e/f/w", "t/x"}));
}

TEST(Prune, ADryRunRemovesNothing) {
  Disk there = disk();
  std::vector<std::string> told;
  Prune::Options options;
  options.dry = true;
  options.removed = [&](const std::string& path) { told.push_back(path); };
  Prune prune(kSource, options);
  there.answer(prune);
  EXPECT_TRUE(there.removed.empty());
  EXPECT_EQ(sorted(told),
            (std::vector<std::string>{"t/d/y", "t/e", "t/e/f", "t/e/f/w", "t/e/z.o", "t/x"}));
}

// What cannot go is told, and the folder that it is in stays.
TEST(Prune, WhatCannotGoIsTold) {
  Disk there = disk();
  there.stubborn = {"t/e/f/w"};
  std::vector<std::string> notes;
  Prune::Options options;
  options.noted = [&](const std::string& text) { notes.push_back(text); };
  Prune prune(kSource, options);
  there.answer(prune);
  EXPECT_EQ(sorted(there.removed), (std::vector<std::string>{"t/d/y", "t/e/z.o", "t/x"}));
  EXPECT_EQ(notes, (std::vector<std::string>{"t/e/f/w: is busy"}));
}

// Names that no message can have stay, with what they are in.
TEST(Prune, WhatCannotBeNamedStays) {
  std::vector<std::string> notes;
  Prune::Options options;
  options.noted = [&](const std::string& text) { notes.push_back(text); };
  Prune prune({{"t", true}}, options);
  const auto list = prune.next();
  ASSERT_TRUE(list.has_value());
  EXPECT_TRUE(prune.on(Names{0, true, 2, {}}));
  EXPECT_TRUE(prune.over());
  EXPECT_EQ(notes.size(), 1u);
}

// An answer to no question is nobody's.
TEST(Prune, AnswersToNothingAreNotTaken) {
  Prune prune(kSource, {});
  EXPECT_FALSE(prune.on(Names{0, true, 0, {}}));
  const auto first = prune.next();
  ASSERT_TRUE(first.has_value());
  EXPECT_FALSE(prune.on(Names{1, true, 0, {}}));
  EXPECT_TRUE(prune.on(Names{0, false, 0, {}}));
  EXPECT_TRUE(prune.on(Names{0, true, 0, {}}));
  EXPECT_FALSE(prune.on(Names{0, true, 0, {}})) << "it has had its last";
  EXPECT_FALSE(prune.on(Removed{0, ""}));
}

}  // namespace
}  // namespace strack::transfer
