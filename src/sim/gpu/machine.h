// What runs the steps of a window: a GPU, or this processor in its place, one step after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sim/gpu/sheets.h"

namespace strack::sim::gpu {

/// What a run is about to need of its machine.
struct Layout {
  const char* transport = nullptr;  ///< the type's name, as the compiler has it
  bool trims = false;               ///< switches do
  bool pauses = false;              ///< likewise
  std::uint32_t seats = 0;
  std::uint32_t switches = 0;       ///< that may have to run as a whole
  std::uint32_t turn_switches = 0;  ///< whose packets take turns
  std::uint32_t hosts = 0;
  /// Bytes of a host's place near its thread (nearby.h); 0: it stays at home.
  std::size_t nearby = 0;
  bool apart = false;  ///< receiving ends work ahead of their hosts, near their threads
  std::size_t nearby_receiver = 0;
  bool ahead = false;     ///< and do so for the next window while this one's hosts send
  void* field = nullptr;  ///< gpu::Field of that transport
};

/// It is gone, or its memory is full.
class MachineLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Machine {
 public:
  virtual ~Machine() = default;
  /// Whether the caller takes the steps itself.
  [[nodiscard]] virtual bool emulated() const = 0;
  /// Memory for sheets, all zero, until the machine goes.
  [[nodiscard]] virtual void* make_sheet(std::size_t bytes) = 0;
  /// From a sheet, and into one.
  virtual void fetch(void* to, const void* from, std::size_t bytes) = 0;
  virtual void store(void* to, const void* from, std::size_t bytes) = 0;

  /// While one of these is there, what the thread allocates lies where the machine reaches it.
  class Reach {
   public:
    explicit Reach(Machine& machine) : machine_(machine) { machine_.enter(); }
    ~Reach() { machine_.leave(); }
    Reach(const Reach&) = delete;
    Reach& operator=(const Reach&) = delete;

   private:
    Machine& machine_;
  };

  /// While one of these is there, this processor is the machine: memory is the machine's.
  class Turn {
   public:
    explicit Turn(Machine& machine) : machine_(machine) { machine_.begin_turn(); }
    ~Turn() { machine_.end_turn(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Machine& machine_;
  };

  /// Everything is built: what follows are windows.
  virtual void start(const Layout& layout) = 0;
  /// It may go on by itself as far as course_after() goes, and then has the next windows when they are asked for.
  virtual Tally run_window(std::uint64_t window, std::int64_t end) = 0;
  /// Goes no further by itself; whether it stands where it was asked to.
  [[nodiscard]] virtual bool halt() { return true; }
  /// What lies in reach is about to be read here, and perhaps written; then it goes back.
  virtual void pull() = 0;
  virtual void push() = 0;

 private:
  virtual void enter() = 0;
  virtual void leave() = 0;
  virtual void begin_turn() {}
  virtual void end_turn() {}
};

/// Said where there are as many as there can be.
inline constexpr std::string_view kTooMany = "too many runs of one program at a time";

/// This processor, or why it cannot be one.
[[nodiscard]] Result<std::unique_ptr<Machine>, std::string> open_emulation();
/// The first GPU of this computer, or why there is none to use; `company` runs share it, this one included.
[[nodiscard]] Result<std::unique_ptr<Machine>, std::string> open_gpu(unsigned company);
/// Why there is none, or nothing.
[[nodiscard]] std::string look_for_gpu();

}  // namespace strack::sim::gpu
