// The state of a run as bytes, for checkpoints: written and read by one list. [D117]
//
// Whatever has state says once of what, for both directions, and beside its members:
//
//   template <class Archive>
//   void state(Archive& a) { a(free_, queue_, counts_); }
//
// Values that are copied byte by byte, vectors, and whatever has state() itself. What follows from the scenario
// is not listed: before its state is read, a run is built as ever. Nothing that an archive reads is believed:
// sizes and pointers that do not fit make it bad, and what was built is of no use then.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace strack::sim {

/// What is copied byte by byte.
template <class T>
concept Flat = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>;

/// Memory into which the pointers of an object lead. Both sides of a checkpoint list the same, in the same order.
struct Region {
  const void* begin = nullptr;
  std::size_t size = 0;
};
template <class T>
[[nodiscard]] Region region_of(const T& object) {
  return {&object, sizeof(T)};
}
template <class T, std::size_t kExtent>
[[nodiscard]] Region region_of(std::span<T, kExtent> objects) {
  return {objects.data(), objects.size_bytes()};
}
using Regions = std::span<const Region>;

/// A pointer in an object: which of its words, and where that leads.
struct PointerAt {
  std::uint32_t word = 0;
  std::uint32_t region = 0;
  std::uint64_t offset = 0;

  friend bool operator==(const PointerAt&, const PointerAt&) = default;
};

/// Words of an object that lead into regions. What is left of others, between its members and in those that hold
/// nothing, may look like one, so this is for objects in memory that was empty before.
[[nodiscard]] inline std::vector<PointerAt> find_pointers(std::span<const std::byte> object,
                                                          Regions regions) {
  std::vector<PointerAt> found;
  for (std::size_t w = 0; (w + 1) * sizeof(std::uintptr_t) <= object.size(); ++w) {
    std::uintptr_t value = 0;
    std::memcpy(&value, object.data() + w * sizeof value, sizeof value);
    for (std::uint32_t r = 0; r < regions.size(); ++r) {
      const std::uintptr_t offset = value - reinterpret_cast<std::uintptr_t>(regions[r].begin);
      if (offset >= regions[r].size) continue;
      found.push_back({static_cast<std::uint32_t>(w), r, offset});
      break;
    }
  }
  return found;
}

/// Whether an object's pointers lead where they should.
[[nodiscard]] inline bool has_pointers(std::span<const std::byte> object, Regions regions,
                                       std::span<const PointerAt> pointers) {
  return std::all_of(pointers.begin(), pointers.end(), [&](const PointerAt& at) {
    std::uintptr_t value = 0;
    std::memcpy(&value, object.data() + at.word * sizeof value, sizeof value);
    return value == reinterpret_cast<std::uintptr_t>(regions[at.region].begin) + at.offset;
  });
}

/// What both directions have in common; `Self` has kLoads and raw().
template <class Self>
class ArchiveBase {
 public:
  /// Each in turn.
  template <class... T>
  void operator()(T&... what) {
    (one(what), ...);
  }
  /// Of as many as there are: the run that was built has the same number.
  template <class Range>
  void fixed(Range& items) {
    std::uint64_t count = std::size(items);
    const std::uint64_t here = count;
    one(count);
    if (count != here) {
      self().fail();
      return;
    }
    for (auto& item : items) one(item);
  }
  /// What comes now, by name: lists that have come apart are found here.
  void section(std::string_view name) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    std::uint64_t found = hash;
    one(found);
    if (found != hash) self().fail();
  }

 private:
  [[nodiscard]] Self& self() { return static_cast<Self&>(*this); }

  template <class T>
  void one(T& what) {
    if constexpr (requires(Self & archive) { what.state(archive); }) {
      what.state(self());
    } else {
      static_assert(Flat<T>, "it has state() itself, or is copied byte by byte");
      self().raw(&what, sizeof(T));
    }
  }
  void one(std::string& text) {
    std::vector<char> characters(text.begin(), text.end());
    one(characters);
    if constexpr (Self::kLoads) text.assign(characters.begin(), characters.end());
  }
  template <class T>
  void one(std::vector<T>& list) {
    std::uint64_t count = list.size();
    one(count);
    if constexpr (Self::kLoads) {
      // Each takes a byte at least, so that a wrong number does not ask for all memory.
      if (count > self().left()) return self().fail();
      list.resize(count);
    }
    if constexpr (Flat<T> && !requires(T & item, Self & archive) { item.state(archive); }) {
      if (count > 0) self().raw(list.data(), count * sizeof(T));
    } else {
      for (T& item : list) one(item);
    }
  }
};

