#include "run/checkpoint.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/prng.h"
#include "run/build_info.h"
#include "sim/gpu/engine.h"

namespace strack::run {
namespace fs = std::filesystem;
namespace {

constexpr std::array<char, 8> kMagic{'S', 'T', 'R', 'K', 'C', 'K', 'P', '1'};

/// Of bytes in whatever pieces they come.
class Checksum {
 public:
  void add(std::span<const std::byte> bytes) {
    for (const std::byte b : bytes) {
      word_ |= std::uint64_t{std::to_integer<std::uint8_t>(b)} << (8 * (size_++ % 8));
      if (size_ % 8 == 0) mix();
    }
  }
  [[nodiscard]] std::uint64_t value() const { return mix64(sum_ ^ mix64(word_ ^ size_)); }

 private:
  void mix() {
    sum_ = (sum_ ^ word_) * 0x9e3779b97f4a7c15;
    sum_ ^= sum_ >> 29;
    word_ = 0;
  }
  std::uint64_t sum_ = 0xcbf29ce484222325;
  std::uint64_t word_ = 0;
  std::uint64_t size_ = 0;
};

/// A digest of values.
class Digest {
 public:
  template <class... T>
  void add(const T&... values) {
    (sum_.add(std::as_bytes(std::span(&values, 1))), ...);
  }
  template <class T>
  void add_all(std::span<const T> values) {
    add(values.size());
    sum_.add(std::as_bytes(values));
  }
  void add_text(const std::string& text) { add_all(std::span<const char>(text)); }
  [[nodiscard]] std::uint64_t value() const { return sum_.value(); }

 private:
  Checksum sum_;
};

std::uint64_t digest_of(const workload::Graph& graph) {
  Digest digest;
  digest.add(graph.ranks(), graph.size());
  for (workload::NodeId id = 0; id < graph.size(); ++id) {
    const workload::Graph::Node& node = graph.node(id);
    digest.add(node.rank, node.channel, node.amount, node.computes, node.mark, graph.waits()[id]);
    for (const auto moment :
         {workload::Moment::started, workload::Moment::sent, workload::Moment::received})
      digest.add_all(graph.after(moment, id));
  }
  for (const workload::Channel& channel : graph.channels()) digest.add(channel.from, channel.to);
  for (const workload::Graph::Timed& timed : graph.timed()) digest.add(timed.node, timed.time);
  for (const workload::Communication& one : graph.communications()) {
    digest.add_text(one.name);
    digest.add(one.ranks, one.bytes);
  }
  return digest.value();
}

/// What a scenario names and does not hold: traces and networks may be other ones now.
std::uint64_t digest_of(const Plan& plan) {
  Digest digest;
  for (const workload::Flow& flow : plan.work.flows)
    digest.add(flow.src, flow.dst, flow.size, flow.start);
  std::map<const workload::Graph*, std::uint64_t> graphs;
  for (const workload::Job& job : plan.work.jobs) {
    const auto [known, fresh] = graphs.try_emplace(job.graph.get(), 0);
    if (fresh) known->second = digest_of(*job.graph);
    digest.add(known->second);
    digest.add_text(job.name);
    digest.add_all(std::span<const workload::HostId>(job.hosts));
    digest.add_all(std::span<const Instant>(job.starts));
  }
  return digest.value();
}

/// Whoever goes on may have others.
std::string without_threads(std::string scenario) {
  const std::size_t from = scenario.find("\nthreads = ");
  if (from != std::string::npos) scenario.erase(from, scenario.find('\n', from + 1) - from);
  return scenario;
}

std::string program_text() {
  return fmt::format("{} {} ({})", kBuildInfo.version, kBuildInfo.source, __VERSION__);
}

/// A file that is gone unless it gets its name.
class NewFile {
 public:
  explicit NewFile(fs::path path)
      : path_(std::move(path)),
        fd_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (fd_ < 0) error_ = errno;
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    if (fd_ < 0) return;
    close(fd_);
    unlink(path_.c_str());
  }

