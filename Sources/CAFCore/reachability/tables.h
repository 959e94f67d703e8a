/**
 * Tables of links and addresses from rtnetlink messages, and the reachability of a route that follows from them.
 * Does no I/O.
 */
#ifndef AF_REACHABILITY_TABLES_H
#define AF_REACHABILITY_TABLES_H

#include <afcore/reachability.h>
#include <linux/rtnetlink.h>

/** An IPv4 or IPv6 address. */
typedef struct af__reach_address {
    uint8_t family; /**< AF_INET, AF_INET6; 0: none. */
    uint8_t bytes[16];
    int scope; /**< Interface index of a link-local address; 0: any. */
} af__reach_address;

/** A route as the kernel reports it. */
typedef struct af__reach_route {
    bool exists;
    af__reach_address source, destination;
} af__reach_route;

typedef struct af__reach_link {
    int index;
    char name[AF_LINK_NAME_SIZE];
    bool is_up;      /**< IFF_UP. */
    bool is_running; /**< IFF_RUNNING. */
    af_link_kind kind;
    unsigned round;
} af__reach_link;

typedef struct af__reach_own {
    int index;
    af__reach_address address;
    unsigned round;
} af__reach_own;

typedef enum af__reach_stage {
    AF__REACH_NOTHING,       /**< A dump of the links must be requested. */
    AF__REACH_READING_LINKS, /**< The dump is being read. */
    AF__REACH_HAS_LINKS,     /**< Then a dump of the addresses must be requested. */
    AF__REACH_READING_OWN,   /**< The dump is being read. */
    AF__REACH_KNOWN,         /**< Complete; the kernel reports changes. */
    AF__REACH_BROKEN /**< The kernel refused several times; restarts with its next message. */
} af__reach_stage;

/** Returns the kind of a link that looks like Ethernet: AF_LINK_WIRELESS, AF_LINK_CELLULAR, or neither. */
typedef af_link_kind af__reach_kind_of(void *context, int index, const char *name);

typedef struct af__link_table {
    af__reach_link *links;
    size_t link_count, link_room;
    af__reach_own *own;
    size_t own_count, own_room;
    af__reach_stage stage;
    bool must_redump;  /**< A message was lost during the dump: read again. */
    unsigned round;    /**< Number of the dump: entries of older rounds are gone when it ends. */
    unsigned refusals; /**< Consecutive refusals. */
    uint32_t sequence; /**< Sequence number of the last requested dump. */
    af__reach_kind_of *kind_of;
    void *context;
} af__link_table;

/** A dump request for all links or all addresses, in the format of the kernel. */
typedef struct af__reach_request {
    struct nlmsghdr header;
    struct rtgenmsg body;
} af__reach_request;

void af__link_table_init(af__link_table *table, af__reach_kind_of *kind_of, void *context);
void af__link_table_clear(af__link_table *table);

/** Returns whether `request` must be sent now. */
bool af__link_table_ask(af__link_table *table, af__reach_request *request);

/** Processes a datagram of the kernel. */
void af__link_table_take(af__link_table *table, const void *datagram, size_t size);

/** Handles lost messages. */
void af__link_table_lose(af__link_table *table);

/** Restarts from the beginning; no request is in progress. */
void af__link_table_restart(af__link_table *table);

/** Handles a request that couldn't be sent. */
void af__link_table_refuse(af__link_table *table);

/**
 * Decides the reachability by the first usable route; AF_REACH_NONE if there is none. `is_transient`: the route
 * uses a link that is down, which the kernel is about to remove.
 */
af_reachability af__reach_decide(const af__link_table *table, const af__reach_route *routes,
                                 size_t count, bool *is_transient);

/** Returns a fingerprint that changes with the addresses by which other hosts reach this one. */
uint64_t af__reach_fingerprint(const af__link_table *table);

#endif
