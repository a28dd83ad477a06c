/* How far two cores are from each other: nanoseconds that a cache line takes from one to the other.
     handoff CORE CORE
   On a virtual machine that is another number from second to second, as the host moves its processors about: 30 ns where
   they share a cache, 170 where they do not, and everything between two processes takes two to three times as long. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kRounds = 5, kHandoffs = 20000 };

static _Alignas(128) atomic_long line;

static void stay_on(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((size_t)core, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) {
    perror("sched_setaffinity");
    exit(1);
  }
}

/* The line holds whose turn it is: even numbers are the first's. */
static void take_turn(long turn) {
  while (atomic_load_explicit(&line, memory_order_acquire) != turn) {
  }
  atomic_store_explicit(&line, turn + 1, memory_order_release);
}

static void* other(void* core) {
  stay_on(*(int*)core);
  for (long i = 0; i < kRounds * kHandoffs; ++i) take_turn(2 * i + 1);
  return NULL;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "handoff CORE CORE\n");
    return 2;
  }
  int second = atoi(argv[2]);
  stay_on(atoi(argv[1]));
  pthread_t thread;
  if (pthread_create(&thread, NULL, other, &second) != 0) return 1;
  double best = 1e12;
  for (int round = 0; round < kRounds; ++round) {
    const double start = now();
    for (int i = 0; i < kHandoffs; ++i) take_turn(2L * (round * kHandoffs + i));
    const double took = (now() - start) / (2.0 * kHandoffs);
    if (took < best) best = took;
  }
  pthread_join(thread, NULL);
  printf("%.0f\n", best);
  return 0;
}
