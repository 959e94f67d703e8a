#include "base/clock.h"
#include "connection/connection.h"
#include "connection/hangup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define WANTED_FILES 16384
#define BACKLOG 4096
#define FILL_MS 60000

static void raise_file_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < WANTED_FILES) {
        limit.rlim_cur = limit.rlim_max < WANTED_FILES ? limit.rlim_max : WANTED_FILES;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

typedef union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} address;

/** Binds a new socket to the address, or to a free port of it: 0, or an errno. */
static int bind_socket(int *socket_out, address *bound, socklen_t size) {
    int fd = socket(bound->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int yes = 1;
    *socket_out = fd;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        bind(fd, &bound->any, size) != 0 || getsockname(fd, &bound->any, &size) != 0) {
        return errno;
    }
    return 0;
}

/** 0, or an errno. */
static int open_listener(afts_server *server, address *bound, socklen_t *size) {
    bool is_ipv6 = server->options.ipv6;
    *bound = (address){0};
    if (is_ipv6) {
        bound->v6.sin6_family = AF_INET6;
        bound->v6.sin6_addr = in6addr_loopback;
    } else {
        bound->v4.sin_family = AF_INET;
        bound->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }
    *size = is_ipv6 ? sizeof bound->v6 : sizeof bound->v4;
    int error = bind_socket(&server->holder, bound, *size);
    if (error == 0) error = bind_socket(&server->listener, bound, *size);
    if (error != 0) return error;
    /* Accepted sockets inherit the buffer sizes; set later they would come after the handshake. */
    int fd = server->listener;
    int receive = server->options.receive_buffer;
    int send = server->options.send_buffer;
    if ((receive > 0 && setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive, sizeof receive) != 0) ||
        (send > 0 && setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send, sizeof send) != 0) ||
        listen(fd, server->options.unreachable ? 0 : BACKLOG) != 0) {
        return errno;
    }
    server->port = ntohs(is_ipv6 ? bound->v6.sin6_port : bound->v4.sin_port);
    return 0;
}

/**
 * Waits until the one connection is in the queue: before that, others may still be accepted.
 * 0, or an errno.
 */
static int wait_until_full(afts_server *server) {
    struct pollfd watched = {.fd = server->listener, .events = POLLIN};
    int ready;
    do {
        ready = poll(&watched, 1, FILL_MS);
    } while (ready < 0 && errno == EINTR);
    return ready == 1 ? 0 : ETIMEDOUT;
}

/**
 * A listen queue of length 0 takes one connection; Linux drops the SYNs of all that follow.
 * 0, or an errno.
 */
static int fill_queue(afts_server *server, const address *bound, socklen_t size) {
    for (size_t i = 0; i < sizeof server->fillers / sizeof *server->fillers; i++) {
        int fd = socket(bound->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0) return errno;
        server->fillers[i] = fd;
        if (connect(fd, &bound->any, size) != 0 && errno != EINPROGRESS) return errno;
        int error = wait_until_full(server);
        if (error != 0) return error;
    }
    return 0;
}

static void pause_accepting(afts_server *server) {
    struct timespec deadline = afts__deadline(10);
    pthread_mutex_lock(&server->lock);
    server->watchers++;
    if (server->state < AFTS__SERVER_STOPPING) {
        pthread_cond_timedwait(&server->changed, &server->lock, &deadline);
    }
    server->watchers--;
    pthread_mutex_unlock(&server->lock);
}

static void accept_connection(afts_server *server) {
    address peer = {0};
    socklen_t size = sizeof peer;
    int fd = accept4(server->listener, &peer.any, &size, SOCK_CLOEXEC);
    int error = errno;
    afts__join_finished(server);
    if (fd >= 0) {
        bool is_ipv6 = server->options.ipv6;
        afts__serve(server, fd, ntohs(is_ipv6 ? peer.v6.sin6_port : peer.v4.sin_port));
    } else if (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM) {
        pause_accepting(server);
    }
}

/**
 * Takes one event at a time: a connection that it names may no longer be watched, but is there, because only this
 * thread and, after its end, afts_server_stop() free connections.
 */
static void *accept_connections(void *context) {
    afts_server *server = context;
    pthread_setname_np(pthread_self(), "aft-listener");
    while (!afts__server_is_stopping(server)) {
        struct epoll_event event;
        if (epoll_wait(server->poller, &event, 1, -1) != 1) continue;
        if (event.data.ptr == server) {
            accept_connection(server);
        } else {
            afts__hangup_record(event.data.ptr, event.events);
        }
    }
    return NULL;
}

/** 0, or an errno. */
static int open_poller(afts_server *server) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = server};
    server->poller = epoll_create1(EPOLL_CLOEXEC);
    if (server->poller < 0 ||
        epoll_ctl(server->poller, EPOLL_CTL_ADD, server->listener, &event) != 0) {
        return errno;
    }
    return 0;
}

/** The server's threads block all signals: the program's own threads handle those. 0, or an errno. */
static int start_acceptor(afts_server *server) {
    sigset_t all;
    sigset_t previous;
    int error = open_poller(server);
    if (error != 0) return error;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous);
    error = pthread_create(&server->acceptor, NULL, accept_connections, server);
    pthread_sigmask(SIG_SETMASK, &previous, NULL);
    return error;
}

void afts__listener_close(afts_server *server) {
    for (size_t i = 0; i < sizeof server->fillers / sizeof *server->fillers; i++) {
        if (server->fillers[i] >= 0) {
            close(server->fillers[i]);
            server->fillers[i] = -1;
        }
    }
    if (server->listener >= 0) {
        close(server->listener);
        server->listener = -1;
    }
    if (server->poller >= 0) {
        close(server->poller);
        server->poller = -1;
    }
}

afts_status afts__listener_start(afts_server *server) {
    address bound;
    socklen_t size;
    raise_file_limit();
    int error = open_listener(server, &bound, &size);
    if (error == 0) {
        error = server->options.unreachable ? fill_queue(server, &bound, size)
                                            : start_acceptor(server);
    }
    if (error != 0) {
        snprintf(server->error, sizeof server->error, "can't listen on loopback (errno %d)", error);
        afts__listener_close(server);
        server->port = 0;
        return AFTS_ESYSTEM;
    }
    return AFTS_OK;
}
