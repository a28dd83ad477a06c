// What graphs of messages ask of one host: the ranks seated here, and what each of their nodes still
// waits for. Whatever a node waits for happens at its own host, so hosts ask nobody.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/prng.h"
#include "base/units.h"
#include "sim/net/wire.h"
#include "workload/driver.h"
#include "workload/graph.h"

namespace strack::sim {

/// A job while it runs. What a node waits for is counted down by the host of its rank alone.
struct JobRun {
  const workload::Graph* graph = nullptr;
  std::vector<std::uint32_t> waits;      ///< by node: events still to come
  std::vector<std::uint32_t> src_slots;  ///< by channel: its connection at the sending host
  std::uint32_t first_flow = 0;          ///< the number of its channel 0, among all connections
  bool recorded = false;                 ///< each moment of its messages is reported
  workload::Driver* driver = nullptr;    ///< decides, where there is no graph but for its channels
};

/// Something that happened to a message of a job, or the end of a computation with a mark, for its record.
struct MessageMoment {
  std::uint32_t job = 0;
  workload::NodeId node = 0;
  workload::Moment moment = workload::Moment::started;
  Instant time{};
};

/// What happened to a job, as one thread's hosts saw it.
struct JobTally {
  std::uint64_t done = 0;
  std::uint64_t begun = 0;  ///< of driven jobs, whose nodes nobody knows before
  Instant first =
      Instant::never();  ///< the first message was posted, or the first computation begun
  Instant last{};        ///< the last node was done

  void add(const JobTally& part) {
    done += part.done;
    begun += part.begun;
    first = std::min(first, part.first);
    last = std::max(last, part.last);
  }
};

/// Something of a job that is to happen at a host, of itself, at a time.
struct JobDue {
  enum class Kind : std::uint8_t {
    rank_begins,    ///< then its nodes that wait for nothing start
    time_has_come,  ///< a node does not start before
    computed,
    sent_inside,      ///< a message to another host of the server is there: here at its sender,
    received_inside,  ///< and at its receiver
  };
  Instant time;
  Kind kind;
  std::uint32_t job;
  std::uint32_t what;      ///< the rank, or the node
  std::uint32_t rank = 0;  ///< who computes, in a driven job
};

class GraphRunner {
 public:
  /// What the runner needs to know, and whom it tells: a report as hosts have it (sim/host/report.h).
  template <class Report>
  struct Jobs {
    /// Only on processors: what drives a job is not on a GPU.
    static constexpr bool kDrives = requires { requires Report::kDrives; };
    std::span<JobRun> runs;
    Report* report;

    [[nodiscard]] JobRun& run(std::uint32_t job) const { return runs[job]; }
    /// Of a message.
    [[nodiscard]] static std::uint32_t bytes_of(const JobRun& job, std::uint32_t channel,
                                                workload::NodeId node) {
      if constexpr (kDrives) {
        if (job.driver != nullptr) [[unlikely]]
          return job.driver->bytes_of(channel, node);
      }
      return static_cast<std::uint32_t>(job.graph->node(node).amount);
    }
  };

  void add(const JobDue& due) { add(due, order_++); }
  /// What has come from another host of the server: at one instant after what is this host's own, and in an
  /// order that does not ask in which window it came.
  void add_received(Instant time, std::uint32_t job, workload::NodeId node) {
    add({time, JobDue::Kind::received_inside, job, node},
        std::uint64_t{1} << 63 | std::uint64_t{job} << 32 | node);
  }
  /// [D117] Orders of drivers are no part of it: what drives a job is another program's.
  template <class Archive>
  void state(Archive& a) {
    a(ready_, due_, order_);
    static_assert(sizeof(GraphRunner) == 80, "list what is new");
  }
  [[nodiscard]] Instant next_due() const {
    return due_.empty() ? Instant::never() : due_.front().time;
  }

  /// Something happened to a node: whoever waited for that waits for one thing less.
  template <class Jobs>
  void tell(workload::Moment moment, std::uint32_t job, workload::NodeId node, const Jobs& jobs) {
    JobRun& run = jobs.run(job);
    for (const workload::NodeId next : run.graph->after(moment, node)) {
      if (--run.waits[next] == 0) ready_.push_back({job, next});
    }
  }

  /// Has a job's driver, if it has one, say what comes next. False: its graph does.
  template <class Jobs>
  bool ask(std::uint32_t job, const workload::DriverEvent& event, const Jobs& jobs) {
    if constexpr (Jobs::kDrives) {
      workload::Driver* driver = jobs.run(job).driver;
      if (driver == nullptr) [[likely]]
        return false;
      std::size_t first = orders_.size();
      driver->on_event(event, orders_);
      for (; first < orders_.size(); ++first) orders_[first].job = job;
      return true;
    }
    return false;
  }

