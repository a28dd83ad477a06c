// Each field of a struct of parameters is declared once, and held to what is declared.
#include "core/param_range.h"

#include <optional>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "base/units.h"

namespace strack::core {
namespace {

struct Inner {
  Ratio share{1, 2};
  bool on = false;

  static constexpr auto declared() {
    return std::tuple{
        ParamRange{&Inner::share, "share", Ratio{0}, Ratio{1}, "a fraction from 0 to 1"},
        AnyValue{&Inner::on}};
  }
};

struct Base {
  Bytes mtu{100};
  Inner inner;

  static constexpr auto declared() {
    return std::tuple{ParamRange{&Base::mtu, "mtu", bytes(64), bytes(1'000), "from 64 to 1000"},
                      Nested{&Base::inner}};
  }
};

struct Whole : Base {
  std::uint32_t count = 3;
  Picoseconds rto = us(5);
  Bytes bdp{0};

  static constexpr auto declared() {
    return std::tuple{Inherited<Base>{}, ParamRange{&Whole::count, "count", 1, 10, "from 1 to 10"},
                      ParamRange{&Whole::rto, "rto", ns(1), seconds(1), "from 1 ns to 1 s"},
                      Derived{&Whole::bdp}};
  }
};
static_assert(declares_all<Inner>());
static_assert(declares_all<Base>());
static_assert(declares_all<Whole>());

// A field that somebody adds and forgets to declare.
struct OneMissing : Base {
  int a = 0;
  bool b = false;

  static constexpr auto declared() {
    return std::tuple{Inherited<Base>{}, AnyValue{&OneMissing::a}};
  }
};
struct OneTwice {
  int a = 0;
  bool b = false;

  static constexpr auto declared() {
    return std::tuple{AnyValue{&OneTwice::a}, AnyValue{&OneTwice::a}};
  }
};
// What a base declares does not count as its own.
struct NoneOfItsOwn : Base {
  int a = 0;
};
static_assert(!declares_all<OneMissing>());
static_assert(!declares_all<OneTwice>());
static_assert(!declares_all<NoneOfItsOwn>());

template <class Change>
std::string complaint_after(Change change) {
  Whole params;
  change(params);
  const std::optional<ParamError> error = out_of_range(params);
  return error
             ? std::string(error->field) + " " + std::to_string(error->value) + ": " + error->remedy
             : "";
}

TEST(ParamRange, BothBoundsAreInside) {
  EXPECT_EQ(complaint_after([](Whole&) {}), "");
  EXPECT_EQ(complaint_after([](Whole& p) { p.count = 1; }), "");
  EXPECT_EQ(complaint_after([](Whole& p) { p.count = 0; }), "count 0: from 1 to 10");
  EXPECT_EQ(complaint_after([](Whole& p) { p.count = 10; }), "");
  EXPECT_EQ(complaint_after([](Whole& p) { p.count = 11; }), "count 11: from 1 to 10");
  EXPECT_EQ(complaint_after([](Whole& p) { p.rto = ps(999); }), "rto 999: from 1 ns to 1 s");
}

TEST(ParamRange, OfABaseAndOfAStructInside) {
  EXPECT_EQ(complaint_after([](Whole& p) { p.mtu = bytes(63); }), "mtu 63: from 64 to 1000");
  EXPECT_EQ(complaint_after([](Whole& p) {
              p.inner.share = {3, 2};
            }),
            "share 3: a fraction from 0 to 1");
}

TEST(ParamRange, FractionsHaveUpToSixDecimals) {
  const auto with = [](Ratio share) {
    return complaint_after([share](Whole& p) { p.inner.share = share; });
  };
  EXPECT_EQ(with({0, 1}), "");
  EXPECT_EQ(with({1, 1}), "");
  EXPECT_EQ(with({1, 1'000'000}), "");
  EXPECT_EQ(with({1, 1'000'001}), "share 1: a fraction from 0 to 1");
  EXPECT_EQ(with({-1, 5}), "share -1: a fraction from 0 to 1");
  EXPECT_EQ(with({1, 0}), "share 1: a fraction from 0 to 1");
  EXPECT_EQ(with({1, -1}), "share 1: a fraction from 0 to 1");
}

TEST(ParamRange, AFieldFindsItsDeclaration) {
  static_assert(declaration_of<&Whole::count>().high == 10);
  static_assert(declaration_of<&Whole::mtu>().low == bytes(64));
  static_assert(declaration_of<&Inner::share>().high == Ratio{1});
}

}  // namespace
}  // namespace strack::core
