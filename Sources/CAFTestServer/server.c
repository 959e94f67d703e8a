#include "internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define WANTED_FILES 16384
#define BACKLOG 4096
#define FILL_MS 60000

void afts__init_cond(pthread_cond_t *cond) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

struct timespec afts__deadline(unsigned milliseconds) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += milliseconds / 1000;
    at.tv_nsec += (long)(milliseconds % 1000) * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

void afts__changed(afts_server *server) {
    if (server->watchers > 0) {
        pthread_cond_broadcast(&server->changed);
    }
}

bool afts__stopping(afts_server *server) {
    pthread_mutex_lock(&server->lock);
    bool stopping = server->state >= AFTS__STOPPING;
    pthread_mutex_unlock(&server->lock);
    return stopping;
}

static void apply_defaults(afts_options *options) {
    options->received_limit = options->received_limit ? options->received_limit : 1 << 20;
    options->body_limit = options->body_limit ? options->body_limit : 1 << 20;
    options->head_limit = options->head_limit ? options->head_limit : 256 << 10;
    options->record_limit = options->record_limit ? options->record_limit : 4096;
    options->tls = NULL;
}

static afts_script *echo_script(void) {
    afts_script *script = afts_script_new();
    afts_echo(script);
    if (script && script->broken) {
        afts_script_release(script);
        return NULL;
    }
    return script;
}

afts_server *afts_server_new(const afts_options *options) {
    afts_server *server = calloc(1, sizeof *server);
    if (!server) {
        return NULL;
    }
    pthread_mutex_init(&server->lock, NULL);
    afts__init_cond(&server->changed);
    server->listener = server->holder = -1;
    server->fillers[0] = server->fillers[1] = server->fillers[2] = -1;
    server->options = options ? *options : (afts_options){0};
    apply_defaults(&server->options);
    server->fallback = echo_script();
    if (!server->fallback) {
        afts_server_free(server);
        return NULL;
    }
    if (options && options->tls && afts__tls_setup(server, options->tls) != 0 &&
        server->error[0] == 0) {
        snprintf(server->error, sizeof server->error, "TLS can't be set up");
    }
    return server;
}

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

// A socket that is bound to the address, or to a port that is free there.
static int bind_socket(int *socket_out, address *bound, socklen_t len) {
    int fd = socket(bound->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int yes = 1;
    *socket_out = fd;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        bind(fd, &bound->any, len) != 0 || getsockname(fd, &bound->any, &len) != 0) {
        return -errno;
    }
    return 0;
}

static int open_listener(afts_server *server, address *bound, socklen_t *len) {
    bool ipv6 = server->options.ipv6;
    *bound = (address){0};
    if (ipv6) {
        bound->v6.sin6_family = AF_INET6;
        bound->v6.sin6_addr = in6addr_loopback;
    } else {
        bound->v4.sin_family = AF_INET;
        bound->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }
    *len = ipv6 ? sizeof bound->v6 : sizeof bound->v4;
    int failure = bind_socket(&server->holder, bound, *len);
    if (failure == 0) {
        failure = bind_socket(&server->listener, bound, *len);
    }
    if (failure != 0) {
        return failure;
    }
    // Accepted sockets inherit the buffer sizes; set later they would come after the handshake.
    int fd = server->listener;
    int receive = server->options.receive_buffer;
    int send = server->options.send_buffer;
    if ((receive > 0 && setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive, sizeof receive) != 0) ||
        (send > 0 && setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send, sizeof send) != 0) ||
        listen(fd, server->options.unreachable ? 0 : BACKLOG) != 0) {
        return -errno;
    }
    server->port = ntohs(ipv6 ? bound->v6.sin6_port : bound->v4.sin_port);
    return 0;
}

// Until the one connection is in the queue: before that, others may be told that they are connected.
static int wait_until_full(afts_server *server) {
    struct pollfd watched = {.fd = server->listener, .events = POLLIN};
    int ready;
    do {
        ready = poll(&watched, 1, FILL_MS);
    } while (ready < 0 && errno == EINTR);
    return ready == 1 ? 0 : -ETIMEDOUT;
}

// A listen queue of length 0 takes one connection; Linux drops the SYNs of all that follow.
static int fill_queue(afts_server *server, const address *bound, socklen_t len) {
    for (size_t i = 0; i < sizeof server->fillers / sizeof *server->fillers; i++) {
        int fd = socket(bound->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0) {
            return -errno;
        }
        server->fillers[i] = fd;
        if (connect(fd, &bound->any, len) != 0 && errno != EINPROGRESS) {
            return -errno;
        }
        int failure = wait_until_full(server);
        if (failure != 0) {
            return failure;
        }
    }
    return 0;
}

