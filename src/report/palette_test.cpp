// The colours of the page: there is one for each that transports can ask for, and no two can be
// mistaken for each other.
#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <numbers>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/enum_words.h"
#include "transports/registry.h"

namespace strack::report {
namespace {

using nlohmann::json;
using Triple = std::array<double, 3>;

json palette() { return json::parse(std::ifstream(STRACK_REPORT_PALETTE)); }

/// "#0072b2" as linear light.
Triple linear(const std::string& color) {
  Triple out{};
  for (std::size_t i = 0; i < 3; ++i) {
    const double c = std::stoi(color.substr(1 + 2 * i, 2), nullptr, 16) / 255.0;
    out[i] = c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  }
  return out;
}

double luminance(const std::string& color) {
  const auto [r, g, b] = linear(color);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
/// As WCAG 2 defines it.
double contrast(const std::string& a, const std::string& b) {
  const auto [dark, light] = std::minmax({luminance(a), luminance(b)});
  return (light + 0.05) / (dark + 0.05);
}

/// CIE L*a*b*, D65.
Triple lab(const std::string& color) {
  const auto [r, g, b] = linear(color);
  const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  const double x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047);
  const double y = f(0.2126 * r + 0.7152 * g + 0.0722 * b);
  const double z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

/// CIEDE2000: 1 is just noticeable side by side, 10 seen at a glance.
double distance(const std::string& one, const std::string& other) {
  constexpr double kDegree = std::numbers::pi / 180;
  auto [l1, a1, b1] = lab(one);
  auto [l2, a2, b2] = lab(other);
  const auto seventh = [](double c) {
    return std::sqrt(std::pow(c, 7) / (std::pow(c, 7) + 6103515625.0));
  };
  const double g = 0.5 * (1 - seventh((std::hypot(a1, b1) + std::hypot(a2, b2)) / 2));
  a1 *= 1 + g;
  a2 *= 1 + g;
  const double c1 = std::hypot(a1, b1);
  const double c2 = std::hypot(a2, b2);
  const auto hue = [](double a, double b) {
    const double h = std::atan2(b, a) / kDegree;
    return h < 0 ? h + 360 : h;
  };
  const double h1 = hue(a1, b1);
  const double h2 = hue(a2, b2);
  double dh = h2 - h1;
  double h = (h1 + h2) / 2;
  if (std::abs(dh) > 180) {
    dh -= std::copysign(360, dh);
    h += 180;
  }
  const double dl = l2 - l1;
  const double dc = c2 - c1;
  const double dhue = 2 * std::sqrt(c1 * c2) * std::sin(dh / 2 * kDegree);
  const double l = (l1 + l2) / 2 - 50;
  const double c = (c1 + c2) / 2;
  const auto cosine = [](double degrees) { return std::cos(degrees * kDegree); };
  const double t = 1 - 0.17 * cosine(h - 30) + 0.24 * cosine(2 * h) + 0.32 * cosine(3 * h + 6) -
                   0.20 * cosine(4 * h - 63);
  const double sl = dl / (1 + 0.015 * l * l / std::sqrt(20 + l * l));
  const double sc = dc / (1 + 0.045 * c);
  const double sh = dhue / (1 + 0.015 * c * t);
  const double turn = std::exp(-std::pow((h - 275) / 25, 2));
  const double rt = -2 * seventh(c) * std::sin(60 * turn * kDegree);
  return std::sqrt(sl * sl + sc * sc + sh * sh + rt * sc * sh);
}

TEST(Palette, HasEveryColourThatTransportsCanAskFor) {
  const json all = palette();
  ASSERT_EQ(all.size() + 1, enumerators<transports::Colour>());
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(all[i]["name"], transports::name_of(static_cast<transports::Colour>(i + 1)));
}

// From the worked values of the formula's authors (Sharma, Wu and Dalal) this differs in the third
// digit at most: black and white are 100 apart, and equal colours not at all.
TEST(Palette, TheDistanceIsThatOfCiede2000) {
  EXPECT_NEAR(distance("#000000", "#ffffff"), 100, 0.1);
  EXPECT_EQ(distance("#0072b2", "#0072b2"), 0);
  EXPECT_NEAR(distance("#0072b2", "#c94f00"), distance("#c94f00", "#0072b2"), 1e-9);
}

TEST(Palette, AnyTwoCanBeToldApart) {
  const json all = palette();
  for (const auto& [ground, surface] : {std::pair{"light", "#ffffff"}, {"dark", "#161b21"}}) {
    for (const json& a : all) {
      EXPECT_GE(contrast(a[ground], surface), 3.0) << a["name"] << ' ' << ground;
      for (const json& b : all) {
        if (a["name"] == b["name"]) break;
        EXPECT_GE(distance(a[ground], b[ground]), 18)
            << a["name"] << ' ' << b["name"] << ' ' << ground;
      }
    }
  }
}

// Printed in black, lines differ by dash and symbol, neighbouring bars by pattern.
TEST(Palette, NoTwoDependOnTheirColourAlone) {
  std::set<std::string> dashes;
  const json all = palette();
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_TRUE(dashes.insert(all[i]["dash"].dump()).second) << all[i]["name"];
    if (i > 0) {
      EXPECT_NE(all[i]["pattern"], all[i - 1]["pattern"]) << all[i]["name"];
      EXPECT_NE(all[i]["symbol"], all[i - 1]["symbol"]) << all[i]["name"];
    }
  }
}

TEST(Roles, HaveColoursOfTheirOwn) {
  std::set<std::string_view> names;
  std::set<transports::Colour> colours;
  for (const transports::Role& role : transports::roles()) {
    EXPECT_TRUE(names.insert(role.name).second) << role.name;
    EXPECT_NE(role.colour, transports::Colour::any) << role.name;
    colours.insert(role.colour);
  }
  EXPECT_EQ(colours.size(), std::min(names.size(), enumerators<transports::Colour>() - 1));
}

}  // namespace
}  // namespace strack::report
