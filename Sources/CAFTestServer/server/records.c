#include "server/records.h"

#include "connection/connection.h"

#include <stdlib.h>

/**
 * Makes room for one more element. The room grows by powers of two, so the array is full when its count is one of them.
 */
static void *with_room(void *array, size_t count) {
    bool is_full = (count & (count - 1)) == 0;
    return is_full ? realloc(array, (count > 0 ? count * 2 : 1) * sizeof(void *)) : array;
}

void afts__record_request(afts_conn *conn) {
    afts_server *server = conn->server;
    pthread_mutex_lock(&server->lock);
    size_t kept = server->requests_kept;
    if (kept == server->stats.requests && kept < server->options.record_limit) {
        afts__request_record **grown = with_room(server->requests, kept);
        if (grown != NULL) {
            server->requests = grown;
            server->requests[server->requests_kept++] = conn->request;
            conn->request->is_kept = true;
        }
    }
    server->stats.requests++;
    afts__server_changed(server);
    pthread_mutex_unlock(&server->lock);
}

afts__connection_record *afts__record_connection(afts_server *server, uint16_t client_port) {
    afts__connection_record *record = calloc(1, sizeof *record);
    if (record == NULL) return NULL;
    record->seen.index = server->stats.accepted;
    record->seen.client_port = client_port;
    size_t kept = server->connections_kept;
    if (kept == server->stats.accepted && kept < server->options.record_limit) {
        afts__connection_record **grown = with_room(server->connections, kept);
        if (grown != NULL) {
            server->connections = grown;
            server->connections[server->connections_kept++] = record;
            record->is_kept = true;
        }
    }
    server->stats.accepted++;
    server->stats.open++;
    if (server->stats.open > server->stats.peak_open) server->stats.peak_open = server->stats.open;
    afts__server_changed(server);
    return record;
}

void afts__record_refusal(afts_conn *conn, const char *why) {
    afts_server *server = conn->server;
    pthread_mutex_lock(&server->lock);
    if (conn->record->seen.refusal == NULL) conn->record->seen.refusal = afts__copy_text(why);
    pthread_mutex_unlock(&server->lock);
}

void afts__record_received(afts_conn *conn, const void *bytes, size_t size) {
    afts_server *server = conn->server;
    afts__connection_record *record = conn->record;
    pthread_mutex_lock(&server->lock);
    size_t available = server->options.received_limit - record->received.size;
    if (record->is_kept) {
        afts__buffer_append(&record->received, bytes, size < available ? size : available);
        record->seen.received = record->received.bytes;
        record->seen.received_size = record->received.size;
    }
    record->seen.received_total += size;
    server->stats.received += size;
    afts__server_changed(server);
    pthread_mutex_unlock(&server->lock);
}

void afts__request_record_drop(afts__request_record *record) {
    if (record == NULL || record->is_kept) return;
    afts__buffer_clear(&record->head);
    afts__buffer_clear(&record->body);
    free(record->text);
    free(record->headers);
    free(record);
}

void afts__connection_record_drop(afts__connection_record *record) {
    if (record == NULL || record->is_kept) return;
    afts__buffer_clear(&record->received);
    free((char *)record->seen.tls_version);
    free((char *)record->seen.tls_cipher);
    free((char *)record->seen.tls_error);
    free((char *)record->seen.refusal);
    free((char *)record->seen.sni);
    free((char *)record->seen.alpn);
    free((char *)record->seen.client_subject);
    free(record);
}

void afts__records_clear(afts_server *server) {
    for (size_t i = 0; i < server->requests_kept; i++) {
        server->requests[i]->is_kept = false;
        afts__request_record_drop(server->requests[i]);
    }
    for (size_t i = 0; i < server->connections_kept; i++) {
        server->connections[i]->is_kept = false;
        afts__connection_record_drop(server->connections[i]);
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

/** Copies head and body, and parses the head again. Lock held. */
static afts__request_record *copy_request(const afts__request_record *record) {
    const char *why;
    afts__request_record *copy = calloc(1, sizeof *copy);
    if (copy == NULL) return NULL;
    afts__buffer_append(&copy->head, record->head.bytes, record->head.size);
    afts__buffer_append(&copy->body, record->body.bytes, record->body.size);
    if (copy->head.is_invalid || copy->body.is_invalid || afts__parse_head(copy, &why) != AFTS_OK) {
        afts__request_record_drop(copy);
        return NULL;
    }
    copy->seen.connection = record->seen.connection;
    copy->seen.number = record->seen.number;
    copy->seen.body = copy->body.bytes;
    copy->seen.body_size = copy->body.size;
    copy->seen.body_total = record->seen.body_total;
    copy->seen.body_complete = record->seen.body_complete;
    copy->seen.unrouted = record->seen.unrouted;
    return copy;
}

afts_request *afts_copy_request(afts_server *server, size_t index) {
    pthread_mutex_lock(&server->lock);
    bool exists = index < server->requests_kept;
    afts__request_record *copy = exists ? copy_request(server->requests[index]) : NULL;
    pthread_mutex_unlock(&server->lock);
    return copy != NULL ? &copy->seen : NULL;
}

void afts_request_free(afts_request *request) {
    afts__request_record_drop((afts__request_record *)request);
}

/** Replaces a borrowed string by a copy, NULL by "". */
static void copy_text(const char **text, bool *failed) {
    *text = afts__copy_text(*text != NULL ? *text : "");
    *failed |= *text == NULL;
}

/** Lock held. */
static afts__connection_record *copy_connection(const afts__connection_record *record) {
    afts__connection_record *copy = calloc(1, sizeof *copy);
    if (copy == NULL) return NULL;
    copy->seen = record->seen;
    afts__buffer_append(&copy->received, record->received.bytes, record->received.size);
    copy->seen.received = copy->received.bytes;
    bool failed = copy->received.is_invalid;
    copy_text(&copy->seen.tls_version, &failed);
    copy_text(&copy->seen.tls_cipher, &failed);
    copy_text(&copy->seen.tls_error, &failed);
    copy_text(&copy->seen.refusal, &failed);
    copy_text(&copy->seen.sni, &failed);
    copy_text(&copy->seen.alpn, &failed);
    copy_text(&copy->seen.client_subject, &failed);
    if (failed) {
        afts__connection_record_drop(copy);
        return NULL;
    }
    return copy;
}

afts_connection *afts_copy_connection(afts_server *server, size_t index) {
    pthread_mutex_lock(&server->lock);
    bool exists = index < server->connections_kept;
    afts__connection_record *copy = exists ? copy_connection(server->connections[index]) : NULL;
    pthread_mutex_unlock(&server->lock);
    return copy != NULL ? &copy->seen : NULL;
}

void afts_connection_free(afts_connection *connection) {
    afts__connection_record_drop((afts__connection_record *)connection);
}
