// Keys of hosts as files: an identity, which only its owner can read, and a list of those who are trusted, with a name
// for each. What `strack key new|show|trust` writes and --identity, --trust and --peer read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "udp/endpoint.h"

namespace strack::transfer {

struct Identity {
  udp::Key secret{};
  unsigned mode = 0;  ///< the file's, where it is one: who may read it

  [[nodiscard]] bool readable_by_others() const { return (mode & 077) != 0; }
  /// Wipes the secret, of every copy.
  ~Identity();
};

/// Writes a new one, readable by its owner only; a file that is there stays as it is. Gives the public key, or says what
/// is wrong.
[[nodiscard]] Result<udp::Key, std::string> new_identity(const std::string& file);
[[nodiscard]] Result<Identity, std::string> read_identity(const std::string& file);

struct TrustedPeer {
  std::string name;
  udp::Key key{};
};
/// Lines of "NAME PUBLICKEY"; # begins a comment. No name is there twice, or could be taken for a key.
[[nodiscard]] Result<std::vector<TrustedPeer>, std::string> read_trusted(const std::string& file);
/// Adds a line, and makes the file if it is not there. False: it has this very line already.
[[nodiscard]] Result<bool, std::string> trust(const std::string& file, std::string_view name,
                                              const udp::Key& key);

}  // namespace strack::transfer
