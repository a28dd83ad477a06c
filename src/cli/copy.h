// `strack cp` and `strack recv`: files between hosts. Each function is one command and returns the program's exit
// status: 0, 1 where not everything was copied, 2 for a mistake of the user's, 130 after Ctrl-C.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "transfer/protection.h"

namespace strack::cli {

struct RecvOptions {
  std::string bind;           ///< empty: port 4794, of all addresses where there is a key
  bool create = false;        ///< make the folder if it is not there
  std::string dir;            ///< empty: nothing is taken
  std::string serve;          ///< a folder that may be fetched from; empty: none
  bool allow_delete = false;  ///< senders may have removed what they do not have
  /// As `cp` starts it over ssh: says its port, and ends with its standard input.
  bool until_eof = false;
  std::uint16_t port = 0;  ///< then
  transfer::Protection protection;
  bool once = false;
  bool quiet = false;
  std::string metrics;  ///< "127.0.0.1:9100"; empty: none
  std::uint32_t paths = 256;
  std::uint32_t burst = 0;    ///< 0: as the path takes them
  std::uint32_t threads = 0;  ///< that move packets; 0: the program's own does
  std::string peer_timeout = "10s";
};
int recv_files(const RecvOptions& options);

struct CopyOptions {
  std::vector<std::string> sources;
  /// HOST[:PORT]:[DEST], or a name here where sources are HOST[:PORT]:PATH.
  std::string destination;
  transfer::Protection protection;
  std::vector<std::string> exclude;  ///< patterns
  bool hard_links = false;           ///< names of one file stay that
  bool prune = false;                ///< what the source does not have is removed
  bool dry_run = false;              ///< that is only told
  bool ssh = false;                  ///< the other side is started over it
  std::string ssh_command = "ssh";
  std::string remote_strack;  ///< the program there; empty: as the shell finds it
  bool force = false;
  bool resume = true;
  bool quiet = false;
  std::string rate = "10Gb/s";
  std::uint32_t paths = 256;
  std::uint32_t burst = 0;  ///< 0: as the path takes them
  std::uint32_t payload = 8192;
  std::string peer_timeout = "10s";
  std::string reconnect = "60s";  ///< how long it is tried to get a lost connection back
  std::string scheme;             ///< a transport of the program; empty: its first
};
int copy_files(const CopyOptions& options);

}  // namespace strack::cli
