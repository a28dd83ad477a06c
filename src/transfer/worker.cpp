#include "transfer/worker.h"

#include <signal.h>
#include <sys/eventfd.h>

#include <cstdint>

#include "base/check.h"

namespace strack::transfer {

Worker::Worker() : wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  STRACK_CHECK(wake_.get() >= 0);
  // Signals are for the thread that polls: it is the one that has to wake up.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  thread_ = std::thread([this] { work(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Worker::run(std::function<void()> job, std::function<void()> then) {
  ++pending_;
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({std::move(job), std::move(then)});
  }
  changed_.notify_one();
}

bool Worker::deliver() {
  if (pending_ == 0) return false;
  std::deque<Task> due;
  {
    const std::lock_guard lock(mutex_);
    due.swap(finished_);
    if (!due.empty()) {
      // Emptied under the lock, or a wake-up for what finishes next could be swallowed.
      std::uint64_t count = 0;
      [[maybe_unused]] const auto read_bytes = ::read(wake_.get(), &count, sizeof count);
    }
  }
  pending_ -= due.size();
  for (const Task& task : due) task.then();
  return !due.empty();
}

void Worker::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Task task = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    task.job();
    task.job = nullptr;
    lock.lock();
    finished_.push_back(std::move(task));
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
  }
}

}  // namespace strack::transfer
