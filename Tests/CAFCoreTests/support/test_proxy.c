#include "support/test_proxy.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { MOST_CONNECTIONS = 64, HEAD_SIZE = 4096 };

typedef struct visit {
    test_proxy *test_proxy;
    pthread_t thread;
    int client, server;
    SSL *ssl; /* To the client; NULL: in the clear. */
} visit;

struct test_proxy {
    fixture *fixture;
    int listener;
    uint16_t port, target;
    atomic_bool saw_certificate;
    SSL_CTX *tls;   /* NULL: clients come in the clear. */
    char path[108]; /* Path of a Unix-domain socket, as its clients write it; "": TCP. */
    pthread_t thread;
    pthread_mutex_t lock;
    visit visits[MOST_CONNECTIONS];
    size_t visit_count;
    char seen[MOST_CONNECTIONS][HEAD_SIZE];
    size_t seen_count;
    atomic_int refusal;
    afc_slice answer; /* Set while no client is connected. */
    const char *user, *password;
    const char *challenge, *admitted;
};

static void note(test_proxy *test_proxy, const char *text) {
    pthread_mutex_lock(&test_proxy->lock);
    if (test_proxy->seen_count < MOST_CONNECTIONS) {
        snprintf(test_proxy->seen[test_proxy->seen_count++], HEAD_SIZE, "%s", text);
    }
    pthread_mutex_unlock(&test_proxy->lock);
}

/* The client's end of a visit may be over TLS; the server's is as it is. */

static ssize_t read_some(visit *visit, int descriptor, void *buffer, size_t size) {
    if (descriptor != visit->client || visit->ssl == NULL) return recv(descriptor, buffer, size, 0);
    return SSL_read(visit->ssl, buffer, (int)size);
}

static ssize_t write_some(visit *visit, int descriptor, const void *bytes, size_t size) {
    if (descriptor != visit->client || visit->ssl == NULL) {
        return send(descriptor, bytes, size, MSG_NOSIGNAL);
    }
    return SSL_write(visit->ssl, bytes, (int)size);
}

static bool read_from(visit *visit, int descriptor, void *buffer, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t count = read_some(visit, descriptor, (char *)buffer + done, size - done);
        if (count <= 0) return false;
        done += (size_t)count;
    }
    return true;
}

static bool write_to(visit *visit, int descriptor, const void *bytes, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t count = write_some(visit, descriptor, (const char *)bytes + done, size - done);
        if (count <= 0) return false;
        done += (size_t)count;
    }
    return true;
}

static bool has_more(const visit *visit) {
    return visit->ssl != NULL && SSL_pending(visit->ssl) > 0;
}

/** Wait until one of both has something: bits 1, the client, and 2, the server; 0: never. */
static unsigned wait_for_both(visit *visit) {
    struct pollfd ends[] = {{visit->client, POLLIN, 0}, {visit->server, POLLIN, 0}};
    if (poll(ends, 2, has_more(visit) ? 0 : -1) < 0) return 0;
    unsigned ready = has_more(visit) || ends[0].revents != 0 ? 1 : 0;
    return ends[1].revents != 0 ? ready | 2 : ready;
}

static int connect_to(uint16_t port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
    close(descriptor);
    return -1;
}

static bool pass(visit *visit, int from, int to) {
    char buffer[16 * 1024];
    ssize_t count = read_some(visit, from, buffer, sizeof buffer);
    return count > 0 && write_to(visit, to, buffer, (size_t)count);
}

static void splice_both(visit *visit) {
    unsigned ready;
    while ((ready = wait_for_both(visit)) != 0) {
        if ((ready & 1) != 0 && !pass(visit, visit->client, visit->server)) return;
        if ((ready & 2) != 0 && !pass(visit, visit->server, visit->client)) return;
    }
}

static bool check_password(visit *visit) {
    unsigned char size, user[256] = "", password[256] = "";
    unsigned char version;
    if (!read_from(visit, visit->client, &version, 1) || !read_from(visit, visit->client, &size, 1))
        return false;
    if (!read_from(visit, visit->client, user, size) || !read_from(visit, visit->client, &size, 1))
        return false;
    if (!read_from(visit, visit->client, password, size)) return false;
    bool is_right = strcmp((char *)user, visit->test_proxy->user) == 0 &&
                    strcmp((char *)password, visit->test_proxy->password) == 0;
    return write_to(visit, visit->client, is_right ? "\1\0" : "\1\1", 2) && is_right;
}

