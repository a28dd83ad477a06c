#include "transports/registry.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "base/enum_words.h"

namespace strack::transports {
namespace {

constexpr auto kColourWords = words_of<Colour>({{Colour::any, "any"},
                                                {Colour::blue, "blue"},
                                                {Colour::orange, "orange"},
                                                {Colour::green, "green"},
                                                {Colour::amber, "amber"},
                                                {Colour::pink, "pink"},
                                                {Colour::indigo, "indigo"},
                                                {Colour::lime, "lime"},
                                                {Colour::crimson, "crimson"},
                                                {Colour::teal, "teal"},
                                                {Colour::brown, "brown"},
                                                {Colour::magenta, "magenta"},
                                                {Colour::petrol, "petrol"},
                                                {Colour::olive, "olive"},
                                                {Colour::plum, "plum"}});

/// Gives a colour to each role that asks for none: the first of those that fewest have.
void settle_colours(std::vector<Role>& roles) {
  std::array<int, kColourWords.size()> users{};
  for (const Role& role : roles) ++users[static_cast<std::size_t>(role.colour)];
  for (Role& role : roles) {
    if (role.colour != Colour::any) continue;
    const auto least = std::min_element(users.begin() + 1, users.end());
    ++*least;
    role.colour = static_cast<Colour>(least - users.begin());
  }
}

}  // namespace

std::span<const Descriptor* const> all() {
  static const std::vector<const Descriptor*> sorted = [] {
    std::vector<const Descriptor*> list = collected();
    std::sort(list.begin(), list.end(), [](const Descriptor* a, const Descriptor* b) {
      return std::tie(a->rank, a->name) < std::tie(b->rank, b->name);
    });
    return list;
  }();
  return sorted;
}

Found find(std::string_view scheme) {
  for (const Descriptor* transport : all()) {
    for (const Scheme& own : transport->schemes) {
      if (own.name == scheme) return {transport, &own};
    }
  }
  return {};
}

std::span<const Role> roles() {
  static const std::vector<Role> settled = [] {
    std::vector<Role> list;
    for (const Descriptor* transport : all()) {
      for (const Scheme& scheme : transport->schemes) {
        if (scheme.role != "other") list.push_back({scheme.role, scheme.colour});
      }
      list.insert(list.end(), transport->roles.begin(), transport->roles.end());
    }
    settle_colours(list);
    return list;
  }();
  return settled;
}

std::string_view name_of(Colour colour) { return kColourWords[static_cast<std::size_t>(colour)]; }

std::span<const std::string_view> scheme_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> list;
    for (const Descriptor* transport : all()) {
      for (const Scheme& scheme : transport->schemes) list.push_back(scheme.name);
    }
    return list;
  }();
  return names;
}

}  // namespace strack::transports
