#include "run/queue.h"

#include "base/alloc.h"

#include <assert.h>
#include <string.h>

enum {
    FIRST_BUCKETS = 16,
    /* Maximum number of hosts without entries whose protocol is still cached. */
    MAX_UNUSED = 64,
    /*
     * Maximum number of a host's entries that run without a connection and may share one later. libcurl keeps them
     * in a list, and some versions walk it whenever a transfer ends (8.14.1, process_pending_handles()), so it
     * stays short. The same number starts in one turn of the loop.
     */
    MAX_UNCONNECTED = 16,
    /*
     * Maximum number of streams that a host starts in a row on its connection while other hosts wait for a connection
     * and the total limit is reached. Then the host must give up its connection, once.
     */
    MAX_STREAMS_IN_A_ROW = 256
};

typedef struct queue_lane {
    afc__list levels; /**< First entry of each rank, highest rank first. */
    uint32_t running;
} queue_lane;

struct afc__queue_host {
    afc__queue_host *next; /**< Next in its bucket. */
    afc__node link;        /**< In afc__queue.streaming, .connecting or .unused, or in none. */
    queue_lane lanes[AFC__LANES];
    size_t entries; /**< Number of entries, waiting or running. */
    /** Number of entries that run in the shared lane without a connection. */
    uint32_t unconnected;
    /** Number of entries started in the shared lane since it was last empty. */
    uint32_t in_a_row;
    afc__sharing sharing;
    uint64_t hash;
    uint16_t port;
    uint8_t slots; /**< Slots that running entries of the isolated lane have, as bits. */
    bool has_socket;
    size_t host_size;
    char text[]; /**< The host, then the path of the socket; both NUL-terminated. */
};

/* ---- Lanes --------------------------------------------------------------------------------- */

static afc__entry *first_of(const queue_lane *lane) {
    afc__node *level = afc__list_first(&lane->levels);
    return level != NULL ? AFC__OWNER(level, afc__entry, level) : NULL;
}

static void insert_before(afc__node *node, afc__node *next) {
    node->next = next;
    node->previous = next->previous;
    next->previous->next = node;
    next->previous = node;
}

/**
 * Adds an entry to its rank, which is searched for linearly: few ranks are in use at a time, at most one per priority.
 */
static void push(queue_lane *lane, afc__entry *entry) {
    afc__node *head = &lane->levels.head, *level = head->next;
    while (level != head && AFC__OWNER(level, afc__entry, level)->rank > entry->rank) {
        level = level->next;
    }
    afc__entry *leader = level != head ? AFC__OWNER(level, afc__entry, level) : NULL;
    if (leader != NULL && leader->rank == entry->rank) {
        insert_before(&entry->node, &leader->node);
        return;
    }
    entry->node.next = entry->node.previous = &entry->node;
    insert_before(&entry->level, level);
}

static void pull(afc__entry *entry) {
    bool is_leader = entry->level.next != NULL;
    bool is_last = entry->node.next == &entry->node;
    if (is_leader && !is_last) {
        afc__entry *heir = AFC__OWNER(entry->node.next, afc__entry, node);
        insert_before(&heir->level, &entry->level);
    }
    afc__list_remove(&entry->level);
    afc__list_remove(&entry->node);
}

/* ---- Hosts --------------------------------------------------------------------------------- */

static uint64_t hash_of(const afc__queue *queue, const afc__queue_key *key) {
    uint64_t hash = afc__keyed_hash(&queue->seed, key->host);
    if (key->socket != NULL) {
        uint64_t socket = afc__keyed_hash(&queue->seed, afc_slice_of(key->socket));
        hash ^= socket << 1 | socket >> 63;
    }
    return hash + key->port;
}

static bool is_host(const afc__queue_host *host, const afc__queue_key *key) {
    if (host->port != key->port || host->host_size != key->host.size) return false;
    if (host->has_socket != (key->socket != NULL)) return false;
    if (memcmp(host->text, key->host.bytes, key->host.size) != 0) return false;
    return key->socket == NULL || strcmp(host->text + host->host_size + 1, key->socket) == 0;
}

static afc__queue_host **bucket_of(const afc__queue *queue, uint64_t hash) {
    return &queue->buckets[hash & (queue->bucket_count - 1)];
}

/** Resizes the hash table. Out of memory, the old one is kept. */
static void resize(afc__queue *queue, size_t count) {
    afc__queue_host **old = queue->buckets, **buckets = afc__zalloc(count * sizeof *buckets);
    if (buckets == NULL) return;
    size_t old_count = queue->bucket_count;
    queue->buckets = buckets;
    queue->bucket_count = count;
    for (size_t i = 0; i < old_count; i++) {
        for (afc__queue_host *host = old[i], *next; host != NULL; host = next) {
            afc__queue_host **bucket = bucket_of(queue, host->hash);
            next = host->next;
            host->next = *bucket;
            *bucket = host;
        }
    }
    afc_free(old);
}

