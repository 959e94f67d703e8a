/**
 * The queue that decides which task runs next. Tasks wait here, not in libcurl, until a connection to their host
 * is available.
 *
 * A host is what libcurl counts for CURLMOPT_MAX_HOST_CONNECTIONS: the target of connections, which is a server or
 * a forwarding proxy. Within a host, higher priorities run first, then longer waits; further hops of a task run
 * before new tasks. Hosts take turns. Adding, removing and choosing take constant time. This file knows neither
 * sockets nor libcurl. Loop thread only.
 */
#ifndef AF_RUN_QUEUE_H
#define AF_RUN_QUEUE_H

#include "base/keyed_hash.h"
#include "base/list.h"

#include <afcore/base.h>
#include <afcore/error.h>
#include <stdint.h>

typedef enum af__entry_state {
    AF__ENTRY_OUT,     /**< In no queue; the zero value. */
    AF__ENTRY_WAITING, /**< Waiting for its turn. */
    AF__ENTRY_RUNNING  /**< Running, until af__queue_remove(). */
} af__entry_state;

/** How requests use a host's connections. */
typedef enum af__sharing {
    AF__SHARING_UNKNOWN, /**< Unknown: ALPN decides, and no connection was made yet. */
    AF__SHARING_NONE,    /**< One request at a time: HTTP/1.1. */
    AF__SHARING_STREAMS  /**< Many at a time: HTTP/2. */
} af__sharing;

/** The kind of connection that a hop needs. Each kind has its own lane, so that neither blocks the other. */
typedef enum af__lane {
    AF__LANE_SHARED, /**< Can be shared, if the host supports HTTP/2. */
    AF__LANE_ALONE   /**< Exclusive: certainly HTTP/1.1, or isolated; see curl/isolation.c. */
} af__lane;

enum { AF__LANES = 2 };

/** Rank of a waiting entry: the priority of a new task, or this for a further hop. */
enum { AF__RANK_BEGUN = 256 };

typedef struct af__queue_host af__queue_host;

/** An entry of the queue, a member of what waits. Zeroed: in no queue. */
typedef struct af__entry {
    af__node node;  /**< WAITING: in the ring of entries with its rank. */
    af__node level; /**< WAITING and first in its ring: in the levels of its lane. */
    af__queue_host *host;
    uint64_t serial; /**< Order of arrival. */
    uint16_t rank;
    uint8_t state;     /**< af__entry_state */
    uint8_t lane;      /**< af__lane */
    bool is_connected; /**< RUNNING: it has its connection or stream. */
} af__entry;

/** The identity of a host as libcurl counts it: a server, or a forwarding proxy. */
typedef struct af__queue_key {
    af_slice host;
    uint16_t port;
    const char *socket; /**< Path of a Unix-domain socket, or NULL. */
} af__queue_key;

typedef struct af__queue_limits {
    uint32_t per_host, total; /**< Connections; 0: no limit. */
    uint32_t streams;         /**< Maximum simultaneous streams on a shared connection. */
} af__queue_limits;

typedef struct af__queue {
    af__queue_limits limits;
    af__queue_host **buckets;
    size_t bucket_count, host_count;
    /* Both in the order of turns. */
    af__list streaming;      /**< Hosts that may start an entry on an open connection. */
    af__list connecting;     /**< Hosts that may start an entry with one more connection. */
    bool prefers_connecting; /**< Which of the two has the next turn. */
    af__list unused;         /**< Hosts without entries, cached for their protocol; oldest first. */
    size_t unused_count;
    size_t waiting, running; /**< Number of entries. */
    size_t connections;      /**< Lower bound of the connections that running entries use. */
    uint64_t next_serial;
    af__hash_seed seed;
} af__queue;

/** Initialises a queue. AF_ENOMEM, AF_EINTERNAL (no random bytes); it can be cleared then. */
af_status af__queue_init(af__queue *queue, af__queue_limits limits);

/** Frees a queue without entries. A zeroed one is allowed. */
void af__queue_clear(af__queue *queue);

/** Adds an entry that is in no queue. On AF_ENOMEM it remains in none. */
af_status af__queue_add(af__queue *queue, af__entry *entry, const af__queue_key *key, af__lane lane,
                        unsigned rank);

/** Removes an entry in any state and frees its connection or stream for others. */
void af__queue_remove(af__queue *queue, af__entry *entry);

/** Returns the entry that has the next turn, and marks it as running; NULL if none may run. */
af__entry *af__queue_next(af__queue *queue);

/** Returns whether a running entry can use its connection for another hop. */
bool af__queue_keeps_place(const af__entry *entry, const af__queue_key *key, af__lane lane);

/** A running entry needs a new connection. */
void af__queue_connecting(af__queue *queue, af__entry *entry);

/** A running entry has its connection. UNKNOWN: its protocol doesn't tell how others can use it. */
void af__queue_connected(af__queue *queue, af__entry *entry, af__sharing sharing);

#endif
