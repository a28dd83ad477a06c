// Answers conformance vectors (docs/vectors.md) on another processor: events on standard input, the core's decisions and digests on
// standard output.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "transports/vectors.h"

int main() {
  using namespace strack::transports;
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  const auto events = read_vectors(text);
  if (!events) {
    std::fprintf(stderr, "error: standard input: %s\n", events.error().c_str());
    return 2;
  }
  std::vector<TestVector> answers;
  for (const TestVector& asked : events.value()) {
    auto answered = replay(asked);
    if (!answered) {
      std::fprintf(stderr, "error: standard input: %s\n", answered.error().c_str());
      return 2;
    }
    answers.push_back(answered.value());
  }
  std::fputs(write_vectors(answers, VectorForm::text).c_str(), stdout);
  return 0;
}
