/** Writing of responses. */
#ifndef AFTS_HTTP_RESPONSE_H
#define AFTS_HTTP_RESPONSE_H

#include "connection/connection.h"

/**
 * Sends a head and a body of `count` times `block`. `promised` is the length that the head gives;
 * AFTS_FOREVER gives none.
 */
afts_status afts__respond(afts_conn *conn, int code, const char *headers, uint64_t promised,
                          const void *block, size_t size, uint64_t count);
afts_status afts__respond_chunked(afts_conn *conn, int code, const char *headers);
afts_status afts__interim(afts_conn *conn, int code, const char *headers);
afts_status afts__chunk(afts_conn *conn, const void *bytes, size_t size, uint64_t count);
afts_status afts__last_chunk(afts_conn *conn, const char *trailers);
/** Sends `block` as often as `count` says. */
afts_status afts__write_repeated(afts_conn *conn, const void *block, size_t size, uint64_t count);
/** Responds with JSON that describes the request. AFTS_EINVAL: there is none. */
afts_status afts__echo(afts_conn *conn);

#endif
