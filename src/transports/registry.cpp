#include "transports/registry.h"

#include <algorithm>
#include <tuple>

namespace strack::transports {

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
