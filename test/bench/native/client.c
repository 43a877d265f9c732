// A load generator that costs next to nothing: sends the requests of a file over N connections, the next whenever a reply has ended.
//
//   client PORT REQUESTS_FILE CONNECTIONS WARM_SECONDS SECONDS
//   client PORT REQUESTS_FILE stall
//
// Prints `steady` once every connection has seen some of a body and the warm-up is over, then one line of JSON about the seconds after
// it. With `stall` it stops reading at the first bytes of the body, until a line comes on stdin, and reports at the reply's end.
#include "common.h"
#include <sys/resource.h>

#define BLOCK 262144
#define SAMPLES 8000000

enum { HEAD, LENGTH, SIZE, CHUNK, CHUNK_END, TRAILER };

struct connection {
  int fd, state, shown, status;
  char head[16384];
  size_t head_length;
  uint64_t left;
  int64_t began;
  /** Hexadecimal digits of a time that are still to come; -1 between events. */
  int digits;
  int64_t time;
};

struct series {
  uint32_t *values;
  size_t count;
};

static struct connection *connections;
static int epoll, port, wanted, shown;
static struct request {
  const char *at;
  size_t length;
} *requests;
static size_t request_count, next_request;
static struct series replies, events;
static uint64_t reply_count, event_count, byte_count, error_count;

static void sample(struct series *series, int64_t ns) {
  if (series->count < SAMPLES) series->values[series->count++] = ns < 0 ? 0 : ns > UINT32_MAX ? UINT32_MAX : ns;
}

static int ascending(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/** In microseconds; sorts. */
static double percentile(struct series *series, double share) {
  if (series->count == 0) return 0;
  qsort(series->values, series->count, sizeof *series->values, ascending);
  return series->values[(size_t)((series->count - 1) * share)] / 1000.0;
}

static void begin(struct connection *c) {
  c->state = HEAD;
  c->head_length = 0;
  c->digits = -1;
  c->began = now_ns();
  struct request request = requests[next_request++ % request_count];
  if (write(c->fd, request.at, request.length) != (ssize_t)request.length) die("write");
}

/** The requests of a file lie one behind the other; each says the length of its body. */
static void load_requests(const char *path) {
  size_t length;
  const char *at = read_file(path, &length), *end = at + length;
  while (at < end) {
    const char *body = strstr(at, "\r\n\r\n"), *body_length = strcasestr(at, "\r\ncontent-length:");
    if (!body) die("a request without an end");
    size_t whole = body + 4 - at + (body_length && body_length < body ? strtoul(body_length + 17, NULL, 10) : 0);
    if (!(request_count & (request_count - 1))) requests = realloc(requests, sizeof *requests * (request_count ? request_count * 2 : 1));
    requests[request_count++] = (struct request){at, whole};
    at += whole;
  }
}

static void dial(struct connection *c) {
  struct sockaddr_in address = loopback(port);
  c->fd = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(c->fd, (struct sockaddr *)&address, sizeof address)) die("connect");
  no_delay(c->fd);
  fcntl(c->fd, F_SETFL, O_NONBLOCK);
  watch(epoll, c->fd, EPOLLIN, c, EPOLL_CTL_ADD);
  begin(c);
}

static void redial(struct connection *c) {
  close(c->fd);
  dial(c);
}

static void reply_over(struct connection *c) {
  sample(&replies, now_ns() - c->began);
  reply_count++;
  if (c->status != 200) error_count++;
  begin(c);
}

/** Body bytes: finds the events' times. */
static void scan(struct connection *c, const char *at, size_t length) {
  const char *end = at + length;
  byte_count += length;
  if (!c->shown) c->shown = 1, shown++;
  while (at < end) {
    if (c->digits < 0) {
      at = memchr(at, '@', end - at);
      if (!at) return;
      at++;
      c->digits = 16;
      c->time = 0;
    }
    for (; at < end && c->digits > 0; at++, c->digits--) c->time = c->time << 4 | (*at <= '9' ? *at - '0' : *at - 'a' + 10);
    if (c->digits > 0) return;
    c->digits = -1;
    event_count++;
    sample(&events, now_ns() - c->time);
  }
}

/** Reads the head that has just become whole; how its body is framed. */
static int framing(struct connection *c) {
  c->head[c->head_length] = 0;
  c->status = atoi(c->head + 9);
  const char *length = strcasestr(c->head, "\r\ncontent-length:");
  c->left = length ? strtoull(length + 17, NULL, 10) : 0;
  return strcasestr(c->head, "\r\ntransfer-encoding: chunked") ? SIZE : LENGTH;
}

