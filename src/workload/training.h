// One step of training a transformer, as a graph of messages and computations: what a model's shape and
// the way it is spread over GPUs ask of the network.
//
// A GPU is known by pipeline stage, replica and place in its tensor group. Tensor parallelism stays inside
// a server, and its time is added to the computation; every GPU of a tensor group has a NIC of its own, a
// rail, and all rails carry the same. So a rank is a GPU of those rails that are simulated, and ranks are
// numbered with the rail running fastest, then the replica, then the stage.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "workload/graph.h"

namespace strack::workload {

/// A decoder-only transformer. Norms and biases are left out: they are less than a thousandth.
struct ModelShape {
  std::uint32_t layers = 0;
  std::uint32_t hidden = 0;
  std::uint32_t ffn = 0;  ///< width of the feed-forward block, or of one expert
  std::uint32_t heads = 0;
  std::uint32_t kv_heads = 0;  ///< fewer than heads: grouped queries
  std::uint32_t vocab = 0;
  std::uint32_t sequence = 0;
  bool gated = true;          ///< three matrices in a feed-forward block (SwiGLU), not two
  std::uint32_t experts = 1;  ///< of every layer; 1: none
  std::uint32_t top_k = 1;    ///< experts that a token goes to

  /// Weights of one layer, those that are there once and those of all its experts; of the embedding, and as
  /// many again of the output.
  [[nodiscard]] std::int64_t attention_weights() const;
  [[nodiscard]] std::int64_t expert_weights() const;  ///< of one
  [[nodiscard]] std::int64_t router_weights() const;
  [[nodiscard]] std::int64_t vocab_weights() const;
  [[nodiscard]] std::int64_t weights() const;  ///< of all
};

/// A public model, by its name here.
struct Model {
  std::string_view name;
  ModelShape shape;
  std::string_view source;  ///< where its shape is published
};
[[nodiscard]] const std::vector<Model>& models();
[[nodiscard]] const Model* find_model(std::string_view name);

struct TrainingParams {
  ModelShape model;
  std::uint32_t tp = 1;              ///< GPUs that share every matrix
  std::uint32_t pp = 1;              ///< stages of the pipeline
  std::uint32_t dp = 1;              ///< replicas
  std::uint32_t ep = 1;              ///< replicas that share the experts; divides dp
  std::uint32_t zero = 0;            ///< stage of ZeRO: what replicas share, 0 nothing to 3 all
  std::uint32_t micro_batch = 1;     ///< sequences that go through the pipeline together
  std::uint32_t microbatches = 1;    ///< of each replica in one step
  std::uint32_t rails = 1;           ///< of tp, that are simulated
  Bytes bucket = mb(25);             ///< gradients that are reduced together
  Bytes chunk = bytes(131'072);      ///< largest message of a collective
  std::uint32_t weight_bytes = 2;    ///< of a weight and of an activation on the wire,
  std::uint32_t gradient_bytes = 2;  ///< of a gradient
  Ratio tflops{989, 1};              ///< of a GPU, 10^12 floating-point operations a second,
  Ratio efficiency{1, 2};            ///< of which so much is reached
  BitsPerSecond nvlink_rate = gbps(3'600);  ///< of a GPU to the others of its server, one way
  bool recompute = false;  ///< activations are computed again before a backward pass
  Ratio skew{1, 1};        ///< tokens of the busiest expert rank, in parts of the average

  [[nodiscard]] std::uint64_t gpus() const { return std::uint64_t{tp} * pp * dp; }
  [[nodiscard]] Rank ranks() const { return pp * dp * rails; }
  [[nodiscard]] Rank rank(std::uint32_t stage, std::uint32_t replica, std::uint32_t rail) const {
    return (stage * dp + replica) * rails + rail;
  }
  [[nodiscard]] std::uint64_t batch() const {
    return std::uint64_t{dp} * micro_batch * microbatches;
  }
};

/// What is not possible together, in a user's words; nothing where all is well.
[[nodiscard]] std::string wrong_with(const TrainingParams& params);

/// What one GPU of a stage does and sends. Times are those of one microbatch.
struct StageCost {
  std::uint32_t layers = 0;
  Picoseconds forward{0};  ///< tensor parallelism included, experts and their exchange not
  Picoseconds backward{0};
  Picoseconds tensor{0};           ///< of both: how much is tensor parallelism
  Picoseconds experts_forward{0};  ///< with no skew
  Picoseconds experts_backward{0};
  std::int64_t dense_weights = 0;   ///< of this GPU, there in every replica
  std::int64_t expert_weights = 0;  ///< of this GPU, there in every dp / ep
};
[[nodiscard]] StageCost stage_cost(const TrainingParams& params, std::uint32_t stage);

/// About how large the graph will be.
struct TrainingSize {
  std::uint64_t messages = 0;
  std::uint64_t computations =
      0;  ///< also those without length, that mark where collectives begin and end
  double bytes = 0;
};
[[nodiscard]] TrainingSize size_of(const TrainingParams& params);

/// The largest that is made: messages and computations.
inline constexpr std::uint64_t kMostTrainingNodes = 40'000'000;

/// The step: pipeline 1F1B, gradients in buckets while the last backward pass goes on, exchanges of
/// experts where they are needed. wrong_with() must have nothing to say.
[[nodiscard]] Graph make_training(const TrainingParams& params);

/// For people: the step in a few lines, and what is not simulated packet by packet.
[[nodiscard]] std::vector<std::string> notes_on(const TrainingParams& params);

}  // namespace strack::workload
