#include "sim/scenario/same_results.h"

#include <algorithm>
#include <string>

namespace strack::sim {
namespace {

std::string without_threads(std::string_view scenario) {
  std::string rest;
  for (std::size_t begin = 0; begin < scenario.size();) {
    const std::size_t end = std::min(scenario.find('\n', begin), scenario.size() - 1) + 1;
    if (scenario.compare(begin, 10, "threads = ") != 0) rest += scenario.substr(begin, end - begin);
    begin = end;
  }
  return rest;
}

}  // namespace

bool same_results(std::string_view scenario, std::string_view other) {
  return without_threads(scenario) == without_threads(other);
}

}  // namespace strack::sim
