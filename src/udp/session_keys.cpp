#include "udp/session_keys.h"

#include <sodium.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace strack::udp {

Secret next_secret(const Secret& secret) {
  constexpr std::string_view kLabel = "strack2 next key";
  Secret next;
  crypto_generichash(next.data(), next.size(),
                     reinterpret_cast<const unsigned char*>(kLabel.data()), kLabel.size(),
                     secret.data(), secret.size());
  return next;
}

EpochKey::EpochKey(EpochKey&& other) noexcept
    : key_(std::move(other.key_)),
      secret_(other.secret_),
      cipher_(other.cipher_),
      library_(std::exchange(other.library_, nullptr)) {
  sodium_memzero(other.secret_.data(), other.secret_.size());
}
EpochKey& EpochKey::operator=(EpochKey&& other) noexcept {
  if (this == &other) return *this;
  key_ = std::move(other.key_);
  secret_ = other.secret_;
  cipher_ = other.cipher_;
  library_ = std::exchange(other.library_, nullptr);
  sodium_memzero(other.secret_.data(), other.secret_.size());
  return *this;
}
EpochKey::~EpochKey() { sodium_memzero(secret_.data(), secret_.size()); }

void EpochKey::make(wire::Cipher cipher, const Secret& secret, const SealingLibrary& library) {
  key_.set(cipher, secret, library);
  secret_ = secret;
  cipher_ = cipher;
  library_ = &library;
}

EpochKey EpochKey::next() const {
  Secret secret = next_secret(secret_);
  EpochKey made;
  made.make(cipher_, secret, *library_);
  sodium_memzero(secret.data(), secret.size());
  return made;
}

void OpeningKeys::start(wire::Cipher cipher, const Secret& secret, const SealingLibrary& library,
                        bool rekeying, std::uint64_t most_forged) {
  now_.key.make(cipher, secret, library);
  if (rekeying) next_.key = now_.key.next();
  rekeying_ = rekeying;
  most_forged_ = most_forged;
}

Opening OpeningKeys::open_with(Epoch& epoch, std::span<std::uint8_t> datagram,
                               std::uint64_t counter) {
  if (epoch.replay.is_old(counter)) return Opening::replayed;
  if (!epoch.key.key().open(datagram, counter))
    return ++forged_ >= most_forged_ ? Opening::exhausted : Opening::forged;
  epoch.replay.note(counter);
  return Opening::good;
}

Opening OpeningKeys::open(std::span<std::uint8_t> datagram, std::uint64_t counter, Instant now) {
  if (now >= drop_before_at_) {
    before_ = {};
    drop_before_at_ = Instant::never();
  }
  const std::uint64_t epoch = rekeying_ ? epoch_of(counter) : 0;
  if (epoch == epoch_) return open_with(now_, datagram, counter);
  if (epoch < epoch_)
    return epoch + 1 == epoch_ && has_older() ? open_with(before_, datagram, counter)
                                              : Opening::replayed;
  // A sender waits for an answer before it goes on once more: nobody is two ahead.
  if (epoch > epoch_ + 1) return Opening::forged;
  if (next_by_ > now + kEpochsAtOnce * kPerEpoch) return Opening::hurried;
  const Opening opening = open_with(next_, datagram, counter);
  if (opening != Opening::good) return opening;
  next_by_ = std::max(next_by_, now) + kPerEpoch;
  before_ = std::exchange(now_, std::exchange(next_, {}));
  next_.key = now_.key.next();
  ++epoch_;
  forged_ = 0;
  drop_before_at_ = now + kOvertaken;
  return opening;
}

}  // namespace strack::udp
