/** Reading and writing the bytes of a connection, in plain text or TLS; waiting. */
#ifndef AFTS_CONNECTION_IO_H
#define AFTS_CONNECTION_IO_H

#include "connection/connection.h"

#define AFTS__OUTPUT_SIZE ((size_t)64 * 1024)

/** Writes all. */
afts_status afts__write(afts_conn *conn, const void *bytes, size_t size);
/** Reads at most `size` bytes of what is there; `*count` 0 is the end of input. */
afts_status afts__read(afts_conn *conn, void *out, size_t size, size_t *count);
/** Ensures that there is buffered input; the end of input is a failure. */
afts_status afts__fill(afts_conn *conn);
afts_status afts__read_discarding(afts_conn *conn, uint64_t count);
afts_status afts__pause(afts_conn *conn, unsigned milliseconds);
/** The status of a failed operation: AFTS_ECANCELED when stopping, AFTS_ELOST otherwise. */
afts_status afts__ended(afts_conn *conn);

#endif
