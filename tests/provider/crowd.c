/* One endpoint and a crowd of others that all talk to it, in one process.
 *
 *     crowd PEERS     built by: cc -O1 crowd.c -lfabric; run with FI_PROVIDER_PATH
 *
 * Prints what an entry of an address vector and a peer with a connection take, and closes everything. */
#include <malloc.h>
#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define ENTRIES 100000

static void must(long status, const char* what) {
  if (status < 0) {
    fprintf(stderr, "%s: %s\n", what, fi_strerror((int)-status));
    exit(1);
  }
}

static size_t used(void) {
  const struct mallinfo2 all = mallinfo2();
  return all.uordblks + all.hblkhd;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static struct fid_ep* open_ep(struct fid_domain* domain, struct fi_info* info, struct fid_av* av,
                              struct fid_cq* cq) {
  struct fid_ep* ep;
  must(fi_endpoint(domain, info, &ep, NULL), "fi_endpoint");
  must(fi_ep_bind(ep, &av->fid, 0), "bind");
  must(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "bind");
  must(fi_enable(ep), "fi_enable");
  return ep;
}

static fi_addr_t address_of(struct fid_ep* ep, struct fid_av* av) {
  char name[64];
  size_t size = sizeof name;
  fi_addr_t address;
  must(fi_getname(&ep->fid, name, &size), "fi_getname");
  must(fi_av_insert(av, name, 1, &address, 0, NULL) - 1, "fi_av_insert");
  return address;
}

static void close_all(struct fid** objects, int count) {
  for (int i = 0; i < count; ++i) must(fi_close(objects[i]), "fi_close");
}

/* Until so many receives have completed, or nothing did for a minute. */
static void take(struct fid_cq* cq, struct fid_cq* other, int wanted) {
  double heard = now();
  while (wanted > 0) {
    struct fi_cq_tagged_entry some[64];
    const ssize_t got = fi_cq_read(cq, some, 64);
    if (got < 0 && got != -FI_EAGAIN) must(got, "fi_cq_read");
    for (ssize_t i = 0; i < got; ++i) wanted -= (some[i].flags & FI_RECV) != 0;
    if (got > 0) heard = now();
    must(now() - heard > 60 ? -FI_ETIMEDOUT : 0, "waiting for messages");
    struct fi_cq_tagged_entry ignored;
    if (wanted > 0) (void)fi_cq_read(other, &ignored, 0);
  }
}

int main(int argc, char** argv) {
  const int peers = argc > 1 ? atoi(argv[1]) : 1000;
  struct rlimit files = {65536, 65536};
  (void)setrlimit(RLIMIT_NOFILE, &files);
  struct fi_info* hints = fi_allocinfo();
  struct fi_info* info;
  hints->ep_attr->type = FI_EP_RDM;
  hints->fabric_attr->prov_name = strdup("strack");
  must(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info), "fi_getinfo");
  struct fid_fabric* fabric;
  struct fid_domain* domain;
  struct fid_av* av;
  struct fid_cq *hub_cq, *peers_cq;
  must(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
  must(fi_domain(fabric, info, &domain, NULL), "fi_domain");
  struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
  must(fi_av_open(domain, &av_attr, &av, NULL), "fi_av_open");
  const size_t before = used();
  for (uint32_t i = 0; i < ENTRIES; ++i) {
    struct sockaddr_in in = {
        .sin_family = AF_INET, .sin_port = htons(4794), .sin_addr.s_addr = htonl(0x0a000001u + i)};
    must(fi_av_insert(av, &in, 1, NULL, 0, NULL) - 1, "fi_av_insert");
  }
  printf("an entry of an address vector takes %zu bytes\n", (used() - before) / ENTRIES);

  struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED};
  must(fi_cq_open(domain, &cq_attr, &hub_cq, NULL), "fi_cq_open");
  must(fi_cq_open(domain, &cq_attr, &peers_cq, NULL), "fi_cq_open");
  struct fid_ep* hub = open_ep(domain, info, av, hub_cq);
  const fi_addr_t to_hub = address_of(hub, av);
  struct fid_ep** all = calloc((size_t)peers, sizeof *all);
  fi_addr_t* names = calloc((size_t)peers, sizeof *names);
  uint64_t* values = calloc(2 * (size_t)peers, sizeof *values);
  const double start = now();
  for (int i = 0; i < peers; ++i) {
    all[i] = open_ep(domain, info, av, peers_cq);
    names[i] = address_of(all[i], av);
    must(fi_trecv(hub, &values[i], 8, NULL, FI_ADDR_UNSPEC, (uint64_t)i, 0, NULL), "fi_trecv");
    must(fi_trecv(all[i], &values[peers + i], 8, NULL, FI_ADDR_UNSPEC, (uint64_t)i, 0, NULL),
         "fi_trecv");
    const uint64_t value = (uint64_t)i * 7;
    must(fi_tinject(all[i], &value, 8, to_hub, (uint64_t)i), "fi_tinject");
  }
  take(hub_cq, peers_cq, peers);
  for (int i = 0; i < peers; ++i) {
    const uint64_t value = values[i] + 1;
    must(fi_tinject(hub, &value, 8, names[i], (uint64_t)i), "fi_tinject");
  }
  take(peers_cq, hub_cq, peers);
  int wrong = 0;
  for (int i = 0; i < peers; ++i) wrong += values[peers + i] != (uint64_t)i * 7 + 1;
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("%d peers at one endpoint, %d answers wrong, %ld MB for both sides, %.1f s\n", peers,
         wrong, usage.ru_maxrss / 1024, now() - start);
  const double closing = now();
  for (int i = 0; i < peers; ++i) close_all((struct fid*[]){&all[i]->fid}, 1);
  close_all((struct fid*[]){&hub->fid, &hub_cq->fid, &peers_cq->fid, &av->fid, &domain->fid,
                            &fabric->fid},
            6);
  fi_freeinfo(hints);
  fi_freeinfo(info);
  free(all);
  free(names);
  free(values);
  printf("all closed in %.1f s\n", now() - closing);
  return wrong != 0;
}
