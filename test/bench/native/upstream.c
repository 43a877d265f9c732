// A provider that costs next to nothing: plays prepared HTTP answers, and streams of events at the pace that the request asks for.
//
//   upstream DIRECTORY      prints `ready PORT`
//
// GET answers models.http. POST answers answer.http, or, where the body has `"stream":true`, head.http, then N times delta.http, then
// tail.http; a body with `bench:N:R` asks for N deltas, R a second (0: as fast as they are read). In delta.http 7 `#` become the event's
// number, and 16 `?` behind an `@` its time of sending in hexadecimal nanoseconds.
#include "common.h"
#include <sys/timerfd.h>

#define BLOCK 65536
#define IN_MOST (1 << 20)

struct bytes {
  char *at;
  size_t length;
};

struct connection {
  int fd;
  char *in;
  size_t in_length, in_room;
  char *out;
  size_t out_from, out_to, out_room;
  /** A stream under way: deltas still to come, the time of the next one and the pause between two; 0 is flat out. */
  int streaming;
  long left, sent;
  int64_t due, pause;
  struct connection *earlier, *later;
};

static struct bytes models, answer, head, delta, tail;
static size_t number_at, time_at;
/** Paced streams by the time of their next delta. */
static struct connection *first, *last;
static int epoll, timer;

static struct bytes load(const char *directory, const char *name) {
  char path[4096];
  struct bytes bytes;
  snprintf(path, sizeof path, "%s/%s.http", directory, name);
  bytes.at = read_file(path, &bytes.length);
  return bytes;
}

static char *room(struct connection *c, size_t more) {
  if (c->out_to + more > c->out_room) c->out = realloc(c->out, c->out_room = c->out_to + more + BLOCK);
  c->out_to += more;
  return c->out + c->out_to - more;
}

static void put(struct connection *c, struct bytes bytes) { memcpy(room(c, bytes.length), bytes.at, bytes.length); }

static void put_delta(struct connection *c, int64_t now) {
  char *at = room(c, delta.length);
  memcpy(at, delta.at, delta.length);
  long number = 1000000 + c->sent++ % 9000000;
  for (int i = 6; i >= 0; i--, number /= 10) at[number_at + i] = '0' + number % 10;
  for (int i = 15; i >= 0; i--, now >>= 4) at[time_at + i] = "0123456789abcdef"[now & 15];
}

static void unschedule(struct connection *c) {
  *(c->earlier ? &c->earlier->later : &first) = c->later;
  *(c->later ? &c->later->earlier : &last) = c->earlier;
}

/** Streams of one pace become due in the order of their last deltas: the place is found at once. */
static void schedule(struct connection *c) {
  struct connection *before = last;
  while (before && before->due > c->due) before = before->earlier;
  c->earlier = before;
  c->later = before ? before->later : first;
  *(before ? &before->later : &first) = c;
  *(c->later ? &c->later->earlier : &last) = c;
}

static void end_stream(struct connection *c) {
  if (c->streaming && c->pause > 0) unschedule(c);
  c->streaming = 0;
}

static void hang_up(struct connection *c) {
  end_stream(c);
  close(c->fd);
  free(c->in);
  free(c->out);
  free(c);
}

/** Writes what waits, and what a flat stream has to say; false when the connection is gone. */
static int flush(struct connection *c) {
  for (int block = 0; block < 2; block++) {
    if (c->streaming && c->pause == 0 && c->out_from == c->out_to) {
      int64_t now = now_ns();
      while (c->left > 0 && c->out_to < BLOCK) put_delta(c, now), c->left--;
      if (c->left == 0) put(c, tail), end_stream(c);
    }
    if (c->out_from == c->out_to) break;
    ssize_t n = write(c->fd, c->out + c->out_from, c->out_to - c->out_from);
    if (n < 0 && errno != EAGAIN) return 0;
    if (n > 0) c->out_from += n;
    if (c->out_from < c->out_to) break;
    c->out_from = c->out_to = 0;
  }
  int waits = c->out_from < c->out_to || (c->streaming && c->pause == 0);
  watch(epoll, c->fd, EPOLLIN | (waits ? EPOLLOUT : 0), c, EPOLL_CTL_MOD);
  return 1;
}

