// Vectors as text and as JSON; docs/vectors.md has the format.
#include <charconv>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "transports/vectors.h"

namespace strack::transports {
namespace {

constexpr std::string_view kHeading = "strack-vectors 1";  // the program's name
using Json = nlohmann::ordered_json;

// ---- Text ----

std::string as_text(const std::vector<TestVector>& vectors, bool answers) {
  std::string text = fmt::format("{}\n", kHeading);
  for (const TestVector& vector : vectors) {
    text += fmt::format("\nvector {}\n", vector.name);
    for (const std::string& branch : vector.reached) text += fmt::format("# reaches {}\n", branch);
    text += fmt::format("begin {}\n", vector.begin.text());
    for (const VectorStep& step : vector.steps) {
      text += fmt::format("> {}\n", step.event.text());
      if (!answers) continue;
      for (const VectorLine& line : step.decisions) text += fmt::format("< {}\n", line.text());
      text += fmt::format("= {}\n", step.digest);
    }
  }
  return text;
}

/// "data psn=3 path=7"; a word without a value has none.
VectorLine parse_line(std::string_view text, int number) {
  VectorLine line;
  line.line = number;
  std::istringstream words{std::string(text)};
  words >> line.word;
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    line.fields.emplace_back(word.substr(0, equals),
                             equals == word.npos ? "" : word.substr(equals + 1));
  }
  return line;
}

Result<std::vector<TestVector>, std::string> from_text(const std::string& text) {
  std::vector<TestVector> vectors;
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  for (int number = 2; std::getline(lines, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line.front() == '#') continue;
    const std::size_t space = line.find(' ');
    const std::string first = line.substr(0, space);
    const std::string_view rest =
        space == line.npos ? std::string_view() : std::string_view(line).substr(space + 1);
    const auto wrong = [&](std::string_view what) {
      return fmt::format("line {}: {}", number, what);
    };
    if (first == "vector") {
      vectors.push_back({std::string(rest), {}});
      continue;
    }
    if (vectors.empty()) return wrong("stands before the first `vector NAME`");
    TestVector& vector = vectors.back();
    if (first == "begin") {
      vector.begin = parse_line(rest, number);
    } else if (first == ">") {
      vector.steps.push_back({parse_line(rest, number)});
    } else if (first == "<" || first == "=") {
      if (vector.steps.empty()) return wrong("answers no event. an event begins with >");
      if (first == "<") {
        vector.steps.back().decisions.push_back(parse_line(rest, number));
      } else {
        vector.steps.back().digest = rest;
      }
    } else {
      return wrong("begins with none of vector, begin, >, <, = and #");
    }
  }
  return vectors;
}

// ---- JSON ----

Json json_of(const VectorLine& line) {
  Json made{{"word", line.word}};
  for (const auto& [name, value] : line.fields) {
    std::int64_t number = 0;
    const char* const end = value.data() + value.size();
    const auto read = std::from_chars(value.data(), end, number);
    if (read.ec == std::errc{} && read.ptr == end) {
      made[name] = number;
    } else {
      made[name] = value;
    }
  }
  return made;
}

std::string as_json(const std::vector<TestVector>& vectors, bool answers) {
  Json all = Json::array();
  for (const TestVector& vector : vectors) {
    Json steps = Json::array();
    for (const VectorStep& step : vector.steps) {
      Json one{{"event", json_of(step.event)}};
      if (answers) {
        one["decisions"] = Json::array();
        for (const VectorLine& line : step.decisions) one["decisions"].push_back(json_of(line));
        one["digest"] = step.digest;
      }
      steps.push_back(std::move(one));
    }
    all.push_back({{"name", vector.name},
                   {"reaches", vector.reached},
                   {"begin", json_of(vector.begin)},
                   {"steps", std::move(steps)}});
  }
  return Json{{"format", kHeading}, {"vectors", std::move(all)}}.dump(1) + "\n";
}

/// Numbers may be numbers; what else is no text is left as JSON has it, and no core understands it.
VectorLine line_of(const Json& json) {
  VectorLine line;
  for (const auto& [name, value] : json.items()) {
    std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    if (value.is_boolean()) text = value.get<bool>() ? "1" : "0";
    if (name == "word") {
      line.word = std::move(text);
    } else {
      line.fields.emplace_back(name, std::move(text));
    }
  }
  return line;
}

Result<std::vector<TestVector>, std::string> from_json(const std::string& text) {
  std::vector<TestVector> vectors;
  try {
    const Json all = Json::parse(text);
    if (all.at("format") != kHeading) return fmt::format("its format is not \"{}\"", kHeading);
    for (const Json& one : all.at("vectors")) {
      TestVector& vector = vectors.emplace_back();
      vector.name = one.at("name").get<std::string>();
      vector.begin = line_of(one.at("begin"));
      for (const Json& step : one.at("steps")) {
        VectorStep& made = vector.steps.emplace_back();
        made.event = line_of(step.at("event"));
        if (step.contains("decisions")) {
          for (const Json& line : step["decisions"]) made.decisions.push_back(line_of(line));
        }
        if (step.contains("digest")) made.digest = step["digest"].get<std::string>();
      }
    }
  } catch (const Json::exception& wrong) {
    return std::string(wrong.what());
  }
  return vectors;
}

}  // namespace

std::string write_vectors(const std::vector<TestVector>& vectors, VectorForm form, bool answers) {
  return form == VectorForm::text ? as_text(vectors, answers) : as_json(vectors, answers);
}

Result<std::vector<TestVector>, std::string> read_vectors(const std::string& text) {
  if (text.starts_with('{')) return from_json(text);
  if (!text.starts_with(kHeading))
    return fmt::format("it begins neither with `{}` nor with {{", kHeading);
  return from_text(text);
}

}  // namespace strack::transports
