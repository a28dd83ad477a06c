// [workload] kind = "training": a step of a model spread over GPUs.
#include "workload/training.h"

#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "sim/scenario/sections/sections.h"
#include "workload/jobs.h"
#include "workload/lines.h"

namespace strack::sim {
namespace {

constexpr std::string_view kOnly = "kind=training";
constexpr std::string_view kOfTheModel = "the model's";

constexpr Key shape(std::string_view name, std::int64_t high, std::string_view needs,
                    std::string_view help) {
  return {.name = name,
          .kind = Kind::integer,
          .otherwise = kOfTheModel,
          .low = {1},
          .high = {high},
          .needs = needs,
          .applies = kOnly,
          .help = help};
}

constexpr Key kKeys[] = {
    {.name = "model",
     .kind = Kind::text,
     .otherwise = "its shape must be given",
     .needs = "a model is one of gpt3-175b, llama2-7b, llama2-70b, llama3-8b, llama3-70b, "
              "llama3-405b and mixtral-8x7b",
     .applies = kOnly,
     .help =
         "Where the shape of the model comes from: \"gpt3-175b\", \"llama2-7b\", "
         "\"llama2-70b\", \"llama3-8b\", \"llama3-70b\", \"llama3-405b\" or \"mixtral-8x7b\", as "
         "published. The keys of its shape change it; without a model all of them are needed."},
    shape("layers", 10'000, "a model has 1 to 10000 layers, such as layers = 80", "Of the model."),
    shape("hidden", 1'000'000, "it is a width of up to 1000000, such as hidden = 8192",
          "Width of the model."),
    shape("ffn", 10'000'000, "it is a width of up to 10000000, such as ffn = 28672",
          "Width of the feed-forward block, or of an expert."),
    shape("heads", 10'000, "a model has 1 to 10000 heads, such as heads = 64",
          "Of attention; tp divides them."),
    shape("kv_heads", 10'000, "it is 1 to 10000 heads, such as kv_heads = 8",
          "Heads of keys and values: fewer than heads where queries share them."),
    shape("vocab", 10'000'000, "it is 1 to 10000000 words, such as vocab = 32000",
          "Words of the embedding and of the output."),
    shape("sequence", 10'000'000, "it is 1 to 10000000 tokens, such as sequence = 4096",
          "Tokens of a sequence."),
    shape("experts", 10'000, "a layer has 1 to 10000 experts, such as experts = 8",
          "Of every layer; 1 is none."),
    shape("top_k", 1'000, "a token goes to 1 to 1000 experts, such as top_k = 2",
          "Experts that a token goes to."),
    {.name = "gated",
     .kind = Kind::flag,
     .otherwise = kOfTheModel,
     .needs = "it is true or false",
     .applies = kOnly,
     .help = "Feed-forward blocks of three matrices, as with SwiGLU, and not of two."},
    {.name = "tp",
     .kind = Kind::integer,
     .fallback = "8",
     .low = {1},
     .high = {1'024},
     .needs = "tensor parallelism is over 1 to 1024 GPUs, such as tp = 8",
     .applies = kOnly,
     .help = "GPUs that share every matrix. They are in one server: that traffic is not simulated, "
             "its time is part of the computation (nvlink_gbps)."},
    {.name = "pp",
     .kind = Kind::integer,
     .fallback = "1",
     .low = {1},
     .high = {10'000},
     .needs = "a pipeline has 1 to 10000 stages, such as pp = 8",
     .applies = kOnly,
     .help = "Stages of the pipeline, one forward and one backward pass in turn (1F1B)."},
    {.name = "dp",
     .kind = Kind::integer,
     .otherwise = "as many as there are hosts for",
     .low = {1},
     .high = {1'048'576},
     .needs = "there are 1 to 1048576 replicas, such as dp = 16",
     .applies = kOnly,
     .help =
         "Replicas of the model, which reduce their gradients by rings, bucket by bucket, during "
         "the last backward pass."},
    {.name = "ep",
     .kind = Kind::integer,
     .fallback = "1",
     .low = {1},
     .high = {10'000},
     .needs = "experts are shared by 1 to 10000 replicas, such as ep = 8",
     .applies = kOnly,
     .help = "Replicas that share the experts of a layer: every layer has an AllToAll before and "
             "after them, in both directions."},
    {.name = "zero",
     .kind = Kind::integer,
     .fallback = "0",
     .high = {3},
     .needs = "a stage of ZeRO is from 0 to 3, such as zero = 1",
     .applies = kOnly,
     .help =
         "What replicas share instead of having it all: 0 nothing (AllReduce), 1 the "
         "optimiser's state (reduce-scatter of gradients, AllGather of weights), 2 gradients too "
         "(reduced after every microbatch), 3 weights too (gathered before every use)."},
    {.name = "micro_batch",
     .kind = Kind::integer,
     .fallback = "1",
     .low = {1},
     .high = {100'000},
     .needs = "it is 1 to 100000 sequences, such as micro_batch = 1",
     .applies = kOnly,
     .help = "Sequences that go through the pipeline together."},
    {.name = "batch",
     .kind = Kind::integer,
     .otherwise = "four microbatches for each stage, in every replica",
     .low = {1},
     .high = {100'000'000},
     .needs = "it is a number of sequences that dp x micro_batch divides, such as batch = 512",
     .applies = kOnly,
     .help = "Sequences of a step, of all replicas."},
    {.name = "bucket",
     .kind = Kind::size,
     .fallback = "\"25 MB\"",
     .low = {1'000},
     .high = {kTebibyte},
     .needs = "a bucket has from 1 KB to 1 TiB, such as bucket = \"25 MB\"",
     .applies = kOnly,
     .help = "Gradients, or weights, that go in one collective."},
    {.name = "weight_bytes",
     .kind = Kind::integer,
     .fallback = "2",
     .low = {1},
     .high = {8},
     .needs = "it is 1 to 8 bytes, such as weight_bytes = 2",
     .applies = kOnly,
     .help = "Of a weight or an activation on the wire."},
    {.name = "gradient_bytes",
     .kind = Kind::integer,
     .fallback = "2",
     .low = {1},
     .high = {8},
     .needs = "it is 1 to 8 bytes, such as gradient_bytes = 4",
     .applies = kOnly,
     .help = "Of a gradient on the wire."},
    {.name = "gpu_tflops",
     .kind = Kind::fraction,
     .fallback = "989",
     .low = {1, 1'000},
     .high = {1'000'000},
     .needs = "it is a rate in 10^12 operations a second, such as gpu_tflops = 989",
     .applies = kOnly,
     .help = "What a GPU computes at best, in 10^12 operations a second. 989 is an H100's as its "
             "vendor states it, for dense matrices of 16-bit numbers."},
    {.name = "efficiency",
     .kind = Kind::fraction,
     .fallback = "0.5",
     .low = {1, 1'000},
     .high = {1},
     .needs = "it is a part from 0.001 to 1, such as efficiency = 0.5",
     .applies = kOnly,
     .help = "The part of gpu_tflops that matrices reach."},
    {.name = "nvlink_gbps",
     .kind = Kind::rate,
     .fallback = "3600",
     .low = {1'000'000'000},
     .high = {1'000'000'000'000'000},
     .needs = "it is a rate of 1 to 1000000 Gb/s, such as nvlink_gbps = 3600",
     .applies = kOnly,
     .help = "Of a GPU to the others of its server, one way: what tensor parallelism takes."},
    {.name = "recompute",
     .kind = Kind::flag,
     .fallback = "false",
     .needs = "it is true or false",
     .applies = kOnly,
     .help = "Every backward pass does the forward pass again, to save memory."},
    {.name = "expert_skew",
     .kind = Kind::fraction,
     .fallback = "1",
     .low = {1},
     .high = {10'000},
     .needs = "it is from 1 to ep, such as expert_skew = 1.5",
     .applies = kOnly,
     .help = "Tokens of the busiest of the ep ranks, in parts of the average; another one in every "
             "layer. 1: all have the same."},
    {.name = "rails",
     .kind = Kind::integer,
     .fallback = "1",
     .low = {1},
     .high = {1'024},
     .needs = "it is a number that divides tp, such as rails = 1",
     .applies = kOnly,
     .help =
         "How many of the tp GPUs of each server are simulated, each on a host. Every GPU has a "
         "NIC, a rail, and all rails carry the same: one, where each is a network of its own; tp, "
         "where they share switches."},
};

class TrainingResolver : Resolving {
 public:
  explicit TrainingResolver(Resolution& resolution) : Resolving(resolution) {}

  void resolve() {
    WorkloadSpec& w = out_.workloads.back();
    workload::TrainingParams& p = w.training;
    w.jobs = set_.count("workload.jobs");
    shape_of(p.model);
    p.tp = set_.count("workload.tp");
    p.pp = set_.count("workload.pp");
    p.ep = set_.count("workload.ep");
    p.zero = set_.count("workload.zero");
    p.micro_batch = set_.count("workload.micro_batch");
    p.rails = set_.count("workload.rails");
    p.bucket = set_.size("workload.bucket");
    p.chunk = set_.size("workload.chunk");
    p.weight_bytes = set_.count("workload.weight_bytes");
    p.gradient_bytes = set_.count("workload.gradient_bytes");
    p.tflops = set_.fraction("workload.gpu_tflops");
    p.efficiency = set_.fraction("workload.efficiency");
    p.nvlink_rate = set_.rate("workload.nvlink_gbps");
    p.recompute = set_.flag("workload.recompute");
    p.skew = set_.fraction("workload.expert_skew");
    replicas(w);
    batch(p);
    if (const std::string wrong = workload::wrong_with(p); !wrong.empty()) blamed().fail(wrong);
    resolve_placement(r_, workload::Placement::packed, std::uint64_t{w.jobs} * p.ranks());
    for (const std::string& note : workload::notes_on(p)) out_.about.push_back(note);
  }

 private:
  Setting& blamed() {
    return last_said({"workload.kind", "workload.model", "workload.tp", "workload.pp",
                      "workload.dp", "workload.ep", "workload.zero", "workload.rails",
                      "workload.heads", "workload.layers", "workload.experts", "workload.top_k",
                      "workload.kv_heads", "workload.expert_skew", "workload.micro_batch",
                      "workload.batch", "workload.chunk"});
  }

  void shape_of(workload::ModelShape& shape) {
    const bool named = set_.given("workload.model");
    if (named) {
      const workload::Model* model = workload::find_model(set_.text("workload.model"));
      if (model == nullptr) set_["workload.model"].fail_value(set_["workload.model"].key->needs);
      shape = model->shape;
    }
    const auto take = [&](const char* id, std::uint32_t& field, bool needed) {
      Setting& setting = set_[id];
      if (setting.given) {
        field = set_.count(id);
      } else if (needed && !named) {
        set_["workload.kind"].fail(fmt::format(
            "kind is \"training\", but there is neither a model nor {}. name one, such as model = "
            "\"llama2-70b\", or give its shape",
            setting.key->name));
      } else {
        setting.derived = fmt::format("{}", field);
      }
    };
    take("workload.layers", shape.layers, true);
    take("workload.hidden", shape.hidden, true);
    take("workload.ffn", shape.ffn, true);
    take("workload.heads", shape.heads, true);
    if (!named) shape.kv_heads = shape.heads;
    take("workload.kv_heads", shape.kv_heads, false);
    take("workload.vocab", shape.vocab, true);
    take("workload.sequence", shape.sequence, true);
    take("workload.experts", shape.experts, false);
    take("workload.top_k", shape.top_k, false);
    Setting& gated = set_["workload.gated"];
    if (gated.given)
      shape.gated = set_.flag("workload.gated");
    else
      gated.derived = shape.gated ? "true" : "false";
  }

  /// Hosts are there for every GPU of a simulated rail.
  void replicas(WorkloadSpec& w) {
    workload::TrainingParams& p = w.training;
    const std::uint64_t each = std::uint64_t{w.jobs} * p.pp * p.rails;
    const std::uint64_t most = topology().hosts() / each;
    Setting& dp = set_["workload.dp"];
    p.dp = dp.given ? set_.count("workload.dp") : static_cast<std::uint32_t>(most);
    if (!dp.given) dp.derived = fmt::format("{}", most);
    if (p.dp > most || most == 0) {
      last_said({"workload.kind", "workload.dp", "workload.pp", "workload.rails", "workload.jobs",
                 "topology.hosts"})
          .fail(fmt::format("jobs is {}, pp {}, dp {} and rails {}, which takes {} hosts, one for "
                            "each GPU of a rail. there are {}: {} would work",
                            w.jobs, p.pp, p.dp, p.rails, each * std::max(1u, p.dp),
                            topology().hosts(),
                            most > 0 ? fmt::format("dp = {}", most)
                                     : fmt::format("hosts = {} or fewer stages", each)));
    }
  }

  void batch(workload::TrainingParams& p) {
    const std::uint64_t at_once = std::uint64_t{p.dp} * p.micro_batch;
    Setting& batch = set_["workload.batch"];
    if (!batch.given) {
      p.microbatches = 4 * p.pp;
      batch.derived = fmt::format("{}", p.batch());
      return;
    }
    const std::uint64_t all = set_.count("workload.batch");
    if (all % at_once != 0 || all == 0) {
      batch.fail_value(
          fmt::format("{} replicas take {} sequences each at a time: batch = {} would "
                      "work",
                      p.dp, p.micro_batch, (all / at_once + 1) * at_once));
    }
    p.microbatches = static_cast<std::uint32_t>(all / at_once);
  }
};

}  // namespace

const std::span<const Key> kTrainingKeys = kKeys;
void resolve_training(Resolution& resolution) { TrainingResolver(resolution).resolve(); }

}  // namespace strack::sim
