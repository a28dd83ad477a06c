// `strack perf`, `strack recv`, `strack cp`, `strack key`: their words on the command line.
#include <functional>

#include "cli/commands.h"
#include "cli/copy.h"
#include "cli/doctor.h"
#include "cli/key.h"
#include "cli/mpirun.h"
#include "cli/perf.h"
#include "cli/udp_options.h"
#include "perf/protocol.h"
#include "transfer/tree.h"

namespace strack::cli {
namespace {

/// How both sides of a connection are protected.
void add_protection(CLI::App* command, transfer::Protection& protection) {
  CLI::Option* key = command
                         ->add_option("--key-file", protection.key_file,
                                      "the key that both sides share: 64 hexadecimal digits, as "
                                      "`strack key` prints them")
                         ->type_name("FILE");
  command->add_flag("--insecure", protection.insecure, "no key, even off this host: anybody may")
      ->excludes(key);
  command
      ->add_option(
          "--identity", protection.identity_file,
          "instead of a shared key: this host's own, as `strack key new` makes it. listeners "
          "read it again when it changes")
      ->type_name("FILE");
  command
      ->add_option(
          "--trust", protection.trust_file,
          "with --identity: peers by name and public key, as `strack key trust` adds them; "
          "read again when it changes")
      ->type_name("FILE");
}

/// Of a side that connects.
void add_peer(CLI::App* command, transfer::Protection& protection) {
  command
      ->add_option(
          "--peer", protection.peer,
          "with --identity: whose key the other side must have; a name in the file of --trust, or "
          "the public key itself")
      ->type_name("NAME");
}

void add_peer_timeout(CLI::App* command, std::string& peer_timeout) {
  command
      ->add_option("--peer-timeout", peer_timeout, "of silence, after which the peer is given up")
      ->capture_default_str()
      ->type_name("TIME");
}

void add_reconnect(CLI::App* command, std::string& reconnect) {
  command
      ->add_option("--reconnect", reconnect,
                   "how long to try to get back a connection that was lost; 0: not at all")
      ->capture_default_str()
      ->type_name("TIME");
}

void add_scheme(CLI::App* command, std::string& scheme) {
  command->add_option("--scheme", scheme, "which transport; the other side takes any that it has")
      ->check(CLI::IsMember(schemes_over_udp()));
}

void add_threads(CLI::App* command, std::uint32_t& threads) {
  command
      ->add_option("--threads", threads,
                   "that move packets, each those of its connections; 0: the program's own does")
      ->capture_default_str()
      ->check(CLI::Range(0, 64));
}

/// [D143]
void add_burst(CLI::App* command, std::uint32_t& burst) {
  command
      ->add_option("--burst", burst,
                   "packets per entropy and system call, 1 to 64; auto: as many as take 50 us on "
                   "the path's links")
      ->default_str("auto")
      ->transform(CLI::Validator(
          std::function<std::string(std::string&)>([](std::string& text) {
            unsigned number = 0;
            if (text == "auto") {
              text = "0";
            } else if (!CLI::detail::lexical_cast(text, number) || number < 1 || number > 64) {
              return "--burst " + text + " is none. it takes auto, or 1 to 64";
            }
            return std::string();
          }),
          "", "burst"))
      ->type_name("N");
}

/// What both sides of `perf` can say about the transport.
void add_perf_transport(CLI::App* command, PerfTransport& transport) {
  command->add_option("--paths", transport.paths, "entropies (UDP source ports) to spread over")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  add_burst(command, transport.burst);
  command->add_option("--policy", transport.policy, "how paths are chosen")
      ->capture_default_str()
      ->check(CLI::IsMember({"adaptive", "oblivious"}));
  command->add_option("--rate", transport.rate, "of this host's link")
      ->capture_default_str()
      ->type_name("RATE");
  command->add_option("--payload", transport.payload, "most bytes of a packet; the MTU lowers it")
      ->capture_default_str()
      ->check(CLI::Range(512, 65'000));
  command->add_option("--spin", transport.spin, "how long to look for packets before sleeping")
      ->capture_default_str()
      ->type_name("TIME");
  command
      ->add_option(
          "--sealing", transport.sealing,
          "the library that encrypts: ipsec-mb, openssl or libsodium; the fastest that is here")
      ->type_name("NAME");
  add_threads(command, transport.threads);
  add_peer_timeout(command, transport.peer_timeout);
  add_protection(command, transport.protection);
}

// What CLI11 fills in must outlive these functions, and there is one command line.

/// Who sends, how fast, and from when on it counts.
void add_course(CLI::App* command, perf::PlanWords& plan) {
  command->add_flag("--reverse", plan.reverse, "the server sends (streams only)");
  command->add_flag("--both", plan.both, "the server sends, too, at the same time (streams only)");
  command
      ->add_option("--target-rate", plan.target_rate,
                   "of all connections together; else as fast as it goes")
      ->type_name("RATE");
  command
      ->add_option("--warm-up", plan.warm_up, "before the time that counts, and not in the figures")
      ->type_name("TIME");
}

/// How what came of a test is printed.
void add_output(CLI::App* command, PerfClientOptions& options) {
  command->add_flag("--json", options.json, "for programs, at the end");
  command->add_flag(
      "--per-path", options.per_path,
      "packets, losses, marks and RTT of every path, the worst first; also in --json");
  command->add_flag("--csv", options.csv, "prints that table alone, for programs");
}

std::vector<Command> add_perf(CLI::App& app) {
  CLI::App* perf = app.add_subcommand(
      "perf",
      "Measures the transport between two hosts: throughput, latency, what the network did.");
  perf->require_subcommand(0, 1);

  static PerfServerOptions perf_server_options;
  CLI::App* perf_server_command = perf->add_subcommand(
      "server", "Waits for clients and takes or answers what they send, until Ctrl-C.");
  perf_server_command
      ->add_option("--bind", perf_server_options.bind,
                   "where to listen; port 4794 of this host, of all addresses with a key")
      ->type_name("ADDR:PORT");
  perf_server_command->add_flag("--once", perf_server_options.once,
                                "ends with the first test, and those beside it");
  perf_server_command->add_flag("--json", perf_server_options.json, "a line for each connection");
  perf_server_command
      ->add_option("--metrics", perf_server_options.metrics, "serves Prometheus metrics there")
      ->type_name("ADDR:PORT");
  add_perf_transport(perf_server_command, perf_server_options.transport);

  static PerfClientOptions perf_client_options;
  CLI::App* perf_client_command =
      perf->add_subcommand("client",
                           "Sends messages to a server and prints how that went. Ctrl-C ends it "
                           "with the figures so far.");
  perf_client_command
      ->add_option("HOST", perf_client_options.plan.server, "the server, HOST or HOST:PORT")
      ->required()
      ->type_name("");
  perf_client_command->add_option("--size", perf_client_options.plan.size, "of a message")
      ->capture_default_str()
      ->type_name("SIZE");
  perf_client_command
      ->add_option("--count", perf_client_options.plan.count, "messages of each connection")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 53).description(""))
      ->type_name("N");
  perf_client_command
      ->add_option("--seconds", perf_client_options.plan.seconds, "how long; 5 without --count")
      ->type_name("TIME");
  perf_client_command
      ->add_option("--connections", perf_client_options.plan.connections, "in parallel")
      ->capture_default_str()
      ->check(CLI::Range(1, static_cast<int>(perf::kMostOfOneSource)));
  perf_client_command
      ->add_option("--pattern", perf_client_options.plan.pattern,
                   "stream: one after another; pingpong: each is answered; write: one-sided")
      ->capture_default_str()
      ->check(CLI::IsMember({"stream", "pingpong", "write"}));
  perf_client_command
      ->add_option("--depth", perf_client_options.plan.depth,
                   "messages under way on a connection; else as many as fit 4 MiB, pingpong: 1")
      ->check(CLI::Range(1, 1'024));
  perf_client_command
      ->add_option("--interval", perf_client_options.plan.interval,
                   "a line of figures every so often")
      ->type_name("TIME");
  add_course(perf_client_command, perf_client_options.plan);
  add_output(perf_client_command, perf_client_options);
  add_reconnect(perf_client_command, perf_client_options.reconnect);
  add_perf_transport(perf_client_command, perf_client_options.transport);
  add_peer(perf_client_command, perf_client_options.transport.protection);
  add_scheme(perf_client_command, perf_client_options.transport.scheme);

  return {
      {perf_server_command, [] { return perf_server(perf_server_options); }},
      {perf_client_command, [] { return perf_client(perf_client_options); }},
      {perf, [] { return no_command("perf --help"); }},
  };
}

Command add_recv(CLI::App& app) {
  static RecvOptions recv_options;
  CLI::App* recv_command = app.add_subcommand(
      "recv",
      "Receives files from `strack cp` into a folder, or lets it fetch from one, until Ctrl-C.\n"
      "What is not finished is kept in DIR/.strack, and goes on when it is sent again.");
  recv_command
      ->add_option("--dir", recv_options.dir, "the folder; nothing is written outside of it")
      ->type_name("DIR");
  recv_command
      ->add_option(
          "--serve", recv_options.serve,
          "whoever may connect may fetch what is in this folder, and nothing outside of it; "
          "without --dir nothing is received")
      ->type_name("DIR");
  recv_command->add_flag("--create", recv_options.create, "makes the folder if it is not there");
  recv_command
      ->add_option("--bind", recv_options.bind,
                   "where to listen; port 4794 of this host, of all addresses with a key")
      ->type_name("ADDR:PORT");
  recv_command->add_flag("--allow-delete", recv_options.allow_delete,
                         "`cp --delete` may remove what is in folders that it fills");
  recv_command
      ->add_flag("--until-eof", recv_options.until_eof,
                 "as `cp --ssh` starts it: says its port, and ends when its standard input does")
      ->group("");
  recv_command->add_option("--port", recv_options.port)->group("");
  recv_command->add_flag("--once", recv_options.once, "ends with the first transfer");
  recv_command->add_flag("--quiet", recv_options.quiet, "print errors only");
  recv_command->add_option("--metrics", recv_options.metrics, "serves Prometheus metrics there")
      ->type_name("ADDR:PORT");
  recv_command->add_option("--paths", recv_options.paths, "entropies to spread over")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  add_burst(recv_command, recv_options.burst);
  add_threads(recv_command, recv_options.threads);
  add_peer_timeout(recv_command, recv_options.peer_timeout);
  add_protection(recv_command, recv_options.protection);

  return {recv_command, [] { return recv_files(recv_options); }};
}

/// How the other side is started, where nobody runs there.
void add_far_side(CLI::App* command, CopyOptions& options) {
  command->add_flag("--ssh", options.ssh,
                    "starts the other side over ssh, with a key for this copy alone");
  command->add_option("--ssh-command", options.ssh_command, "the program, and words for it")
      ->capture_default_str()
      ->type_name("WORDS");
  command
      ->add_option("--remote-strack", options.remote_strack,
                   "with --ssh: the program there, where its shell does not find it")
      ->type_name("FILE");
}

Command add_copy(CLI::App& app) {
  static CopyOptions copy_options;
  static std::vector<std::string> copy_names;
  CLI::App* copy_command = app.add_subcommand(
      "cp",
      "Copies files and folders to a host where `strack recv` runs, verified by checksum; or from\n"
      "one where `strack recv --serve` does: HOST[:PORT]:PATH... first, and a name here last.\n"
      "A connection that is lost is asked for again; interrupted, the same command goes on where "
      "it\n"
      "was. DEST and PATH are below the other side's folder, and a DEST that ends in a slash is a\n"
      "folder. With --ssh nothing needs to run there, and they are any path there.");
  copy_command
      ->add_option("NAMES", copy_names,
                   "FILE_OR_FOLDER... HOST[:PORT]:[DEST], or the other way round")
      ->required()
      ->expected(2, -1)
      ->type_name("");
  copy_command
      ->add_option("--exclude", copy_options.exclude,
                   "leave out what has this name or, with a slash in it, this path below a source; "
                   "* and ? as in a shell; may be given again")
      ->transform(CLI::Validator(std::function<std::string(std::string&)>([](std::string& pattern) {
                                   return transfer::read_pattern(pattern).value_or("");
                                 }),
                                 "", "pattern"))
      ->type_name("PATTERN")
      ->allow_extra_args(
          false)  // else [ab] would be a list, of which the brackets are not the pattern's
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  copy_command->add_flag("-H,--hard-links", copy_options.hard_links,
                         "names of one file are names of one file there, too");
  copy_command->add_flag("--delete", copy_options.prune,
                         "removes at the destination, in folders that are copied, what the source "
                         "lacks; what --exclude names stays");
  copy_command->add_flag("--dry-run", copy_options.dry_run,
                         "with --delete: only says what would be removed, and copies nothing");
  add_far_side(copy_command, copy_options);
  copy_command->add_flag("--force", copy_options.force, "replace files that are there and differ");
  static bool no_resume = false;
  copy_command->add_flag("--no-resume", no_resume,
                         "send files anew instead of going on with what an earlier attempt left");
  copy_command->add_flag("--resume")->group("");  // what is done anyway
  copy_command->add_flag("--quiet", copy_options.quiet, "print errors only");
  copy_command->add_option("--rate", copy_options.rate, "of this host's link")
      ->capture_default_str()
      ->type_name("RATE");
  copy_command->add_option("--paths", copy_options.paths, "entropies to spread over")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  add_burst(copy_command, copy_options.burst);
  copy_command->add_option("--payload", copy_options.payload, "most bytes of a packet")
      ->capture_default_str()
      ->check(CLI::Range(512, 65'000));
  add_scheme(copy_command, copy_options.scheme);
  add_peer_timeout(copy_command, copy_options.peer_timeout);
  add_reconnect(copy_command, copy_options.reconnect);
  add_protection(copy_command, copy_options.protection);
  add_peer(copy_command, copy_options.protection);

  return {copy_command, [] {
            copy_options.destination = copy_names.back();
            copy_names.pop_back();
            copy_options.sources = copy_names;
            copy_options.resume = !no_resume;
            return copy_files(copy_options);
          }};
}

std::vector<Command> add_key(CLI::App& app) {
  CLI::App* key_command = app.add_subcommand("key",
                                             "Keys for perf, cp and recv. Alone it prints a new "
                                             "random key for --key-file, which both sides\n"
                                             "share: (umask 077; strack key > job.key). With a "
                                             "word it is about keys of hosts: each has its own,\n"
                                             "and knows the public keys of others.");
  key_command->require_subcommand(0, 1);
  static std::string file;
  static std::string name;
  static std::string public_key;
  const auto add_file = [](CLI::App* command, const char* help) {
    command->add_option("FILE", file, help)->required()->type_name("");
  };
  CLI::App* new_command = key_command->add_subcommand(
      "new",
      "Makes this host's own key in FILE, which must not be there, and prints its public key.");
  add_file(new_command, "for --identity; nobody else must have it");
  CLI::App* show_command = key_command->add_subcommand("show", "Prints an identity's public key.");
  add_file(show_command, "as `strack key new` made it");
  CLI::App* trust_command = key_command->add_subcommand(
      "trust", "Adds a peer to FILE, by a name of your choice and the public key of its host.");
  add_file(trust_command, "for --trust; made if it is not there");
  trust_command->add_option("NAME", name, "of the peer, for --peer")->required()->type_name("");
  trust_command->add_option("PUBLICKEY", public_key, "as `strack key show` prints it there")
      ->required()
      ->type_name("");
  CLI::App* rotate_command = key_command->add_subcommand(
      "rotate",
      "Changes the key in FILE, an identity or a shared key, so that nobody is ever without one.\n"
      "Makes FILE.new, and prints its public key if it is an identity: who listens with FILE "
      "takes\n"
      "connections by FILE.new and FILE.old, too. When all peers know it, --use; when none uses "
      "the\n"
      "old one any more, --end.");
  add_file(rotate_command, "for --identity or --key-file");
  static bool use = false;
  static bool end = false;
  CLI::Option* use_option =
      rotate_command->add_flag("--use", use, "FILE.new becomes FILE, and that FILE.old");
  rotate_command->add_flag("--end", end, "removes FILE.old")->excludes(use_option);
  return {
      {new_command, [] { return key_new(file); }},
      {rotate_command, [] { return key_rotate(file, use, end); }},
      {show_command, [] { return key_show(file); }},
      {trust_command, [] { return key_trust(file, name, public_key); }},
      {key_command, [] { return new_key(); }},
  };
}

Command add_doctor(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "doctor",
      "Says what is there for MPI over STrack, and what is missing: libraries, MTUs, limits. With "
      "a\n"
      "PEER, where `strack perf server` or `strack recv` runs, also what is found on the way "
      "there:\n"
      "the size of datagrams, RTT, rate, entropies that answer and routers that do.\n"
      "Each line begins with ok, -- (goes without, would be better with it) or !! (does not go\n"
      "without it). Exit status: 1 if there is a !!, otherwise 0, whatever is --.");
  static DoctorOptions options;
  command->add_option("PEER", options.peer, "HOST or HOST:PORT")->type_name("");
  add_formats(command, options.formats, "thing that was looked at");
  command->add_option("--paths", options.transport.paths, "entropies (UDP source ports) to try")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  command->add_option("--rate", options.transport.rate, "of this host's link")
      ->capture_default_str()
      ->type_name("RATE");
  command
      ->add_option("--payload", options.transport.payload,
                   "most bytes of a packet; the MTU lowers it")
      ->capture_default_str()
      ->check(CLI::Range(512, 65'000));
  add_protection(command, options.transport.protection);
  add_peer(command, options.transport.protection);
  return {command, [] { return doctor(options); }};
}

}  // namespace

std::vector<Command> add_udp(CLI::App& app) {
  std::vector<Command> commands = add_perf(app);
  commands.push_back(add_recv(app));
  commands.push_back(add_copy(app));
  for (Command& command : add_key(app)) commands.push_back(std::move(command));
  CLI::App* mpirun_command = app.add_subcommand(
      "mpirun",
      "Starts Open MPI's mpirun with the variables by which unchanged programs go over STrack\n"
      "(docs/libfabric.md): strack mpirun -n 4 PROGRAM. All that follows is mpirun's.\n"
      "Windows (MPI_Put, MPI_Get, ...) go over STrack, too, where PROGRAM calls MPI_Init; where "
      "it\n"
      "may ask for threads (MPI_Init_thread) they go as Open MPI has it, or as --mca osc says.\n"
      "root needs OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 as well.");
  mpirun_command->prefix_command();
  commands.push_back(
      {mpirun_command, [mpirun_command] { return mpirun(mpirun_command->remaining()); }});
  commands.push_back(add_doctor(app));
  return commands;
}

}  // namespace strack::cli
