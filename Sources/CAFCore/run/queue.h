/**
 * Which task runs next: tasks wait here, and not in libcurl, until their host has a connection for them.
 *
 * One host is what libcurl counts for its limit per host: where connections go to, which is a server or a
 * proxy that forwards. Within a host the higher priority goes first, then the longer wait; hops of a task
 * that has begun go before tasks that have not. Hosts take turns. Adding, removing and choosing take the
 * same time however many tasks wait. Knows neither sockets nor curl. Loop thread only.
 */
#ifndef AF_RUN_QUEUE_H
#define AF_RUN_QUEUE_H

#include "base/keyed_hash.h"
#include "base/list.h"

#include <afcore/base.h>
#include <afcore/error.h>
#include <stdint.h>

typedef enum af__entry_state {
    AF__ENTRY_OUT,     /**< In no queue. Zeroed, it is this. */
    AF__ENTRY_WAITING, /**< Waits for its turn. */
    AF__ENTRY_RUNNING  /**< Has a place, until af__queue_remove(). */
} af__entry_state;

/** How requests use the connections of a host. */
typedef enum af__sharing {
    AF__SHARING_UNKNOWN, /**< TLS decides (ALPN), and no connection was made yet. */
    AF__SHARING_NONE,    /**< One request at a time: HTTP/1.1. */
    AF__SHARING_STREAMS  /**< Many at a time: HTTP/2. */
} af__sharing;

/** The connection that a hop needs. Each kind waits in a lane of its own, so that neither blocks the other. */
typedef enum af__lane {
    AF__LANE_SHARED, /**< One that others may use at the same time, if the host multiplexes. */
    AF__LANE_ALONE   /**< One to itself: HTTP/1.1 for sure, or isolated; see curl/isolation.c. */
} af__lane;

enum { AF__LANES = 2 };

/** Ranks of waiting entries: the priority of a new task, or this for a hop of one that has begun. */
enum { AF__RANK_BEGUN = 256 };

typedef struct af__queue_host af__queue_host;

/** Lives in what waits. Zeroed it is in no queue. */
typedef struct af__entry {
    af__node node;  /**< WAITING: in the ring of entries with its rank. */
    af__node level; /**< WAITING and the first of its ring: among the levels of its lane. */
    af__queue_host *host;
    uint64_t serial; /**< Order of arrival. */
    uint16_t rank;
    uint8_t state;     /**< af__entry_state */
    uint8_t lane;      /**< af__lane */
    bool is_connected; /**< RUNNING: it has its connection or stream. */
} af__entry;

/** What libcurl counts as one host: where connections go, be it a server or a proxy that forwards. */
typedef struct af__queue_key {
    af_slice host;
    uint16_t port;
    const char *socket; /**< Path of a Unix-domain socket, or NULL. */
} af__queue_key;

typedef struct af__queue_limits {
    uint32_t per_host, total; /**< Connections; 0: no limit. */
    uint32_t streams;         /**< Requests at once on one connection that multiplexes. */
} af__queue_limits;

typedef struct af__queue {
    af__queue_limits limits;
    af__queue_host **buckets;
    size_t bucket_count, host_count;
    /* Each in the order of turns. */
    af__list streaming;      /**< Hosts that may run an entry on a connection that is in use. */
    af__list connecting;     /**< Hosts that may run an entry with one connection more. */
    bool prefers_connecting; /**< Of the two the one whose turn it is. */
    af__list unused; /**< Hosts without entries, kept for what is known of them; oldest first. */
    size_t unused_count;
    size_t waiting, running; /**< Entries. */
    size_t connections;      /**< At least as many are in use by running entries. */
    uint64_t next_serial;
    af__hash_seed seed;
} af__queue;

/** AF_ENOMEM; AF_EINTERNAL if the system has no random bytes. It can be cleared then. */
af_status af__queue_init(af__queue *queue, af__queue_limits limits);

/** No entry may be in it. Zeroed is fine. */
void af__queue_clear(af__queue *queue);

/** Add an entry that is in no queue. AF_ENOMEM: it still isn't. */
af_status af__queue_add(af__queue *queue, af__entry *entry, const af__queue_key *key, af__lane lane,
                        unsigned rank);

/** Take an entry out, whatever its state. What it held is free for others. */
void af__queue_remove(af__queue *queue, af__entry *entry);

/** The entry whose turn it is, which runs from now on; NULL if none may. */
af__entry *af__queue_next(af__queue *queue);

/** Does the place of a running entry serve for such a hop, too? */
bool af__queue_keeps_place(const af__entry *entry, const af__queue_key *key, af__lane lane);

/** A running entry looks for a connection once more. */
void af__queue_connecting(af__queue *queue, af__entry *entry);

/** A running entry has its connection. UNKNOWN: it says nothing about others. */
void af__queue_connected(af__queue *queue, af__entry *entry, af__sharing sharing);

#endif