static afc__queue_host *make_host(afc__queue *queue, const afc__queue_key *key, uint64_t hash) {
    size_t socket_size = key->socket != NULL ? strlen(key->socket) + 1 : 0;
    afc__queue_host *host = afc__zalloc(sizeof *host + key->host.size + 1 + socket_size);
    if (host == NULL) return NULL;
    for (size_t i = 0; i < AFC__LANES; i++) afc__list_init(&host->lanes[i].levels);
    host->hash = hash;
    host->port = key->port;
    host->host_size = key->host.size;
    host->has_socket = key->socket != NULL;
    memcpy(host->text, key->host.bytes, key->host.size);
    if (socket_size > 0) memcpy(host->text + key->host.size + 1, key->socket, socket_size);
    if (queue->host_count >= queue->bucket_count) resize(queue, queue->bucket_count * 2);
    afc__queue_host **bucket = bucket_of(queue, hash);
    host->next = *bucket;
    *bucket = host;
    queue->host_count++;
    return host;
}

static afc__queue_host *find_host(afc__queue *queue, const afc__queue_key *key) {
    uint64_t hash = hash_of(queue, key);
    for (afc__queue_host *host = *bucket_of(queue, hash); host != NULL; host = host->next) {
        if (host->hash == hash && is_host(host, key)) return host;
    }
    return make_host(queue, key, hash);
}

static void free_host(afc__queue *queue, afc__queue_host *host) {
    afc__queue_host **link = bucket_of(queue, host->hash);
    while (*link != host) link = &(*link)->next;
    *link = host->next;
    afc__list_remove(&host->link);
    afc_free(host);
    queue->host_count--;
    bool is_sparse = queue->bucket_count > FIRST_BUCKETS &&
                     queue->host_count < queue->bucket_count / 8;
    if (is_sparse) resize(queue, queue->bucket_count / 2);
}

/** Keeps a host without entries, because its protocol is useful for the next task. */
static void put_aside(afc__queue *queue, afc__queue_host *host) {
    afc__list_append(&queue->unused, &host->link);
    if (++queue->unused_count <= MAX_UNUSED) return;
    queue->unused_count--;
    free_host(queue, AFC__OWNER(afc__list_first(&queue->unused), afc__queue_host, link));
}

/* ---- Limits -------------------------------------------------------------------------------- */

/** Returns a lower bound of the connections in use: streams of a host count as one connection, but may use several. */
static uint32_t connections_of(const afc__queue_host *host) {
    uint32_t shared = host->lanes[AFC__LANE_SHARED].running;
    if (host->sharing == AFC__SHARING_STREAMS && shared > 0) shared = 1;
    return shared + host->lanes[AFC__LANE_ISOLATED].running;
}

static bool has_connection_left(const afc__queue *queue, const afc__queue_host *host) {
    return queue->limits.per_host == 0 || connections_of(host) < queue->limits.per_host;
}

/** Returns whether one more stream may start on the existing connections. */
static bool has_stream_left(const afc__queue *queue, const afc__queue_host *host) {
    uint32_t shared = host->lanes[AFC__LANE_SHARED].running;
    uint32_t isolated = host->lanes[AFC__LANE_ISOLATED].running;
    if (host->sharing != AFC__SHARING_STREAMS || shared == 0) return false;
    if (queue->limits.per_host == 0) return true;
    uint32_t most = queue->limits.per_host > isolated ? queue->limits.per_host - isolated : 1;
    return shared / queue->limits.streams < most;
}

static bool comes_before(const afc__entry *a, const afc__entry *b) {
    return a->rank != b->rank ? a->rank > b->rank : a->serial < b->serial;
}

/**
 * Returns whether an entry that needs its own connection is next, and no such entry runs. If no connection is left
 * then, the host must give up that of its streams: endless streams must not keep the last connection from that entry.
 */
static bool isolated_is_next(const afc__queue_host *host) {
    const afc__entry *isolated = first_of(&host->lanes[AFC__LANE_ISOLATED]);
    return isolated != NULL && host->lanes[AFC__LANE_ISOLATED].running == 0 &&
           comes_before(isolated, first_of(&host->lanes[AFC__LANE_SHARED]));
}

/** Returns the first entry of the shared lane if its host allows it to run without another connection, or NULL. */
static afc__entry *next_stream(const afc__queue *queue, const afc__queue_host *host) {
    afc__entry *entry = first_of(&host->lanes[AFC__LANE_SHARED]);
    bool may = entry != NULL && host->unconnected < MAX_UNCONNECTED &&
               has_stream_left(queue, host) &&
               (has_connection_left(queue, host) || !isolated_is_next(host));
    return may ? entry : NULL;
}