  void write(std::span<const std::byte> bytes) {
    while (error_ == 0 && !bytes.empty()) {
      const ssize_t wrote = ::write(fd_, bytes.data(), bytes.size());
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) {
        error_ = wrote < 0 ? errno : ENOSPC;
      } else {
        bytes = bytes.subspan(static_cast<std::size_t>(wrote));
      }
    }
  }
  /// Whole on the disk, it takes that name. What went wrong, if so.
  [[nodiscard]] std::optional<std::string> become(const fs::path& name) {
    if (error_ == 0 && fsync(fd_) != 0) error_ = errno;
    if (error_ == 0 && rename(path_.c_str(), name.c_str()) != 0) error_ = errno;
    if (error_ != 0) return std::string(std::strerror(error_));
    close(std::exchange(fd_, -1));
    return std::nullopt;
  }

 private:
  fs::path path_;
  int fd_;
  int error_ = 0;
};

NotResumed unreadable(int reason) {
  return {std::string("cannot be read: ") + std::strerror(reason), true};
}

/// Remembers which jobs were done.
struct JobsTold final : sim::Observer {
  std::vector<metrics::JobRecord> jobs;
  void on_job(const metrics::JobRecord& job) override { jobs.push_back(job); }
};

}  // namespace

fs::path checkpoint_path(const fs::path& result) { return result.string() + ".checkpoint"; }

bool is_foreign(const fs::path& checkpoint) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(checkpoint, ignored))) return false;
  std::array<char, kMagic.size()> found{};
  std::ifstream(checkpoint, std::ios::binary).read(found.data(), found.size());
  return !std::equal(found.begin(), found.end() - 1, kMagic.begin());  // the last is the version
}

CheckpointHead head_of(const Plan& plan) {
  CheckpointHead head;
  head.program = program_text();
  head.scenario = fmt::format("{}\nseed {}", without_threads(plan.info.scenario), plan.info.seed);
  head.inputs = digest_of(plan);
  return head;
}

bool is_of_the_same_run(const metrics::RunInfo& a, const metrics::RunInfo& b) {
  return a.seed == b.seed && without_threads(a.scenario) == without_threads(b.scenario);
}

std::uint64_t digest_of_links(const sim::Cluster& cluster) {
  Digest digest;
  for (const metrics::LinkInfo& link : cluster.links()) {
    digest.add_text(link.from);
    digest.add_text(link.to);
    digest.add(link.rate, link.latency, link.down);
  }
  return digest.value();
}

std::optional<std::string> write_checkpoint(const fs::path& path,
                                            const std::function<void(sim::Saver&)>& save) {
  NewFile file(path.string() + ".new");
  Checksum sum;
  {
    sim::Saver saver([&](std::span<const std::byte> bytes) {
      sum.add(bytes);
      file.write(bytes);
    });
    saver.raw(kMagic.data(), kMagic.size());
    save(saver);
    if (saver.bad()) return std::string("a pointer has moved, which is a mistake of strack's");
  }
  const std::uint64_t value = sum.value();
  file.write(std::as_bytes(std::span(&value, 1)));
  return file.become(path);
}

Result<std::unique_ptr<CheckpointFile>, NotResumed> CheckpointFile::open(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return unreadable(errno);
  struct stat facts {};
  const bool known = fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode);
  const auto size = static_cast<std::size_t>(known ? facts.st_size : 0);
  std::uint64_t sum = 0;
  if (size < kMagic.size() + sizeof sum) {
    close(fd);
    return NotResumed{"is damaged"};
  }
  void* mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  const int reason = errno;
  close(fd);
  if (mapped == MAP_FAILED) return unreadable(reason);
  const std::span<const std::byte> all(static_cast<const std::byte*>(mapped), size);
  const auto body = all.first(size - sizeof sum).subspan(kMagic.size());
  std::unique_ptr<CheckpointFile> file(new CheckpointFile(mapped, size, body));
  if (std::memcmp(all.data(), kMagic.data(), kMagic.size()) != 0)
    return NotResumed{"is not a checkpoint of this version of strack"};
  std::memcpy(&sum, all.last(sizeof sum).data(), sizeof sum);
  Checksum found;
  found.add(all.first(size - sizeof sum));
  if (found.value() != sum) return NotResumed{"is damaged"};
  return file;
}

