#include "sim/scenario/resolution.h"

#include <fmt/format.h>

#include "sim/scenario/files.h"
#include "workload/amount.h"
#include "workload/lines.h"

namespace strack::sim {

bool Resolving::said_after(const Setting& first, const Setting& second) const {
  if (first.given != second.given) return first.given;
  const bool first_overrides = first.file != r_.file;
  const bool second_overrides = second.file != r_.file;
  if (first_overrides != second_overrides) return first_overrides;
  return first.line > second.line;
}
Setting& Resolving::later(std::string_view a, std::string_view b) {
  return said_after(set_[a], set_[b]) ? set_[a] : set_[b];
}

Setting& Resolving::said(std::initializer_list<const char*> ids) {
  for (const char* id : ids) {
    if (set_.given(id)) return set_[id];
  }
  return set_[*(ids.end() - 1)];
}

Setting& Resolving::last_said(std::initializer_list<const char*> ids) {
  Setting* last = &set_[*ids.begin()];
  for (const char* id : ids) {
    if (said_after(set_[id], *last)) last = &set_[id];
  }
  return *last;
}

void Resolving::fail_taken(const char* id, const Literal& literal) {
  const Setting& setting = set_[id];
  later(id, "topology.file")
      .fail(fmt::format("{} is {}, but {} makes it {}. leave one of the two out", setting.key->name,
                        setting.literal.found(), set_["topology.file"].literal.found(),
                        literal.found()));
}

std::string Resolving::beside(const Setting& setting, const std::string& name) {
  auto text = read_file(r_.folder / name);
  if (!text) {
    setting.fail(fmt::format("{} is {}: {}", setting.key->name, workload::quoted(name),
                             text.error().message));
  }
  return text.value();
}

void Resolving::check_before_end(Instant start, const Setting& setting, std::string_view what) {
  if (start < out_.config.end) return;
  setting.fail(fmt::format("{} {}, but the run ends at {}. set a later end_ms, or leave it out",
                           what, workload::format_time(start - Instant{}),
                           workload::format_time(out_.config.end - Instant{})));
}

}  // namespace strack::sim