static bool greet(visit *visit) {
    unsigned char count, methods[255];
    if (!read_from(visit, visit->client, &count, 1) ||
        !read_from(visit, visit->client, methods, count)) {
        return false;
    }
    unsigned char wanted = visit->test_proxy->user != NULL ? 2 : 0;
    bool is_offered = memchr(methods, wanted, count) != NULL;
    unsigned char answer[] = {5, is_offered ? wanted : 0xff};
    if (!write_to(visit, visit->client, answer, 2) || !is_offered) return false;
    return wanted == 0 || check_password(visit);
}

static bool read_target(visit *visit) {
    unsigned char head[4], size, host[256] = "", port[2];
    char text[HEAD_SIZE], address[64];
    if (!read_from(visit, visit->client, head, 4)) return false;
    if (head[3] == 3) {
        if (!read_from(visit, visit->client, &size, 1) ||
            !read_from(visit, visit->client, host, size)) {
            return false;
        }
    } else {
        if (!read_from(visit, visit->client, host, head[3] == 1 ? 4 : 16)) return false;
        inet_ntop(head[3] == 1 ? AF_INET : AF_INET6, host, address, sizeof address);
        memcpy(host, address, strlen(address) + 1);
    }
    if (!read_from(visit, visit->client, port, 2)) return false;
    snprintf(text, sizeof text, "SOCKS %s:%u", (char *)host, port[0] * 256u + port[1]);
    note(visit->test_proxy, text);
    return true;
}

static void serve_socks(visit *visit) {
    unsigned char version;
    if (!read_from(visit, visit->client, &version, 1) || !greet(visit) || !read_target(visit))
        return;
    visit->server = connect_to(visit->test_proxy->target);
    if (write_to(visit, visit->client, "\5\0\0\1\0\0\0\0\0\0", 10)) splice_both(visit);
}

static bool read_head(visit *visit, char *head) {
    size_t size = 0;
    while (size < HEAD_SIZE - 1) {
        if (!read_from(visit, visit->client, head + size, 1)) return false;
        head[++size] = 0;
        if (size >= 4 && strcmp(head + size - 4, "\r\n\r\n") == 0) return true;
    }
    return false;
}

/** Is this CONNECT one that must show who it is, and doesn't? */
static bool lacks_credentials(const test_proxy *test_proxy, const char *head) {
    if (test_proxy->challenge == NULL) return false;
    const char *field = strstr(head, "\r\nProxy-Authorization: ");
    return field == NULL ||
           strncmp(field + 23, test_proxy->admitted, strlen(test_proxy->admitted)) != 0;
}

static void serve_tunnel(visit *visit, const char *head) {
    char answer[512];
    if (lacks_credentials(visit->test_proxy, head)) {
        snprintf(answer, sizeof answer,
                 "HTTP/1.1 407 Who\r\nProxy-Authenticate: %s\r\nContent-Length: 4\r\n\r\nwho?",
                 visit->test_proxy->challenge);
        write_to(visit, visit->client, answer, strlen(answer));
        return;
    }
    afc_slice bytes = visit->test_proxy->answer;
    if (bytes.size > 0) {
        write_to(visit, visit->client, bytes.bytes, bytes.size);
        return;
    }
    int refusal = atomic_load(&visit->test_proxy->refusal);
    if (refusal != 0) {
        snprintf(answer, sizeof answer, "HTTP/1.1 %d No\r\nContent-Length: 0\r\n\r\n", refusal);
        write_to(visit, visit->client, answer, strlen(answer));
        return;
    }
    visit->server = connect_to(visit->test_proxy->target);
    static const char made[] = "HTTP/1.1 200 Made\r\nVia: 1.1 relay\r\n\r\n";
    if (write_to(visit, visit->client, made, sizeof made - 1)) splice_both(visit);
}

