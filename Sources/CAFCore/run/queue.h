/**
 * The queue that decides which task runs next. Tasks wait here, not in libcurl, until a connection to their host
 * is available.
 *
 * A host is what libcurl counts for CURLMOPT_MAX_HOST_CONNECTIONS: the target of connections, which is a server or
 * a forwarding proxy. Within a host, higher priorities run first, then longer waits; further hops of a task run
 * before new tasks. Hosts are served round robin. Adding, removing and choosing take constant time. This file knows
 * neither sockets nor libcurl. Loop thread only.
 */
#ifndef AFC_RUN_QUEUE_H
#define AFC_RUN_QUEUE_H

#include "base/keyed_hash.h"
#include "base/list.h"

#include <afcore/base.h>
#include <afcore/error.h>
#include <stdint.h>

/**
 * The state of an entry, and what changes it:
 *
 *     from        to
 *     OUT         WAITING: afc__queue_add()
 *     WAITING     RUNNING: afc__queue_next()
 *     RUNNING     CONNECTED: afc__queue_connected()
 *     CONNECTED   itself: afc__queue_connected(); RUNNING: afc__queue_connecting()
 *     any         OUT: afc__queue_remove()
 */
typedef enum afc__entry_state {
    AFC__ENTRY_OUT,      /**< In no queue; the zero value. */
    AFC__ENTRY_WAITING,  /**< Waiting until it may run. */
    AFC__ENTRY_RUNNING,  /**< Running, without a connection or stream so far. */
    AFC__ENTRY_CONNECTED /**< Running, with its connection or stream. */
} afc__entry_state;

/** How requests use a host's connections. */
typedef enum afc__sharing {
    AFC__SHARING_UNKNOWN, /**< Unknown: ALPN decides, and no connection was made yet. */
    AFC__SHARING_NONE,    /**< One request at a time: HTTP/1.1. */
    AFC__SHARING_STREAMS  /**< Many at a time: HTTP/2. */
} afc__sharing;

/** The kind of connection that a hop needs. Each kind has its own lane, so that neither blocks the other. */
typedef enum afc__lane {
    AFC__LANE_SHARED,  /**< Can be shared, if the host supports HTTP/2. */
    AFC__LANE_ISOLATED /**< One request at a time, certainly; see curl/connection/isolation.c. */
} afc__lane;

enum { AFC__LANES = 2 };

/** Maximum number of a host's entries that have a slot. */
enum { AFC__SLOTS_MAX = 6 };

/** Rank of a waiting entry: the priority of a new task, or this for a further hop. */
enum { AFC__RANK_BEGUN = 256 };

typedef struct afc__queue_host afc__queue_host;

/** An entry of the queue: a member of what waits. Zeroed while it is in no queue. */
typedef struct afc__entry {
    afc__node node;  /**< WAITING: in the ring of entries with its rank. */
    afc__node level; /**< WAITING and first in its ring: in the levels of its lane. */
    afc__queue_host *host;
    uint64_t serial; /**< Order of arrival. */
    uint16_t rank;
    uint8_t state; /**< An afc__entry_state. */
    uint8_t lane;  /**< afc__lane */
    uint8_t slot;  /**< RUNNING, CONNECTED: see afc__queue_take_slot(). */
} afc__entry;

/** The identity of a host as libcurl counts it: a server, or a forwarding proxy. */
typedef struct afc__queue_key {
    afc_slice host;
    uint16_t port;
    const char *socket; /**< Path of a Unix-domain socket, or NULL. */
} afc__queue_key;

typedef struct afc__queue_limits {
    uint32_t per_host, total; /**< Maximum numbers of connections; 0 means no limit. */
    uint32_t streams;         /**< Maximum simultaneous streams on a shared connection. */
} afc__queue_limits;

typedef struct afc__queue {
    afc__queue_limits limits;
    afc__queue_host **buckets;
    size_t bucket_count, host_count;
    /* `streaming` and `connecting` are in the order in which they are served. */
    afc__list streaming;     /**< Hosts that may start an entry on an open connection. */
    afc__list connecting;    /**< Hosts that may start an entry with one more connection. */
    bool prefers_connecting; /**< `connecting` is served next, else `streaming`. */
    afc__list unused;        /**< Hosts without entries, cached for their protocol; oldest first. */
    size_t unused_count;
    size_t waiting, running; /**< Number of entries. */
    size_t connections;      /**< Lower bound of the connections that running entries use. */
    uint64_t next_serial;
    afc__hash_seed seed;
} afc__queue;

/** Initialises a queue. Fails with AFC_ENOMEM, or AFC_EINTERNAL without random bytes; the queue can be cleared then. */
afc_status afc__queue_init(afc__queue *queue, afc__queue_limits limits);

/** Frees a queue without entries. A zeroed one is allowed. */
void afc__queue_clear(afc__queue *queue);

/** Adds an entry that is in no queue. Fails with AFC_ENOMEM; the entry is in no queue then. */
afc_status afc__queue_add(afc__queue *queue, afc__entry *entry, const afc__queue_key *key,
                          afc__lane lane, unsigned rank);

/** Removes an entry in any state, so that its connection or stream can be used by others. */
void afc__queue_remove(afc__queue *queue, afc__entry *entry);

/** Returns the entry that runs next, and marks it as running; NULL if none may run. */
afc__entry *afc__queue_next(afc__queue *queue);

/** Returns whether a running entry can use its connection for another hop. */
bool afc__queue_keeps_connection(const afc__entry *entry, const afc__queue_key *key,
                                 afc__lane lane);

/**
 * Gives a running entry a slot, unless it has one, and returns the slot: the lowest number from 1 that no other entry
 * of its host has. The entry keeps it until it leaves the queue. Returns 0 if all slots up to AFC__SLOTS_MAX are taken.
 */
unsigned afc__queue_take_slot(afc__entry *entry);

/** Call it when a running entry needs a new connection. */
void afc__queue_connecting(afc__queue *queue, afc__entry *entry);

/**
 * Call it when a running entry has its connection. `sharing` is UNKNOWN if the protocol doesn't tell how others can use
 * the connection.
 */
void afc__queue_connected(afc__queue *queue, afc__entry *entry, afc__sharing sharing);

#endif
