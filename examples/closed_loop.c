/* A program drives the simulated network: host 0 and the last one play ping-pong, thinking for a microsecond before each answer,
 * and every round trip is printed as the simulation has it. See docs/closed-loop.md.
 *
 *   closed_loop SCENARIO [KEY=VALUE...]
 */
#include <stdint.h>
#include <stdio.h>
#include <strack/sim.h>

enum { kRounds = 4, kTag = 1, kBytes = 64 * 1024 };
static const int64_t kThink = 1000000; /* ps */

struct game {
  uint32_t last;
  int rounds;
  int64_t served_at;
};

static void serve(strack_sim_host* at, void* user);

static void returned(strack_sim_host* at, const strack_sim_message* message, void* user) {
  struct game* game = user;
  (void)message;
  ++game->rounds;
  printf("round %d: %.3f us\n", game->rounds, (double)(strack_sim_now(at) - game->served_at) / 1e6);
  if (game->rounds < kRounds) strack_sim_compute(at, kThink, serve, game);
}

static void serve(strack_sim_host* at, void* user) {
  struct game* game = user;
  game->served_at = strack_sim_now(at);
  strack_sim_receive(at, game->last, kTag, returned, game);
  strack_sim_send(at, game->last, kTag, kBytes, NULL, NULL);
}

static void answer(strack_sim_host* at, void* user) {
  (void)user;
  strack_sim_send(at, 0, kTag, kBytes, NULL, NULL);
}

static void came(strack_sim_host* at, const strack_sim_message* message, void* user) {
  struct game* game = user;
  (void)message;
  strack_sim_compute(at, kThink, answer, NULL);
  /* This host cannot look at game->rounds, which is written by the other one: it knows how many it has answered. */
  if (++game->rounds < kRounds) strack_sim_receive(at, 0, kTag, came, game);
}

static void stand_by(strack_sim_host* at, void* user) {
  strack_sim_receive(at, 0, kTag, came, user);
}

int main(int argc, char** argv) {
  char why[512];
  strack_sim* sim = NULL;
  if (argc < 2) {
    fprintf(stderr, "usage: closed_loop SCENARIO [KEY=VALUE...]\n");
    return 2;
  }
  if (strack_sim_open(argv[1], (const char* const*)&argv[2], (size_t)(argc - 2), &sim, why,
                      sizeof why) != STRACK_SIM_OK) {
    fprintf(stderr, "error: %s\n", why);
    return 2;
  }
  struct game mine = {strack_sim_hosts(sim) - 1, 0, 0};
  struct game theirs = {0, 0, 0};
  strack_sim_at_start(sim, 0, serve, &mine);
  strack_sim_at_start(sim, mine.last, stand_by, &theirs);
  const strack_sim_status status = strack_sim_run(sim, why, sizeof why);
  if (status != STRACK_SIM_OK) fprintf(stderr, "error: %s\n", why);
  strack_sim_close(sim);
  return status == STRACK_SIM_OK && mine.rounds == kRounds ? 0 : 1;
}
