/*
 * The server for what nginx can't do. A GET is answered after a second, however many wait. A PUT
 * or POST is read to its end, thrown away by the kernel (MSG_TRUNC), and then answered: a 200 means
 * that exactly as many bytes came as the command line says. Every connection serves one request.
 *
 * A GET that asks for a WebSocket gets one, which echoes messages (echo.c).
 *
 * server BYTES: serve uploads of BYTES bytes; prints the port on stdout, and ends with its parent.
 */
#include "echo.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HOLD_MS = 1000, HEAD_SIZE = 4096, EVENTS = 256, DISCARD_SIZE = 4 * 1024 * 1024 };

typedef struct connection {
    struct connection *next; /* In the queue of those held. */
    int socket;
    bool head_read;
    bool closed; /* By the client while it was held. */
    size_t head_size;
    int64_t body_left;
    int64_t answer_at_ms;
    echo *echo; /* State of a WebSocket; else NULL. */
    char head[HEAD_SIZE + 1];
} connection;

static int epoll;
static int64_t upload_size;

/* All are held equally long, so the queue is in the order of the answers. */
static connection *first_held;
static connection **last_held = &first_held;

static _Noreturn void die(const char *what) {
    perror(what);
    exit(1);
}

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

static void drop(connection *self) {
    close(self->socket);
    echo_free(self->echo);
    free(self);
}

static void say(connection *self, const char *text) {
    /* A client that has gone away is not this program's trouble: the client reports it. */
    (void)!send(self->socket, text, strlen(text), MSG_NOSIGNAL);
}

static void answer(connection *self, const char *status) {
    char text[128];
    snprintf(text, sizeof text, "HTTP/1.1 %s\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
             status);
    say(self, text);
    drop(self);
}

/* ---- Requests -------------------------------------------------------------------------------- */

static void hold(connection *self) {
    self->answer_at_ms = now_ms() + HOLD_MS;
    self->next = NULL;
    *last_held = self;
    last_held = &self->next;
}

static void answer_held(void) {
    int64_t now = now_ms();
    while (first_held != NULL && first_held->answer_at_ms <= now) {
        connection *self = first_held;
        first_held = self->next;
        if (first_held == NULL) last_held = &first_held;
        if (self->closed)
            free(self);
        else
            answer(self, "200 OK");
    }
}

static int64_t content_length(const char *head) {
    static const char name[] = "\r\nContent-Length:";
    const char *field = strcasestr(head, name);
    return field != NULL ? strtoll(field + strlen(name), NULL, 10) : -1;
}

static void head_done(connection *self, size_t head_size) {
    self->head_read = true;
    if (strcasestr(self->head, "\r\nUpgrade: websocket") != NULL) {
        self->echo = echo_new(self->socket, self->head);
        if (self->echo == NULL) drop(self);
        return;
    }
    if (strncmp(self->head, "GET ", 4) == 0) {
        hold(self);
        return;
    }
    if (content_length(self->head) != upload_size) {
        answer(self, "400 Bad Request");
        return;
    }
    if (strcasestr(self->head, "\r\nExpect: 100-continue") != NULL)
        say(self, "HTTP/1.1 100 Continue\r\n\r\n");
    self->body_left = upload_size - (int64_t)(self->head_size - head_size);
    if (self->body_left <= 0) answer(self, "200 OK");
}

static void read_head(connection *self) {
    ssize_t count = recv(self->socket, self->head + self->head_size, HEAD_SIZE - self->head_size,
                         0);
    if (count <= 0) {
        drop(self);
        return;
    }
    self->head_size += (size_t)count;
    self->head[self->head_size] = '\0';
    const char *end = strstr(self->head, "\r\n\r\n");
    if (end != NULL)
        head_done(self, (size_t)(end - self->head) + 4);
    else if (self->head_size == HEAD_SIZE)
        answer(self, "431 Request Header Fields Too Large");
}

static void read_body(connection *self) {
    ssize_t count = recv(self->socket, NULL, DISCARD_SIZE, MSG_TRUNC);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
        drop(self);
        return;
    }
    self->body_left -= count;
    if (self->body_left <= 0) answer(self, self->body_left == 0 ? "200 OK" : "400 Bad Request");
}

static void ready(connection *self) {
    if (!self->head_read) {
        read_head(self);
    } else if (self->echo != NULL) {
        if (!echo_read(self->echo)) drop(self);
    } else if (self->body_left > 0) {
        read_body(self);
    } else { /* Held: whatever comes now, the client is no longer waiting. */
        self->closed = true;
        close(self->socket);
    }
}

/* ---- The loop -------------------------------------------------------------------------------- */

static void accept_all(int listener) {
    int socket;
    while ((socket = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        connection *self = calloc(1, sizeof *self);
        if (self == NULL) die("calloc");
        self->socket = socket;
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = self};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) != 0) die("epoll_ctl");
    }
    if (errno != EAGAIN && errno != ECONNABORTED) die("accept4");
}

static int listen_anywhere(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) != 0 ||
        listen(listener, 4096) != 0)
        die("listen");
    if (getsockname(listener, (struct sockaddr *)&address, &size) != 0) die("getsockname");
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

static int wait_ms(void) {
    if (first_held == NULL) return -1;
    int64_t left = first_held->answer_at_ms - now_ms();
    return left > 0 ? (int)left : 0;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: server BYTES\n");
        return 2;
    }
    upload_size = strtoll(argv[1], NULL, 10);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    int listener = listen_anywhere();
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) != 0) die("epoll");
    for (;;) {
        struct epoll_event events[EVENTS];
        int count = epoll_wait(epoll, events, EVENTS, wait_ms());
        for (int i = 0; i < count; i++) {
            if (events[i].data.ptr == NULL)
                accept_all(listener);
            else
                ready(events[i].data.ptr);
        }
        answer_held();
    }
}
