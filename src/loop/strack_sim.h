/* A simulated cluster that another program drives while it runs, for C. Installed as <strack/sim.h>; needs
 * C11 or C++, and the standard headers only. In C++, <strack/closed_loop.h> is the same with less to write.
 *
 *   static void arrived(strack_sim_host* at, const strack_sim_message* message, void* user) {
 *     printf("%llu bytes at %lld ps\n", (unsigned long long)message->bytes, (long long)strack_sim_now(at));
 *   }
 *   static void sender(strack_sim_host* at, void* user) { strack_sim_send(at, 1, 7, 1 << 20, NULL, NULL); }
 *   static void receiver(strack_sim_host* at, void* user) { strack_sim_receive(at, 0, 7, arrived, NULL); }
 *
 *   char why[256];
 *   strack_sim* sim;
 *   if (strack_sim_open("cluster.toml", NULL, 0, &sim, why, sizeof why) != STRACK_SIM_OK) die(why);
 *   strack_sim_at_start(sim, 0, sender, NULL);
 *   strack_sim_at_start(sim, 1, receiver, NULL);
 *   strack_sim_run(sim, why, sizeof why);
 *   strack_sim_close(sim);
 *
 * Callbacks run at a host, at an instant of simulated time; what they ask for happens there and then, so
 * times are exact. A host's callbacks run in order of time. Those of different hosts do not: within
 * strack_sim_lookahead() they run in an order of their own, and with several threads at the same time.
 *
 * Times are in picoseconds since the beginning. Functions that return strack_sim_status give
 * STRACK_SIM_OK, which is 0, or a negative value. Those that take a buffer put a sentence there that
 * names the value found and what would work; it may be NULL. */
#ifndef STRACK_SIM_H
#define STRACK_SIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct strack_sim strack_sim;
typedef struct strack_sim_host strack_sim_host;

typedef enum strack_sim_status {
  STRACK_SIM_OK = 0,          /* of a run: nothing is under way, and nobody waits */
  STRACK_SIM_INVALID = -1,    /* an argument is wrong, or a host is used outside its callback */
  STRACK_SIM_WAITING = -2,    /* of a run: nothing is under way, but hosts wait for messages */
  STRACK_SIM_STOPPED = -3,    /* of a run: a callback stopped it */
  STRACK_SIM_TIME_LIMIT = -4, /* of a run: the scenario's time was over first */
  STRACK_SIM_STALLED = -5,    /* of a run: messages are under way that will never come */
  STRACK_SIM_FAILED = -6      /* memory, or a mistake of ours */
} strack_sim_status;

typedef struct strack_sim_message {
  uint32_t from;
  uint32_t to;
  uint64_t tag;
  uint64_t bytes;
} strack_sim_message;

typedef void (*strack_sim_callback)(strack_sim_host* at, void* user);
typedef void (*strack_sim_received)(strack_sim_host* at, const strack_sim_message* message,
                                    void* user);

/* The cluster of a scenario file. `settings` are `count` texts "key=value", as after --set. */
strack_sim_status strack_sim_open(const char* scenario, const char* const* settings, size_t count,
                                  strack_sim** sim, char* why, size_t why_size);
void strack_sim_close(strack_sim* sim); /* NULL is allowed */

uint32_t strack_sim_hosts(const strack_sim* sim);
/* The smallest latency of a link. */
int64_t strack_sim_lookahead(const strack_sim* sim);
/* 1, unless said; results do not depend on it where callbacks keep to their hosts. */
strack_sim_status strack_sim_set_threads(strack_sim* sim, uint32_t threads);
/* Only hosts that are connected so can send, each in that direction; without any such call all can. */
strack_sim_status strack_sim_connect(strack_sim* sim, uint32_t from, uint32_t to);
/* What a host does at time 0. */
strack_sim_status strack_sim_at_start(strack_sim* sim, uint32_t host, strack_sim_callback begin,
                                      void* user);
/* Once. Runs until nothing is under way. `why` says how it ended in words, where that is not STRACK_SIM_OK. */
strack_sim_status strack_sim_run(strack_sim* sim, char* why, size_t why_size);

typedef struct strack_sim_totals {
  int64_t end; /* of the last thing that was done */
  uint64_t messages;
  uint64_t bytes;
  uint64_t packets; /* sent by hosts, with data */
  uint64_t retransmissions;
  uint64_t drops;
  uint64_t marks;
} strack_sim_totals;
/* Of the run. Fills as many bytes as the caller knows: sizeof(strack_sim_totals). */
strack_sim_status strack_sim_get_totals(const strack_sim* sim, strack_sim_totals* totals,
                                        size_t size);

/* In callbacks only, and of their own host: elsewhere the answer is STRACK_SIM_INVALID, and the time -1. A handle is
 * good until strack_sim_close. Callbacks may be NULL. */
uint32_t strack_sim_number(const strack_sim_host* at);
int64_t strack_sim_now(const strack_sim_host* at);
/* 0 to 2^32 - 1 bytes. `sent` is called once all of it has been acknowledged. */
strack_sim_status strack_sim_send(strack_sim_host* at, uint32_t to, uint64_t tag, uint64_t bytes,
                                  strack_sim_callback sent, void* user);
/* `received` is called once such a message is wholly there; where it is already, at this instant, when the callback
 * that asks is over. Of messages from one host with one tag, the first receive gets the one that was sent first. */
strack_sim_status strack_sim_receive(strack_sim_host* at, uint32_t from, uint64_t tag,
                                     strack_sim_received received, void* user);
/* `then` is called so many picoseconds later. */
strack_sim_status strack_sim_compute(strack_sim_host* at, int64_t time, strack_sim_callback then,
                                     void* user);
/* The run ends with this window. */
strack_sim_status strack_sim_stop(strack_sim_host* at);

#ifdef __cplusplus
}
#endif

#endif
