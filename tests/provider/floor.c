/* What UDP sockets alone take: a ping-pong of messages cut into datagrams, several in one system call (UDP_SEGMENT,
   UDP_GRO), with nothing acknowledged, matched or copied.
     floor OWN PORT PEER PORT SIZE COUNT DATAGRAM BURST first|second
   Both ends look without sleeping. The first prints "took MICROSECONDS", one way. A datagram that is lost ends it. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#define UDP_GRO 104
#endif
enum { kMost = 65507, kPatience = 5 };

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void stop(const char* what) {
  perror(what);
  exit(1);
}

static void give(int fd, char* message, size_t size, size_t datagram, size_t burst) {
  for (size_t at = 0; at < size;) {
    size_t bytes = datagram * burst;
    if (bytes > size - at) bytes = size - at;
    struct iovec vector = {message + at, bytes};
    union {
      struct cmsghdr header;
      char bytes[CMSG_SPACE(sizeof(uint16_t))];
    } control;
    struct msghdr header = {.msg_iov = &vector, .msg_iovlen = 1};
    if (bytes > datagram) {
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
    at += bytes;
  }
}

static void take(int fd, char* message, size_t size) {
  const double end = seconds() + kPatience;
  for (size_t got = 0; got < size;) {
    const ssize_t bytes = recv(fd, message + got, size - got + kMost, MSG_DONTWAIT);
    if (bytes > 0) got += (size_t)bytes;
    if (bytes < 0 && errno != EAGAIN) stop("recv");
    if (bytes < 0 && seconds() > end) {
      fprintf(stderr, "nothing came for %d s after %zu of %zu bytes\n", kPatience, got, size);
      exit(1);
    }
  }
}

int main(int argc, char** argv) {
  if (argc != 10) {
    fprintf(stderr, "floor OWN PORT PEER PORT SIZE COUNT DATAGRAM BURST first|second\n");
    return 2;
  }
  const size_t size = strtoul(argv[5], NULL, 10), count = strtoul(argv[6], NULL, 10);
  const size_t datagram = strtoul(argv[7], NULL, 10), burst = strtoul(argv[8], NULL, 10);
  const int first = strcmp(argv[9], "first") == 0;
  const int fd = socket(AF_INET, SOCK_DGRAM, 0), on = 1, room = 8 << 20;
  struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[2]))};
  struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[4]))};
  if (inet_pton(AF_INET, argv[1], &own.sin_addr) != 1 ||
      inet_pton(AF_INET, argv[3], &peer.sin_addr) != 1)
    stop("address");
  if (bind(fd, (struct sockaddr*)&own, sizeof own) != 0) stop("bind");
  if (connect(fd, (struct sockaddr*)&peer, sizeof peer) != 0) stop("connect");
  setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  char *out = malloc(size), *in = malloc(size + kMost);
  if (out == NULL || in == NULL || size == 0 || datagram == 0 || burst == 0) return 2;
  memset(out, 7, size);
  memset(in, 0, size + kMost);
  if (first)
    take(fd, in, 1); /* the other is there */
  else if (send(fd, "!", 1, 0) < 0)
    stop("send");
  double start = 0;
  for (size_t i = 0; i < count + 20; ++i) {
    if (i == 20) start = seconds();
    if (first) give(fd, out, size, datagram, burst);
    take(fd, in, size);
    if (!first) give(fd, out, size, datagram, burst);
  }
  if (first) printf("took %.2f\n", 1e6 * (seconds() - start) / (double)(2 * count));
  return 0;
}
