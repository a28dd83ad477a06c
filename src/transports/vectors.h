// Conformance vectors of a core: what went in, what it decided, a digest of its state after each step.
// Other implementations, in firmware or RTL, are checked against them. `strack vectors` prints and
// checks them; docs/vectors.md has the format.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace strack::transports {

/// One event or decision: a word, and named values.
struct VectorLine {
  std::string word;
  std::vector<std::pair<std::string, std::string>> fields = {};
  int line = 0;  ///< of the file it was read from, where that is a text

  /// Whatever the order of the values.
  friend bool operator==(const VectorLine& a, const VectorLine& b);
  /// "data psn=3 path=7"
  [[nodiscard]] std::string text() const;
};

/// One event, and what follows from it.
struct VectorStep {
  VectorLine event;
  std::vector<VectorLine> decisions = {};
  std::string digest = {};  ///< 16 hexadecimal digits
};

/// One end of a connection, from its beginning.
struct TestVector {
  std::string name;
  VectorLine begin;  ///< "sender" or "receiver", with all parameters
  std::vector<VectorStep> steps = {};
  std::vector<std::string> reached = {};  ///< rare branches, for people
};

/// All vectors, made by running both ends over scripted bad days. Always the same.
[[nodiscard]] std::vector<TestVector> make_vectors();

/// The vector once more, from its events alone, as the core has it; or which event makes no sense.
[[nodiscard]] Result<TestVector, std::string> replay(const TestVector& vector);

enum class VectorForm : std::uint8_t { text, json };
/// `answers` false: events only, for somebody else's to be filled in.
[[nodiscard]] std::string write_vectors(const std::vector<TestVector>& vectors, VectorForm form,
                                        bool answers = true);
/// Both forms are understood; an error begins with the line, where there is one.
[[nodiscard]] Result<std::vector<TestVector>, std::string> read_vectors(const std::string& text);

/// What is wrong with answers: a sentence for the first difference of each vector, and for each of
/// `wanted` that is missing or cut short.
[[nodiscard]] std::vector<std::string> check_vectors(const std::vector<TestVector>& answered,
                                                     const std::vector<TestVector>& wanted);

}  // namespace strack::transports