static void begin_stream(struct connection *c, const char *plan) {
  char *rest = NULL;
  c->left = plan ? strtol(plan + 6, &rest, 10) : 4;
  double rate = rest && *rest == ':' ? strtod(rest + 1, NULL) : 0;
  c->sent = 0;
  c->streaming = 1;
  c->pause = rate > 0 ? SECOND / rate : 0;
  put(c, head);
  if (c->pause == 0) return;
  // The first at once; then each stream in a phase of its own.
  int64_t now = now_ns();
  put_delta(c, now);
  c->left--;
  c->due = now + c->pause * (rand() / (RAND_MAX + 1.0));
  schedule(c);
}

/** Answers the requests that are wholly there; false when there is no sense in them. */
static int serve(struct connection *c) {
  while (c->in_length > 0 && !c->streaming) {
    c->in[c->in_length] = 0;
    char *end = strstr(c->in, "\r\n\r\n");
    if (!end) return c->in_length < 65536;
    *end = 0;
    char *length_at = strcasestr(c->in, "\r\ncontent-length:");
    size_t body = length_at ? strtoul(length_at + 17, NULL, 10) : 0, whole = end + 4 - c->in + body;
    *end = '\r';
    if (whole > IN_MOST) return 0;
    if (c->in_length < whole) return 1;
    char kept = c->in[whole];
    c->in[whole] = 0;
    if (memcmp(c->in, "GET ", 4) == 0) put(c, models);
    else if (strstr(end + 4, "\"stream\":true")) begin_stream(c, strstr(end + 4, "bench:"));
    else put(c, answer);
    c->in[whole] = kept;
    c->in_length -= whole;
    memmove(c->in, c->in + whole, c->in_length);
  }
  return 1;
}

static int take(struct connection *c) {
  for (;;) {
    if (c->in_length + 1 + BLOCK > c->in_room) c->in = realloc(c->in, c->in_room = c->in_length + 1 + BLOCK);
    ssize_t n = read(c->fd, c->in + c->in_length, BLOCK);
    if (n == 0 || (n < 0 && errno != EAGAIN)) return 0;
    if (n > 0) c->in_length += n;
    if (n < BLOCK) return c->in_length <= IN_MOST && serve(c) && flush(c);
  }
}

/** Sends every delta that is due, and sets the timer for the next one. */
static void pace(void) {
  static int64_t set;
  int64_t now = now_ns();
  for (struct connection *c; (c = first) && c->due <= now;) {
    if (c->left-- > 0) {
      put_delta(c, now_ns());
      unschedule(c);
      c->due += c->pause;
      schedule(c);
    } else put(c, tail), end_stream(c);
    if (!flush(c)) hang_up(c);
  }
  if (!first || first->due == set) return;
  set = first->due;
  struct itimerspec at = {.it_value = {.tv_sec = set / SECOND, .tv_nsec = set % SECOND}};
  timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
}

int main(int argc, char **argv) {
  if (argc != 2) return fprintf(stderr, "usage: upstream DIRECTORY\n"), 2;
  end_with_parent();
  signal(SIGPIPE, SIG_IGN);
  models = load(argv[1], "models");
  answer = load(argv[1], "answer");
  head = load(argv[1], "head");
  delta = load(argv[1], "delta");
  tail = load(argv[1], "tail");
  number_at = strstr(delta.at, "#######") - delta.at;
  time_at = strstr(delta.at, "@????????????????") + 1 - delta.at;

  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  struct sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 4096)) die("listen");
  getsockname(listener, (struct sockaddr *)&address, &size);
  epoll = epoll_create1(0);
  timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  watch(epoll, listener, EPOLLIN, &listener, EPOLL_CTL_ADD);
  watch(epoll, timer, EPOLLIN, &timer, EPOLL_CTL_ADD);
  printf("ready %d\n", ntohs(address.sin_port));
  fflush(stdout);

  struct epoll_event events[256];
  for (;;) {
    int n = epoll_wait(epoll, events, 256, -1);
    for (int i = 0; i < n; i++) {
      struct connection *c = events[i].data.ptr;
      if (events[i].data.ptr == &timer) {
        uint64_t expired;
        if (read(timer, &expired, sizeof expired) < 0 && errno != EAGAIN) die("timer");
      } else if (events[i].data.ptr == &listener) {
        for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0;) {
          no_delay(fd);
          struct connection *fresh = calloc(1, sizeof *fresh);
          fresh->fd = fd;
          watch(epoll, fd, EPOLLIN, fresh, EPOLL_CTL_ADD);
        }
      } else if (!(events[i].events & EPOLLOUT ? flush(c) : 1) || !(events[i].events & ~EPOLLOUT ? take(c) : 1)) hang_up(c);
    }
    pace();
  }
}
