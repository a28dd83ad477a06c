// Conformance vectors: what they reach, and that whoever answers wrongly is told where.
#include "transports/vectors.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/events.h"

namespace strack::transports {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Made once: all tests look at the same.
const std::vector<TestVector>& vectors() {
  static const std::vector<TestVector> made = make_vectors();
  return made;
}

/// The values that decisions of this word have in a field.
std::set<std::string> seen(const std::string& word, const std::string& field) {
  std::set<std::string> values;
  for (const TestVector& vector : vectors()) {
    for (const VectorStep& step : vector.steps) {
      for (const VectorLine& line : step.decisions) {
        if (line.word != word) continue;
        for (const auto& [name, value] : line.fields) {
          if (name == field) values.insert(value);
        }
      }
    }
  }
  return values;
}

TestVector& named(std::vector<TestVector>& all, const std::string& name) {
  return *std::find_if(all.begin(), all.end(),
                       [&](const TestVector& vector) { return vector.name == name; });
}

// Every rare branch of the core, every fault of a SACK, cause of a loss and reason of the window.
TEST(Vectors, Make_ReachEveryRareBranch) {
  std::set<std::string> reached;
  for (const TestVector& vector : vectors())
    reached.insert(vector.reached.begin(), vector.reached.end());
  EXPECT_EQ(reached, std::set<std::string>(core::kRareNames.begin(), core::kRareNames.end()));
}
TEST(Vectors, Make_ReachEveryDecision) {
  EXPECT_EQ(seen("rejected", "fault").size(), 10u);
  EXPECT_EQ(seen("loss", "cause"), (std::set<std::string>{"out_of_order", "probe", "timeout"}));
  EXPECT_EQ(seen("window", "reason").size(), 5u);
  EXPECT_EQ(seen("arrival", "kind"),
            (std::set<std::string>{"accepted", "duplicate", "beyond_window", "malformed", "probe",
                                   "trimmed"}));
}

TEST(Vectors, Make_EveryVectorHasAnEndAndStepsEnough) {
  EXPECT_EQ(vectors().size(), 31u);
  for (const TestVector& vector : vectors()) {
    EXPECT_TRUE(vector.name.starts_with(vector.begin.word + "-")) << vector.name;
    EXPECT_GE(vector.steps.size(), 5u) << vector.name;
    for (const VectorStep& step : vector.steps) EXPECT_EQ(step.digest.size(), 16u);
  }
}

// The very decisions: whoever changes them changes what others were checked against.
TEST(Vectors, Make_TheFirstSteps) {
  const TestVector& first = vectors().front();
  EXPECT_EQ(first.name, "sender-clean");
  EXPECT_EQ(first.steps[0].event.text(), "message t_ps=0 id=1 length=9000");
  EXPECT_EQ(first.steps[0].decisions.size(), 10u);
  EXPECT_EQ(first.steps[0].decisions[0].text(), "posted");
  EXPECT_EQ(
      first.steps[0].decisions[1].text(),
      "data psn=100 path=1 timestamp_ns=0 payload=1000 message=1 offset=0 length=9000 again=0");
  EXPECT_EQ(first.steps[0].digest, "0bd88befc54b6ee9");
}

TEST(Vectors, Replay_IsTheSameAgain) {
  for (const TestVector& vector : vectors()) {
    const auto again = replay(vector);
    ASSERT_TRUE(again.ok()) << again.error();
    EXPECT_EQ(again.value().reached, vector.reached);
  }
  EXPECT_EQ(check_vectors(vectors(), vectors()), std::vector<std::string>{});
}

TEST(Vectors, Write_BothFormsAreReadAgain) {
  for (const VectorForm form : {VectorForm::text, VectorForm::json}) {
    const std::string text = write_vectors(vectors(), form);
    const auto read = read_vectors(text);
    ASSERT_TRUE(read.ok()) << read.error();
    EXPECT_EQ(check_vectors(read.value(), vectors()), std::vector<std::string>{});
    const auto questions = read_vectors(write_vectors(vectors(), form, false));
    ASSERT_TRUE(questions.ok());
    EXPECT_EQ(check_vectors(questions.value(), vectors()).size(), vectors().size());
  }
}

TEST(Vectors, Check_NamesTheFirstDifferenceOfEach) {
  const std::string text = write_vectors(vectors(), VectorForm::text);
  const auto answered = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return check_vectors(read_vectors(changed).value(), vectors());
  };
  EXPECT_THAT(answered("data psn=101 path=2", "data psn=101 path=3"),
              ElementsAre(HasSubstr("sender-clean, step 1 (`message t_ps=0 id=1 length=9000`): "
                                    "decision 3 is `data psn=101 path=3")));
  EXPECT_THAT(answered("< posted\n", ""), ElementsAre(HasSubstr("the core says `posted`")));
  EXPECT_THAT(answered("= 0bd88befc54b6ee9", "= 0123456789abcdef"),
              ElementsAre(HasSubstr("the decisions agree, but the digest of the state is "
                                    "0123456789abcdef. the core's is 0bd88befc54b6ee9")));
}

