#include "mutate.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace strack::decoders {
namespace {

/// Where to change something: most is decided in front.
std::size_t place(Rng& rng, std::size_t size) {
  static constexpr std::array<std::size_t, 8> kReaches{2, 12, 12, 48, 48, 128, 128, kLongest};
  return rng.below(std::min(size, kReaches[rng.below(kReaches.size())]));
}

std::uint64_t read(Room room, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i) value = value << 8 | room[at + i];
  return value;
}

void write(Room room, std::size_t at, std::size_t width, std::uint64_t value) {
  for (std::size_t i = width; i-- > 0; value >>= 8) room[at + i] = static_cast<std::uint8_t>(value);
}

/// Limits lie at powers of two, at lengths, and next to what is there.
std::uint64_t telling(Rng& rng, std::uint64_t before, std::size_t size) {
  const std::uint64_t draw = rng.next();
  const std::uint64_t power = std::uint64_t{1} << ((draw >> 8) % 64);
  switch (draw % 8) {
    case 0:
      return 0;
    case 1:
      return ~std::uint64_t{0};
    case 2:
      return power;
    case 3:
      return power - 1;
    case 4:
      return power + 1;
    case 5:
      return size + ((draw >> 16) % 9) - 4;
    default:
      return before + ((draw >> 16) % 17) - 8;
  }
}

void change_number(Rng& rng, Room room, std::size_t size) {
  std::size_t width = std::size_t{1} << rng.below(4);
  while (width > size) width /= 2;
  std::size_t at = std::min(place(rng, size), size - width);
  if (rng.below(4) != 0) at &= ~std::size_t{1};
  write(room, at, width, telling(rng, read(room, at, width), size));
}

std::size_t resize(Rng& rng, Room room, std::size_t size) {
  // Fields that come and go together with a flag have such lengths.
  static constexpr std::array<std::size_t, 8> kSteps{1, 2, 4, 8, 16, 32, 128, 0};
  const std::uint64_t draw = rng.next();
  const std::size_t telling = kSteps[(draw >> 8) % kSteps.size()];
  const std::size_t step = telling != 0 ? telling : 1 + (draw >> 16) % 40;
  switch (draw % 8) {
    case 0:
      return rng.below(size + 1);
    case 1:
    case 2:
    case 3:
      return size - std::min(step, size);
    default: {
      const std::size_t more = std::min(step, room.size() - size);
      std::memset(room.data() + size, (draw & 16) != 0 ? 0 : static_cast<int>(draw >> 56), more);
      return size + more;
    }
  }
}

/// Takes bytes out, or puts some in, so that the rest moves.
std::size_t shift(Rng& rng, Room room, std::size_t size, Bytes put) {
  const std::size_t at = place(rng, size);
  if (rng.below(2) == 0) {
    const std::size_t less = std::min<std::size_t>(1 + rng.below(8), size - at);
    std::memmove(room.data() + at, room.data() + at + less, size - at - less);
    return size - less;
  }
  if (put.size() > room.size() - size) return size;
  std::memmove(room.data() + at + put.size(), room.data() + at, size - at);
  std::copy(put.begin(), put.end(), room.begin() + static_cast<std::ptrdiff_t>(at));
  return size + put.size();
}

/// The same place of another message.
void splice(Rng& rng, Room room, std::size_t size, Bytes other) {
  const std::size_t both = std::min(size, other.size());
  if (both == 0) return;
  const std::size_t at = place(rng, both);
  const std::size_t count = std::min<std::size_t>(1 + rng.below(24), both - at);
  std::memcpy(room.data() + at, other.data() + at, count);
}

/// Over what is there; one in two grows with it, where lengths of 16 bits are in front of texts.
std::size_t put_word(Rng& rng, Room room, std::size_t size, std::string_view word) {
  const Bytes bytes(reinterpret_cast<const std::uint8_t*>(word.data()), word.size());
  if (rng.below(2) == 0) return shift(rng, room, size, bytes);
  const std::size_t at = place(rng, size);
  const std::size_t count = std::min(word.size(), size - at);
  std::memcpy(room.data() + at, word.data(), count);
  return size;
}

}  // namespace

std::size_t mutate(Rng& rng, Room room, std::size_t size, Bytes other,
                   std::span<const std::string_view> words) {
  if (size == 0) return resize(rng, room, size);
  const std::uint64_t draw = rng.next();
  const std::size_t at = place(rng, size);
  switch (draw % 16) {
    case 0:
    case 1:
    case 2:
    case 3:
      room[at] ^= static_cast<std::uint8_t>(1u << ((draw >> 8) % 8));
      return size;
    case 4:
    case 5:
      room[at] = static_cast<std::uint8_t>(draw >> 8);
      return size;
    case 6:
      room[at] = static_cast<std::uint8_t>(room[at] + (draw >> 8) % 5 - 2);
      return size;
    case 7:
    case 8:
    case 9:
    case 10:
      change_number(rng, room, size);
      return size;
    case 11:
    case 12:
      return resize(rng, room, size);
    case 13:
      splice(rng, room, size, other);
      return size;
    case 14:
      return shift(rng, room, size,
                   other.first(std::min<std::size_t>(other.size(), 1 + (draw >> 8) % 8)));
    default:
      if (words.empty()) {
        room[at] = 0;
        return size;
      }
      return put_word(rng, room, size, words[(draw >> 8) % words.size()]);
  }
}

}  // namespace strack::decoders
