#include "sim/scenario/settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "workload/lines.h"

namespace strack::sim {
namespace {

using workload::Amount;
using workload::Decimal;

constexpr std::string_view kOverride = "--set";
constexpr std::size_t kMostEntries = 10'000;  // of one [[section]]
constexpr std::size_t kMostWorkloads = 64;

[[nodiscard]] bool within(Ratio value, const Key& key) {
  const auto at_most = [](Ratio a, Ratio b) {
    return static_cast<Int128>(a.num) * b.den <= static_cast<Int128>(b.num) * a.den;
  };
  return at_most(key.low, value) && at_most(value, key.high);
}

/// A number exactly as the shortest text that means it.
[[nodiscard]] std::optional<Decimal> to_decimal(double value) {
  std::array<char, 400> buffer{};
  if (!std::isfinite(value)) return std::nullopt;
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
  if (error != std::errc{}) return std::nullopt;
  return workload::parse_decimal({buffer.data(), static_cast<std::size_t>(end - buffer.data())});
}

[[nodiscard]] std::optional<Decimal> plain_number(const Literal& literal) {
  if (const auto* integer = std::get_if<std::int64_t>(&literal.value)) return Decimal{*integer, 0};
  if (const auto* real = std::get_if<double>(&literal.value)) return to_decimal(*real);
  return std::nullopt;
}

[[nodiscard]] std::optional<std::int64_t> read_integer(const Literal& literal) {
  if (const auto* integer = std::get_if<std::int64_t>(&literal.value)) return *integer;
  const std::optional<Decimal> number = plain_number(literal);  // 1e6 is a whole number, too
  return number ? workload::exact_product(*number, 1) : std::nullopt;
}

/// 0.25, "0.25", "1/4", "4:1", "25 %"
[[nodiscard]] std::optional<Ratio> read_fraction(const Literal& literal) {
  if (const std::optional<Decimal> number = plain_number(literal))
    return workload::to_ratio(*number);
  const auto* text = std::get_if<std::string>(&literal.value);
  if (text == nullptr) return std::nullopt;
  if (const std::size_t bar = text->find_first_of("/:"); bar != text->npos) {
    const auto num =
        workload::parse_decimal(workload::trimmed(std::string_view(*text).substr(0, bar)));
    const auto den =
        workload::parse_decimal(workload::trimmed(std::string_view(*text).substr(bar + 1)));
    constexpr std::int64_t kLargest = 1'000'000'000'000;
    if (!num || !den || num->scale != 0 || den->scale != 0 || den->digits < 1 ||
        den->digits > kLargest || num->digits < 0 || num->digits > kLargest) {
      return std::nullopt;
    }
    const std::int64_t common = std::gcd(num->digits, den->digits);
    return Ratio{num->digits / common, den->digits / common};
  }
  std::optional<Amount> amount = workload::parse_amount(*text);
  if (!amount || (!amount->unit.empty() && amount->unit != "%")) return std::nullopt;
  if (amount->unit == "%") amount->number.scale += 2;
  if (amount->number.scale > 18) return std::nullopt;
  return workload::to_ratio(amount->number);
}

/// The unit a measure is in, with what one of it is; nothing for a word that is none of this
/// kind's.
[[nodiscard]] std::optional<Measure> unit_of(const Key& key, std::string_view unit) {
  const auto absolute = [](std::optional<std::int64_t> factor) -> std::optional<Measure> {
    if (!factor) return std::nullopt;
    return Measure{{}, Measure::Base::absolute, *factor};
  };
  switch (key.kind) {
    case Kind::size:
      if (unit == "BDP") return Measure{{}, Measure::Base::bdp, 1};
      if (unit == "MTU") return Measure{{}, Measure::Base::mtu, 1};
      return absolute(workload::size_unit(unit.empty() ? "B" : unit));
    case Kind::time:
      if (unit == "RTT") return Measure{{}, Measure::Base::rtt, 1};
      return absolute(workload::time_unit(unit.empty() ? key.unit : unit));
    default:
      return absolute(workload::rate_unit(unit.empty() ? "Gb/s" : unit));
  }
}

[[nodiscard]] std::optional<Measure> read_measure(const Key& key, const Literal& literal) {
  std::optional<Amount> amount;
  if (const std::optional<Decimal> number = plain_number(literal)) {
    amount = Amount{*number, ""};
  } else if (const auto* text = std::get_if<std::string>(&literal.value)) {
    amount = workload::parse_amount(*text);
  }
  if (!amount) return std::nullopt;
  std::optional<Measure> measure = unit_of(key, amount->unit);
  if (!measure) return std::nullopt;
  measure->number = amount->number;
  if (measure->base != Measure::Base::absolute) return measure;
  // The topology itself is what BDP and RTT come from.
  const std::optional<std::int64_t> value =
      workload::exact_product(measure->number, measure->factor);
  if (!value || !within({*value, 1}, key)) return std::nullopt;
  return measure;
}

[[nodiscard]] std::optional<std::vector<std::int64_t>> read_integers(const Key& key,
                                                                     const Literal& literal) {
  const auto* items = std::get_if<std::vector<Literal>>(&literal.value);
  if (items == nullptr || items->empty()) return std::nullopt;
  std::vector<std::int64_t> values;
  for (const Literal& item : *items) {
    const std::optional<std::int64_t> value = read_integer(item);
    if (!value || !within({*value, 1}, key)) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

[[nodiscard]] std::optional<std::vector<workload::CdfPoint>> read_points(const Literal& literal) {
  const auto* items = std::get_if<std::vector<Literal>>(&literal.value);
  if (items == nullptr) return std::nullopt;
  std::vector<workload::CdfPoint> points;
  for (const Literal& item : *items) {
    const auto* pair = std::get_if<std::vector<Literal>>(&item.value);
    if (pair == nullptr || pair->size() != 2) return std::nullopt;
    std::optional<Bytes> size;
    if (const auto* text = std::get_if<std::string>(&(*pair)[0].value)) {
      size = workload::parse_size(*text);
    } else if (const std::optional<std::int64_t> value = read_integer((*pair)[0])) {
      size = bytes(*value);
    }
    const std::optional<Decimal> number = plain_number((*pair)[1]);
    if (!size || !number) return std::nullopt;
    const std::optional<std::int64_t> probability =
        workload::whole_product(*number, workload::kCertain);
    if (!probability) return std::nullopt;
    points.push_back({*size, *probability});
  }
  return points;
}

[[nodiscard]] int word_index(std::string_view words, std::string_view word) {
  for (int index = 0;; ++index) {
    const std::size_t bar = words.find('|');
    if (words.substr(0, bar) == word) return index;
    if (bar == words.npos) return -1;
    words.remove_prefix(bar + 1);
  }
}

[[nodiscard]] Setting::Value read(const Key& key, const Literal& literal) {
  const auto wrap = [](auto optional) -> Setting::Value {
    if (!optional) return std::monostate{};
    return *std::move(optional);
  };
  switch (key.kind) {
    case Kind::integer: {
      const std::optional<std::int64_t> value = read_integer(literal);
      if (!value || !within({*value, 1}, key)) return std::monostate{};
      return *value;
    }
    case Kind::fraction: {
      const std::optional<Ratio> value = read_fraction(literal);
      if (!value || !within(*value, key)) return std::monostate{};
      return *value;
    }
    case Kind::real: {
      double value = 0;
      if (const auto* integer = std::get_if<std::int64_t>(&literal.value)) {
        value = static_cast<double>(*integer);
      } else if (const auto* real = std::get_if<double>(&literal.value)) {
        value = *real;
      } else {
        return std::monostate{};
      }
      // The one real key is a probability.
      if (!(value >= 0 && value <= 1)) return std::monostate{};
      return value;
    }
    case Kind::flag:
      if (const auto* value = std::get_if<bool>(&literal.value)) return *value;
      return std::monostate{};
    case Kind::text:
      if (const auto* value = std::get_if<std::string>(&literal.value)) return *value;
      return std::monostate{};
    case Kind::choice:
      if (const auto* value = std::get_if<std::string>(&literal.value)) {
        if (std::find(key.words.begin(), key.words.end(), *value) != key.words.end()) return *value;
      }
      return std::monostate{};
    case Kind::size:
    case Kind::time:
    case Kind::rate:
      return wrap(read_measure(key, literal));
    case Kind::integers:
      return wrap(read_integers(key, literal));
    case Kind::points:
      return wrap(read_points(literal));
  }
  return std::monostate{};
}

[[nodiscard]] std::string unknown_key(const Section& section, const std::string& name) {
  const std::string shown = workload::printable(name);
  std::string place = "above the first section";
  if (!section.name.empty()) {
    place = section.array ? fmt::format("in [[{}]]", section.name)
                          : fmt::format("in [{}]", section.name);
  }
  std::vector<std::string_view> own;
  std::vector<std::string_view> elsewhere;
  for (const Key& key : keys()) (key.section == section.name ? own : elsewhere).push_back(key.name);
  // The same word in another section beats a similar one in this.
  std::string homes;
  for (const Key& key : keys()) {
    if (key.section == section.name || key.name != name) continue;
    homes += fmt::format("{}[{}]", homes.empty() ? "" : " and of ", key.section);
  }
  if (!homes.empty())
    return fmt::format("unknown key {} {}. it is a key of {}", shown, place, homes);
  if (const std::string_view near = nearest(name, own); !near.empty())
    return fmt::format("unknown key {} {}. did you mean {}?", shown, place, near);
  if (const std::string_view near = nearest(name, elsewhere); !near.empty()) {
    for (const Key& key : keys()) {
      if (key.section != section.name && key.name == near) {
        return fmt::format("unknown key {} {}. did you mean {} in [{}]?", shown, place, near,
                           key.section);
      }
    }
  }
  return fmt::format("unknown key {} {}. its keys are {}", shown, place, fmt::join(own, ", "));
}

/// Every key with its default. Read once; loading is then a matter of copying.
[[nodiscard]] const std::vector<Setting>& untouched() {
  static const std::vector<Setting> all = [] {
    std::vector<Setting> settings;
    for (const Key& key : keys()) {
      Setting& setting = settings.emplace_back();
      setting.key = &key;
      if (!key.fallback.empty()) setting.settle(read_value(key.fallback));
    }
    return settings;
  }();
  return all;
}

[[noreturn]] void fail_override(std::string message) {
  throw Failed{{std::string(kOverride), 0, std::move(message)}};
}

}  // namespace

// --- One setting

void Setting::fail(std::string message) const {
  std::string where = file;  // of an override, which has no line, with the key: "--set failure.0"
  if (file == kOverride && !key->section.empty()) where += fmt::format(" {}", key->section);
  if (file.starts_with(kOverride))
    where += (where == kOverride ? " " : ".") + std::string(key->name);
  throw Failed{{std::move(where), line, std::move(message)}};
}

void Setting::fail_value(std::string_view remedy) const {
  fail(fmt::format("{} is {}. {}", key->name, literal.found(), remedy));
}

void Setting::assign(Literal given_literal, std::string given_file, int given_line) {
  literal = std::move(given_literal);
  file = std::move(given_file);
  line = given_line;
  given = true;
  value = read(*key, literal);
  if (std::holds_alternative<std::monostate>(value)) fail_value(key->remedy());
}

void Setting::settle(Literal usual) {
  literal = std::move(usual);
  value = read(*key, literal);
  STRACK_CHECK(!std::holds_alternative<std::monostate>(value));
}

void Setting::forget() {
  value = std::monostate{};
  given = false;
}

// --- A group of settings

Group::Group(const Section* array) : array_(array) {
  for (const Setting& setting : untouched()) {
    const bool in_array = find_section(setting.key->section)->array;
    if (array == nullptr ? !in_array : setting.key->section == array->name)
      settings_.push_back(setting);
  }
}

Setting* Group::find(std::string_view section, std::string_view name) {
  for (Setting& setting : settings_) {
    if (setting.key->section == section && setting.key->name == name) return &setting;
  }
  return nullptr;
}

Setting& Group::operator[](std::string_view id) {
  const std::size_t dot = id.find('.');
  Setting* setting = dot == id.npos ? find("", id) : find(id.substr(0, dot), id.substr(dot + 1));
  STRACK_CHECK(setting != nullptr);  // a misspelt id in the resolver
  setting->was_read |= counts_reads_;
  return *setting;
}
std::vector<const Setting*> Group::unread() const {
  std::vector<const Setting*> found;
  for (const Setting& setting : settings_) {
    const std::string_view usual = setting.key->fallback;  // can be said: to_toml does
    const bool other = usual.empty() || setting.literal.found() != read_value(usual).found();
    if (setting.given && !setting.was_read && other) found.push_back(&setting);
  }
  return found;
}

std::int64_t Group::integer(std::string_view id) {
  return std::get<std::int64_t>((*this)[id].value);
}
std::uint32_t Group::count(std::string_view id) { return static_cast<std::uint32_t>(integer(id)); }
Ratio Group::fraction(std::string_view id) { return std::get<Ratio>((*this)[id].value); }
double Group::real(std::string_view id) { return std::get<double>((*this)[id].value); }
bool Group::flag(std::string_view id) { return std::get<bool>((*this)[id].value); }
const std::string& Group::text(std::string_view id) {
  return std::get<std::string>((*this)[id].value);
}
std::size_t Group::choice_index(std::string_view id, std::size_t enumerators) {
  const std::span<const std::string_view> words = (*this)[id].key->words;
  STRACK_CHECK_OP(words.size(), ==, enumerators);  // the key's words are another enum's
  return static_cast<std::size_t>(std::find(words.begin(), words.end(), text(id)) - words.begin());
}

std::int64_t Group::measure(Setting& setting) {
  const Measure& measure = std::get<Measure>(setting.value);
  if (measure.base == Measure::Base::absolute)
    return *workload::exact_product(measure.number, measure.factor);
  std::int64_t yardstick = 0;
  std::string_view unit;
  switch (measure.base) {
    case Measure::Base::bdp:
      yardstick = yardsticks_.bdp.count();
      unit = "BDP";
      break;
    case Measure::Base::rtt:
      yardstick = yardsticks_.rtt.count();
      unit = "RTT";
      break;
    default:
      yardstick = yardsticks_.mtu.count();
      unit = "MTU";
      break;
  }
  if (yardstick == 0) {
    setting.fail_value(fmt::format("the {} follows from it. say it in {}", unit,
                                   setting.key->kind == Kind::size ? "bytes" : "us or ns"));
  }
  const std::optional<std::int64_t> value = workload::whole_product(measure.number, yardstick);
  if (!value || !within({*value, 1}, *setting.key)) setting.fail_value(setting.key->needs);
  return *value;
}

Bytes Group::size(std::string_view id) { return bytes(measure((*this)[id])); }
Picoseconds Group::time(std::string_view id) { return ps(measure((*this)[id])); }
BitsPerSecond Group::rate(std::string_view id) { return {measure((*this)[id])}; }

bool Group::applies(const Setting& setting) {
  const std::string_view condition = setting.key->applies;
  if (condition.empty()) return true;
  const std::size_t equals = condition.find('=');
  const Setting* other = find(setting.key->section, condition.substr(0, equals));
  STRACK_CHECK(other != nullptr);
  if (!applies(*other)) return false;
  const auto* word = std::get_if<std::string>(&other->value);
  const bool follows = std::holds_alternative<std::monostate>(other->value);
  const std::string value = word != nullptr ? *word
                            : follows       ? other->derived
                                            : other->literal.text();
  return word_index(condition.substr(equals + 1), value) >= 0;
}

void Group::exchange(Group& entry) {
  for (Setting& setting : entry.settings_)
    std::swap(setting, *find(setting.key->section, setting.key->name));
}

void Group::leave_out(std::string_view section) {
  std::erase_if(settings_, [&](const Setting& s) { return s.key->section == section; });
}

void Group::check_applies() {
  for (const Setting& setting : settings_) {
    if (!setting.given || applies(setting)) continue;
    std::string_view condition = setting.key->applies;
    std::size_t equals = condition.find('=');
    const Setting* other = find(setting.key->section, condition.substr(0, equals));
    // A condition may have one of its own; what is said is the one that fails first.
    while (!applies(*other)) {
      condition = other->key->applies;
      equals = condition.find('=');
      other = find(other->key->section, condition.substr(0, equals));
    }
    std::string wanted(condition.substr(equals + 1));
    for (std::size_t bar = wanted.find('|'); bar != wanted.npos; bar = wanted.find('|'))
      wanted.replace(bar, 1, " or ");
    setting.fail(fmt::format("{} is set, but {} is {}. leave it out: it is for {} = {}",
                             setting.key->name, other->key->name,
                             other->derived.empty() ? other->literal.found() : other->derived,
                             other->key->name, wanted));
  }
}

std::string Group::to_toml() {
  std::string text;
  std::string_view section;
  if (array_ != nullptr) text = fmt::format("\n[[{}]]\n", array_->name);
  for (Setting& setting : settings_) {
    const Key& key = *setting.key;
    const bool has_value = !std::holds_alternative<std::monostate>(setting.value);
    if (array_ == nullptr && key.section != section) {
      section = key.section;
      text += fmt::format("\n[{}]\n", section);
    }
    if (setting.hidden || !applies(setting) || (!has_value && setting.derived.empty())) continue;
    if (!has_value) {
      text += fmt::format("# {} = {}  # follows: {}\n", key.name, setting.derived, key.otherwise);
      continue;
    }
    text += fmt::format("{} = {}", key.name, setting.literal.text());
    if (const auto* relative = std::get_if<Measure>(&setting.value);
        relative != nullptr && relative->base != Measure::Base::absolute) {
      const std::int64_t value = measure(setting);
      text += "  # " + (key.kind == Kind::size ? workload::format_size(bytes(value))
                                               : workload::format_time(ps(value)));
    }
    text += '\n';
  }
  return text;
}

void Group::list(const std::string& place, std::vector<metrics::Setting>& out) {
  for (const Setting& setting : settings_) {
    const Key& key = *setting.key;
    Setting shown = setting;
    const bool follows = std::holds_alternative<std::monostate>(setting.value);
    if (setting.hidden || !applies(setting) || (follows && setting.derived.empty())) continue;
    if (follows) {
      shown.literal = read_value(setting.derived);
      shown.value = read(key, shown.literal);
    }
    metrics::Setting& row = out.emplace_back();
    row.key = place.empty() ? std::string(key.section) : place;
    row.key += (row.key.empty() ? "" : ".") + std::string(key.name);
    const auto* text = std::get_if<std::string>(&shown.literal.value);
    row.value = text != nullptr ? *text : shown.literal.text();
    if (std::holds_alternative<Measure>(shown.value)) row.amount = measure(shown);
    row.origin = follows ? "derived" : setting.given ? "given" : "default";
  }
}

// --- All settings

Group& Settings::group(const Entry& entry, const std::string& file) {
  const Section* section = find_section(entry.section);
  STRACK_CHECK(section != nullptr);
  if (entry.index < 0) return plain;
  std::vector<Group>& groups = section->several             ? workloads
                               : entry.section == "failure" ? failures
                                                            : impairments;
  const auto index = static_cast<std::size_t>(entry.index);
  const std::size_t most = section->several ? kMostWorkloads : kMostEntries;
  if (index >= most) {
    throw Failed{{file, entry.line,
                  fmt::format("there are more than {} of [[{}]]. use {}", most, entry.section,
                              section->several ? "more jobs or flows of one"
                                               : "random_links, or a switch")}};
  }
  if (index > groups.size()) {
    throw Failed{{file, entry.line,
                  fmt::format("it does not follow the last one. the next is {}.{}", entry.section,
                              groups.size())}};
  }
  if (index == groups.size()) {
    Group& added = groups.emplace_back(section);
    added.file = file;
    added.line = entry.line;
  }
  return groups[index];
}

void Settings::assign(const Entry& entry, const std::string& file) {
  Group& target = group(entry, file);
  if (entry.announces) return;
  Setting* setting = target.find(entry.section, entry.key);
  if (setting == nullptr) {
    throw Failed{{file, entry.line, unknown_key(*find_section(entry.section), entry.key)}};
  }
  setting->assign(entry.literal, file, entry.line);
}

void Settings::assign_override(std::string_view text) {
  if (!is_text(text)) fail_override("it is not text. write it in UTF-8");
  const std::size_t equals = text.find('=');
  if (equals == text.npos) {
    fail_override(
        fmt::format("{} has no =. write section.key=value, such as "
                    "--set topology.link_gbps=800",
                    workload::quoted(text)));
  }
  std::string_view path = workload::trimmed(text.substr(0, equals));
  const std::string_view raw = workload::trimmed(text.substr(equals + 1));
  Entry entry;
  if (const std::size_t dot = path.find('.'); dot != path.npos) {
    entry.section = path.substr(0, dot);
    path.remove_prefix(dot + 1);
  }
  const Section* section = find_section(entry.section);
  if (section == nullptr) {
    std::vector<std::string_view> names;
    for (const Section& s : sections())
      if (!s.name.empty()) names.push_back(s.name);
    const std::string_view near = nearest(entry.section, names);
    fail_override(fmt::format("unknown section {}. {}", workload::printable(entry.section),
                              near.empty()
                                  ? fmt::format("the sections are {}", fmt::join(names, ", "))
                                  : fmt::format("did you mean {}?", near)));
  }
  if (section->several && workloads.empty() && path.find('.') != path.npos) {
    fail_override(
        fmt::format("{}.{}: the scenario has one [{}], and no [[{}]]. leave the number "
                    "out, such as --set {}.{}",
                    section->name, workload::printable(path), section->name, section->name,
                    section->name, workload::printable(path.substr(path.find('.') + 1))));
  }
  if (section->array || (section->several && !workloads.empty())) {
    const std::size_t dot = path.find('.');
    const std::optional<Decimal> index = workload::parse_decimal(path.substr(0, dot));
    if (dot == path.npos || !index || index->scale != 0 || index->digits < 0 ||
        index->digits > 1'000'000) {
      fail_override(fmt::format("{}.{} names no entry. number it from 0, such as --set {}.0.{}",
                                section->name, workload::printable(path), section->name,
                                section->several             ? "size=1MB"
                                : section->name == "failure" ? "from_us=100"
                                                             : "loss=0.001"));
    }
    entry.index = static_cast<int>(index->digits);
    path.remove_prefix(dot + 1);
  }
  entry.key = path;
  entry.literal = read_value(raw);
  if (const Key* key = find_key(entry.section, entry.key);
      key != nullptr && (key->kind == Kind::text || key->kind == Kind::choice) &&
      !std::holds_alternative<std::string>(entry.literal.value)) {
    entry.literal = {std::string(raw)};  // a name may look like a number
  }
  // One replaces the other.
  if (entry.section == "run" && entry.key == "seed") plain["run.seeds"].forget();
  if (entry.section == "run" && entry.key == "seeds") plain["run.seed"].forget();
  const std::string place = fmt::format("{} {}.{}", kOverride, entry.section, entry.index);
  assign(entry, entry.index < 0 ? std::string(kOverride) : place);
}

std::vector<metrics::Setting> Settings::list() {
  std::vector<metrics::Setting> all;
  plain.list("", all);
  for (auto* groups : {&workloads, &failures, &impairments}) {
    for (std::size_t i = 0; i < groups->size(); ++i) {
      Group& group = (*groups)[i];
      group.list(fmt::format("{}.{}", group.array()->name, i), all);
    }
  }
  return all;
}

std::string Settings::to_toml() {
  std::string text = plain.to_toml();
  for (auto* groups : {&workloads, &failures, &impairments})
    for (Group& group : *groups) text += group.to_toml();
  return text;
}

}  // namespace strack::sim
