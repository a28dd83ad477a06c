// PathSelector against Algorithm 2 written down bit by bit, as printed, with D1, D2, D24 and D30:
// any sequence of ACKs, packets, resets and window changes, under each policy.
#include "transports/strack/path_selector.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/fuzz_input.h"
#include "base/units.h"
#include "core/events.h"
#include "transports/strack/params.h"

namespace strack::core {
namespace {

/// The paper's Algorithm 2, in its own words and order.
class Algorithm2 {
 public:
  explicit Algorithm2(const StrackParams& params) : params_(params), bitmap_(params.max_paths, 0) {}

  // [A2.L2-8] [D1] [D2]
  void update_ecn_bitmap(bool ecn, int path_id) {
    if (ecn) {
      next_path_id_ = -1;
      if (keeps_marks()) bit(path_id) = 1;
    } else {
      if (recycles()) next_path_id_ = path_id;
      bit(path_id) = 0;
    }
  }

  // [A2.L11-29] [D2] [D4] [D24] [D30]
  int choose_path(int cwnd) {
    recycled_ = next_path_id_ >= 0;
    came_round_ = false;
    if (next_path_id_ >= 0) {
      const int path_id = next_path_id_;
      next_path_id_ = -1;
      if (!params_.recycle_moves_rotation) return path_id;  // [D30]
      rr_ = path_id;
    } else {
      const int max_paths = static_cast<int>(params_.max_paths);
      bool flag = false;
      int paths = std::min(max_paths, 2 * cwnd);
      paths = std::max(static_cast<int>(params_.min_paths), paths);
      paths = std::min(max_paths, paths);
      if (params_.path_policy == PathPolicy::oblivious) paths = max_paths;  // [D60]
      rr_ = (rr_ + 1) % paths;
      const int first = rr_;
      int looked_at = 1;
      while (bit(rr_) != 0) {
        if (!flag) {
          bit(rr_) = 0;
          flag = true;
        }
        rr_ = (rr_ + 1) % paths;
        ++looked_at;
      }
      STRACK_CHECK_OP(looked_at, <=, paths + 1);  // [D4] the bound, of the printed loop itself
      came_round_ = flag && rr_ == first;
    }
    return rr_;
  }

  // [D9]
  void reset_ecn_bitmap() { std::fill(bitmap_.begin(), bitmap_.end(), 0); }

  bool is_marked(std::uint32_t path_id) const { return bitmap_[path_id] != 0; }
  std::uint32_t marked_paths() const {
    return static_cast<std::uint32_t>(std::count(bitmap_.begin(), bitmap_.end(), 1));
  }
  bool recycled() const { return recycled_; }
  bool came_round() const { return came_round_; }

 private:
  int& bit(int path_id) { return bitmap_[static_cast<std::size_t>(path_id)]; }
  // [P.oblivious] The two halves, one by one.
  bool keeps_marks() const {
    return params_.path_policy == PathPolicy::adaptive ||
           params_.path_policy == PathPolicy::bitmap_only;
  }
  bool recycles() const {
    return params_.path_policy == PathPolicy::adaptive ||
           params_.path_policy == PathPolicy::recycle_only;
  }

  const StrackParams& params_;
  std::vector<int> bitmap_;
  int rr_ = 0;
  int next_path_id_ = -1;
  bool recycled_ = false;
  bool came_round_ = false;
};

/// The newest of what the selector tells.
struct LastEvents {
  PathChosen chosen{};
  bool all_paths_marked = false;

  void on(const PathChosen& event) { chosen = event; }
  void on(const Reached& event) { all_paths_marked = event.branch == Rare::all_paths_marked; }
};

void run(FuzzInput& input) {
  StrackParams params = StrackParams::for_link(gbps(400), us(8), bytes(4'096)).value();
  params.path_policy = input.one_of(PathPolicy::adaptive, PathPolicy::oblivious,
                                    PathPolicy::bitmap_only, PathPolicy::recycle_only);
  params.recycle_moves_rotation = !input.flag();
  params.max_paths = input.one_of<std::uint32_t>(256, 255, 64, 65, 16, 9, 8, 7, 2, 1);
  params.min_paths = input.one_of<std::uint32_t>(8, 1, 3, 256);
  STRACK_CHECK(params.validated().ok());

  PathSelector selector;
  Algorithm2 model(params);
  std::uint32_t cwnd_packets = 97;
  // [A2.L1]
  STRACK_CHECK_OP(selector.marked_paths(), ==, 0U);

  const auto ack = [&](bool ecn, std::uint32_t path_id) {
    selector.update_ecn_bitmap(params, ecn, static_cast<PathId>(path_id));
    model.update_ecn_bitmap(ecn, static_cast<int>(path_id));
  };
  const auto send = [&] {
    LastEvents events;
    const PathId path_id = selector.choose_path(params, cwnd_packets, events);
    STRACK_CHECK_OP(path_id, ==, model.choose_path(static_cast<int>(cwnd_packets)));
    STRACK_CHECK_OP(path_id, <, params.max_paths);
    STRACK_CHECK_OP(events.chosen.path_id, ==, path_id);
    STRACK_CHECK_OP(events.chosen.recycled, ==, model.recycled());
    STRACK_CHECK_OP(events.all_paths_marked, ==, model.came_round());
  };

  while (!input.empty()) {
    const std::uint8_t operation = input.byte();
    switch (operation % 8) {
      case 0:
      case 1:
        ack(true, input.in_range<std::uint32_t>(0, params.max_paths - 1));
        break;
      case 2:
        ack(false, input.in_range<std::uint32_t>(0, params.max_paths - 1));
        break;
      case 3:
      case 4:
        for (int packets = operation / 16; packets >= 0; --packets) send();
        break;
      case 5:
        cwnd_packets = input.one_of<std::uint32_t>(1, 2, 3, 4, 5, 7, 32, 97, 127, 128, 129, 1'024);
        break;
      case 6: {
        // A congested network: a run of marks, up to all of them.
        const std::uint32_t from = input.in_range<std::uint32_t>(0, params.max_paths - 1);
        const std::uint32_t count = input.in_range<std::uint32_t>(0, params.max_paths);
        for (std::uint32_t i = 0; i < count; ++i) ack(true, (from + i) % params.max_paths);
        break;
      }
      default:
        if (operation == 0xff) {
          selector.reset_ecn_bitmap();
          model.reset_ecn_bitmap();
        } else {
          send();
        }
        break;
    }
    STRACK_CHECK_OP(selector.marked_paths(), ==, model.marked_paths());
  }
  for (std::uint32_t path_id = 0; path_id < params.max_paths; ++path_id) {
    STRACK_CHECK_OP(selector.is_marked(static_cast<PathId>(path_id)), ==, model.is_marked(path_id));
  }
}

}  // namespace
}  // namespace strack::core

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  strack::FuzzInput input(data, size);
  strack::core::run(input);
  return 0;
}