/** Returns the first entry that may run with one more connection, or NULL. */
static afc__entry *next_connection(const afc__queue *queue, const afc__queue_host *host) {
    afc__entry *shared = first_of(&host->lanes[AFC__LANE_SHARED]);
    afc__entry *isolated = first_of(&host->lanes[AFC__LANE_ISOLATED]);
    if ((shared == NULL && isolated == NULL) || !has_connection_left(queue, host)) return NULL;
    bool streams = host->sharing == AFC__SHARING_STREAMS &&
                   host->lanes[AFC__LANE_SHARED].running > 0;
    bool has_shared = shared != NULL && !streams &&
                      (host->sharing == AFC__SHARING_NONE || host->unconnected < MAX_UNCONNECTED);
    if (!has_shared) return isolated;
    return isolated != NULL && comes_before(isolated, shared) ? isolated : shared;
}

/** Moves a host to the end of the list that it now belongs to. */
static void rotate(afc__queue *queue, afc__queue_host *host) {
    afc__list_remove(&host->link);
    if (host->entries == 0) {
        put_aside(queue, host);
    } else if (next_stream(queue, host) != NULL) {
        afc__list_append(&queue->streaming, &host->link);
    } else if (next_connection(queue, host) != NULL) {
        afc__list_append(&queue->connecting, &host->link);
    }
}

/** Moves a host to the list that it belongs to after a change. It keeps its position if that is the same list. */
static void update(afc__queue *queue, afc__queue_host *host, bool was_streaming) {
    bool is_streaming = next_stream(queue, host) != NULL;
    bool may_run = is_streaming || next_connection(queue, host) != NULL;
    bool was_listed = host->link.next != NULL;
    bool is_same = host->entries > 0 && was_listed == may_run && was_streaming == is_streaming;
    if (!is_same) rotate(queue, host);
}

/* ---- Entries ------------------------------------------------------------------------------- */

afc_status afc__queue_init(afc__queue *queue, afc__queue_limits limits) {
    *queue = (afc__queue){.limits = limits};
    afc__list_init(&queue->streaming);
    afc__list_init(&queue->connecting);
    afc__list_init(&queue->unused);
    if (!afc__hash_seed_make(&queue->seed)) return AFC_EINTERNAL;
    queue->buckets = afc__zalloc(FIRST_BUCKETS * sizeof *queue->buckets);
    if (queue->buckets == NULL) return AFC_ENOMEM;
    queue->bucket_count = FIRST_BUCKETS;
    return AFC_OK;
}

void afc__queue_clear(afc__queue *queue) {
    afc__node *node;
    if (queue->buckets == NULL) return;
    while ((node = afc__list_first(&queue->unused)) != NULL) {
        free_host(queue, AFC__OWNER(node, afc__queue_host, link));
    }
    afc_free(queue->buckets);
    queue->buckets = NULL;
}

afc_status afc__queue_add(afc__queue *queue, afc__entry *entry, const afc__queue_key *key,
                          afc__lane lane, unsigned rank) {
    assert(entry->state == AFC__ENTRY_OUT);
    afc__queue_host *host = find_host(queue, key);
    if (host == NULL) return AFC_ENOMEM;
    if (host->entries == 0) {
        if (host->link.next != NULL) queue->unused_count--;
        afc__list_remove(&host->link);
    }
    bool was_streaming = next_stream(queue, host) != NULL;
    *entry = (afc__entry){.host = host,
                          .serial = queue->next_serial++,
                          .rank = (uint16_t)rank,
                          .state = AFC__ENTRY_WAITING,
                          .lane = (uint8_t)lane};
    push(&host->lanes[lane], entry);
    host->entries++;
    queue->waiting++;
    update(queue, host, was_streaming);
    return AFC_OK;
}

unsigned afc__queue_take_slot(afc__entry *entry) {
    for (unsigned slot = 1; slot <= AFC__SLOTS_MAX && entry->slot == 0; slot++) {
        if ((entry->host->slots & 1u << slot) != 0) continue;
        entry->host->slots |= (uint8_t)(1u << slot);
        entry->slot = (uint8_t)slot;
    }
    return entry->slot;
}

static void leave_slot(afc__entry *entry) {
    if (entry->slot != 0) entry->host->slots &= (uint8_t) ~(1u << entry->slot);
    entry->slot = 0;
}

static bool runs(const afc__entry *entry) {
    return entry->state == AFC__ENTRY_RUNNING || entry->state == AFC__ENTRY_CONNECTED;
}

/** Returns whether the entry is counted in `unconnected` of its host. */
static bool is_unconnected(const afc__entry *entry) {
    return entry->lane == AFC__LANE_SHARED && entry->state == AFC__ENTRY_RUNNING;
}

