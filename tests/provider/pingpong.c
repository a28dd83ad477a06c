/* What fabtests' tagged ping-pong and bandwidth measure, between two ranks of MPI.
 *
 *     pingpong latency|bandwidth BYTES COUNT
 *
 * Prints microseconds per message, one way, and MB/s. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM = 20, WINDOW = 64 };

static void bounce(char* bytes, int size, int count, int rank) {
  for (int i = 0; i < count; ++i) {
    if (rank == 0) MPI_Send(bytes, size, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(bytes, size, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(bytes, size, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
  }
}

/* One way, with so many under way at most; the receiver says when it has them. */
static void stream(char* bytes, int size, int count, int rank) {
  MPI_Request all[WINDOW];
  while (count > 0) {
    const int some = count < WINDOW ? count : WINDOW;
    for (int i = 0; i < some; ++i) {
      if (rank == 0) {
        MPI_Isend(bytes, size, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &all[i]);
      } else {
        MPI_Irecv(bytes, size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &all[i]);
      }
    }
    MPI_Waitall(some, all, MPI_STATUSES_IGNORE);
    if (rank == 1) MPI_Send(bytes, 4, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    if (rank == 0) MPI_Recv(bytes, 4, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    count -= some;
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 4 || ranks != 2) {
    fprintf(stderr, "%s: takes 2 ranks, a mode, bytes and a count\n", argv[0]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int one_way = strcmp(argv[1], "bandwidth") == 0;
  const int size = atoi(argv[2]);
  const int count = atoi(argv[3]);
  char* bytes = calloc(1, (size_t)size + 4);
  void (*const go)(char*, int, int, int) = one_way ? stream : bounce;
  go(bytes, size, WARM, rank);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  go(bytes, size, count, rank);
  const double us = 1e6 * (MPI_Wtime() - start) / (one_way ? count : 2 * count);
  if (rank == 0) printf("took %.2f %.2f\n", us, size / us);
  free(bytes);
  MPI_Finalize();
  return 0;
}