/** As a server wants it: the path alone. */
static bool forward(visit *visit, const char *head) {
    const char *mark = strstr(head, "http://");
    const char *path = mark != NULL ? strchr(mark + 7, '/') : NULL;
    return path != NULL && write_to(visit, visit->server, head, (size_t)(mark - head)) &&
           write_to(visit, visit->server, path, strlen(path));
}

/** Requests without bodies, one after the other. */
static void serve_plain(visit *visit, char *head) {
    visit->server = connect_to(visit->test_proxy->target);
    unsigned ready;
    bool goes_on = forward(visit, head);
    while (goes_on && (ready = wait_for_both(visit)) != 0) {
        if ((ready & 1) != 0) {
            goes_on = read_head(visit, head);
            if (goes_on) note(visit->test_proxy, head);
            goes_on = goes_on && forward(visit, head);
        }
        if ((ready & 2) != 0 && !pass(visit, visit->server, visit->client)) return;
    }
}

/** What comes before it is TLS, if the proxy asks for that. */
static bool shake_hands(visit *visit) {
    sigset_t pipe;
    if (visit->test_proxy->tls == NULL) return true;
    /* OpenSSL writes without asking for no signal. */
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, NULL);
    visit->ssl = SSL_new(visit->test_proxy->tls);
    bool is_done = visit->ssl != NULL && SSL_set_fd(visit->ssl, visit->client) == 1 &&
                   SSL_accept(visit->ssl) == 1;
    X509 *certificate = is_done ? SSL_get1_peer_certificate(visit->ssl) : NULL;
    if (certificate != NULL) atomic_store(&visit->test_proxy->saw_certificate, true);
    X509_free(certificate);
    return is_done;
}

static void *run_visit(void *context) {
    visit *visit = context;
    char head[HEAD_SIZE] = "";
    if (!shake_hands(visit)) {
        note(visit->test_proxy, "no handshake");
    } else if (visit->test_proxy->path[0] != '\0') {
        note(visit->test_proxy, visit->test_proxy->path);
        visit->server = connect_to(visit->test_proxy->target);
        splice_both(visit);
    } else if (visit->ssl == NULL && recv(visit->client, head, 1, MSG_PEEK) == 1 && head[0] == 5) {
        serve_socks(visit);
    } else if (read_head(visit, head)) {
        note(visit->test_proxy, head);
        if (strncmp(head, "CONNECT ", 8) == 0) {
            serve_tunnel(visit, head);
        } else {
            serve_plain(visit, head);
        }
    }
    if (visit->ssl != NULL) SSL_free(visit->ssl);
    ERR_clear_error();
    shutdown(visit->client, SHUT_RDWR);
    if (visit->server >= 0) shutdown(visit->server, SHUT_RDWR);
    return NULL;
}

static void *run_test_proxy(void *context) {
    test_proxy *test_proxy = context;
    int client;
    while ((client = accept(test_proxy->listener, NULL, NULL)) >= 0) {
        pthread_mutex_lock(&test_proxy->lock);
        visit *visit = test_proxy->visit_count < MOST_CONNECTIONS
                           ? &test_proxy->visits[test_proxy->visit_count++]
                           : NULL;
        if (visit != NULL) {
            *visit = (struct visit){test_proxy, 0, client, -1, NULL};
            pthread_create(&visit->thread, NULL, run_visit, visit);
        } else {
            close(client);
        }
        pthread_mutex_unlock(&test_proxy->lock);
    }
    return NULL;
}

static test_proxy *make(fixture *fixture) {
    test_proxy *new = calloc(1, sizeof *new);
    assert_non_null(new);
    new->fixture = fixture;
    new->target = (uint16_t)strtoul(strrchr(url_of(fixture, ""), ':') + 1, NULL, 10);
    pthread_mutex_init(&new->lock, NULL);
    return new;
}

test_proxy *test_proxy_new_at(fixture *fixture, const char *path) {
    test_proxy *new = make(fixture);
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
    assert_int_equal(pthread_create(&new->thread, NULL, run_test_proxy, new), 0);
    return new;
}

