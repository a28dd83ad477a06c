// Keys above the first section.
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "sim/scenario/sections/sections.h"
#include "sim/scenario/toml_text.h"

namespace strack::sim {
namespace {

constexpr Key kKeys[] = {
    {.name = "name",
     .kind = Kind::text,
     .otherwise = "the file's name without .toml",
     .needs = "a name is a text, such as name = \"incast32\"",
     .help = "What the run is called in results."},
    {.name = "description",
     .kind = Kind::text,
     .fallback = "\"\"",
     .needs = "a description is a text in quotes",
     .help = "A line for people."},
};

class Top : Resolving {
 public:
  explicit Top(Resolution& r) : Resolving(r) {}
  void resolve() {
    if (!set_.given("name")) {
      const std::string stem = std::filesystem::path(r_.file).stem().string();
      set_["name"].settle({is_text(stem) ? stem : "scenario"});
    }
    out_.name = set_.text("name");
    out_.description = set_.text("description");
  }
};

}  // namespace

const SectionKeys kTopSection{{"", false, "Keys above the first section."}, kKeys};
void resolve_top(Resolution& resolution) { Top(resolution).resolve(); }

}  // namespace strack::sim