  /// A message of this connection is sent, or received: whoever decides what comes next hears of it.
  template <class Flow, class Jobs>
  void tell_of_message(workload::Moment moment, const Flow& flow, workload::NodeId id, Instant now,
                       const Jobs& jobs) {
    const What what = moment == workload::Moment::sent ? What::sent : What::received;
    if (!ask(flow.job, {what, 0, flow.flow, id, now}, jobs)) tell(moment, flow.job, id, jobs);
  }

  /// Starts all that waits for nothing any more, and what that sets free in turn: by a list, since a
  /// chain of nodes can be as long as the graph. send(job, node, channel) posts a message.
  template <class Jobs, class Send>
  void start_ready(Instant now, const Jobs& jobs, Send&& send) {
    for (std::size_t i = 0; i < ready_.size(); ++i) {
      const Ready ready = ready_[i];
      const workload::Graph::Node& what = jobs.run(ready.job).graph->node(ready.node);
      jobs.report->on_job_started(ready.job, now);
      if (what.computes) {
        add({now + ps(what.amount), JobDue::Kind::computed, ready.job, ready.node});
      } else {
        send(ready.job, ready.node, what.channel);
      }
      tell(workload::Moment::started, ready.job, ready.node, jobs);
    }
    ready_.clear();
    if constexpr (Jobs::kDrives) {
      for (const workload::DriverOrder& order : orders_) {
        jobs.report->on_job_started(order.job, now);
        if (order.computes) {
          add({now + order.time, JobDue::Kind::computed, order.job, order.id, order.rank});
        } else {
          send(order.job, order.id, order.channel);
        }
      }
      orders_.clear();
    }
  }

  /// Does what is due by now.
  template <class Jobs, class Send>
  void work_off(Instant now, const Jobs& jobs, Fingerprint& fingerprint, Send&& send) {
    while (next_due() <= now) {
      std::pop_heap(due_.begin(), due_.end(), std::greater<>{});
      const JobDue due = due_.back();
      due_.pop_back();
      JobRun& run = jobs.run(due.job);
      switch (due.kind) {
        case JobDue::Kind::rank_begins:
          if (ask(due.job, {What::begins, due.what, 0, 0, now}, jobs)) {
            // That counts as something done, so that a rank without anything to do is done too.
            jobs.report->on_job_started(due.job, now);
            jobs.report->on_job_done(due.job, now);
            break;
          }
          for (const workload::NodeId node : run.graph->roots(due.what))
            ready_.push_back({due.job, node});
          break;
        case JobDue::Kind::time_has_come:
          if (--run.waits[due.what] == 0) ready_.push_back({due.job, due.what});
          break;
        case JobDue::Kind::computed:
          fingerprint.add(mix64(due.job) ^ due.what, now);
          if (!ask(due.job, {What::computed, due.rank, 0, due.what, now}, jobs)) {
            tell(workload::Moment::sent, due.job, due.what, jobs);
            if (run.graph->node(due.what).mark != 0)
              jobs.report->on_moment({due.job, due.what, workload::Moment::sent, now});
          }
          jobs.report->on_job_done(due.job, now);
          break;
        case JobDue::Kind::sent_inside:
          tell_inside(workload::Moment::sent, due, now, jobs);
          jobs.report->on_acked(static_cast<std::uint64_t>(run.graph->node(due.what).amount));
          jobs.report->on_job_done(due.job, now);
          break;
        case JobDue::Kind::received_inside:
          fingerprint.add(mix64(due.job) ^ due.what, now);
          tell_inside(workload::Moment::received, due, now, jobs);
          break;
      }
      start_ready(now, jobs, send);
    }
  }

 private:
  using What = workload::DriverEvent::What;
  void add(const JobDue& due, std::uint64_t order) {
    due_.push_back({due, order});
    std::push_heap(due_.begin(), due_.end(), std::greater<>{});
  }
  template <class Jobs>
  void tell_inside(workload::Moment moment, const JobDue& due, Instant now, const Jobs& jobs) {
    if (jobs.run(due.job).recorded) jobs.report->on_moment({due.job, due.what, moment, now});
    tell(moment, due.job, due.what, jobs);
  }

  struct Due : JobDue {
    std::uint64_t order;

    friend bool operator>(const Due& a, const Due& b) {
      return a.time != b.time ? a.time > b.time : a.order > b.order;
    }
  };
  struct Ready {
    std::uint32_t job;
    workload::NodeId node;
  };

  std::vector<Ready> ready_;                   ///< nodes that wait for nothing any more
  std::vector<Due> due_;                       ///< a heap, the earliest first
  std::vector<workload::DriverOrder> orders_;  ///< of drivers, to be carried out
  std::uint64_t order_ = 0;
};

}  // namespace strack::sim
