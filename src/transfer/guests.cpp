#include "transfer/guests.h"

#include "udp/address.h"

namespace strack::transfer {

std::uint64_t source_of(std::string_view address) {
  const auto parsed = udp::Address::parse(address);
  return parsed ? parsed->source() : 0;
}

std::optional<Guests::Id> Guests::enter(Id id, std::uint64_t source, Clock::time_point now) {
  guests_[id] = {source, now};
  if (guests_.size() <= most_) return std::nullopt;
  std::unordered_map<std::uint64_t, std::size_t> counts;
  for (const auto& [other, guest] : guests_) ++counts[guest.source];
  // Among equals the lowest number, so that chance has no part in it.
  Id victim = id;
  std::size_t most = 0;
  Clock::time_point heard{};
  Id newest = id;  // of the source with most, though it is at work
  std::size_t most_at_work = counts[source];
  for (const auto& [other, guest] : guests_) {
    if (other == id) continue;
    const std::size_t count = counts[guest.source];
    if (count < counts[source]) continue;  // a source makes room for itself by its own
    if (count > most_at_work || (count == most_at_work && newest != id && other > newest)) {
      newest = other;
      most_at_work = count;
    }
    if (now - guest.heard < (count > counts[source] ? idle_ / 2 : idle_)) continue;
    const bool worse = count != most          ? count > most
                       : guest.heard != heard ? guest.heard < heard
                                              : other < victim;
    if (!worse) continue;
    victim = other;
    most = count;
    heard = guest.heard;
  }
  if (victim == id) victim = newest;
  guests_.erase(victim);
  return victim;
}

void Guests::heard(Id id, Clock::time_point now) {
  if (const auto found = guests_.find(id); found != guests_.end()) found->second.heard = now;
}

}  // namespace strack::transfer
