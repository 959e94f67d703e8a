/**
 * What the kernel said of links and addresses, and what follows from it for a route. Reads messages
 * of rtnetlink; asks nobody.
 */
#ifndef AF_REACHABILITY_TABLES_H
#define AF_REACHABILITY_TABLES_H

#include <afcore/reachability.h>
#include <linux/rtnetlink.h>

/** An address, of either family. */
typedef struct af__reach_address {
    uint8_t family; /**< AF_INET, AF_INET6; 0: none. */
    uint8_t bytes[16];
    int scope; /**< Index of the link that it belongs to; 0: it is the same on all. */
} af__reach_address;

/** The kernel's answer to "how would a packet get there?" */
typedef struct af__reach_route {
    bool exists;
    af__reach_address source, destination;
} af__reach_route;

typedef struct af__reach_link {
    int index;
    char name[AF_LINK_NAME_SIZE];
    bool is_up;      /**< Switched on. */
    bool is_running; /**< And with a carrier. */
    af_link_kind kind;
    unsigned round;
} af__reach_link;

typedef struct af__reach_own {
    int index;
    af__reach_address address;
    unsigned round;
} af__reach_own;

typedef enum af__reach_stage {
    AF__REACH_NOTHING,       /**< Links are to be asked for, */
    AF__REACH_READING_LINKS, /**< and are coming; */
    AF__REACH_HAS_LINKS,     /**< then addresses are to be asked for, */
    AF__REACH_READING_OWN,   /**< and are coming; */
    AF__REACH_KNOWN,         /**< from then on changes are told. */
    AF__REACH_BROKEN         /**< The kernel refused several times; its next message begins anew. */
} af__reach_stage;

/** What kind a link is that isn't Ethernet alone: AF_LINK_WIRELESS, AF_LINK_CELLULAR, or neither. */
typedef af_link_kind af__reach_kind_of(void *context, int index, const char *name);

typedef struct af__link_table {
    af__reach_link *links;
    size_t link_count, link_room;
    af__reach_own *own;
    size_t own_count, own_room;
    af__reach_stage stage;
    bool must_redump;  /**< Something was lost while it was being read: read once more. */
    unsigned round;    /**< Of reading everything: what is older at its end is gone. */
    unsigned refusals; /**< In a row. */
    uint32_t sequence; /**< Of the dump that was asked for last. */
    af__reach_kind_of *kind_of;
    void *context;
} af__link_table;

/** For all links or all addresses; as it goes to the kernel. */
typedef struct af__reach_request {
    struct nlmsghdr header;
    struct rtgenmsg body;
} af__reach_request;

void af__link_table_init(af__link_table *table, af__reach_kind_of *kind_of, void *context);
void af__link_table_clear(af__link_table *table);

/** Is something to be asked for now? Then `request` is to be sent. */
bool af__link_table_ask(af__link_table *table, af__reach_request *request);

/** One datagram of the kernel. */
void af__link_table_take(af__link_table *table, const void *datagram, size_t size);

/** Messages were lost. */
void af__link_table_lose(af__link_table *table);

/** Everything is to be read anew, and no request is under way any more. */
void af__link_table_restart(af__link_table *table);

/** A request could not be sent. */
void af__link_table_refuse(af__link_table *table);

/**
 * What the first of the routes that leads somewhere means; AF_REACH_NONE if none does. `is_transient`
 * says that a route goes over a link that is switched off, which the kernel is about to correct.
 */
af_reachability af__reach_decide(const af__link_table *table, const af__reach_route *routes,
                                 size_t count, bool *is_transient);

/** A number that changes when the addresses do by which other hosts know this one. */
uint64_t af__reach_fingerprint(const af__link_table *table);

#endif
