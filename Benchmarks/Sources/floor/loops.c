#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "floor.h"

/* ---- curl_multi_poll ------------------------------------------------------------------------- */

void floor_run_poll(CURLM *multi) {
    for (;;) {
        int running;
        floor_check_multi(curl_multi_perform(multi, &running));
        if (floor_harvest(multi) == 0) return;
        floor_check_multi(curl_multi_poll(multi, NULL, 0, 1000, NULL));
    }
}

/* ---- curl_multi_socket_action ---------------------------------------------------------------- */

enum { EVENTS = 256 };

static const int64_t no_deadline = INT64_MAX;

typedef struct poller {
    CURLM *multi;
    int epoll;
    int64_t deadline_ms; /* When curl wants to be called without a socket. */
} poller;

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* libcurl says which events it waits for. `known` is NULL for a socket that isn't in epoll yet. */
static int on_socket(CURL *easy, curl_socket_t socket, int what, void *context, void *known) {
    (void)easy;
    poller *self = context;
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(self->epoll, EPOLL_CTL_DEL, socket, NULL);
        return 0;
    }
    struct epoll_event event = {.data.fd = socket};
    if (what & CURL_POLL_IN) event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
    if (known == NULL) floor_check_multi(curl_multi_assign(self->multi, socket, self));
    return epoll_ctl(self->epoll, known != NULL ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event);
}

static int on_timer(CURLM *multi, long timeout_ms, void *context) {
    (void)multi;
    poller *self = context;
    self->deadline_ms = timeout_ms < 0 ? no_deadline : now_ms() + timeout_ms;
    return 0;
}

static int wait_ms(const poller *self) {
    if (self->deadline_ms == no_deadline) return -1;
    int64_t left = self->deadline_ms - now_ms();
    return left > 0 ? (int)left : 0;
}

static int curl_events(uint32_t events) {
    int result = 0;
    if (events & EPOLLIN) result |= CURL_CSELECT_IN;
    if (events & EPOLLOUT) result |= CURL_CSELECT_OUT;
    if (events & (EPOLLERR | EPOLLHUP)) result |= CURL_CSELECT_ERR;
    return result;
}

static void turn(poller *self) {
    struct epoll_event events[EVENTS];
    int running;
    int ready = epoll_wait(self->epoll, events, EVENTS, wait_ms(self));
    if (ready < 0 && errno != EINTR) bench_fail("epoll_wait", strerror(errno));
    for (int i = 0; i < ready; i++) {
        floor_check_multi(curl_multi_socket_action(self->multi, events[i].data.fd,
                                                   curl_events(events[i].events), &running));
    }
    if (self->deadline_ms != no_deadline && now_ms() >= self->deadline_ms) {
        self->deadline_ms = no_deadline;
        floor_check_multi(curl_multi_socket_action(self->multi, CURL_SOCKET_TIMEOUT, 0, &running));
    }
}

/* One for the whole program: connections outlive a run, and so do their entries in epoll. */
static poller the_poller = {.epoll = -1, .deadline_ms = INT64_MAX};

void floor_prepare_epoll(CURLM *multi) {
    the_poller.multi = multi;
    the_poller.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (the_poller.epoll < 0) bench_fail("epoll_create1", strerror(errno));
    floor_check_multi(curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket));
    floor_check_multi(curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, &the_poller));
    floor_check_multi(curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer));
    floor_check_multi(curl_multi_setopt(multi, CURLMOPT_TIMERDATA, &the_poller));
}

void floor_run_epoll(CURLM *multi) {
    int running;
    floor_check_multi(curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running));
    while (floor_harvest(multi) > 0) turn(&the_poller);
}
