#include "internal.h"

#include <stdlib.h>
#include <string.h>

void afts__record_request(afts_conn *conn) {
    afts_server *server = conn->server;
    pthread_mutex_lock(&server->lock);
    size_t kept = server->requests_kept;
    if (kept == server->stats.requests && kept < server->options.record_limit) {
        afts__request **grown = server->requests;
        // Powers of two: the array is full whenever its count is one.
        if ((kept & (kept - 1)) == 0) {
            grown = realloc(server->requests, (kept ? kept * 2 : 1) * sizeof *grown);
        }
        if (grown) {
            server->requests = grown;
            server->requests[server->requests_kept++] = conn->request;
            conn->request->recorded = true;
        }
    }
    server->stats.requests++;
    afts__changed(server);
    pthread_mutex_unlock(&server->lock);
}

afts__connection *afts__record_connection(afts_server *server, uint16_t client_port) {
    afts__connection *connection = calloc(1, sizeof *connection);
    if (!connection) {
        return NULL;
    }
    connection->seen.index = server->stats.accepted;
    connection->seen.client_port = client_port;
    size_t kept = server->connections_kept;
    if (kept == server->stats.accepted && kept < server->options.record_limit) {
        afts__connection **grown = server->connections;
        if ((kept & (kept - 1)) == 0) {
            grown = realloc(server->connections, (kept ? kept * 2 : 1) * sizeof *grown);
        }
        if (grown) {
            server->connections = grown;
            server->connections[server->connections_kept++] = connection;
            connection->recorded = true;
        }
    }
    server->stats.accepted++;
    server->stats.open++;
    if (server->stats.open > server->stats.most_open) {
        server->stats.most_open = server->stats.open;
    }
    afts__changed(server);
    return connection;
}

void afts__record_received(afts_conn *conn, const void *bytes, size_t len) {
    afts_server *server = conn->server;
    afts__connection *record = conn->record;
    pthread_mutex_lock(&server->lock);
    size_t room = server->options.received_limit - record->received.len;
    if (record->recorded &&
        afts__buf_append(&record->received, bytes, len < room ? len : room) == 0) {
        record->seen.received = record->received.data;
        record->seen.received_len = record->received.len;
    }
    record->seen.received_total += len;
    server->stats.received += len;
    afts__changed(server);
    pthread_mutex_unlock(&server->lock);
}

void afts__connection_free(afts__connection *connection) {
    if (connection) {
        afts__buf_free(&connection->received);
        free((char *)connection->seen.tls_version);
        free((char *)connection->seen.tls_cipher);
        free((char *)connection->seen.tls_error);
        free((char *)connection->seen.sni);
        free((char *)connection->seen.alpn);
        free((char *)connection->seen.client_subject);
        free(connection);
    }
}

void afts__free_records(afts_server *server) {
    for (size_t i = 0; i < server->requests_kept; i++) {
        afts__request_free(server->requests[i]);
    }
    for (size_t i = 0; i < server->connections_kept; i++) {
        afts__connection_free(server->connections[i]);
    }
    free(server->requests);
    free(server->connections);
}

afts_stats afts_server_stats(afts_server *server) {
    pthread_mutex_lock(&server->lock);
    afts_stats stats = server->stats;
    pthread_mutex_unlock(&server->lock);
    return stats;
}

// A deep copy: head and body are copied, and the head is parsed again. Lock held.
static afts__request *clone_request(const afts__request *request) {
    afts__request *copy = calloc(1, sizeof *copy);
    if (!copy) {
        return NULL;
    }
    if (afts__buf_append(&copy->head, request->head.data, request->head.len) != 0 ||
        afts__buf_append(&copy->body, request->body.data, request->body.len) != 0 ||
        afts__parse_head(copy) != 0) {
        afts__request_free(copy);
        return NULL;
    }
    copy->seen.connection = request->seen.connection;
    copy->seen.number = request->seen.number;
    copy->seen.body = copy->body.data;
    copy->seen.body_len = copy->body.len;
    copy->seen.body_total = request->seen.body_total;
    copy->seen.body_complete = request->seen.body_complete;
    return copy;
}

afts_request *afts_copy_request(afts_server *server, size_t index) {
    pthread_mutex_lock(&server->lock);
    afts__request *copy = index < server->requests_kept ? clone_request(server->requests[index])
                                                        : NULL;
    pthread_mutex_unlock(&server->lock);
    return copy ? &copy->seen : NULL;
}

void afts_request_free(afts_request *request) {
    // `seen` is the first member.
    afts__request_free((afts__request *)request);
}

static const char *copy_text(const char *text, bool *failed) {
    const char *copy = afts__copy(text ? text : "", text ? strlen(text) : 0);
    *failed |= copy == NULL;
    return copy;
}

// Lock held.
static afts__connection *clone_connection(const afts__connection *connection) {
    afts__connection *copy = calloc(1, sizeof *copy);
    if (!copy) {
        return NULL;
    }
    bool failed = false;
    copy->seen = connection->seen;
    copy->seen.tls_version = copy_text(connection->seen.tls_version, &failed);
    copy->seen.tls_cipher = copy_text(connection->seen.tls_cipher, &failed);
    copy->seen.tls_error = copy_text(connection->seen.tls_error, &failed);
    copy->seen.sni = copy_text(connection->seen.sni, &failed);
    copy->seen.alpn = copy_text(connection->seen.alpn, &failed);
    copy->seen.client_subject = copy_text(connection->seen.client_subject, &failed);
    failed |= afts__buf_append(&copy->received, connection->received.data,
                               connection->received.len) != 0;
    copy->seen.received = copy->received.data;
    if (failed) {
        afts__connection_free(copy);
        return NULL;
    }
    return copy;
}

afts_connection *afts_copy_connection(afts_server *server, size_t index) {
    pthread_mutex_lock(&server->lock);
    afts__connection *copy = index < server->connections_kept
                                 ? clone_connection(server->connections[index])
                                 : NULL;
    pthread_mutex_unlock(&server->lock);
    return copy ? &copy->seen : NULL;
}

void afts_connection_free(afts_connection *connection) {
    // `seen` is the first member.
    afts__connection_free((afts__connection *)connection);
}