static void decode(struct connection *c, const char *at, const char *end) {
  while (at < end) {
    size_t n = end - at;
    switch (c->state) {
      case HEAD:
        if (c->head_length + 1 == sizeof c->head) die("a head too long");
        c->head[c->head_length++] = *at++;
        if (c->head_length < 4 || memcmp(c->head + c->head_length - 4, "\r\n\r\n", 4)) break;
        c->state = framing(c);
        if (c->state == LENGTH && c->left == 0) reply_over(c);
        else if (c->state == SIZE) c->left = 0;
        break;
      case LENGTH:
      case CHUNK:
        if (n > c->left) n = c->left;
        scan(c, at, n);
        at += n;
        c->left -= n;
        if (c->left > 0) break;
        if (c->state == LENGTH) reply_over(c);
        else c->state = CHUNK_END;
        break;
      case SIZE: {
        char digit = *at++ | 32;
        if (digit >= '0' && digit <= '9') c->left = c->left << 4 | (digit - '0');
        else if (digit >= 'a' && digit <= 'f') c->left = c->left << 4 | (digit - 'a' + 10);
        else if (digit == ('\n' | 32)) c->state = c->left > 0 ? CHUNK : TRAILER;
        break;
      }
      case CHUNK_END:
        if (*at++ == '\n') c->state = SIZE;
        break;
      case TRAILER:
        if (*at++ == '\n') reply_over(c);
        break;
    }
  }
}

static void take(struct connection *c) {
  static char block[BLOCK];
  ssize_t n = read(c->fd, block, BLOCK);
  if (n > 0) decode(c, block, block + n);
  else if (n == 0 || errno != EAGAIN) {
    // Between replies a server may close as it likes.
    if (c->state != HEAD || c->head_length > 0) error_count++;
    redial(c);
  }
}

static void report(double seconds) {
  printf("{\"seconds\":%.6f,\"replies\":%llu,\"errors\":%llu,\"events\":%llu,\"bytes\":%llu,", seconds, (unsigned long long)reply_count,
         (unsigned long long)error_count, (unsigned long long)event_count, (unsigned long long)byte_count);
  printf("\"reply_p50\":%.3f,\"reply_p99\":%.3f,", percentile(&replies, 0.5), percentile(&replies, 0.99));
  printf("\"event_p50\":%.3f,\"event_p99\":%.3f}\n", percentile(&events, 0.5), percentile(&events, 0.99));
  fflush(stdout);
}

static void turn_of_events(int timeout_ms) {
  struct epoll_event ready[256];
  int n = epoll_wait(epoll, ready, 256, timeout_ms);
  for (int i = 0; i < n; i++) take(ready[i].data.ptr);
}

static void say_steady(void) {
  puts("steady");
  fflush(stdout);
}

static void stall(void) {
  while (shown == 0) turn_of_events(-1);
  say_steady();
  getchar();
  int64_t began = now_ns();
  while (reply_count == 0 && error_count == 0) turn_of_events(-1);
  report((double)(now_ns() - began) / SECOND);
}

/** @param keeps whether the connections stay open after the report, until this process is ended */
static void load(double warm, double seconds, int keeps) {
  int64_t began = now_ns();
  while (shown < wanted || now_ns() - began < warm * SECOND) turn_of_events(10);
  reply_count = event_count = byte_count = error_count = replies.count = events.count = 0;
  say_steady();
  began = now_ns();
  while (now_ns() - began < seconds * SECOND) turn_of_events(10);
  report((double)(now_ns() - began) / SECOND);
  while (keeps) turn_of_events(-1);
}

int main(int argc, char **argv) {
  int stalls = argc == 4 && strcmp(argv[3], "stall") == 0;
  int keeps = argc == 7 && strcmp(argv[6], "keep") == 0;
  if (!stalls && !keeps && argc != 6) return fprintf(stderr, "usage: client PORT REQUESTS_FILE (CONNECTIONS WARM SECONDS [keep] | stall)\n"), 2;
  end_with_parent();
  signal(SIGPIPE, SIG_IGN);
  struct rlimit most;
  getrlimit(RLIMIT_NOFILE, &most);
  most.rlim_cur = most.rlim_max;
  setrlimit(RLIMIT_NOFILE, &most);
  port = atoi(argv[1]);
  load_requests(argv[2]);
  wanted = stalls ? 1 : atoi(argv[3]);
  connections = calloc(wanted, sizeof *connections);
  replies.values = malloc(SAMPLES * sizeof(uint32_t));
  events.values = malloc(SAMPLES * sizeof(uint32_t));
  epoll = epoll_create1(0);
  for (int i = 0; i < wanted; i++) dial(&connections[i]);
  if (stalls) stall();
  else load(atof(argv[4]), atof(argv[5]), keeps);
}
