#include "sim/gpu/module.h"

#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "metrics/records.h"
#include "sim/cluster.h"
#include "sim/gpu/arena.h"
#include "sim/gpu/machine.h"
#include "sim/gpu/windows.h"
#include "sim/transport.h"

namespace strack::sim::gpu {
namespace {

std::map<std::string, MakeCluster>& transports() {
  static std::map<std::string, MakeCluster> all;
  return all;
}

/// With graphs of its own, where the machine reaches them; one for all jobs that share one.
workload::Workload copy_of(const workload::Workload& workload) {
  workload::Workload copy = workload;
  std::map<const workload::Graph*, std::shared_ptr<const workload::Graph>> graphs;
  for (workload::Job& job : copy.jobs) {
    auto& own = graphs[job.graph.get()];
    if (!own) own = std::make_shared<workload::Graph>(*job.graph);
    job.graph = own;
  }
  return copy;
}

/// Every message starts, arrives and is done; where none is recorded, computations with marks are done.
std::size_t moments_of(const SimConfig& config, const workload::Workload& workload) {
  std::size_t moments = 0;
  for (const workload::Job& job : workload.jobs) {
    if (config.record.messages) {
      moments += std::size_t{3} * job.graph->size();
    } else if (!job.graph->communications().empty()) {
      moments += job.graph->size();
    }
  }
  return moments;
}

/// A cluster with the machine it runs on.
class Housed final : public Cluster {
 public:
  Housed(std::unique_ptr<Machine> machine, const Order& order, MakeCluster make)
      : machine_(std::move(machine)), lost_(order.lost) {
    const SimConfig& config = *order.config;
    booking() = {
        machine_.get(),
        order.workload->flows.size(),
        moments_of(config, *order.workload),
        {.end = config.end, .interval = config.record.interval, .waits = config.record.inspect > 0},
        order.workload->has_priorities()};
    const workload::Workload workload = [&] {
      const Machine::Reach reach(*machine_);
      return copy_of(*order.workload);
    }();
    cluster_ = make(*order.config, workload, *machine_);
  }
  ~Housed() override {
    // What lies on a machine goes with it, all at once: to take it apart would mean to look at all of it.
    static_cast<void>(cluster_.release());
  }
  Ending run(Observer& observer, const std::atomic<bool>* stop) override {
    try {
      return cluster_->run(observer, stop);
    } catch (const MachineLost& lost) {
      const OutsideArena outside;
      lost_(lost.what());
    }
    return Ending::interrupted;  // it does not come to this
  }
  [[nodiscard]] metrics::Counters counters() const override { return cluster_->counters(); }
  [[nodiscard]] std::vector<metrics::LinkInfo> links() const override { return cluster_->links(); }
  [[nodiscard]] std::vector<metrics::ChannelInfo> channels() const override {
    return cluster_->channels();
  }
  [[nodiscard]] Instant now() const override { return cluster_->now(); }

 private:
  std::unique_ptr<Machine> machine_;
  std::unique_ptr<Cluster> cluster_;
  void (*lost_)(const char* why);
};

void make(const Order& order, Delivered& delivered) {
  const Transport& transport = *order.config->transport;
  const auto found = transports().find(typeid(transport).name());
  if (found == transports().end()) {
    delivered.problem = "the GPU engine was built without this transport";
    return;
  }
  auto machine = order.emulated ? open_emulation() : open_gpu(order.company);
  if (!machine) {
    delivered.problem = machine.error();
    return;
  }
  try {
    delivered.cluster = std::make_unique<Housed>(std::move(machine.value()), order, found->second);
  } catch (const MachineLost& lost) {
    delivered.problem = lost.what();
  } catch (const std::bad_alloc&) {
    delivered.problem = "there is not enough memory for this run beside a GPU";
  }
}

}  // namespace

bool enlist(const char* transport, MakeCluster make) {
  return transports().emplace(transport, make).second;
}

Booking& booking() {
  static thread_local Booking current;
  return current;
}

}  // namespace strack::sim::gpu

extern "C" [[gnu::visibility("default")]] const strack::sim::gpu::Module* strack_gpu_module() {
  static constexpr strack::sim::gpu::Module module{
      strack::sim::gpu::kModuleLayout, &strack::sim::gpu::make, &strack::sim::gpu::look_for_gpu};
  return &module;
}
