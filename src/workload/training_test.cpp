#include "workload/training.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "workload/chain.h"

namespace strack::workload {
namespace {

/// Numbers that are easy to follow: a weight takes a picosecond and a token two of them.
TrainingParams small() {
  TrainingParams p;
  p.model = {.layers = 4,
             .hidden = 64,
             .ffn = 256,
             .heads = 4,
             .kv_heads = 4,
             .vocab = 128,
             .sequence = 32,
             .gated = false,
             .experts = 1,
             .top_k = 1};
  p.dp = 2;
  p.tflops = {1, 1};
  p.efficiency = {1, 1};
  p.bucket = bytes(100'000);
  return p;
}

std::map<std::string, std::uint64_t> counts(const Graph& graph) {
  std::map<std::string, std::uint64_t> all;
  for (const Communication& one : graph.communications()) ++all[one.name];
  return all;
}
std::map<std::string, std::int64_t> bytes_by_name(const Graph& graph) {
  std::map<std::string, std::int64_t> all;
  for (const Communication& one : graph.communications()) all[one.name] += one.bytes.count();
  return all;
}

// Published sizes, in billions of weights.
TEST(Models, HaveAsManyWeightsAsIsSaidOfThem) {
  const auto billions = [](std::string_view name) {
    return static_cast<double>(find_model(name)->shape.weights()) / 1e9;
  };
  EXPECT_NEAR(billions("gpt3-175b"), 175, 1);
  EXPECT_NEAR(billions("llama2-7b"), 6.74, 0.01);
  EXPECT_NEAR(billions("llama2-70b"), 68.98, 0.01);
  EXPECT_NEAR(billions("llama3-8b"), 8.03, 0.01);
  EXPECT_NEAR(billions("llama3-70b"), 70.55, 0.01);
  EXPECT_NEAR(billions("llama3-405b"), 405.85, 0.1);
  EXPECT_NEAR(billions("mixtral-8x7b"), 46.70, 0.01);
  EXPECT_EQ(find_model("llama9"), nullptr);
  for (const Model& model : models()) EXPECT_FALSE(model.source.empty()) << model.name;
}

TEST(StageCost, IsTwoOperationsForEachWeightAndToken) {
  const TrainingParams p = small();
  const StageCost cost = stage_cost(p, 0);
  const std::int64_t layer = 4 * 64 * 64 + 2 * 64 * 256;
  EXPECT_EQ(cost.layers, 4u);
  EXPECT_EQ(cost.dense_weights, 4 * layer + 2 * 64 * 128);
  // Attention's scores and values: 4 x sequence x hidden for a token and layer. The output has its words.
  const std::int64_t operations = 32 * (4 * (2 * layer + 4 * 32 * 64) + 2 * 64 * 128);
  EXPECT_EQ(cost.forward, ps(operations));
  EXPECT_EQ(cost.backward, ps(2 * operations));
  EXPECT_EQ(cost.tensor, ps(0));
}

TEST(StageCost, HalfTheEfficiencyTakesTwiceAsLong) {
  TrainingParams p = small();
  const Picoseconds all = stage_cost(p, 0).forward;
  p.efficiency = {1, 2};
  EXPECT_EQ(stage_cost(p, 0).forward, 2 * all);
  p.recompute = true;
  EXPECT_EQ(stage_cost(p, 0).backward, 6 * all);
}

// Two AllReduces a layer and direction, as a ring's: 2 (tp - 1) / tp of all activations, by NVLink.
TEST(StageCost, TensorParallelismTakesTimeInTheServer) {
  TrainingParams p = small();
  const Picoseconds alone = stage_cost(p, 0).forward;
  p.tp = 4;
  p.nvlink_rate = gbps(8);
  const Bytes activations = bytes(32 * 64 * 2);
  const Picoseconds ring = 3 * activations / 2 / gbps(8);
  EXPECT_EQ(stage_cost(p, 0).forward, alone / 4 + 4 * 2 * ring);
  EXPECT_EQ(stage_cost(p, 0).tensor, 2 * 4 * 2 * ring);
}

TEST(StageCost, LayersThatDoNotDivideAreSpread) {
  TrainingParams p = small();
  p.pp = 3;
  std::uint32_t layers = 0;
  for (std::uint32_t stage = 0; stage < 3; ++stage) layers += stage_cost(p, stage).layers;
  EXPECT_EQ(layers, 4u);
  EXPECT_EQ(stage_cost(p, 0).layers, 1u);
  EXPECT_EQ(stage_cost(p, 2).layers, 2u);
}

// [D86] Replicas alone: gradients of 2 bytes, in buckets, each 2 (n - 1) / n of itself out of every rank.
TEST(MakeTraining, ReplicasReduceTheirGradients) {
  TrainingParams p = small();
  p.dp = 4;
  const Graph graph = make_training(p);
  EXPECT_EQ(graph.ranks(), 4u);
  const std::int64_t size = 2 * stage_cost(p, 0).dense_weights;
  EXPECT_EQ(
      counts(graph),
      (std::map<std::string, std::uint64_t>{{"gradients, allreduce", (size + 99'999) / 100'000}}));
  EXPECT_EQ(graph.bytes(), bytes(2 * 3 * size));
  EXPECT_EQ(computation_time(graph), stage_cost(p, 0).forward + stage_cost(p, 0).backward);
  EXPECT_NEAR(size_of(p).bytes, static_cast<double>(graph.bytes().count()), 1);
}

// A pipeline that nothing holds up: (microbatches + stages - 1) of a stage's two passes.
TEST(MakeTraining, APipelineFillsAndDrains) {
  TrainingParams p = small();
  p.dp = 1;
  p.pp = 4;
  p.microbatches = 8;
  p.model.vocab = 1;  // all stages alike
  p.model.hidden = 64;
  const Graph graph = make_training(p);
  EXPECT_EQ(graph.ranks(), 4u);
  EXPECT_EQ(graph.messages(), 2u * 3 * 8);
  EXPECT_EQ(counts(graph),
            (std::map<std::string, std::uint64_t>{{"activations to the next stage", 24},
                                                  {"gradients to the stage before", 24}}));
  const Picoseconds both = stage_cost(p, 0).forward + stage_cost(p, 0).backward;
  const double stages =
      static_cast<double>(computation_time(graph).count()) / static_cast<double>(both.count());
  EXPECT_NEAR(stages, 8 + 4 - 1, 0.02);
  EXPECT_EQ(graph.bytes(), bytes(48 * 32 * 64 * 2));
}

// ZeRO 1: what an AllReduce does in two halves. ZeRO 2: gradients after every microbatch. ZeRO 3: weights
// before both passes.
TEST(MakeTraining, ZeroMovesWhatItShares) {
  TrainingParams p = small();
  p.dp = 4;
  p.microbatches = 3;
  const std::int64_t size = 2 * stage_cost(p, 0).dense_weights;
  const std::int64_t around = 3 * size;
  p.zero = 1;
  using Sums = std::map<std::string, std::int64_t>;
  EXPECT_EQ(bytes_by_name(make_training(p)),
            (Sums{{"gradients, reduce-scatter", around}, {"weights, allgather", around}}));
  p.zero = 2;
  EXPECT_EQ(bytes_by_name(make_training(p)),
            (Sums{{"gradients, reduce-scatter", 3 * around}, {"weights, allgather", around}}));
  p.zero = 3;
  EXPECT_EQ(bytes_by_name(make_training(p)),
            (Sums{{"gradients, reduce-scatter", 3 * around}, {"weights, allgather", 6 * around}}));
}

// Every layer has four exchanges, two a direction; experts' gradients go to those with the same experts.
TEST(MakeTraining, TokensGoToExpertsAndBack) {
  TrainingParams p = small();
  p.dp = 4;
  p.ep = 2;
  p.model.experts = 4;
  p.model.top_k = 2;
  const Graph graph = make_training(p);
  const auto all = counts(graph);
  EXPECT_EQ(all.at("tokens to experts, alltoall"), 2u * 2 * 4);  // groups x directions x layers
  EXPECT_EQ(all.at("tokens back, alltoall"), 2u * 2 * 4);
  const auto sums = bytes_by_name(graph);
  const std::int64_t tokens = 32 * 64 * 2 * 2;  // of a rank, to both experts: half of them go away
  EXPECT_EQ(sums.at("tokens to experts, alltoall"), 16 * 2 * tokens / 2);
  const StageCost cost = stage_cost(p, 0);
  EXPECT_EQ(cost.expert_weights, 4 * 2 * 2 * 64 * 256);
  EXPECT_EQ(sums.at("expert gradients, allreduce"), 2 * 2 * 2 * cost.expert_weights);
  EXPECT_EQ(sums.at("gradients, allreduce"), 2 * 3 * 2 * cost.dense_weights);
}

// The busiest expert has more to receive, and more to compute; what is sent in all stays.
TEST(MakeTraining, SkewMakesOneExpertBusier) {
  TrainingParams p = small();
  p.dp = 4;
  p.ep = 4;
  p.model.experts = 4;
  const Graph even = make_training(p);
  p.skew = {2, 1};
  const Graph skewed = make_training(p);
  EXPECT_GT(computation_time(skewed), computation_time(even));
  std::int64_t most = 0;
  for (NodeId id = 0; id < skewed.size(); ++id) {
    if (!skewed.node(id).computes) most = std::max(most, skewed.node(id).amount);
  }
  const std::int64_t tokens = 32 * 64 * 2;
  EXPECT_EQ(most >= tokens / 2, true);
  EXPECT_EQ(even.messages(), skewed.messages());
}

// All rails carry the same, each between its own ranks.
TEST(MakeTraining, RailsAreAlike) {
  TrainingParams p = small();
  p.tp = 4;
  p.pp = 2;
  p.microbatches = 2;
  const Graph one = make_training(p);
  p.rails = 4;
  const Graph four = make_training(p);
  EXPECT_EQ(four.ranks(), 4 * one.ranks());
  EXPECT_EQ(four.bytes(), 4 * one.bytes());
  for (const Channel& channel : four.channels()) EXPECT_EQ(channel.from % 4, channel.to % 4);
  EXPECT_EQ(computation_time(four), computation_time(one));
}

// Weights have a size of their own on the wire, and computations are nodes too.
TEST(SizeOf, CountsWhatTheGraphHas) {
  const auto check = [](auto&& change) {
    TrainingParams p = small();
    p.dp = 4;
    p.gradient_bytes = 4;
    change(p);
    const Graph graph = make_training(p);
    const TrainingSize size = size_of(p);
    EXPECT_NEAR(size.bytes, static_cast<double>(graph.bytes().count()),
                1e-3 * static_cast<double>(graph.bytes().count()));
    const auto computations = static_cast<double>(graph.size() - graph.messages());
    EXPECT_NEAR(static_cast<double>(size.computations), computations, 0.02 * computations);
  };
  check([](TrainingParams&) {});
  check([](TrainingParams& p) { p.zero = 1; });
  check([](TrainingParams& p) { p.zero = 2, p.microbatches = 3; });
  check([](TrainingParams& p) { p.zero = 3, p.microbatches = 2; });
  check([](TrainingParams& p) { p.pp = 2, p.microbatches = 4; });
  check([](TrainingParams& p) { p.model.experts = 4, p.model.top_k = 2, p.ep = 2; });
}

TEST(WrongWith, NamesWhatWouldWork) {
  const auto wrong = [](auto&& change) {
    TrainingParams p = small();
    change(p);
    return wrong_with(p);
  };
  EXPECT_EQ(wrong([](TrainingParams&) {}), "");
  EXPECT_EQ(wrong([](TrainingParams& p) { p.tp = 3; }),
            "tp is 3 and heads 4. every GPU of a tensor group has the same number of heads: take a "
            "divisor");
  EXPECT_EQ(wrong([](TrainingParams& p) { p.tp = 4, p.model.hidden = 66; }),
            "tp is 4 and hidden 66. every GPU of a tensor group has the same part of each matrix: "
            "take a divisor");
  EXPECT_EQ(wrong([](TrainingParams& p) { p.pp = 5; }),
            "pp is 5, and there are 4 layers. a stage has at least one: pp = 4 would work");
  EXPECT_EQ(wrong([](TrainingParams& p) { p.dp = 1; }),
            "nothing goes through the network: dp and pp are 1. set one of them");
  EXPECT_EQ(wrong([](TrainingParams& p) { p.rails = 2; }),
            "rails is 2 and tp 1. take a divisor: 1 is usual");
  // What would wrap around.
  EXPECT_EQ(wrong([](TrainingParams& p) {
              p.model.layers = p.model.experts = 1'000;
              p.model.hidden = 1'000'000, p.model.ffn = 10'000'000;
            }),
            "the model has some 3e+19 weights. at most 1e15 can be counted");
  EXPECT_NE(wrong([](TrainingParams& p) { p.pp = 2, p.zero = 2; }), "");
  EXPECT_NE(wrong([](TrainingParams& p) { p.ep = 2; }), "");
  EXPECT_NE(wrong([](TrainingParams& p) { p.skew = {3, 2}; }), "");
  EXPECT_NE(wrong([](TrainingParams& p) { p.chunk = bytes(1), p.dp = 4'000; }), "");
}

}  // namespace
}  // namespace strack::workload
