// Reads the files of tests/wire/vectors: blocks of "[name]" and "key: value" lines.
#pragma once

#include <charconv>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace strack::wire {

using Bytes = std::vector<std::uint8_t>;

/// "11 00*3 2a" -> 11 00 00 00 2a; "11002a" is fine too. Fails the test if it is neither.
inline Bytes hex_bytes(const std::string& text) {
  Bytes bytes;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    std::size_t count = 1;
    const std::size_t star = word.find('*');
    if (star != std::string::npos) {
      const char* end = word.data() + word.size();
      EXPECT_EQ(std::from_chars(word.data() + star + 1, end, count).ptr, end) << word;
      word.resize(star);
    }
    EXPECT_EQ(word.size() % 2, 0u) << word;
    for (std::size_t i = 0; i + 1 < word.size(); i += 2) {
      unsigned value = 0;
      const char* end = word.data() + i + 2;
      EXPECT_EQ(std::from_chars(word.data() + i, end, value, 16).ptr, end) << word;
      bytes.insert(bytes.end(), count, static_cast<std::uint8_t>(value));
    }
  }
  return bytes;
}

struct Vector {
  std::string name;
  std::vector<std::pair<std::string, std::string>> lines;

  /// The values of a key, joined by spaces: hex goes over several lines.
  [[nodiscard]] std::string get(std::string_view key) const {
    std::string joined;
    bool found = false;
    for (const auto& [name_here, value] : lines) {
      if (name_here != key) continue;
      if (found) joined += ' ';
      joined += value;
      found = true;
    }
    EXPECT_TRUE(found) << name << " has no " << key;
    return joined;
  }
  [[nodiscard]] Bytes bytes(std::string_view key) const { return hex_bytes(get(key)); }
};

/// `file` within the folder of vectors. An empty one fails the test.
inline std::vector<Vector> read_vectors(const std::string& file) {
  const std::string path = std::string(STRACK_WIRE_VECTORS) + "/" + file;
  std::ifstream in(path);
  std::vector<Vector> vectors;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == '[') {
      vectors.push_back({line.substr(1, line.size() - 2), {}});
      continue;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || vectors.empty()) {
      ADD_FAILURE() << path << ": " << line << ": neither a name in brackets nor key: value";
      continue;
    }
    const std::size_t value = line.find_first_not_of(' ', colon + 1);
    vectors.back().lines.emplace_back(line.substr(0, colon),
                                      value == std::string::npos ? "" : line.substr(value));
  }
  EXPECT_FALSE(vectors.empty()) << "nothing in " << path;
  return vectors;
}

/// The block of that name.
inline Vector find_vector(const std::vector<Vector>& vectors, std::string_view name) {
  for (const Vector& vector : vectors) {
    if (vector.name == name) return vector;
  }
  ADD_FAILURE() << "no vector " << name;
  return {};
}

}  // namespace strack::wire
