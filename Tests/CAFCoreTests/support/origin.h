/**
 * A server of one file that knows Range and If-Range, and does as told: breaks off, changes the file,
 * ignores ranges. Every answer looks at the fields anew.
 */
#ifndef AF_TESTS_ORIGIN_H
#define AF_TESTS_ORIGIN_H

#include "support/world.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { WHOLE = -1 };

typedef struct origin {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    af_slice content;
    const char *etag;              /**< With its quotes; NULL: none. */
    _Atomic(const char *) fields;  /**< More fields, "A: 1\r\n" each; NULL: none. */
    atomic_bool ignores_ranges;    /**< Always the whole. */
    atomic_bool ignores_condition; /**< Takes Range without looking at If-Range. */
    atomic_bool chunks;            /**< Chunked, without Content-Length. */
    _Atomic int64_t
        stops_after;   /**< Sends so many bytes of a body, then waits or closes; WHOLE: all. */
    atomic_bool waits; /**< After `stops_after` bytes: for the client to go, not closing. */
    /* What happened. */
    atomic_uint requests, stops;
    char range[64], condition[64];
} origin;

/** Serve `content` at `path`. The origin must outlive the world's server. */
void origin_serve(origin *origin, world *world, const char *path, af_slice content,
                  const char *etag);

/** Change the file. */
void origin_change(origin *origin, af_slice content, const char *etag);

/** The Range and If-Range of the last request; "" if it had none. Valid until the next call. */
const char *origin_range(origin *origin);
const char *origin_condition(origin *origin);

/** Wait until `count` answers have stopped where they were told to. */
void origin_wait_stopped(origin *origin, unsigned count);

/** Bytes that differ at each place, of a seed. free() */
char *make_content(size_t size, uint64_t seed);

#endif
