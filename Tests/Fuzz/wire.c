#include "wire.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { LONGEST_WAIT_MS = 1000, NEXT_REQUEST_MS = 20, LARGEST_REQUEST = 64 * 1024 };

/* The server's thread waits for a listener, answers its connections until it is shut down, and waits again. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_running;
    int listener, connection; /* -1: none. */
    afc_slice replies;
    bool is_done; /* The task of this run has ended. */
    char address[64];
} wire = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .changed = PTHREAD_COND_INITIALIZER,
          .listener = -1,
          .connection = -1};

/* ---- The server ---------------------------------------------------------------------------- */

/** false: nothing came in time, or the client has begun another connection and is done with this one. */
static bool is_readable(int connection, int listener, int limit_ms) {
    struct pollfd watched[] = {{connection, POLLIN, 0}, {listener, POLLIN, 0}};
    return poll(watched, 2, limit_ms) > 0 && watched[0].revents != 0;
}

/** Read up to the end of a head. false: the peer has closed or says nothing. */
static bool read_head(int connection, int listener, int limit_ms) {
    char text[LARGEST_REQUEST];
    size_t size = 0;
    while (size < sizeof text && is_readable(connection, listener, limit_ms)) {
        ssize_t count = recv(connection, text + size, sizeof text - size, 0);
        if (count <= 0) return false;
        size += (size_t)count;
        if (memmem(text, size, "\r\n\r\n", 4) != NULL) return true;
        limit_ms = LONGEST_WAIT_MS;
    }
    return false;
}

static void send_all(int connection, afc_slice bytes) {
    while (bytes.size > 0) {
        ssize_t count = send(connection, bytes.bytes, bytes.size, MSG_NOSIGNAL);
        if (count <= 0) return;
        bytes = (afc_slice){bytes.bytes + count, bytes.size - (size_t)count};
    }
}

static void answer(int connection, int listener, input replies) {
    const struct timeval limit = {LONGEST_WAIT_MS / 1000, 0};
    char rest[4096];
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    read_head(connection, listener, LONGEST_WAIT_MS);
    for (bool is_first = true; replies.size > 0; is_first = false) {
        /* The client may wait for the rest of a response instead of asking again. */
        if (!is_first) read_head(connection, listener, NEXT_REQUEST_MS);
        send_all(connection, take_until(&replies, WIRE_NEXT_REQUEST));
    }
    shutdown(connection, SHUT_WR);
    while (is_readable(connection, listener, LONGEST_WAIT_MS) &&
           recv(connection, rest, sizeof rest, 0) > 0) {}
}

/** What the main thread can shut down while it is answered. false: the run is over. */
static bool set_connection(int connection) {
    pthread_mutex_lock(&wire.lock);
    bool goes_on = !wire.is_done;
    wire.connection = goes_on ? connection : -1;
    pthread_mutex_unlock(&wire.lock);
    return goes_on;
}

static void serve_all(int listener, afc_slice replies) {
    input rest = {(const uint8_t *)replies.bytes, replies.size};
    for (int connection; (connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0;) {
        afc_slice own = take_until(&rest, WIRE_NEXT_CONNECTION);
        input bytes = {(const uint8_t *)own.bytes, own.size};
        if (set_connection(connection)) answer(connection, listener, bytes);
        set_connection(-1);
        close(connection);
    }
}

static void *serve(void *context) {
    (void)context;
    for (;;) {
        pthread_mutex_lock(&wire.lock);
        while (wire.listener < 0) pthread_cond_wait(&wire.changed, &wire.lock);
        int listener = wire.listener;
        afc_slice replies = wire.replies;
        pthread_mutex_unlock(&wire.lock);
        serve_all(listener, replies);
        pthread_mutex_lock(&wire.lock);
        close(listener);
        wire.listener = -1;
        pthread_cond_broadcast(&wire.changed);
        pthread_mutex_unlock(&wire.lock);
    }
    return NULL;
}

static void start_server(void) {
    pthread_t thread;
    if (wire.is_running) return;
    require(pthread_create(&thread, NULL, serve, NULL) == 0);
    pthread_detach(thread);
    wire.is_running = true;
}

/** A name of its own for each run, so that no connection of an earlier one is reused. */
static int listen_on_name(void) {
    static unsigned count;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int size = snprintf(wire.address, sizeof wire.address, "@afcore-fuzz-%d-%u", (int)getpid(),
                        ++count);
    memcpy(address.sun_path + 1, wire.address + 1, (size_t)size - 1);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)size);
    require(bind(listener, (struct sockaddr *)&address, length) == 0);
    return listener;
}

static int listen_on_port(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    require(bind(listener, (struct sockaddr *)&address, length) == 0);
    require(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
    snprintf(wire.address, sizeof wire.address, "http://127.0.0.1:%u",
             (unsigned)ntohs(address.sin_port));
    return listener;
}

const char *wire_listen(afc_slice replies, bool is_tcp) {
    start_server();
    int listener = is_tcp ? listen_on_port() : listen_on_name();
    require(listen(listener, 16) == 0);
    pthread_mutex_lock(&wire.lock);
    wire.listener = listener;
    wire.replies = replies;
    wire.is_done = false;
    pthread_cond_broadcast(&wire.changed);
    pthread_mutex_unlock(&wire.lock);
    return wire.address;
}

static void stop_listening(void) {
    pthread_mutex_lock(&wire.lock);
    if (wire.listener >= 0) shutdown(wire.listener, SHUT_RDWR);
    while (wire.listener >= 0) {
        if (wire.connection >= 0) shutdown(wire.connection, SHUT_RDWR);
        wire.connection = -1;
        pthread_cond_wait(&wire.changed, &wire.lock);
    }
    pthread_mutex_unlock(&wire.lock);
}

/* ---- The client ---------------------------------------------------------------------------- */

afc_session *wire_session(void) {
    static afc_session *session;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    if (session != NULL) return session;
    options.proxies.source = AFC_PROXIES_NONE;
    require(afc_session_new(&session, &options, NULL) == AFC_OK);
    return session;
}

static void on_done(void *context, afc_result *result) {
    wire_run *run = context;
    require(++run->dones == 1);
    run->status = afc_result_get_failure(result)->status;
    const afc_head *head = afc_result_get_head(result);
    require(run->status != AFC_OK || (head != NULL && head->status >= 200));
    /* What libcurl says must have been understood. */
    require(run->status != AFC_EINTERNAL);
    size_t count;
    afc_result_get_trailers(result, &count);
    afc_result_get_trust(result);
    afc_result_free(result);
}

static void on_release(void *context) {
    (void)context;
    pthread_mutex_lock(&wire.lock);
    wire.is_done = true;
    pthread_cond_broadcast(&wire.changed);
    pthread_mutex_unlock(&wire.lock);
}

void wire_perform(wire_run *run, const afc_request *request, afc_task_events events) {
    events.context = run;
    events.on_done = on_done;
    events.release = on_release;
    afc_failure failure;
    if (afc_task_begin(NULL, wire_session(), request, &events, &failure) != AFC_OK) abort();
    pthread_mutex_lock(&wire.lock);
    while (!wire.is_done) pthread_cond_wait(&wire.changed, &wire.lock);
    pthread_mutex_unlock(&wire.lock);
    stop_listening();
    require(run->dones == 1);
}
