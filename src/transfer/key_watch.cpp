#include "transfer/key_watch.h"

#include <sys/stat.h>

#include <algorithm>

#include <fmt/format.h>

namespace strack::transfer {

KeyWatch::KeyWatch(const Protection& protection) {
  for (const std::string* key : {&protection.key_file, &protection.identity_file}) {
    if (key->empty() || *key == "-") continue;
    files_.push_back(*key);
    for (const std::string_view other : kOtherKeys) files_.push_back(*key + std::string(other));
  }
  if (!protection.trust_file.empty()) files_.push_back(protection.trust_file);
  read_ = seen_ = look();
}

std::vector<KeyWatch::Stamp> KeyWatch::look() const {
  const auto ns = [](const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  std::vector<Stamp> stamps;
  for (const std::string& file : files_) {
    struct stat found {};
    Stamp& stamp = stamps.emplace_back();
    if (::stat(file.c_str(), &found) != 0) continue;
    stamp = {true, found.st_dev, found.st_ino, found.st_size, ns(found.st_mtim), ns(found.st_ctim)};
  }
  return stamps;
}

bool KeyWatch::is_due(Clock::time_point now, bool asked) {
  if (files_.empty() || (!asked && now - looked_at_ < kPause)) return false;
  looked_at_ = now;
  std::vector<Stamp> found = look();
  // Who writes a file in several steps is to come to an end first.
  const bool settled = found == seen_;
  seen_ = std::move(found);
  if (!asked && (!settled || seen_ == read_)) return false;
  read_ = seen_;
  return true;
}

Result<KeysTaken, std::string> read_keys_again(const Protection& protection,
                                               udp::Endpoint& endpoint) {
  udp::EndpointOptions options;
  const auto warning = protect(protection, options, /*again=*/true);
  if (!warning) return warning.error();
  if (const auto wrong = endpoint.change_keys(options)) return wrong->text;
  const auto keys = 1 + std::count_if(options.other_keys.begin(), options.other_keys.end(),
                                      [](const auto& key) { return key.has_value(); });
  std::string text = fmt::format("connections are taken by {} key{}", keys, keys == 1 ? "" : "s");
  if (options.identity)
    text += fmt::format(", {} peer{} trusted", options.trusted.size(),
                        options.trusted.size() == 1 ? " is" : "s are");
  if (warning.value()) text += fmt::format(". warning: {}", *warning.value());
  return KeysTaken{text};
}

void read_keys_to_connect(const Protection& protection, udp::EndpointOptions& settings) {
  udp::EndpointOptions read;
  if (!protection.keyed() || protection.key_file == "-" || !protect(protection, read)) return;
  settings.key = read.key;
  settings.identity = read.identity;
  settings.other_keys = read.other_keys;
  settings.trusted = read.trusted;
  settings.peer = read.peer;
}

}  // namespace strack::transfer
