// Bitmap against a std::set of the positions that are set: any sequence of operations, three sizes.
#include "base/bitmap.h"

#include <cstddef>
#include <cstdint>
#include <set>

#include "base/check.h"
#include "base/fuzz_input.h"

namespace strack {
namespace {

template <std::uint32_t N>
class Model {
 public:
  bool test(std::uint32_t pos) const { return bits_.contains(pos % N); }
  void set(std::uint32_t pos) { bits_.insert(pos % N); }
  void clear(std::uint32_t pos) { bits_.erase(pos % N); }
  void clear_all() { bits_.clear(); }
  std::uint32_t count() const { return static_cast<std::uint32_t>(bits_.size()); }

  std::uint64_t extract64(std::uint32_t pos) const {
    std::uint64_t bits = 0;
    for (std::uint32_t i = 0; i < 64; ++i) bits |= std::uint64_t{test(pos + i)} << i;
    return bits;
  }
  std::uint32_t distance(std::uint32_t pos, std::uint32_t limit, bool wanted) const {
    std::uint32_t i = 0;
    while (i < limit && test(pos + i) != wanted) ++i;
    return i;
  }

 private:
  std::set<std::uint32_t> bits_;
};

template <std::uint32_t N>
void run(FuzzInput& input) {
  Bitmap<N> bitmap;
  Model<N> model;
  while (!input.empty()) {
    const std::uint8_t operation = input.byte();
    // Mostly positions within two circles; some near the top, where they wrap at 2^32.
    const std::uint32_t pos =
        input.in_range<std::uint32_t>(0, 2 * N - 1) - (operation & 0x80 ? N : 0);
    switch (operation % 8) {
      case 0:
        bitmap.set(pos);
        model.set(pos);
        break;
      case 1:
        bitmap.clear(pos);
        model.clear(pos);
        break;
      case 2: {
        const std::uint32_t count = input.in_range<std::uint32_t>(0, N);
        bitmap.clear_range(pos, count);
        for (std::uint32_t i = 0; i < count; ++i) model.clear(pos + i);
        break;
      }
      case 3: {
        const std::uint64_t bits = input.in_range<std::uint64_t>(0, ~std::uint64_t{0});
        const std::uint64_t before = model.extract64(pos);
        STRACK_CHECK(bitmap.merge64(pos, bits) == (bits & ~before));
        for (std::uint32_t i = 0; i < 64; ++i) {
          if ((bits >> i) & 1) model.set(pos + i);
        }
        break;
      }
      case 4: {
        const std::uint32_t limit = input.in_range<std::uint32_t>(0, N);
        STRACK_CHECK_OP(bitmap.next_set(pos, limit), ==, model.distance(pos, limit, true));
        STRACK_CHECK_OP(bitmap.next_clear(pos, limit), ==, model.distance(pos, limit, false));
        STRACK_CHECK_OP(bitmap.all_set(pos, limit), ==, model.distance(pos, limit, false) == limit);
        break;
      }
      case 5:
        // A whole word, so that long runs are common.
        bitmap.merge64(pos, ~std::uint64_t{0});
        for (std::uint32_t i = 0; i < 64; ++i) model.set(pos + i);
        break;
      case 6:
        STRACK_CHECK(bitmap.extract64(pos) == model.extract64(pos));
        break;
      default:
        if (operation == 0xff) {
          bitmap.clear_all();
          model.clear_all();
        }
        break;
    }
    STRACK_CHECK_OP(bitmap.test(pos), ==, model.test(pos));
    STRACK_CHECK_OP(bitmap.count(), ==, model.count());
  }
  for (std::uint32_t pos = 0; pos < N; ++pos) {
    STRACK_CHECK_OP(bitmap.test(pos), ==, model.test(pos));
  }
}

}  // namespace
}  // namespace strack

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  strack::FuzzInput input(data, size);
  switch (input.byte() % 3) {
    case 0:
      strack::run<64>(input);
      break;
    case 1:
      strack::run<256>(input);
      break;
    default:
      strack::run<1024>(input);
      break;
  }
  return 0;
}
