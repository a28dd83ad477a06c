// AllReduce and AllToAll in turns, and what each round took: for networks that change meanwhile.
//
//   collectives ROUNDS FLOATS BYTES      of an AllReduce; of an AllToAll, from each rank to each
//
// Rank 0 prints "round N" when one begins, so that who started it knows when to do harm, and its seconds when it
// is over. Every value that arrives is looked at.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 4) {
    if (rank == 0) fprintf(stderr, "usage: collectives ROUNDS FLOATS BYTES\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int rounds = atoi(argv[1]), floats = atoi(argv[2]), bytes = atoi(argv[3]);
  float* mine = malloc(sizeof(float) * floats);
  float* sum = malloc(sizeof(float) * floats);
  unsigned char* to = malloc((size_t)bytes * ranks);
  unsigned char* from = malloc((size_t)bytes * ranks);
  long wrong = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < floats; ++i) mine[i] = (float)((i + round) % 1000 + rank);
    for (long i = 0; i < (long)bytes * ranks; ++i) to[i] = (unsigned char)(i % 251 + rank + round);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      printf("round %d\n", round);
      fflush(stdout);
    }
    const double before = MPI_Wtime();
    MPI_Allreduce(mine, sum, floats, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    const double between = MPI_Wtime();
    MPI_Alltoall(to, bytes, MPI_BYTE, from, bytes, MPI_BYTE, MPI_COMM_WORLD);
    const double after = MPI_Wtime();
    for (int i = 0; i < floats; ++i)
      wrong += sum[i] != (float)((i + round) % 1000 * ranks + ranks * (ranks - 1) / 2);
    for (int peer = 0; peer < ranks; ++peer) {
      for (int i = 0; i < bytes; ++i) {
        const long sent = (long)rank * bytes + i;
        wrong += from[(long)peer * bytes + i] != (unsigned char)(sent % 251 + peer + round);
      }
    }
    double took[2] = {between - before, after - between}, most[2];
    MPI_Reduce(took, most, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("took %.6f %.6f\n", most[0], most[1]);
  }
  const double end = MPI_Wtime();
  long all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d rounds, %ld values wrong, %.6f s\n", rounds, all, end - start);
  free(mine);
  free(sum);
  free(to);
  free(from);
  MPI_Finalize();
  return wrong != 0;
}
