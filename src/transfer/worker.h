// One thread for what may take long: disks and checksums. The thread that polls an endpoint must not
// wait for them, or its peers would think that it has died.
//
// Jobs run one after another in the order of `run`; what is to happen afterwards runs in the same order on
// the thread that calls `deliver`. So only a job's own data is ever used by both.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "transfer/file_handle.h"

namespace strack::transfer {

class Worker {
 public:
  Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  /// Waits for all jobs; what was to happen after them no longer does.
  ~Worker();

  void run(std::function<void()> job, std::function<void()> then);
  /// Runs what is due on this thread; returns whether there was anything.
  bool deliver();
  /// Readable when there is something to deliver.
  [[nodiscard]] int wake_fd() const { return wake_.get(); }
  /// Jobs that have not been delivered.
  [[nodiscard]] std::size_t pending() const { return pending_; }

 private:
  struct Task {
    std::function<void()> job;
    std::function<void()> then;
  };
  void work();

  FileHandle wake_;
  std::size_t pending_ = 0;  ///< of the delivering thread
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> waiting_;
  std::deque<Task> finished_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace strack::transfer