/** As the certificate's PEM has it: the chain, and the key. */
static SSL_CTX *make_tls(const afts_cert *cert) {
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    BIO *leaf = BIO_new_mem_buf(afts_cert_pem(cert), -1);
    BIO *key = BIO_new_mem_buf(afts_cert_key_pem(cert), -1);
    X509 *certificate = PEM_read_bio_X509(leaf, NULL, NULL, NULL);
    EVP_PKEY *pair = PEM_read_bio_PrivateKey(key, NULL, NULL, NULL);
    assert_int_equal(SSL_CTX_use_certificate(context, certificate), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(context, pair), 1);
    X509_free(certificate);
    EVP_PKEY_free(pair);
    BIO_free(leaf);
    BIO_free(key);
    return context;
}

static test_proxy *listen_on_port(fixture *fixture, SSL_CTX *tls);

test_proxy *test_proxy_new_tls(fixture *fixture, const afts_cert *cert) {
    return listen_on_port(fixture, make_tls(cert));
}

test_proxy *test_proxy_new(fixture *fixture) {
    return listen_on_port(fixture, NULL);
}

static test_proxy *listen_on_port(fixture *fixture, SSL_CTX *tls) {
    test_proxy *new = make(fixture);
    new->tls = tls;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    new->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(new->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(new->listener, 64), 0);
    assert_int_equal(getsockname(new->listener, (struct sockaddr *)&address, &size), 0);
    new->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&new->thread, NULL, run_test_proxy, new), 0);
    return new;
}

void test_proxy_free(test_proxy *test_proxy) {
    shutdown(test_proxy->listener, SHUT_RDWR);
    pthread_join(test_proxy->thread, NULL);
    close(test_proxy->listener);
    if (test_proxy->path[0] == '/') unlink(test_proxy->path);
    for (size_t i = 0; i < test_proxy->visit_count; i++) {
        visit *visit = &test_proxy->visits[i];
        shutdown(visit->client, SHUT_RDWR);
        pthread_join(visit->thread, NULL);
        close(visit->client);
        if (visit->server >= 0) close(visit->server);
    }
    SSL_CTX_free(test_proxy->tls);
    free(test_proxy);
}

const char *test_proxy_url(test_proxy *test_proxy, const char *scheme, const char *userinfo) {
    return text_of(test_proxy->fixture, "%s://%s%s%s:%u", scheme, userinfo != NULL ? userinfo : "",
                   userinfo != NULL ? "@" : "", test_proxy->tls != NULL ? "localhost" : "127.0.0.1",
                   test_proxy->port);
}

static int take_any(int is_good, X509_STORE_CTX *context) {
    (void)is_good, (void)context;
    return 1;
}

void test_proxy_request_certificate(test_proxy *test_proxy) {
    SSL_CTX_set_verify(test_proxy->tls, SSL_VERIFY_PEER, take_any);
}

bool test_proxy_saw_certificate(test_proxy *test_proxy) {
    return atomic_load(&test_proxy->saw_certificate);
}

void test_proxy_refuse(test_proxy *test_proxy, int status) {
    atomic_store(&test_proxy->refusal, status);
}

void test_proxy_answer(test_proxy *test_proxy, afc_slice bytes) {
    test_proxy->answer = bytes;
}

void test_proxy_require_user(test_proxy *test_proxy, const char *user, const char *password) {
    test_proxy->user = user;
    test_proxy->password = password;
}

void test_proxy_challenge(test_proxy *test_proxy, const char *challenge, const char *admitted) {
    test_proxy->challenge = challenge;
    test_proxy->admitted = admitted;
}

size_t test_proxy_count(test_proxy *test_proxy) {
    pthread_mutex_lock(&test_proxy->lock);
    size_t count = test_proxy->seen_count;
    pthread_mutex_unlock(&test_proxy->lock);
    return count;
}

const char *test_proxy_request(test_proxy *test_proxy, size_t index) {
    pthread_mutex_lock(&test_proxy->lock);
    assert_true(index < test_proxy->seen_count);
    const char *text = text_of(test_proxy->fixture, "%s", test_proxy->seen[index]);
    pthread_mutex_unlock(&test_proxy->lock);
    return text;
}
