/* What UDP sockets alone carry one way: the datagrams of a stream, several in one system call (UDP_SEGMENT, UDP_GRO), and
   eight bytes back for each such burst. Nothing is matched, kept, repeated or copied a second time.
     udp_floor server ADDRESS PORT
     udp_floor client ADDRESS PORT DATAGRAM BURST SIZE SECONDS
   Both ends look without sleeping. The client prints JSON with the names that `strack perf client --json` has. A datagram
   that is lost ends it. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#define UDP_GRO 104
#endif
enum { kMost = 65507, kFront = 36, kMostInBurst = 64, kUnderWay = 500000, kPatience = 2, kEnd = 1 };

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double cpu_seconds(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void stop(const char* what) {
  perror(what);
  exit(1);
}

/* Until the client says that it is over, or is silent. */
static int serve(int fd) {
  static char room[kMost + 1];
  uint64_t total = 0;
  double heard = seconds() + 60;
  while (seconds() < heard + kPatience) {
    struct sockaddr_in from;
    socklen_t length = sizeof from;
    const ssize_t got =
        recvfrom(fd, room, sizeof room, MSG_DONTWAIT, (struct sockaddr*)&from, &length);
    if (got < 0 && errno != EAGAIN) stop("recvfrom");
    if (got < 0) continue;
    if (got == kEnd) return 0;
    heard = seconds();
    total += (uint64_t)got;
    if (sendto(fd, &total, sizeof total, 0, (struct sockaddr*)&from, length) < 0) stop("sendto");
  }
  return 1;
}

static void send_burst(int fd, char* fronts, char* payload, size_t datagram, size_t burst) {
  struct iovec vectors[2 * kMostInBurst];
  const size_t size = datagram - kFront;
  for (size_t i = 0; i < burst; ++i) {
    vectors[2 * i] = (struct iovec){fronts + i * kFront, kFront};
    vectors[2 * i + 1] = (struct iovec){payload + i * size, size};
  }
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(uint16_t))];
  } control;
  struct msghdr header = {.msg_iov = vectors, .msg_iovlen = 2 * burst};
  if (burst > 1) {
    const uint16_t segment = (uint16_t)datagram;
    header.msg_control = &control;
    header.msg_controllen = sizeof control;
    struct cmsghdr* c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = IPPROTO_UDP;
    c->cmsg_type = UDP_SEGMENT;
    c->cmsg_len = CMSG_LEN(sizeof segment);
    memcpy(CMSG_DATA(c), &segment, sizeof segment);
  }
  if (sendmsg(fd, &header, 0) < 0) stop("sendmsg");
}

static int stream(int fd, size_t datagram, size_t burst, size_t size, double time) {
  static char fronts[kFront * kMostInBurst];
  const size_t step = (datagram - kFront) * burst;
  char* message = malloc(size + step);
  if (message == NULL) return 2;
  memset(message, 7, size + step);
  uint64_t sent = 0, there = 0;
  size_t at = 0;
  const double start = seconds();
  double heard = start;
  while (seconds() < start + time) {
    uint64_t count = 0;
    while (recv(fd, &count, sizeof count, MSG_DONTWAIT) == sizeof count) {
      there = count;
      heard = seconds();
    }
    if (sent - there + datagram * burst > kUnderWay) {
      if (seconds() < heard + kPatience) continue;
      fprintf(stderr, "%llu bytes went and %llu arrived\n", (unsigned long long)sent,
              (unsigned long long)there);
      return 1;
    }
    send_burst(fd, fronts, message + at, datagram, burst);
    sent += datagram * burst;
    at = at + step < size ? at + step : 0;
  }
  const double took = seconds() - start;
  if (send(fd, "!", kEnd, 0) < 0) stop("send");
  const double payload = (double)there / (double)datagram * (double)(datagram - kFront);
  printf(
      "{\"ok\": true, \"seconds\": %.6f, \"bytes\": %.0f, \"gbps\": %.6f, \"cpu_seconds\": %.6f}\n",
      took, payload, 8e-9 * payload / took, cpu_seconds());
  return 0;
}

int main(int argc, char** argv) {
  const int server = argc == 4 && strcmp(argv[1], "server") == 0;
  const size_t datagram = argc == 8 ? strtoul(argv[4], NULL, 10) : 0;
  const size_t burst = argc == 8 ? strtoul(argv[5], NULL, 10) : 0;
  if (!server && (argc != 8 || datagram <= kFront || burst < 1 || burst > kMostInBurst ||
                  datagram * burst > kMost)) {
    fprintf(stderr,
            "udp_floor server ADDRESS PORT\nudp_floor client ADDRESS PORT DATAGRAM BURST SIZE "
            "SECONDS\n");
    return 2;
  }
  struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[3]))};
  if (inet_pton(AF_INET, argv[2], &place.sin_addr) != 1) stop("address");
  const int fd = socket(AF_INET, SOCK_DGRAM, 0), on = 1, room = 4 << 20;
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  if (server) {
    if (bind(fd, (struct sockaddr*)&place, sizeof place) != 0) stop("bind");
    setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on);
    return serve(fd);
  }
  if (connect(fd, (struct sockaddr*)&place, sizeof place) != 0) stop("connect");
  return stream(fd, datagram, burst, strtoul(argv[6], NULL, 10), atof(argv[7]));
}