/** Counts an entry as running, or as not running any more. */
static void count_running(afc__queue *queue, afc__entry *entry, bool is_new) {
    afc__queue_host *host = entry->host;
    queue_lane *lane = &host->lanes[entry->lane];
    queue->connections -= connections_of(host);
    if (is_new) {
        lane->running++;
        queue->running++;
        if (is_unconnected(entry)) host->unconnected++;
    } else {
        lane->running--;
        queue->running--;
        if (is_unconnected(entry)) host->unconnected--;
    }
    if (entry->lane == AFC__LANE_SHARED) {
        host->in_a_row = lane->running > 0 ? host->in_a_row + (is_new ? 1 : 0) : 0;
    }
    queue->connections += connections_of(host);
}

void afc__queue_remove(afc__queue *queue, afc__entry *entry) {
    afc__queue_host *host = entry->host;
    if (entry->state == AFC__ENTRY_OUT) return;
    bool was_streaming = next_stream(queue, host) != NULL;
    if (entry->state == AFC__ENTRY_WAITING) {
        pull(entry);
        queue->waiting--;
    } else {
        count_running(queue, entry, false);
        leave_slot(entry);
    }
    host->entries--;
    *entry = (afc__entry){0};
    update(queue, host, was_streaming);
}

static afc__entry *run(afc__queue *queue, afc__entry *entry) {
    assert(entry->state == AFC__ENTRY_WAITING);
    pull(entry);
    queue->waiting--;
    entry->state = AFC__ENTRY_RUNNING;
    count_running(queue, entry, true);
    rotate(queue, entry->host);
    return entry;
}

/** Returns whether a host with streams must give up its connection, as others need it. */
static bool must_yield(const afc__queue *queue, const afc__queue_host *host, bool is_full) {
    if (!is_full) return false;
    bool others_wait = !afc__list_is_empty(&queue->connecting);
    return isolated_is_next(host) || (others_wait && host->in_a_row >= MAX_STREAMS_IN_A_ROW);
}

/**
 * Chooses an entry of a host with streams, or returns NULL. The search is short: when the total limit is reached, at
 * most that many hosts have streams.
 */
static afc__entry *choose_streaming(const afc__queue *queue, bool is_full) {
    const afc__node *head = &queue->streaming.head;
    for (const afc__node *node = head->next; node != head; node = node->next) {
        const afc__queue_host *host = AFC__OWNER(node, afc__queue_host, link);
        if (must_yield(queue, host, is_full)) continue;
        afc__entry *stream = next_stream(queue, host);
        afc__entry *other = is_full ? NULL : next_connection(queue, host);
        return other != NULL && comes_before(other, stream) ? other : stream;
    }
    return NULL;
}

static afc__entry *choose_connecting(const afc__queue *queue, bool is_full) {
    afc__node *node = is_full ? NULL : afc__list_first(&queue->connecting);
    return node != NULL ? next_connection(queue, AFC__OWNER(node, afc__queue_host, link)) : NULL;
}

afc__entry *afc__queue_next(afc__queue *queue) {
    /* Fast, as this is called after every event of every connection. */
    if (queue->waiting == 0) return NULL;
    bool is_full = queue->limits.total != 0 && queue->connections >= queue->limits.total;
    afc__entry *entry = queue->prefers_connecting ? choose_connecting(queue, is_full)
                                                  : choose_streaming(queue, is_full);
    if (entry == NULL) {
        entry = queue->prefers_connecting ? choose_streaming(queue, is_full)
                                          : choose_connecting(queue, is_full);
    }
    queue->prefers_connecting = !queue->prefers_connecting;
    return entry != NULL ? run(queue, entry) : NULL;
}

bool afc__queue_keeps_connection(const afc__entry *entry, const afc__queue_key *key,
                                 afc__lane lane) {
    return runs(entry) && entry->lane == (uint8_t)lane && is_host(entry->host, key);
}

void afc__queue_connecting(afc__queue *queue, afc__entry *entry) {
    if (entry->state != AFC__ENTRY_CONNECTED) return;
    afc__queue_host *host = entry->host;
    bool was_streaming = next_stream(queue, host) != NULL;
    entry->state = AFC__ENTRY_RUNNING;
    if (is_unconnected(entry)) host->unconnected++;
    update(queue, host, was_streaming);
}

void afc__queue_connected(afc__queue *queue, afc__entry *entry, afc__sharing sharing) {
    if (!runs(entry)) return;
    afc__queue_host *host = entry->host;
    bool was_streaming = next_stream(queue, host) != NULL;
    queue->connections -= connections_of(host);
    if (is_unconnected(entry)) host->unconnected--;
    entry->state = AFC__ENTRY_CONNECTED;
    if (sharing != AFC__SHARING_UNKNOWN) host->sharing = sharing;
    queue->connections += connections_of(host);
    update(queue, host, was_streaming);
}
