#include "sim/engine/archive.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace strack::sim {
namespace {

template <class Save>
std::vector<std::byte> saved(Save&& save) {
  std::vector<std::byte> bytes;
  Saver saver([&](std::span<const std::byte> some) {
    bytes.insert(bytes.end(), some.begin(), some.end());
  });
  save(saver);
  saver.flush();
  return bytes;
}

struct Inner {
  std::vector<std::uint16_t> list;
  template <class Archive>
  void state(Archive& a) {
    a(list);
  }
};

// [D117] Values, lists, lists of lists, texts, and what has state of its own.
TEST(Archive, WritesAndReads) {
  std::uint32_t number = 7;
  std::string text = "seven";
  std::vector<std::vector<std::int64_t>> lists{{1, 2}, {}, {3}};
  std::vector<Inner> inner{{{4, 5}}, {{}}};
  const auto bytes = saved([&](Saver& a) { a(number, text, lists, inner); });
  std::uint32_t other = 0;
  std::string other_text;
  std::vector<std::vector<std::int64_t>> other_lists;
  std::vector<Inner> other_inner;
  Loader loader(bytes);
  loader(other, other_text, other_lists, other_inner);
  EXPECT_TRUE(loader.done());
  EXPECT_EQ(other, 7u);
  EXPECT_EQ(other_text, "seven");
  EXPECT_EQ(other_lists, lists);
  ASSERT_EQ(other_inner.size(), 2u);
  EXPECT_EQ(other_inner[0].list, inner[0].list);
}

// [D117] Larger pieces than the buffer keep their places.
TEST(Archive, LargePieces) {
  std::vector<std::uint64_t> large(100'000);
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = i * i;
  std::uint8_t before = 1;
  std::uint8_t after = 2;
  const auto bytes = saved([&](Saver& a) { a(before, large, after); });
  EXPECT_EQ(bytes.size(), 1 + 8 + 800'000 + 1u);
  Loader loader(bytes);
  std::vector<std::uint64_t> other;
  loader(before, other, after);
  EXPECT_TRUE(loader.done());
  EXPECT_EQ(other, large);
  EXPECT_EQ(after, 2);
}

// [D117] What does not fit is found: too short, another number of things, another section, a number of no sense.
TEST(Archive, RefusesWhatDoesNotFit) {
  std::vector<std::uint32_t> four{1, 2, 3, 4};
  const auto bytes = saved([&](Saver& a) {
    a.section("four");
    a.fixed(four);
  });
  {
    Loader loader(bytes);
    loader.section("five");
    EXPECT_TRUE(loader.bad());
  }
  {
    Loader loader(bytes);
    std::vector<std::uint32_t> five(5);
    loader.section("four");
    loader.fixed(five);
    EXPECT_TRUE(loader.bad());
  }
  {
    Loader loader(std::span<const std::byte>(bytes).first(bytes.size() - 1));
    loader.section("four");
    loader.fixed(four);
    EXPECT_TRUE(loader.bad());
  }
  std::uint64_t huge = std::uint64_t{1} << 60;
  const auto wrong = saved([&](Saver& a) { a(huge); });
  Loader loader(wrong);
  std::vector<std::uint32_t> list;
  loader(list);
  EXPECT_TRUE(loader.bad());
  EXPECT_TRUE(list.empty());
}

/// As a transport's: numbers among pointers.
struct Core {
  const int* params;
  std::uint64_t count;
  Core* self;
  std::uint32_t* slots;
};

// [D117] An object is read byte by byte, and its pointers stay those of the run that it was made for.
TEST(Archive, PointersAreThoseOfTheReader) {
  const int params = 0;
  std::array<std::uint32_t, 4> slots{};
  Core core{&params, 42, &core, slots.data() + 1};
  const auto regions = [](const int& p, const Core& c, std::array<std::uint32_t, 4>& s) {
    return std::array{region_of(p), region_of(c), region_of(std::span(s))};
  };
  auto pointers = find_pointers(std::as_bytes(std::span(&core, 1)), regions(params, core, slots));
  EXPECT_EQ(pointers, (std::vector<PointerAt>{{0, 0, 0}, {2, 1, 0}, {3, 2, 4}}));
  const auto bytes = saved([&](Saver& a) {
    a.objects(std::span(&core, 1), regions(params, core, slots), pointers);
    EXPECT_FALSE(a.bad());
  });

  const int other_params = 0;
  std::array<std::uint32_t, 4> other_slots{};
  Core other{&other_params, 0, &other, other_slots.data() + 1};
  Loader loader(bytes);
  loader.objects(std::span(&other, 1), regions(other_params, other, other_slots), pointers);
  EXPECT_TRUE(loader.done());
  EXPECT_EQ(other.count, 42u);
  EXPECT_EQ(other.params, &other_params);
  EXPECT_EQ(other.self, &other);
  EXPECT_EQ(other.slots, other_slots.data() + 1);

  // One that leads elsewhere is another run's, and one that has moved is not written.
  Core elsewhere{&other_params, 0, &elsewhere, other_slots.data()};
  Loader again(bytes);
  again.objects(std::span(&elsewhere, 1), regions(other_params, elsewhere, other_slots), pointers);
  EXPECT_TRUE(again.bad());
  core.slots = slots.data();
  static_cast<void>(saved([&](Saver& a) {
    a.objects(std::span(&core, 1), regions(params, core, slots), pointers);
    EXPECT_TRUE(a.bad());
  }));
}

}  // namespace
}  // namespace strack::sim