class Saver : public ArchiveBase<Saver> {
 public:
  static constexpr bool kLoads = false;
  using Sink = std::function<void(std::span<const std::byte>)>;

  explicit Saver(Sink sink) : sink_(std::move(sink)) { buffer_.reserve(kBuffer); }
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;
  ~Saver() { flush(); }

  void raw(const void* data, std::size_t size) {
    const auto* from = static_cast<const std::byte*>(data);
    if (buffer_.size() + size > kBuffer) flush();
    if (size > kBuffer) return sink_({from, size});
    buffer_.insert(buffer_.end(), from, from + size);
  }
  void flush() {
    if (!buffer_.empty()) sink_(buffer_);
    buffer_.clear();
  }
  void fail() { bad_ = true; }
  /// What was written is of no use: a pointer leads elsewhere than when its object was made.
  [[nodiscard]] bool bad() const { return bad_; }

  /// Objects of a transport's, byte by byte but for their pointers.
  template <Flat T>
  void objects(std::span<T> what, Regions regions, std::vector<PointerAt>& pointers) {
    const auto bytes = std::as_bytes(what);
    if (!has_pointers(bytes, regions, pointers)) bad_ = true;
    copy_.assign(bytes.begin(), bytes.end());
    for (const PointerAt& at : pointers)
      std::memset(copy_.data() + at.word * sizeof(std::uintptr_t), 0, sizeof(std::uintptr_t));
    (*this)(pointers);
    raw(copy_.data(), copy_.size());
  }

 private:
  static constexpr std::size_t kBuffer = 1 << 18;
  Sink sink_;
  std::vector<std::byte> buffer_;
  std::vector<std::byte> copy_;
  bool bad_ = false;
};

class Loader : public ArchiveBase<Loader> {
 public:
  static constexpr bool kLoads = true;

  explicit Loader(std::span<const std::byte> from) : from_(from) {}

  void raw(void* data, std::size_t size) {
    if (bad_ || size > from_.size()) {
      bad_ = true;
      std::memset(data, 0, size);
      return;
    }
    std::memcpy(data, from_.data(), size);
    from_ = from_.subspan(size);
  }
  [[nodiscard]] std::size_t left() const { return from_.size(); }
  void fail() { bad_ = true; }
  /// Something did not fit.
  [[nodiscard]] bool bad() const { return bad_; }
  /// All of it has been read.
  [[nodiscard]] bool done() const { return !bad_ && from_.empty(); }

  /// The objects were made for this run, so their pointers are right; that the others' led to the same places is
  /// checked.
  template <Flat T>
  void objects(std::span<T> what, Regions regions, const std::vector<PointerAt>& pointers) {
    const auto bytes = std::as_writable_bytes(what);
    (*this)(theirs_);
    if (theirs_ != pointers || !has_pointers(bytes, regions, pointers)) bad_ = true;
    if (bad_) return;
    copy_.assign(bytes.begin(), bytes.end());
    raw(bytes.data(), bytes.size());
    for (const PointerAt& at : pointers) {
      const std::size_t word = at.word * sizeof(std::uintptr_t);
      std::memcpy(bytes.data() + word, copy_.data() + word, sizeof(std::uintptr_t));
    }
  }

 private:
  std::span<const std::byte> from_;
  bool bad_ = false;
  std::vector<std::byte> copy_;
  std::vector<PointerAt> theirs_;
};

}  // namespace strack::sim
