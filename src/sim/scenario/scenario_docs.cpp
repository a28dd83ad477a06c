// Writes docs/scenarios.md from the key table, or checks that it is what the table says.
//
//   scenario_docs --write docs/scenarios.md
//   scenario_docs --check docs/scenarios.md
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "sim/scenario/scenario.h"

int main(int argc, char** argv) {
  const std::string_view mode = argc == 3 ? argv[1] : "";
  if (mode != "--write" && mode != "--check") {
    std::fputs("usage: scenario_docs --write|--check FILE\n", stderr);
    return 2;
  }
  const std::string wanted = strack::sim::documentation();
  if (mode == "--write") {
    std::ofstream out(argv[2], std::ios::binary);
    out << wanted;
    out.close();
    if (!out) {
      std::fprintf(stderr, "error: %s: cannot be written\n", argv[2]);
      return 1;
    }
    return 0;
  }
  std::ifstream in(argv[2], std::ios::binary);
  const std::string found(std::istreambuf_iterator<char>(in), {});
  if (found == wanted) return 0;
  std::fprintf(stderr, "error: %s: not what the key table says. run scenario_docs --write %s\n",
               argv[2], argv[2]);
  return 1;
}
