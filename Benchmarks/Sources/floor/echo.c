#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "floor.h"

enum { EVENTS = 256, HEAD_MAX = 14, ROOM = 4096 };

typedef struct echo {
    int socket;
    bool is_open;
    size_t size, capacity; /* Received. */
    size_t out_size, out_offset;
    unsigned char *in;
    unsigned char *out; /* The frame that is sent. */
} echo;

static const bench_options *options;
static char *message;
static int the_epoll;
static int64_t unsent, unfinished;

static void die(const char *what) {
    bench_fail(what, strerror(errno));
}

static void watch(echo *self, uint32_t events, int operation) {
    struct epoll_event event = {.events = events, .data.ptr = self};
    if (epoll_ctl(the_epoll, operation, self->socket, &event) != 0) die("epoll_ctl");
}

static void make_mask(unsigned char mask[4]) {
    static unsigned char random[256];
    static size_t left;
    if (left == 0) {
        if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) die("getrandom");
        left = sizeof random;
    }
    left -= 4;
    memcpy(mask, random + left, 4);
}

static void write_frame(echo *self) {
    size_t size = (size_t)options->bytes, head = 2;
    unsigned char *out = self->out, mask[4];
    out[0] = 0x82;
    if (size < 126) {
        out[1] = (unsigned char)(0x80 | size);
    } else {
        size_t bytes = size <= UINT16_MAX ? 2 : 8;
        out[1] = bytes == 2 ? 0x80 | 126 : 0x80 | 127;
        for (size_t i = 0; i < bytes; i++)
            out[head++] = (unsigned char)(size >> 8 * (bytes - 1 - i));
    }
    make_mask(mask);
    memcpy(out + head, mask, 4);
    head += 4;
    uint32_t key;
    memcpy(&key, mask, sizeof key);
    uint64_t wide = (uint64_t)key << 32 | key;
    size_t i = 0;
    for (; i + 8 <= size; i += 8) {
        uint64_t word;
        memcpy(&word, message + i, sizeof word);
        word ^= wide;
        memcpy(out + head + i, &word, sizeof word);
    }
    for (; i < size; i++) out[head + i] = (unsigned char)message[i] ^ mask[i % 4];
    self->out_size = head + size;
    self->out_offset = 0;
}

static void flush(echo *self) {
    while (self->out_offset < self->out_size) {
        ssize_t count = send(self->socket, self->out + self->out_offset,
                             self->out_size - self->out_offset, MSG_NOSIGNAL);
        if (count < 0 && errno == EAGAIN) {
            watch(self, EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD);
            return;
        }
        if (count < 0) die("send");
        self->out_offset += (size_t)count;
    }
}

static void send_next(echo *self) {
    if (unsent == 0) return;
    unsent--;
    write_frame(self);
    flush(self);
}

static void take_head(echo *self) {
    self->in[self->size] = '\0';
    if (strstr((char *)self->in, "\r\n\r\n") == NULL) return;
    if (strncmp((char *)self->in, "HTTP/1.1 101", 12) != 0)
        bench_fail("handshake", (char *)self->in);
    self->is_open = true;
    self->size = 0;
    unfinished--;
}

static void take_frame(echo *self) {
    if (self->size < 2) return;
    size_t length = self->in[1] & 0x7f;
    size_t bytes = length == 126 ? 2 : length == 127 ? 8 : 0, head = 2 + bytes;
    if (self->size < head) return;
    if (bytes > 0) length = 0;
    for (size_t i = 0; i < bytes; i++) length = length << 8 | self->in[2 + i];
    if (self->size < head + length) return;
    bench_check(options, 200, (int64_t)length);
    self->size = 0;
    unfinished--;
    send_next(self);
}

static void on_ready(echo *self, uint32_t events) {
    if ((events & EPOLLOUT) != 0) {
        watch(self, EPOLLIN, EPOLL_CTL_MOD);
        flush(self);
    }
    if ((events & ~(uint32_t)EPOLLOUT) == 0) return;
    ssize_t count = recv(self->socket, self->in + self->size, self->capacity - self->size, 0);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) bench_fail("recv", count == 0 ? "the server has closed" : strerror(errno));
    self->size += (size_t)count;
    if (self->is_open)
        take_frame(self);
    else
        take_head(self);
}

static void run(void) {
    struct epoll_event events[EVENTS];
    while (unfinished > 0) {
        int count = epoll_wait(the_epoll, events, EVENTS, -1);
        for (int i = 0; i < count; i++) on_ready(events[i].data.ptr, events[i].events);
    }
}

static void open_socket(echo *self, long port) {
    static const char request[] = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
                                  "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                                  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1;
    self->capacity = (options->kind == BENCH_ECHO ? (size_t)options->bytes : 0) + ROOM;
    self->in = malloc(self->capacity + 1);
    if (options->kind == BENCH_ECHO) self->out = malloc((size_t)options->bytes + HEAD_MAX);
    self->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (self->in == NULL || self->socket < 0 ||
        connect(self->socket, (struct sockaddr *)&address, sizeof address) != 0)
        die("connect");
    setsockopt(self->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (send(self->socket, request, sizeof request - 1, MSG_NOSIGNAL) < 0) die("send");
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = self};
    if (epoll_ctl(the_epoll, EPOLL_CTL_ADD, self->socket, &event) != 0) die("epoll_ctl");
    unfinished++;
}

static void send_messages(echo *all, int64_t count) {
    unsent = unfinished = count;
    for (int64_t i = 0; i < options->in_flight; i++) send_next(&all[i]);
    run();
}

void floor_echo(const bench_options *given) {
    options = given;
    const char *port = strrchr(options->url, ':');
    echo *all = calloc((size_t)options->in_flight, sizeof *all);
    message = calloc(1, (size_t)options->bytes + 1);
    the_epoll = epoll_create1(EPOLL_CLOEXEC);
    if (port == NULL || all == NULL || message == NULL || the_epoll < 0) die("start");
    if (options->kind == BENCH_SOCKETS) bench_begin();
    for (int64_t i = 0; i < options->in_flight; i++) {
        open_socket(&all[i], strtol(port + 1, NULL, 10));
        if (unfinished == BENCH_OPENING) run();
    }
    run();
    if (options->kind == BENCH_ECHO) {
        send_messages(all, options->warmup);
        bench_begin();
        send_messages(all, options->count);
    }
    bench_end(options, "floor-epoll");
    for (int64_t i = 0; i < options->in_flight; i++) {
        close(all[i].socket);
        free(all[i].in);
        free(all[i].out);
    }
    free(all);
    free(message);
    close(the_epoll);
}
