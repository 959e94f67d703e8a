#include "support/relay.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { MOST_CONNECTIONS = 64, HEAD_SIZE = 4096 };

typedef struct visit {
    relay *relay;
    pthread_t thread;
    int client, server;
} visit;

struct relay {
    world *world;
    int listener;
    uint16_t port, target;
    char path[108]; /* Of a Unix-domain socket, as its clients write it; "": TCP. */
    pthread_t thread;
    pthread_mutex_t lock;
    visit visits[MOST_CONNECTIONS];
    size_t visit_count;
    char seen[MOST_CONNECTIONS][HEAD_SIZE];
    size_t seen_count;
    atomic_int refusal;
    const char *user, *password;
    const char *challenge, *admitted;
};

static void note(relay *relay, const char *text) {
    pthread_mutex_lock(&relay->lock);
    if (relay->seen_count < MOST_CONNECTIONS) {
        snprintf(relay->seen[relay->seen_count++], HEAD_SIZE, "%s", text);
    }
    pthread_mutex_unlock(&relay->lock);
}

static bool read_all(int descriptor, void *buffer, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t count = recv(descriptor, (char *)buffer + done, size - done, 0);
        if (count <= 0) return false;
        done += (size_t)count;
    }
    return true;
}

static bool write_all(int descriptor, const void *bytes, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t count = send(descriptor, (const char *)bytes + done, size - done, MSG_NOSIGNAL);
        if (count <= 0) return false;
        done += (size_t)count;
    }
    return true;
}

static int connect_to(uint16_t port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
    close(descriptor);
    return -1;
}

static bool pass(int from, int to) {
    char buffer[16 * 1024];
    ssize_t count = recv(from, buffer, sizeof buffer, 0);
    return count > 0 && write_all(to, buffer, (size_t)count);
}

static void splice_both(visit *visit) {
    struct pollfd ends[] = {{visit->client, POLLIN, 0}, {visit->server, POLLIN, 0}};
    while (poll(ends, 2, -1) > 0) {
        if (ends[0].revents != 0 && !pass(visit->client, visit->server)) return;
        if (ends[1].revents != 0 && !pass(visit->server, visit->client)) return;
    }
}

static bool check_password(visit *visit) {
    unsigned char size, user[256] = "", password[256] = "";
    unsigned char version;
    if (!read_all(visit->client, &version, 1) || !read_all(visit->client, &size, 1)) return false;
    if (!read_all(visit->client, user, size) || !read_all(visit->client, &size, 1)) return false;
    if (!read_all(visit->client, password, size)) return false;
    bool is_right = strcmp((char *)user, visit->relay->user) == 0 &&
                    strcmp((char *)password, visit->relay->password) == 0;
    return write_all(visit->client, is_right ? "\1\0" : "\1\1", 2) && is_right;
}

static bool greet(visit *visit) {
    unsigned char count, methods[255];
    if (!read_all(visit->client, &count, 1) || !read_all(visit->client, methods, count)) {
        return false;
    }
    unsigned char wanted = visit->relay->user != NULL ? 2 : 0;
    bool is_offered = memchr(methods, wanted, count) != NULL;
    unsigned char answer[] = {5, is_offered ? wanted : 0xff};
    if (!write_all(visit->client, answer, 2) || !is_offered) return false;
    return wanted == 0 || check_password(visit);
}

static bool read_target(visit *visit) {
    unsigned char head[4], size, host[256] = "", port[2];
    char text[HEAD_SIZE], address[64];
    if (!read_all(visit->client, head, 4)) return false;
    if (head[3] == 3) {
        if (!read_all(visit->client, &size, 1) || !read_all(visit->client, host, size)) {
            return false;
        }
    } else {
        if (!read_all(visit->client, host, head[3] == 1 ? 4 : 16)) return false;
        inet_ntop(head[3] == 1 ? AF_INET : AF_INET6, host, address, sizeof address);
        memcpy(host, address, strlen(address) + 1);
    }
    if (!read_all(visit->client, port, 2)) return false;
    snprintf(text, sizeof text, "SOCKS %s:%u", (char *)host, port[0] * 256u + port[1]);
    note(visit->relay, text);
    return true;
}

static void serve_socks(visit *visit) {
    unsigned char version;
    if (!read_all(visit->client, &version, 1) || !greet(visit) || !read_target(visit)) return;
    visit->server = connect_to(visit->relay->target);
    if (write_all(visit->client, "\5\0\0\1\0\0\0\0\0\0", 10)) splice_both(visit);
}

static bool read_head(int descriptor, char *head) {
    size_t size = 0;
    while (size < HEAD_SIZE - 1) {
        if (!read_all(descriptor, head + size, 1)) return false;
        head[++size] = 0;
        if (size >= 4 && strcmp(head + size - 4, "\r\n\r\n") == 0) return true;
    }
    return false;
}

/** Is this CONNECT one that must show who it is, and doesn't? */
static bool lacks_credentials(const relay *relay, const char *head) {
    if (relay->challenge == NULL) return false;
    const char *field = strstr(head, "\r\nProxy-Authorization: ");
    return field == NULL || strncmp(field + 23, relay->admitted, strlen(relay->admitted)) != 0;
}

static void serve_tunnel(visit *visit, const char *head) {
    char answer[512];
    if (lacks_credentials(visit->relay, head)) {
        snprintf(answer, sizeof answer,
                 "HTTP/1.1 407 Who\r\nProxy-Authenticate: %s\r\nContent-Length: 4\r\n\r\nwho?",
                 visit->relay->challenge);
        write_all(visit->client, answer, strlen(answer));
        return;
    }
    int refusal = atomic_load(&visit->relay->refusal);
    if (refusal != 0) {
        snprintf(answer, sizeof answer, "HTTP/1.1 %d No\r\nContent-Length: 0\r\n\r\n", refusal);
        write_all(visit->client, answer, strlen(answer));
        return;
    }
    visit->server = connect_to(visit->relay->target);
    static const char made[] = "HTTP/1.1 200 Made\r\n\r\n";
    if (write_all(visit->client, made, sizeof made - 1)) splice_both(visit);
}