TEST(Vectors, Check_MissingAndShortOnesAreTold) {
  std::vector<TestVector> cut = vectors();
  cut.erase(cut.begin());
  cut.front().steps.pop_back();
  EXPECT_THAT(check_vectors(cut, vectors()),
              ElementsAre("sender-clean is missing. `vectors export` has it",
                          HasSubstr("receiver-clean has ")));
}

TEST(Vectors, Check_DecisionsTooManyAndTooFew) {
  std::vector<TestVector> all = vectors();
  VectorStep& step = named(all, "sender-clean").steps.front();
  step.decisions.push_back({"data"});
  EXPECT_THAT(check_vectors(all, {}), ElementsAre(HasSubstr("`data` is one decision too many")));
  step.decisions.resize(2);
  EXPECT_THAT(check_vectors(all, {}), ElementsAre(HasSubstr("is missing after 2 decisions")));
}

TEST(Vectors, Check_EventsThatMakeNoSense) {
  const auto told = [](const std::string& begin, const std::string& event) {
    const auto read =
        read_vectors("strack-vectors 1\nvector mine\nbegin " + begin + "\n> " + event + "\n= 0\n");
    return check_vectors(read.value(), {}).front();
  };
  const std::string sender = vectors().front().begin.text();
  const std::string receiver = vectors()[1].begin.text();
  EXPECT_EQ(told(sender, "data t_ps=0"),
            "line 4: mine, step 1: data is no event of a sender. they are message, sack and time");
  EXPECT_EQ(told(receiver, "time t_ps=0"),
            "line 4: mine, step 1: time is no event of a receiver. they are data and probe");
  EXPECT_EQ(told(sender, "message t_ps=0 id=1"), "line 4: mine, step 1: message has no length");
  EXPECT_EQ(told(sender, "message t_ps=0 id=1 length=0"),
            "line 4: mine, step 1: length=0 of message is no whole number from 1 to 4294967295");
  EXPECT_EQ(
      told(sender, "time t_ps=x"),
      "line 4: mine, step 1: t_ps=x of time is no whole number from 0 to 8640000000000000000");
  EXPECT_EQ(told(sender, "sack t_ps=0"), "line 4: mine, step 1: sack has no epsn");
  EXPECT_EQ(told(receiver, "probe t_ps=0"), "line 4: mine, step 1: probe has no psn");
  EXPECT_EQ(told("middle", "time t_ps=0"),
            "mine: middle is no end of a connection. they are sender and receiver");
  EXPECT_EQ(told("sender", "time t_ps=0"), "mine: sender has no initial_psn");
  std::string broken = sender;
  broken.replace(broken.find("mtu_bytes=1000"), 14, "mtu_bytes=10");
  EXPECT_THAT(told(broken, "time t_ps=0"), HasSubstr("mine: mtu is 10. it has to be a payload"));
}

TEST(Vectors, Read_WhatIsNoVectors) {
  const auto told = [](const std::string& text) { return read_vectors(text).error(); };
  EXPECT_EQ(told("hello"), "it begins neither with `strack-vectors 1` nor with {");
  EXPECT_EQ(told("strack-vectors 1\n> time t_ps=0\n"),
            "line 2: stands before the first `vector NAME`");
  EXPECT_EQ(told("strack-vectors 1\nvector a\r\n= 0\n"),
            "line 3: answers no event. an event begins with >");
  EXPECT_EQ(told("strack-vectors 1\nvector a\n\n? x\n"),
            "line 4: begins with none of vector, begin, >, <, = and #");
  EXPECT_THAT(told("{"), HasSubstr("parse error"));
  EXPECT_EQ(told(R"({"format": "other"})"), "its format is not \"strack-vectors 1\"");
}

}  // namespace
}  // namespace strack::transports
