/* An MPI program that knows nothing of STrack, and checks every byte it receives. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, failures;

static void check(int right, const char* what) {
  if (right) return;
  fprintf(stderr, "rank %d: %s is wrong\n", rank, what);
  ++failures;
}

static unsigned char expected(int from, int to, size_t i) {
  return (unsigned char)(from * 31 + to * 7 + i + (i >> 8));
}

static void ring(size_t bytes, const char* what) {
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  unsigned char* out = malloc(bytes + 1);
  unsigned char* in = calloc(1, bytes + 1);
  for (size_t i = 0; i < bytes; ++i) out[i] = expected(rank, next, i);
  MPI_Status status;
  MPI_Sendrecv(out, (int)bytes, MPI_BYTE, next, 3, in, (int)bytes, MPI_BYTE, before, 3,
               MPI_COMM_WORLD, &status);
  int count = -1;
  MPI_Get_count(&status, MPI_BYTE, &count);
  check(count == (int)bytes && status.MPI_SOURCE == before, what);
  size_t i = 0;
  while (i < bytes && in[i] == expected(before, rank, i)) ++i;
  check(i == bytes, what);
  free(in);
  free(out);
}

static void all_reduce(int n) {
  double* values = malloc(sizeof(double) * (size_t)n);
  for (int i = 0; i < n; ++i) values[i] = rank + i;
  MPI_Allreduce(MPI_IN_PLACE, values, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  int i = 0;
  while (i < n && values[i] == size * (size - 1) / 2.0 + (double)size * i) ++i;
  check(i == n, "AllReduce");
  free(values);
}

static void all_to_all(int n) {
  int* out = malloc(sizeof(int) * (size_t)(n * size));
  int* in = malloc(sizeof(int) * (size_t)(n * size));
  for (int i = 0; i < n * size; ++i) out[i] = rank * 1000000 + i;
  MPI_Alltoall(out, n, MPI_INT, in, n, MPI_INT, MPI_COMM_WORLD);
  int right = 1;
  for (int from = 0; from < size; ++from)
    for (int i = 0; i < n; ++i) right &= in[from * n + i] == from * 1000000 + rank * n + i;
  check(right, "AllToAll");
  free(in);
  free(out);
}

/* Everybody to rank 0 at once, found by probes. Either by MPI_Probe, and then some of the sends are synchronous; or by MPI_Mprobe,
   after which Open MPI 4.1.4 does not acknowledge a synchronous one: seen over this provider and over tcp;ofi_rxm. */
static void probes(int matched) {
  if (rank != 0) {
    for (int i = 0; i < 20; ++i) {
      const int n = i % 5 == 4 ? 20000 : i;
      int* values = malloc(sizeof(int) * 20000);
      for (int k = 0; k < n; ++k) values[k] = rank * 100 + i;
      if (i % 2 && !matched) {
        MPI_Ssend(values, n, MPI_INT, 0, i, MPI_COMM_WORLD);
      } else {
        MPI_Send(values, n, MPI_INT, 0, i, MPI_COMM_WORLD);
      }
      free(values);
    }
  }
  int next[64] = {0};
  for (int left = rank == 0 ? 20 * (size - 1) : 0; left > 0; --left) {
    MPI_Status status;
    MPI_Message message;
    int count = 0;
    if (matched) {
      MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
    } else {
      MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    }
    MPI_Get_count(&status, MPI_INT, &count);
    int* values = malloc(sizeof(int) * (size_t)(count + 1));
    if (matched) {
      MPI_Mrecv(values, count, MPI_INT, &message, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(values, count, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
    }
    const int i = next[status.MPI_SOURCE]++;
    check(status.MPI_TAG == i && count == (i % 5 == 4 ? 20000 : i), "the order of messages");
    check(count == 0 || values[count - 1] == status.MPI_SOURCE * 100 + i, "a probed message");
    free(values);
  }
  MPI_Barrier(MPI_COMM_WORLD); /* probes take any tag: nothing else may come before they are over */
}

static void many_small(int n) {
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  int* in = calloc((size_t)n, sizeof(int));
  int* out = calloc((size_t)n, sizeof(int));
  MPI_Request* requests = malloc(sizeof(MPI_Request) * (size_t)(2 * n));
  for (int i = 0; i < n; ++i) {
    out[i] = rank * n + i;
    MPI_Isend(&out[i], 1, MPI_INT, next, 5, MPI_COMM_WORLD, &requests[n + i]);
    MPI_Irecv(&in[i], 1, MPI_INT, before, 5, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Waitall(2 * n, requests, MPI_STATUSES_IGNORE);
  int i = 0;
  while (i < n && in[i] == before * n + i) ++i;
  check(i == n, "many small messages");
  free(requests);
  free(out);
  free(in);
}

static void window(void) {
  int* memory = NULL;
  MPI_Win win;
  MPI_Win_allocate(sizeof(int) * (size_t)size, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                   &win);
  for (int i = 0; i < size; ++i) memory[i] = -1;
  MPI_Win_fence(0, win);
  for (int to = 0; to < size; ++to) MPI_Put(&rank, 1, MPI_INT, to, rank, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  int right = 1;
  for (int i = 0; i < size; ++i) right &= memory[i] == i;
  check(right, "a window");
  MPI_Win_free(&win);
}

static void stage(const char* name) {
  static double start = -1;
  const double now = MPI_Wtime();
  if (rank == 0 && start >= 0) fprintf(stderr, "%-16s %.2f s\n", name, now - start);
  start = now;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  stage("");
  ring(0, "a ring of 0 bytes");
  ring(100, "a ring of 100 bytes");
  ring(16000, "a ring of 16,000 bytes");
  ring(3000000, "a ring of 3,000,000 bytes");
  stage("rings");
  all_reduce(1);
  all_reduce(200000);
  stage("AllReduce");
  all_to_all(10);
  all_to_all(50000);
  stage("AllToAll");
  probes(0);
  stage("probes");
  probes(1);
  stage("matched probes");
  many_small(2000);
  stage("small messages");
  window();
  stage("window");
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, %d failures\n", size, all);
  MPI_Finalize();
  return all != 0;
}