/** As a server wants it: the path alone. */
static bool forward(visit *visit, const char *head) {
    const char *mark = strstr(head, "http://");
    const char *path = mark != NULL ? strchr(mark + 7, '/') : NULL;
    return path != NULL && write_all(visit->server, head, (size_t)(mark - head)) &&
           write_all(visit->server, path, strlen(path));
}

/** Requests without bodies, one after the other. */
static void serve_plain(visit *visit, char *head) {
    visit->server = connect_to(visit->relay->target);
    struct pollfd ends[] = {{visit->client, POLLIN, 0}, {visit->server, POLLIN, 0}};
    bool goes_on = forward(visit, head);
    while (goes_on && poll(ends, 2, -1) > 0) {
        if (ends[0].revents != 0) {
            goes_on = read_head(visit->client, head);
            if (goes_on) note(visit->relay, head);
            goes_on = goes_on && forward(visit, head);
        }
        if (ends[1].revents != 0 && !pass(visit->server, visit->client)) return;
    }
}

static void *run_visit(void *context) {
    visit *visit = context;
    char head[HEAD_SIZE] = "";
    if (visit->relay->path[0] != '\0') {
        note(visit->relay, visit->relay->path);
        visit->server = connect_to(visit->relay->target);
        splice_both(visit);
    } else if (recv(visit->client, head, 1, MSG_PEEK) == 1 && head[0] == 5) {
        serve_socks(visit);
    } else if (read_head(visit->client, head)) {
        note(visit->relay, head);
        if (strncmp(head, "CONNECT ", 8) == 0) {
            serve_tunnel(visit, head);
        } else {
            serve_plain(visit, head);
        }
    }
    shutdown(visit->client, SHUT_RDWR);
    if (visit->server >= 0) shutdown(visit->server, SHUT_RDWR);
    return NULL;
}

static void *run_relay(void *context) {
    relay *relay = context;
    int client;
    while ((client = accept(relay->listener, NULL, NULL)) >= 0) {
        pthread_mutex_lock(&relay->lock);
        visit *visit = relay->visit_count < MOST_CONNECTIONS ? &relay->visits[relay->visit_count++]
                                                             : NULL;
        if (visit != NULL) {
            *visit = (struct visit){relay, 0, client, -1};
            pthread_create(&visit->thread, NULL, run_visit, visit);
        } else {
            close(client);
        }
        pthread_mutex_unlock(&relay->lock);
    }
    return NULL;
}

static relay *make(world *world) {
    relay *new = calloc(1, sizeof *new);
    assert_non_null(new);
    new->world = world;
    new->target = (uint16_t)strtoul(strrchr(url_of(world, ""), ':') + 1, NULL, 10);
    pthread_mutex_init(&new->lock, NULL);
    return new;
}

relay *relay_new_at(world *world, const char *path) {
    relay *new = make(world);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t size = strlen(path);
    assert_in_range(size, 1, sizeof address.sun_path - 1);
    memcpy(new->path, path, size + 1);
    memcpy(address.sun_path, path, size);
    bool is_abstract = path[0] == '@';
    if (is_abstract) address.sun_path[0] = '\0';
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + !is_abstract);
    new->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(new->listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(new->listener, 64), 0);
    assert_int_equal(pthread_create(&new->thread, NULL, run_relay, new), 0);
    return new;
}

relay *relay_new(world *world) {
    relay *new = make(world);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    new->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(new->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(new->listener, 64), 0);
    assert_int_equal(getsockname(new->listener, (struct sockaddr *)&address, &size), 0);
    new->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&new->thread, NULL, run_relay, new), 0);
    return new;
}

void relay_free(relay *relay) {
    shutdown(relay->listener, SHUT_RDWR);
    pthread_join(relay->thread, NULL);
    close(relay->listener);
    if (relay->path[0] == '/') unlink(relay->path);
    for (size_t i = 0; i < relay->visit_count; i++) {
        visit *visit = &relay->visits[i];
        shutdown(visit->client, SHUT_RDWR);
        pthread_join(visit->thread, NULL);
        close(visit->client);
        if (visit->server >= 0) close(visit->server);
    }
    free(relay);
}

const char *relay_url(relay *relay, const char *scheme, const char *userinfo) {
    return text_of(relay->world, "%s://%s%s127.0.0.1:%u", scheme, userinfo != NULL ? userinfo : "",
                   userinfo != NULL ? "@" : "", relay->port);
}

void relay_refuse(relay *relay, int status) {
    atomic_store(&relay->refusal, status);
}

void relay_ask_for(relay *relay, const char *user, const char *password) {
    relay->user = user;
    relay->password = password;
}

void relay_challenge(relay *relay, const char *challenge, const char *admitted) {
    relay->challenge = challenge;
    relay->admitted = admitted;
}

size_t relay_count(relay *relay) {
    pthread_mutex_lock(&relay->lock);
    size_t count = relay->seen_count;
    pthread_mutex_unlock(&relay->lock);
    return count;
}

const char *relay_seen(relay *relay, size_t index) {
    pthread_mutex_lock(&relay->lock);
    assert_true(index < relay->seen_count);
    const char *text = text_of(relay->world, "%s", relay->seen[index]);
    pthread_mutex_unlock(&relay->lock);
    return text;
}