static void pause_accepting(afts_server *server) {
    struct timespec deadline = afts__deadline(10);
    pthread_mutex_lock(&server->lock);
    server->watchers++;
    if (server->state < AFTS__STOPPING) {
        pthread_cond_timedwait(&server->changed, &server->lock, &deadline);
    }
    server->watchers--;
    pthread_mutex_unlock(&server->lock);
}

static void *accept_connections(void *context) {
    afts_server *server = context;
    while (!afts__stopping(server)) {
        address peer = {0};
        socklen_t len = sizeof peer;
        int fd = accept4(server->listener, &peer.any, &len, SOCK_CLOEXEC);
        afts__join_finished(server);
        if (fd >= 0) {
            bool ipv6 = server->options.ipv6;
            afts__serve(server, fd, ntohs(ipv6 ? peer.v6.sin6_port : peer.v4.sin_port));
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            pause_accepting(server);
        }
    }
    return NULL;
}

// The threads of the server leave the process's signals to the program's own threads.
static int start_acceptor(afts_server *server) {
    sigset_t all;
    sigset_t previous;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous);
    int failure = pthread_create(&server->acceptor, NULL, accept_connections, server);
    pthread_sigmask(SIG_SETMASK, &previous, NULL);
    return -failure;
}

static void close_sockets(afts_server *server) {
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
}

static int open_and_accept(afts_server *server) {
    address bound;
    socklen_t len;
    raise_file_limit();
    int failure = open_listener(server, &bound, &len);
    if (failure == 0) {
        failure = server->options.unreachable ? fill_queue(server, &bound, len)
                                              : start_acceptor(server);
    }
    if (failure != 0) {
        snprintf(server->error, sizeof server->error, "can't listen on loopback (errno %d)",
                 -failure);
        close_sockets(server);
        server->port = 0;
    }
    return failure;
}

int afts_server_start(afts_server *server) {
    if (server->error[0] != 0) {
        return -EINVAL;
    }
    pthread_mutex_lock(&server->lock);
    bool fresh = server->state == AFTS__NEW;
    if (fresh) {
        server->state = AFTS__STARTING;
    }
    pthread_mutex_unlock(&server->lock);
    if (!fresh) {
        return -EALREADY;
    }
    int failure = open_and_accept(server);
    pthread_mutex_lock(&server->lock);
    server->state = failure == 0 ? AFTS__RUNNING : AFTS__STOPPED;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
    return failure;
}

// Returns whether the caller is the one who stops the server. Lock held.
static bool begin_stop(afts_server *server) {
    server->watchers++;
    while (server->state == AFTS__STARTING || server->state == AFTS__STOPPING) {
        pthread_cond_wait(&server->changed, &server->lock);
    }
    server->watchers--;
    bool running = server->state == AFTS__RUNNING;
    server->state = running ? AFTS__STOPPING : AFTS__STOPPED;
    return running;
}

// Wakes whatever a connection's thread can be blocked in. Lock held.
static void interrupt_everything(afts_server *server) {
    shutdown(server->listener, SHUT_RDWR);
    for (afts_conn *conn = server->live; conn; conn = conn->next) {
        if (conn->fd >= 0) {
            shutdown(conn->fd, SHUT_RDWR);
        }
        pthread_cond_signal(&conn->wake);
    }
    afts__wake_gates(server);
    pthread_cond_broadcast(&server->changed);
}

void afts_server_stop(afts_server *server) {
    pthread_mutex_lock(&server->lock);
    if (!begin_stop(server)) {
        pthread_mutex_unlock(&server->lock);
        return;
    }
    interrupt_everything(server);
    pthread_mutex_unlock(&server->lock);
    if (!server->options.unreachable) {
        pthread_join(server->acceptor, NULL);
    }
    pthread_mutex_lock(&server->lock);
    server->watchers++;
    while (server->live) {
        pthread_cond_wait(&server->changed, &server->lock);
    }
    server->watchers--;
    pthread_mutex_unlock(&server->lock);
    afts__join_finished(server);
    close_sockets(server);
    pthread_mutex_lock(&server->lock);
    server->state = AFTS__STOPPED;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

void afts_server_free(afts_server *server) {
    if (!server) {
        return;
    }
    afts_server_stop(server);
    if (server->holder >= 0) {
        close(server->holder);
    }
    afts__free_routes(server);
    afts__free_gates(server);
    afts__free_records(server);
    afts__tls_teardown(server);
    pthread_cond_destroy(&server->changed);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

const char *afts_server_error(const afts_server *server) {
    return server->error;
}

uint16_t afts_server_port(const afts_server *server) {
    return server->port;
}

size_t afts_server_url(const afts_server *server, const char *path, char *out, size_t size) {
    int len = snprintf(out, size, "%s://%s:%u%s", server->tls ? "https" : "http",
                       server->options.ipv6 ? "[::1]" : "127.0.0.1", (unsigned)server->port, path);
    return len < 0 ? 0 : (size_t)len;
}