CheckpointFile::~CheckpointFile() { munmap(mapped_, size_); }

Result<Resumed, NotResumed> resume(const Plan& plan) {
  auto file = CheckpointFile::open(checkpoint_path(plan.out));
  if (!file) return file.error();
  sim::Loader loader(file.value()->body());
  Resumed resumed{{}, Communications(plan.work.jobs), nullptr, {}};
  const CheckpointHead own = head_of(plan);
  loader(resumed.head);
  if (loader.bad()) return NotResumed{"is damaged"};
  if (resumed.head.program != own.program) {
    return NotResumed{fmt::format("is of another build of strack ({}; this is {})",
                                  resumed.head.program, own.program)};
  }
  if (resumed.head.scenario != own.scenario)
    return NotResumed{"is of another scenario, or of other settings or another seed"};
  if (resumed.head.inputs != own.inputs)
    return NotResumed{"is of another workload: files that the scenario names have changed"};
  std::uint64_t links = 0;
  loader(resumed.communications, links);
  auto cluster = sim::make_cluster(sim::Engine::cpu, plan.config, plan.work);
  if (!cluster) return NotResumed{cluster.error(), true};  // and no new one either
  resumed.cluster = std::move(cluster.value());
  if (links != digest_of_links(*resumed.cluster))
    return NotResumed{"is of another network: the file that the scenario names has changed"};
  JobsTold told;
  if (!resumed.cluster->resume(loader, told))
    return NotResumed{"does not fit this run, which is a mistake of strack's"};
  resumed.jobs = std::move(told.jobs);
  if (const auto why = metrics::rewind(plan.out, resumed.head.mark))
    return NotResumed{why->message, why->passing};
  return resumed;
}

CheckpointKeeper::CheckpointKeeper(const Plan& plan, CheckpointHead head,
                                   const metrics::ResultMark& mark, metrics::ResultWriter& writer,
                                   Communications& communications,
                                   std::function<double()> cpu_seconds)
    : params_(plan.request.checkpoint),
      path_(checkpoint_path(plan.out)),
      before_(std::move(head)),
      mark_(mark),
      writer_(writer),
      communications_(communications),
      cpu_seconds_(std::move(cpu_seconds)) {}

bool CheckpointKeeper::watch(sim::Cluster& cluster) {
  links_ = digest_of_links(cluster);
  return cluster.keep_by(*this);
}

double CheckpointKeeper::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
}

bool CheckpointKeeper::due() {
  return params_.every_seconds > 0 && seconds() - last_ >= params_.every_seconds;
}

void CheckpointKeeper::keep(const std::function<void(sim::Saver&)>& save,
                            const sim::Progress& progress, bool stopped) {
  last_ = seconds();
  if (params_.every_seconds <= 0) return;
  // The rows that it counts on are in the result file first. Where that is not whole, the checkpoint before is still good.
  writer_.commit(progress.now);
  if (writer_.error()) return;
  CheckpointHead head = before_;
  head.wall_seconds += seconds();
  head.cpu_seconds += cpu_seconds_();
  if (stopped && head.wall_seconds < params_.least_seconds) return;
  head.now = progress.now;
  head.share = progress.bytes == 0 ? 0
                                   : static_cast<double>(progress.bytes_acked) /
                                         static_cast<double>(progress.bytes);
  head.mark = mark_;
  head.mark.now = progress.now;
  const auto problem = write_checkpoint(path_, [&](sim::Saver& a) {
    a(head, communications_, links_);
    save(a);
  });
  problem_ = problem.value_or("");
  if (!problem) newest_ = std::move(head);
}

}  // namespace strack::run
