/**
 * Tables of links and addresses from rtnetlink messages, and the reachability of a route that follows from them. No
 * I/O.
 */
#ifndef AFC_REACHABILITY_TABLES_H
#define AFC_REACHABILITY_TABLES_H

#include <afcore/reachability.h>
#include <linux/rtnetlink.h>

/** An IPv4 or IPv6 address. */
typedef struct afc__reach_address {
    uint8_t family; /**< AF_INET or AF_INET6; 0 if there is no address. */
    uint8_t bytes[16];
    int scope; /**< Interface index of a link-local address; 0 if any. */
} afc__reach_address;

/** A route as the kernel reports it. */
typedef struct afc__reach_route {
    bool exists;
    afc__reach_address source, destination;
    bool is_unknown; /**< The kernel couldn't be asked: this process lacks descriptors or memory. */
} afc__reach_route;

typedef struct afc__reach_link {
    int index;
    char name[AFC_LINK_NAME_SIZE];
    bool is_up;      /**< IFF_UP. */
    bool is_running; /**< IFF_RUNNING. */
    afc_link_kind kind;
    unsigned round;
} afc__reach_link;

typedef struct afc__reach_own {
    int index;
    afc__reach_address address;
    unsigned round;
} afc__reach_own;

typedef enum afc__reach_stage {
    AFC__REACH_NOTHING,       /**< Nothing is known: a dump of the links must be requested. */
    AFC__REACH_READING_LINKS, /**< The dump of the links is being read. */
    AFC__REACH_HAS_LINKS,   /**< The links are known: a dump of the addresses must be requested. */
    AFC__REACH_READING_OWN, /**< The dump of the addresses is being read. */
    AFC__REACH_KNOWN,       /**< Complete; the kernel reports changes. */
    /** The kernel refused several requests; starts again with its next message. */
    AFC__REACH_BROKEN
} afc__reach_stage;

/**
 * Called for each link except loopback ones: returns AFC_LINK_WIRELESS or AFC_LINK_CELLULAR, or AFC_LINK_UNKNOWN if it
 * is neither.
 */
typedef afc_link_kind afc__reach_kind_of(void *context, int index, const char *name);

typedef struct afc__link_table {
    afc__reach_link *links;
    size_t link_count, link_capacity;
    afc__reach_own *own;
    size_t own_count, own_capacity;
    afc__reach_stage stage;
    bool must_redump; /**< A message was lost during the dump: request it again. */
    unsigned round;   /**< Number of the dump: when it ends, entries of older rounds are removed. */
    unsigned refusals; /**< Consecutive refusals. */
    uint32_t sequence; /**< Sequence number of the last requested dump. */
    afc__reach_kind_of *kind_of;
    void *context;
} afc__link_table;

/** A dump request for all links or all addresses, in the format of the kernel. */
typedef struct afc__reach_request {
    struct nlmsghdr header;
    struct rtgenmsg body;
} afc__reach_request;

void afc__link_table_init(afc__link_table *table, afc__reach_kind_of *kind_of, void *context);
void afc__link_table_clear(afc__link_table *table);

/** Returns whether a request must be sent now, and writes it to `request`. */
bool afc__link_table_ask(afc__link_table *table, afc__reach_request *request);

/** Processes a datagram of the kernel. */
void afc__link_table_take(afc__link_table *table, const void *datagram, size_t size);

/** Called when messages of the kernel were lost: everything must be read again. */
void afc__link_table_lose(afc__link_table *table);

/** Starts from the beginning, with a new socket that has no request in progress. */
void afc__link_table_restart(afc__link_table *table);

/** Called when a request couldn't be sent, or was refused. */
void afc__link_table_refuse(afc__link_table *table);

/**
 * Decides the reachability by the first usable route; AFC_REACH_NONE if there is none. `*is_transient` becomes true if
 * a route uses a link that is down: the kernel is about to remove that route.
 */
afc_reachability afc__reach_decide(const afc__link_table *table, const afc__reach_route *routes,
                                   size_t count, bool *is_transient);

/** Returns a fingerprint that changes with the addresses by which other hosts reach this one. */
uint64_t afc__reach_fingerprint(const afc__link_table *table);

#endif
