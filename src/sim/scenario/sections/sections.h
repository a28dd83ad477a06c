// The sections of a scenario, each with its keys and its resolver in a file of its own. The order in
// which they are resolved is scenario.cpp's; the order in which they are shown, keys.cpp's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/scenario/keys.h"
#include "sim/scenario/resolution.h"

namespace strack::sim {

extern const SectionKeys kTopSection;
extern const SectionKeys kTopologySection;
extern const SectionKeys kSwitchSection;
extern const SectionKeys kPfcSection;
extern const SectionKeys kHostSection;
extern const SectionKeys kPathsSection;
extern const SectionKeys kWindowSection;
extern const SectionKeys kWorkloadSection;
extern const SectionKeys kFailureSection;
extern const SectionKeys kImpairmentSection;
extern const SectionKeys kRecordSection;
extern const SectionKeys kRunSection;
[[nodiscard]] SectionKeys transport_section();  ///< its schemes are those of the registry

void resolve_top(Resolution& resolution);
void read_topology_file(Resolution& resolution);  ///< gives values to keys, so before all else
void resolve_topology(Resolution& resolution);    ///< and what BDP, RTT and MTU mean from then on
// Of [topology], in a file of their own: networks from a file, and servers with several NICs.
void read_network_file(Resolution& resolution);
void resolve_graph(Resolution& resolution);
void resolve_servers(Resolution& resolution);
void resolve_switches(Resolution& resolution);
void resolve_pfc(Resolution& resolution);
void resolve_packets(Resolution& resolution);  ///< of [host], what the base RTT depends on
void resolve_hosts(Resolution& resolution);
void resolve_scheme(Resolution& resolution);
void hide_paths(Resolution& resolution);  ///< until a transport asks for them (spray.h)
void hide_window(Resolution& resolution);
void resolve_transports(Resolution& resolution);
/// What was given and changes nothing is worth a word; last of all.
void note_unread(Resolution& resolution);
/// So is what switches cannot do as they are set up; after [pfc].
void note_switches(Resolution& resolution);
void resolve_workloads(Resolution& resolution);
void resolve_workload(Resolution& resolution);  ///< the newest of them
void resolve_failures(Resolution& resolution);  ///< and impairments
/// What they come to together; `entries` says of each impairment which entry it is of.
void check_failures(Resolution& resolution, const std::vector<std::uint32_t>& entries);
void resolve_record(Resolution& resolution);
void resolve_run(Resolution& resolution);

// The kinds of workloads that take more than a few lines. In files of their own.
void resolve_random(Resolution& resolution);
void resolve_collective(Resolution& resolution);
void resolve_trace(Resolution& resolution);
void resolve_training(Resolution& resolution);
extern const std::span<const Key> kTrainingKeys;  ///< more keys of [workload]
/// The key `placement`, or what is usual, for so many ranks of all jobs together.
void resolve_placement(Resolution& resolution, workload::Placement usual, std::uint64_t ranks);

}  // namespace strack::sim
