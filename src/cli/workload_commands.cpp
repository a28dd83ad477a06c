// The words of `strack workload make`.
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/workload.h"
#include "workload/training.h"

namespace strack::cli {
namespace {

struct Word {
  const char* option;
  const char* key;
  const char* help;
};
constexpr Word kWords[] = {
    {"--layers", "layers", "of the model"},
    {"--hidden", "hidden", "width of the model"},
    {"--ffn", "ffn", "width of the feed-forward block, or of an expert"},
    {"--heads", "heads", "of attention"},
    {"--kv-heads", "kv_heads", "heads of keys and values"},
    {"--vocab", "vocab", "words of the embedding"},
    {"--sequence", "sequence", "tokens of a sequence"},
    {"--experts", "experts", "of every layer"},
    {"--top-k", "top_k", "experts that a token goes to"},
    {"--tp", "tp", "GPUs of a server that share every matrix; 8"},
    {"--pp", "pp", "stages of the pipeline; 1"},
    {"--dp", "dp", "replicas; 1"},
    {"--ep", "ep", "replicas that share the experts; 1"},
    {"--zero", "zero", "what replicas share: 0 nothing, 1 optimiser, 2 gradients, 3 weights"},
    {"--batch", "batch", "sequences of a step"},
    {"--micro-batch", "micro_batch", "sequences that go through the pipeline together; 1"},
    {"--bucket", "bucket", "gradients of one collective; 25MB"},
    {"--chunk", "chunk", "largest message of a collective; 128KiB"},
    {"--gpu-tflops", "gpu_tflops", "10^12 operations a second of a GPU; 989"},
    {"--efficiency", "efficiency", "the part of that which is reached; 0.5"},
    {"--nvlink-gbps", "nvlink_gbps", "of a GPU inside its server, one way; 3600"},
    {"--expert-skew", "expert_skew", "tokens of the busiest expert rank over the average; 1"},
    {"--rails", "rails", "GPUs of each server that are simulated; 1"},
};

}  // namespace

Command add_make(CLI::App& workload) {
  auto make = std::make_shared<WorkloadMakeOptions>();
  std::string names;
  for (const workload::Model& model : workload::models())
    names += (names.empty() ? "" : ", ") + std::string(model.name);
  CLI::App* command = workload.add_subcommand(
      "make",
      "Writes the scenario of a training step: a model's shape and how it is spread over GPUs. "
      "`sim\n"
      "run` runs it, `workload info` and `convert` take it too. What each key means:\n"
      "`strack help scenario workload`.");
  const auto add = [&](const std::string& option, const std::string& key, const std::string& help) {
    command
        ->add_option_function<std::string>(
            option, [make, key](const std::string& value) { make->keys.emplace_back(key, value); },
            help)
        ->type_name("VALUE");
  };
  add("--model", "model", "the shape of a public model: " + names);
  for (const Word& word : kWords) add(word.option, word.key, word.help);
  command->add_option("--out", make->out, "the file to write; standard output")->type_name("FILE");
  command->add_flag("--force", make->force, "replace an existing file");
  return {command, [make] { return workload_make(*make); }};
}

}  // namespace strack::cli
