/* MPI_Put both ways, into windows of both kinds; with -DTHREADS by a program that asks for threads, with -DSHARED into shared memory first. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBytes = 1 << 20, kTimes = 5 };

static int puts_arrive(MPI_Win win, const char* memory, int rank) {
  char* out = malloc(kBytes);
  int right = 1;
  for (int i = 0; i < kTimes; ++i) {
    memset(out, rank * 16 + i, kBytes);
    MPI_Win_fence(0, win);
    MPI_Put(out, kBytes, MPI_CHAR, !rank, 0, kBytes, MPI_CHAR, win);
    MPI_Win_fence(0, win);
    right &= memory[0] == !rank * 16 + i && memory[kBytes - 1] == !rank * 16 + i;
  }
  free(out);
  return right;
}

int main(int argc, char** argv) {
  int rank = 0, right = 1;
#ifdef THREADS
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
#else
  MPI_Init(&argc, &argv);
#endif
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* memory = NULL;
  MPI_Win win;
#ifdef SHARED
  MPI_Win_allocate_shared(kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  right &= puts_arrive(win, memory, rank);
  MPI_Win_free(&win);
#endif
  MPI_Win_allocate(kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  right &= puts_arrive(win, memory, rank);
  MPI_Win_free(&win);
  memory = malloc(kBytes);
  MPI_Win_create(memory, kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  right &= puts_arrive(win, memory, rank);
  MPI_Win_free(&win);
  free(memory);
  printf("rank %d: %s\n", rank, right ? "right" : "wrong");
  MPI_Finalize();
  return !right;
}
