/** Reading of requests. */
#ifndef AFTS_HTTP_REQUEST_H
#define AFTS_HTTP_REQUEST_H

#include "connection/connection.h"

/** Responds with an error, records why, and returns AFTS_ELOST, which ends the connection. */
afts_status afts__refuse(afts_conn *conn, int code, const char *why);
/** Reads a head into conn->request. What isn't HTTP/1 is refused. */
afts_status afts__read_head(afts_conn *conn);
/** Reads at most `size` bytes of the body; `*count` 0 is its end. */
afts_status afts__read_body_some(afts_conn *conn, size_t size, size_t *count);
afts_status afts__read_body(afts_conn *conn);
/** Responds 100 if the client asks for it before it sends the body. */
afts_status afts__continue(afts_conn *conn);

#endif
