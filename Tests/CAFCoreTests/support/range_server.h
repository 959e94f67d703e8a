/**
 * A server of one file that supports Range and If-Range, and can stop early, change the file or
 * ignore ranges. Every response reads the fields again.
 */
#ifndef AFC_TESTS_RANGE_SERVER_H
#define AFC_TESTS_RANGE_SERVER_H

#include "support/fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { WHOLE = -1 };

typedef struct range_server {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    afc_slice content;
    const char *etag;              /**< With its quotes; NULL: none. */
    _Atomic(const char *) fields;  /**< More fields, "A: 1\r\n" each; NULL: none. */
    atomic_bool ignores_ranges;    /**< Always sends the whole. */
    atomic_bool ignores_condition; /**< Accepts Range without checking If-Range. */
    atomic_bool chunks;            /**< Chunked, without Content-Length. */
    _Atomic int64_t
        stops_after;   /**< Sends so many bytes of a body, then waits or closes; WHOLE: all. */
    atomic_bool waits; /**< After `stops_after` bytes: for the client to go, not closing. */
    /* What happened so far. */
    atomic_uint requests, stops;
    char range[64], condition[64];
} range_server;

/** Serves `content` at `path`. The origin must outlive the fixture's server. */
void range_server_serve(range_server *range_server, fixture *fixture, const char *path,
                        afc_slice content, const char *etag);

/** Changes the file. */
void range_server_change(range_server *range_server, afc_slice content, const char *etag);

/** Returns Range and If-Range of the last request; "" if absent. Valid until the next call. */
const char *range_server_range(range_server *range_server);
const char *range_server_condition(range_server *range_server);

/** Waits until `count` responses have stopped as configured. */
void range_server_wait_stopped(range_server *range_server, unsigned count);

/** Bytes that differ at each place, of a seed. free() */
char *make_content(size_t size, uint64_t seed);

#endif
