// What a model and its spread over GPUs cost: weights, times, bytes. The graph is training_graph.cpp's.
#include "workload/training.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/check.h"

namespace strack::workload {
namespace {

constexpr std::int64_t kLargestMessage = (std::int64_t{1} << 32) - 1;

/// Of so many floating-point operations on one GPU.
[[nodiscard]] Picoseconds time_of(const TrainingParams& p, Int128 flops) {
  const Int128 time = flops * p.tflops.den * p.efficiency.den /
                      (static_cast<Int128>(p.tflops.num) * p.efficiency.num);
  return ps(static_cast<std::int64_t>(std::min<Int128>(time, seconds(1'000'000).count())));
}

/// Both halves of an AllReduce of all activations within a server, twice a layer; once more backwards.
[[nodiscard]] Picoseconds tensor_time(const TrainingParams& p, std::uint32_t layers) {
  if (p.tp == 1) return ps(0);
  const std::int64_t activations =
      std::int64_t{p.micro_batch} * p.model.sequence * p.model.hidden * p.weight_bytes;
  const std::int64_t sent = mul_div(activations, 4 * (std::int64_t{p.tp} - 1), p.tp);
  return layers * (bytes(sent) / p.nvlink_rate);
}

/// Messages of one ring collective that passes a buffer around once.
[[nodiscard]] double ring_messages(const TrainingParams& p, double ranks, double size) {
  if (ranks < 2 || size <= 0) return 0;
  const double block = size / ranks / static_cast<double>(p.chunk.count());
  return ranks * (ranks - 1) * std::max(1.0, block + 0.5);
}

[[nodiscard]] std::string in_ms(Picoseconds time) {
  return fmt::format("{:.3f} ms", static_cast<double>(time.count()) / 1e9);
}

/// How often a stage's gradients and its weights go around the ring in one step.
struct Rounds {
  double gradients = 0;
  double weights = 0;
};
[[nodiscard]] Rounds rounds_of(const TrainingParams& p) {
  const double often = p.microbatches;
  switch (p.zero) {
    case 0:
      return {2, 0};
    case 1:
      return {1, 1};
    case 2:
      return {often, 1};
    default:
      return {often, 2 * often};
  }
}

}  // namespace

std::int64_t ModelShape::attention_weights() const {
  const std::int64_t h = hidden;
  return 2 * h * h + 2 * h * (h * kv_heads / heads);
}
std::int64_t ModelShape::expert_weights() const {
  return (gated ? 3 : 2) * std::int64_t{hidden} * ffn;
}
std::int64_t ModelShape::router_weights() const {
  return experts > 1 ? std::int64_t{hidden} * experts : 0;
}
std::int64_t ModelShape::vocab_weights() const { return std::int64_t{hidden} * vocab; }
std::int64_t ModelShape::weights() const {
  return layers * (attention_weights() + router_weights() + experts * expert_weights()) +
         2 * vocab_weights();
}

const std::vector<Model>& models() {
  const auto dense = [](std::uint32_t layers, std::uint32_t hidden, std::uint32_t ffn,
                        std::uint32_t heads, std::uint32_t kv_heads, std::uint32_t vocab,
                        std::uint32_t sequence, bool gated = true) {
    return ModelShape{layers, hidden, ffn, heads, kv_heads, vocab, sequence, gated, 1, 1};
  };
  static const std::vector<Model> all{
      {"gpt3-175b", dense(96, 12'288, 49'152, 96, 96, 50'257, 2'048, false),
       "Brown et al. 2020, table 2.1"},
      {"llama2-7b", dense(32, 4'096, 11'008, 32, 32, 32'000, 4'096), "Touvron et al. 2023"},
      {"llama2-70b", dense(80, 8'192, 28'672, 64, 8, 32'000, 4'096), "Touvron et al. 2023"},
      {"llama3-8b", dense(32, 4'096, 14'336, 32, 8, 128'256, 8'192),
       "Grattafiori et al. 2024, table 3"},
      {"llama3-70b", dense(80, 8'192, 28'672, 64, 8, 128'256, 8'192),
       "Grattafiori et al. 2024, table 3"},
      {"llama3-405b", dense(126, 16'384, 53'248, 128, 8, 128'256, 8'192),
       "Grattafiori et al. 2024, table 3"},
      {"mixtral-8x7b",
       {32, 4'096, 14'336, 32, 8, 32'000, 4'096, true, 8, 2},
       "Jiang et al. 2024, table 1; its longest context is 32,768"},
  };
  return all;
}

const Model* find_model(std::string_view name) {
  for (const Model& model : models()) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

/// What would not fit into counts and times; by floating point, which does not wrap around.
static std::string too_large(const TrainingParams& p) {
  const ModelShape& m = p.model;
  const double h = m.hidden;
  const double layer = 4 * h * h + h * m.experts + 3.0 * m.experts * h * m.ffn;
  const double weights = m.layers * layer + 2 * h * m.vocab;
  if (weights > 1e15)
    return fmt::format("the model has some {:.0e} weights. at most 1e15 can be counted", weights);
  const double activations = 1.0 * p.micro_batch * m.sequence * h * p.weight_bytes;
  const double tensor =
      p.tp == 1 ? 0 : 32 * activations * m.layers / static_cast<double>(p.nvlink_rate.count());
  if (activations > 1e15 || tensor > 1e6)
    return "the activations of one micro-batch take days within a server: take fewer of them";
  return {};
}

static std::string too_many(const TrainingParams& p) {
  const TrainingSize size = size_of(p);
  if (const double nodes =
          static_cast<double>(size.messages) + static_cast<double>(size.computations);
      nodes > static_cast<double>(kMostTrainingNodes)) {
    return fmt::format(
        "a step would have some {} messages and {} computations, and at most {} of both are "
        "simulated: take a larger chunk or bucket, fewer microbatches, or fewer rails",
        size.messages, size.computations, kMostTrainingNodes);
  }
  return {};
}

std::string wrong_with(const TrainingParams& p) {
  const ModelShape& m = p.model;
  if (std::string large = too_large(p); !large.empty()) return large;
  if (m.heads % p.tp != 0) {
    return fmt::format(
        "tp is {} and heads {}. every GPU of a tensor group has the same number of "
        "heads: take a divisor",
        p.tp, m.heads);
  }
  if (m.hidden % p.tp != 0) {
    return fmt::format(
        "tp is {} and hidden {}. every GPU of a tensor group has the same part of each matrix: "
        "take "
        "a divisor",
        p.tp, m.hidden);
  }
  if (m.heads % m.kv_heads != 0)
    return fmt::format("kv_heads is {} and heads {}. take a divisor", m.kv_heads, m.heads);
  if (p.pp > m.layers) {
    return fmt::format(
        "pp is {}, and there are {} layers. a stage has at least one: pp = {} would "
        "work",
        p.pp, m.layers, m.layers);
  }
  if (m.top_k > m.experts) {
    return fmt::format("top_k is {} and experts {}. a token goes to that many of them at most",
                       m.top_k, m.experts);
  }
  if (p.dp % p.ep != 0)
    return fmt::format(
        "ep is {} and dp {}. experts are shared by ep of the dp replicas: take a "
        "divisor",
        p.ep, p.dp);
  if (m.experts % p.ep != 0) {
    return fmt::format(
        "ep is {} and experts {}. every GPU has the same number of experts: take a "
        "divisor",
        p.ep, m.experts);
  }
  if (p.zero >= 2 && p.pp > 1) {
    return fmt::format(
        "zero is {} and pp {}. from stage 2 on replicas reduce gradients after every "
        "microbatch, which a pipeline has no time for: zero = 1 or pp = 1 would work",
        p.zero, p.pp);
  }
  if (p.zero >= 2 && p.ep > 1)
    return fmt::format("zero is {} and ep {}. with experts, zero = 0 or 1 works", p.zero, p.ep);
  if (p.zero > 0 && p.dp == 1)
    return fmt::format("zero is {}, but dp is 1: there is no other replica to share with", p.zero);
  if (p.rails > p.tp || p.tp % p.rails != 0)
    return fmt::format("rails is {} and tp {}. take a divisor: 1 is usual", p.rails, p.tp);
  if (Int128{p.skew.num} > Int128{p.skew.den} * p.ep)
    return fmt::format("expert_skew is above ep, which is {}: one rank would have more than all",
                       p.ep);
  if (p.ranks() < 2)
    return std::string("nothing goes through the network: dp and pp are 1. set one of them");
  const Int128 activations = Int128{p.micro_batch} * m.sequence * m.hidden * p.weight_bytes / p.tp;
  if (activations * m.top_k > kLargestMessage) {
    return std::string(
        "a microbatch's activations are above 4 GiB a GPU, the largest message there "
        "is: take a smaller micro_batch");
  }
  return too_many(p);
}

StageCost stage_cost(const TrainingParams& p, std::uint32_t stage) {
  STRACK_CHECK(stage < p.pp);
  const ModelShape& m = p.model;
  StageCost cost;
  cost.layers = static_cast<std::uint32_t>(std::uint64_t{m.layers} * (stage + 1) / p.pp -
                                           std::uint64_t{m.layers} * stage / p.pp);
  const Int128 tokens = Int128{p.micro_batch} * m.sequence;
  const std::int64_t once =
      m.attention_weights() + (m.experts > 1 ? m.router_weights() : m.expert_weights());
  const bool last = stage + 1 == p.pp;
  // A multiplication and an addition for each weight and token; scores and values of attention.
  Int128 flops = cost.layers * (2 * Int128{once} + 4 * Int128{m.sequence} * m.hidden);
  if (last) flops += 2 * Int128{m.vocab_weights()};
  const Picoseconds tensor = tensor_time(p, cost.layers);
  const Picoseconds forward = time_of(p, tokens * flops / p.tp);
  cost.forward = forward + tensor;
  cost.backward = 2 * forward + tensor;
  cost.tensor = 2 * tensor;
  if (m.experts > 1) {
    cost.experts_forward =
        time_of(p, tokens * cost.layers * 2 * m.top_k * Int128{m.expert_weights()} / p.tp);
    cost.experts_backward = 2 * cost.experts_forward;
    cost.expert_weights =
        cost.layers * (m.experts / p.ep) * m.expert_weights() / std::int64_t{p.tp};
  }
  if (p.recompute) {
    cost.backward += cost.forward;
    cost.experts_backward += cost.experts_forward;
    cost.tensor += tensor;
  }
  cost.dense_weights =
      (cost.layers * once + ((stage == 0 ? 1 : 0) + (last ? 1 : 0)) * m.vocab_weights()) / p.tp;
  if (p.ep == 1) {  // then all replicas have all experts
    cost.dense_weights += cost.expert_weights;
    cost.expert_weights = 0;
  }
  return cost;
}

TrainingSize size_of(const TrainingParams& p) {
  double messages = 0;
  double computations = 0;
  double sent = 0;
  const Rounds rounds = rounds_of(p);
  const double bucket = static_cast<double>(p.bucket.count());
  const double passes = 2.0 * p.microbatches;
  // An AllReduce is one collective and goes around twice.
  const auto add_ring = [&](double groups, double ranks, double size, double times, double each) {
    if (ranks < 2) return;
    const double buckets = std::ceil(size / bucket);
    messages +=
        groups * times * (size / bucket + 1) * ring_messages(p, ranks, std::min(size, bucket));
    computations += groups * times / each * buckets * ranks * 2;
    sent += groups * times * (ranks - 1) * size;
  };
  const auto add_rings = [&](double groups, double ranks, std::int64_t weights) {
    const auto count = static_cast<double>(weights);
    add_ring(groups, ranks, count * p.gradient_bytes, rounds.gradients, p.zero == 0 ? 2 : 1);
    add_ring(groups, ranks, count * p.weight_bytes, rounds.weights, 1);
  };
  for (std::uint32_t stage = 0; stage < p.pp; ++stage) {
    const StageCost cost = stage_cost(p, stage);
    add_rings(p.rails, p.dp, cost.dense_weights);
    add_rings(static_cast<double>(p.rails) * p.ep, static_cast<double>(p.dp) / p.ep,
              cost.expert_weights);
    // A pass is computed in pieces: layers, or between the buckets that it fetches or reduces.
    const auto weights = static_cast<double>(cost.dense_weights);
    const double fetched = p.zero == 3 ? std::ceil(weights * p.weight_bytes / bucket) : 1;
    const double reduced = p.dp > 1 ? std::ceil(weights * p.gradient_bytes / bucket) : 1;
    const double all = p.microbatches;
    const double reducing = p.zero >= 2 ? all : 1;
    const double pieces = (all + all - reducing) * std::max(1.0, fetched) +
                          reducing * std::max({1.0, fetched, reduced});
    computations += 1.0 * p.dp * p.rails * (p.ep > 1 ? passes * cost.layers * 6 : pieces);
  }
  const double activations = static_cast<double>(p.micro_batch) * p.model.sequence *
                             p.model.hidden * p.weight_bytes / p.tp;
  const double of_all = passes * p.dp * p.rails;
  messages += of_all * (p.pp - 1);
  computations += 2 * of_all * (p.pp - 1);
  sent += of_all * (p.pp - 1) * activations;
  if (p.ep > 1) {
    messages += of_all * p.model.layers * 2 * (p.ep - 1);
    sent += of_all * p.model.layers * 2 * activations * p.model.top_k * (p.ep - 1) / p.ep;
  }
  return {static_cast<std::uint64_t>(std::min(messages, 1e18)),
          static_cast<std::uint64_t>(std::min(computations, 1e18)), sent};
}

std::vector<std::string> notes_on(const TrainingParams& p) {
  std::vector<std::string> notes;
  notes.push_back(
      fmt::format("training: {:.2f} billion weights on {} GPUs (tp {} x pp {} x dp {}), {} "
                  "sequences of {} tokens "
                  "a step in {} microbatch{} a replica",
                  static_cast<double>(p.model.weights()) / 1e9, p.gpus(), p.tp, p.pp, p.dp,
                  p.batch(), p.model.sequence, p.microbatches, p.microbatches == 1 ? "" : "es"));
  const StageCost first = stage_cost(p, 0);
  notes.push_back(fmt::format(
      "a microbatch takes a GPU of the first stage {} forwards and {} backwards, experts included",
      in_ms(first.forward + first.experts_forward),
      in_ms(first.backward + first.experts_backward)));
  if (p.tp > 1) {
    notes.push_back(fmt::format(
        "tensor parallelism inside servers is not simulated: {} of that is its time, by the rate "
        "of nvlink_gbps",
        in_ms(first.tensor)));
  }
  if (p.rails < p.tp) {
    notes.push_back(
        fmt::format("{} of {} rails {} simulated, with {} of {} GPUs: all rails carry the same, "
                    "each in a network "
                    "of its own",
                    p.rails, p.tp, p.rails == 1 ? "is" : "are", p.ranks(), p.gpus()));
  }
  return notes;
}

}  // namespace strack::workload
