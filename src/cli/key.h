// `strack key`: keys for the tools. Each function is one command and returns the program's exit status: 0, or 2 for a
// mistake of the user's.
#pragma once

#include <string>

namespace strack::cli {

/// Prints a new random key, for both sides to share.
int new_key();

/// A key pair of this host's own, in a file; prints its public key.
int key_new(const std::string& file);
/// Prints the public key of an identity.
int key_show(const std::string& file);
/// Begins to change a key of either kind; `use` and `end` are the further steps.
int key_rotate(const std::string& file, bool use, bool end);
/// Adds a peer to a file of trusted ones.
int key_trust(const std::string& file, const std::string& name, const std::string& key);

}  // namespace strack::cli
