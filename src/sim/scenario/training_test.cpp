// [workload] kind = "training".
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/scenario/expected_time.h"
#include "sim/scenario/scenario.h"

namespace strack::sim {
namespace {

const std::string kText =
    "[topology]\nhosts = 64\nhosts_per_rack = 16\n[workload]\nkind = \"training\"\n";

Scenario loaded(const std::string& more, const std::vector<std::string>& set = {}) {
  auto scenario = load_text(kText + more, "x.toml", {}, set);
  EXPECT_TRUE(scenario) << scenario.error().text();
  return std::move(scenario).value();
}
std::string error_of(const std::string& more) {
  const auto scenario = load_text(kText + more, "x.toml");
  return scenario ? "" : scenario.error().text();
}

TEST(Training, AModelHasItsShapeAndHostsAreReplicas) {
  const Scenario s = loaded("model = \"llama2-70b\"\npp = 8\n");
  const workload::TrainingParams& p = s.workloads.front().training;
  EXPECT_EQ(p.model.layers, 80u);
  EXPECT_EQ(p.model.kv_heads, 8u);
  EXPECT_EQ(p.tp, 8u);
  EXPECT_EQ(p.dp, 8u);
  EXPECT_EQ(p.microbatches, 32u);
  EXPECT_EQ(p.batch(), 256u);
  EXPECT_EQ(s.workloads.front().ranks(), 64u);
  EXPECT_EQ(s.workloads.front().placement.kind, workload::Placement::packed);
  ASSERT_EQ(s.about.size(), 4u);
  EXPECT_EQ(
      s.about[0],
      "training: 68.98 billion weights on 512 GPUs (tp 8 x pp 8 x dp 8), 256 sequences of 4096 "
      "tokens a step in 32 microbatches a replica");
  EXPECT_EQ(s.about[3],
            "1 of 8 rails is simulated, with 64 of 512 GPUs: all rails carry the same, each in a "
            "network of its own");
}

TEST(Training, KeysChangeTheModel) {
  const Scenario s =
      loaded("model = \"llama2-7b\"\nlayers = 2\nsequence = 512\ndp = 4\nbatch = 8\n");
  const workload::TrainingParams& p = s.workloads.front().training;
  EXPECT_EQ(p.model.layers, 2u);
  EXPECT_EQ(p.model.hidden, 4'096u);
  EXPECT_EQ(p.microbatches, 2u);
  const workload::Workload work = make_workload(s, 1);
  ASSERT_EQ(work.jobs.size(), 1u);
  EXPECT_EQ(work.jobs[0].graph->ranks(), 4u);
  EXPECT_EQ(work.parts[0].kind, "training");
  EXPECT_NEAR(expected_bytes(s), static_cast<double>(work.jobs[0].graph->bytes().count()), 10);
  EXPECT_GT(memory_estimate(s), bytes(0));
  EXPECT_GT(expected_time(s).cpu, 0);
}

TEST(Training, ToTomlReloads) {
  const Scenario s = loaded("model = \"mixtral-8x7b\"\ndp = 8\nep = 4\nexpert_skew = 1.5\n");
  const std::string text = to_toml(s);
  auto again = load_text(text, "y.toml");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(to_toml(again.value()), text);
  EXPECT_EQ(again.value().workloads.front().training.skew, (Ratio{3, 2}));
}

TEST(Training, ErrorsSayWhatWouldWork) {
  EXPECT_EQ(
      error_of(""),
      "x.toml:5: kind is \"training\", but there is neither a model nor layers. name one, such "
      "as model = \"llama2-70b\", or give its shape");
  EXPECT_EQ(error_of("model = \"llama9\"\n"),
            "x.toml:6: model is \"llama9\". a model is one of gpt3-175b, llama2-7b, llama2-70b, "
            "llama3-8b, llama3-70b, llama3-405b and mixtral-8x7b");
  EXPECT_EQ(
      error_of("model = \"llama2-7b\"\ndp = 128\n"),
      "x.toml:7: jobs is 1, pp 1, dp 128 and rails 1, which takes 128 hosts, one for each GPU of "
      "a rail. there are 64: dp = 64 would work");
  EXPECT_EQ(
      error_of("model = \"llama2-7b\"\ndp = 16\nbatch = 17\n"),
      "x.toml:8: batch is 17. 16 replicas take 1 sequences each at a time: batch = 32 would work");
  EXPECT_EQ(error_of("model = \"llama2-7b\"\nzero = 3\npp = 2\n"),
            "x.toml:8: zero is 3 and pp 2. from stage 2 on replicas reduce gradients after every "
            "microbatch, which a pipeline has no time for: zero = 1 or pp = 1 would work");
  EXPECT_EQ(error_of("model = \"llama2-7b\"\nranks = 4\n"),
            "x.toml:7: ranks is set, but kind is \"training\". leave it out: it is for kind = "
            "collective");
}

// Iterations of a step are bounded by what they compute.
TEST(Training, HasAnHour) {
  EXPECT_NE(error_of("model = \"llama3-405b\"\nlayers = 100\npp = 4\ndp = 2\niterations = "
                     "100000\n")
                .find("of computation each take more than an hour"),
            std::string::npos);
}

}  // namespace
}  // namespace strack::sim
