// What both programs share: a clock, sockets on loopback, and giving up with a message.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000ll

static inline int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * SECOND + t.tv_nsec;
}

/** Ends with the process that started us, however that ended. */
static inline void end_with_parent(void) { prctl(PR_SET_PDEATHSIG, SIGKILL); }

__attribute__((noreturn)) static inline void die(const char *what) {
  perror(what);
  exit(1);
}

static inline struct sockaddr_in loopback(int port) {
  return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static inline void no_delay(int fd) {
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
}

static inline void watch(int epoll, int fd, uint32_t events, void *data, int how) {
  struct epoll_event event = {.events = events, .data.ptr = data};
  if (epoll_ctl(epoll, how, fd, &event)) die("epoll_ctl");
}

/** A whole file, with a NUL behind it. */
static inline char *read_file(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  if (!file) die(path);
  fseek(file, 0, SEEK_END);
  *length = ftell(file);
  rewind(file);
  char *bytes = malloc(*length + 1);
  if (fread(bytes, 1, *length, file) != *length) die(path);
  fclose(file);
  bytes[*length] = 0;
  return bytes;
}
