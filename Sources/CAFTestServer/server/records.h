/** What the server saw, as afts_copy_request() and afts_copy_connection() copy it. */
#ifndef AFTS_SERVER_RECORDS_H
#define AFTS_SERVER_RECORDS_H

#include "base/bytes.h"
#include "caftestserver.h"

/**
 * A request, owned by the connection, then by the server if it is within the limit. Afterwards only
 * `seen.body*` changes: the connection's thread writes it with the lock held.
 */
typedef struct afts__request_record {
    afts_request seen; /**< The first member: what users hold is cast back. */
    afts__buffer head;
    afts__buffer body;
    char *text; /**< The head again, cut into strings. */
    afts_header *headers;
    bool is_kept; /**< The server owns it. */
} afts__request_record;

/** Guarded by the lock. */
typedef struct afts__connection_record {
    afts_connection seen; /**< The first member: what users hold is cast back. */
    afts__buffer received;
    bool is_kept; /**< The server owns it. */
} afts__connection_record;

/** Makes conn->request visible. */
void afts__record_request(afts_conn *conn);
/** Makes the record of a new connection; NULL when out of memory. Lock held. */
afts__connection_record *afts__record_connection(afts_server *server, uint16_t client_port);
/** Keeps the first reason for which something that a client sent was refused. */
void afts__record_refusal(afts_conn *conn, const char *why);
void afts__record_received(afts_conn *conn, const void *bytes, size_t size);
/** Each frees what the server doesn't keep. NULL is fine. */
void afts__request_record_drop(afts__request_record *record);
void afts__connection_record_drop(afts__connection_record *record);
void afts__records_clear(afts_server *server);

#endif
