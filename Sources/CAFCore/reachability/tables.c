#include "reachability/tables.h"

#include "base/alloc.h"

#include <linux/if.h>
#include <linux/if_arp.h>
#include <string.h>
#include <sys/socket.h>

enum {
    /* Maximum number of links and of addresses. Other links are unknown, and treated as running. */
    MAX_ENTRIES = 16384,
    MAX_REFUSALS = 3,
    FIRST_CAPACITY = 8
};

void afc__link_table_init(afc__link_table *table, afc__reach_kind_of *kind_of, void *context) {
    *table = (afc__link_table){.kind_of = kind_of, .context = context};
}

void afc__link_table_clear(afc__link_table *table) {
    afc_free(table->links);
    afc_free(table->own);
    afc__link_table_init(table, table->kind_of, table->context);
}

/* ---- Reading everything -------------------------------------------------------------------- */

bool afc__link_table_ask(afc__link_table *table, afc__reach_request *request) {
    bool wants_links = table->stage == AFC__REACH_NOTHING;
    if (!wants_links && table->stage != AFC__REACH_HAS_LINKS) return false;
    if (wants_links) {
        table->must_redump = false;
        table->round++;
    }
    table->stage = wants_links ? AFC__REACH_READING_LINKS : AFC__REACH_READING_OWN;
    memset(request, 0, sizeof *request);
    request->header.nlmsg_len = sizeof *request;
    request->header.nlmsg_type = wants_links ? RTM_GETLINK : RTM_GETADDR;
    request->header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    request->header.nlmsg_seq = ++table->sequence;
    request->body.rtgen_family = AF_UNSPEC;
    return true;
}

static bool is_reading(const afc__link_table *table) {
    return table->stage == AFC__REACH_READING_LINKS || table->stage == AFC__REACH_READING_OWN;
}

void afc__link_table_lose(afc__link_table *table) {
    table->must_redump = true;
    /* The kernel runs one dump per socket at a time, so the current one must end first. */
    if (!is_reading(table)) table->stage = AFC__REACH_NOTHING;
}

void afc__link_table_restart(afc__link_table *table) {
    table->must_redump = true;
    table->refusals = 0;
    table->stage = AFC__REACH_NOTHING;
}

void afc__link_table_refuse(afc__link_table *table) {
    table->stage = ++table->refusals < MAX_REFUSALS ? AFC__REACH_NOTHING : AFC__REACH_BROKEN;
}

/** Removes the entries that a complete dump didn't mention. */
static void forget_old(afc__link_table *table) {
    size_t kept = 0;
    for (size_t i = 0; i < table->link_count; i++) {
        if (table->links[i].round == table->round) table->links[kept++] = table->links[i];
    }
    table->link_count = kept;
    kept = 0;
    for (size_t i = 0; i < table->own_count; i++) {
        if (table->own[i].round == table->round) table->own[kept++] = table->own[i];
    }
    table->own_count = kept;
}

static void end_dump(afc__link_table *table) {
    table->refusals = 0;
    if (table->must_redump) {
        table->stage = AFC__REACH_NOTHING;
    } else if (table->stage == AFC__REACH_READING_LINKS) {
        table->stage = AFC__REACH_HAS_LINKS;
    } else {
        table->stage = AFC__REACH_KNOWN;
        forget_old(table);
    }
}

/** Returns the entries with room for one more, perhaps moved; NULL if that isn't possible. */
static void *ensure_capacity(afc__link_table *table, void *entries, size_t count, size_t *capacity,
                             size_t size) {
    if (count < *capacity) return entries;
    if (count >= MAX_ENTRIES) return NULL;
    size_t more = *capacity != 0 ? *capacity * 2 : FIRST_CAPACITY;
    void *grown = afc__realloc(entries, more * size);
    if (grown == NULL) {
        /* An entry will be missing, so everything is read again. */
        afc__link_table_lose(table);
        return NULL;
    }
    *capacity = more;
    return grown;
}

/* ---- Links --------------------------------------------------------------------------------- */

static afc__reach_link *find_link(const afc__link_table *table, int index) {
    for (size_t i = 0; i < table->link_count; i++) {
        if (table->links[i].index == index) return &table->links[i];
    }
    return NULL;
}

static void remove_own_of(afc__link_table *table, int index) {
    for (size_t i = table->own_count; i > 0; i--) {
        if (table->own[i - 1].index == index) table->own[i - 1] = table->own[--table->own_count];
    }
}

static void remove_link(afc__link_table *table, int index) {
    afc__reach_link *link = find_link(table, index);
    if (link != NULL) *link = table->links[--table->link_count];
    remove_own_of(table, index);
}

static afc_link_kind kind_of(const afc__link_table *table, const struct ifinfomsg *info,
                             const char *name) {
    if (info->ifi_flags & IFF_LOOPBACK) return AFC_LINK_LOOPBACK;
    afc_link_kind kind = table->kind_of(table->context, info->ifi_index, name);
    if (kind != AFC_LINK_UNKNOWN) return kind;
    return info->ifi_type == ARPHRD_ETHER ? AFC_LINK_WIRED : AFC_LINK_OTHER;
}

static void put_link(afc__link_table *table, const struct ifinfomsg *info, const char *name) {
    afc__reach_link *link = find_link(table, info->ifi_index);
    if (link == NULL) {
        void *links = ensure_capacity(table, table->links, table->link_count, &table->link_capacity,
                                      sizeof *table->links);
        if (links == NULL) return;
        table->links = links;
        link = &table->links[table->link_count++];
        *link = (afc__reach_link){.index = info->ifi_index};
    }
    if (link->name[0] == 0 || (name[0] != 0 && strcmp(link->name, name) != 0)) {
        memcpy(link->name, name, sizeof link->name);
        link->kind = kind_of(table, info, name);
    }
    link->is_up = (info->ifi_flags & IFF_UP) != 0;
    link->is_running = link->is_up && (info->ifi_flags & IFF_RUNNING) != 0;
    link->round = table->round;
}

/* ---- Attributes ---------------------------------------------------------------------------- */

typedef struct link_attribute {
    unsigned type;
    const unsigned char *bytes;
    size_t size;
} link_attribute;

/** Reads the next attribute at `*rest`. Returns false at the end, or if it is malformed. */
static bool next_attribute(afc_slice *rest, link_attribute *out) {
    struct rtattr header;
    if (rest->size < sizeof header) return false;
    memcpy(&header, rest->bytes, sizeof header);
    if (header.rta_len < sizeof header || header.rta_len > rest->size) return false;
    out->type = header.rta_type & NLA_TYPE_MASK;
    out->bytes = (const unsigned char *)rest->bytes + sizeof header;
    out->size = header.rta_len - sizeof header;
    size_t step = RTA_ALIGN((size_t)header.rta_len);
    if (step > rest->size) step = rest->size;
    rest->bytes += step;
    rest->size -= step;
    return true;
}

/** Reads the fixed part of a message. Returns false if it is truncated. */
static bool read_fixed(afc_slice message, void *fixed, size_t size, afc_slice *attributes) {
    if (message.size < size) return false;
    memcpy(fixed, message.bytes, size);
    size_t aligned = NLMSG_ALIGN(size);
    if (aligned > message.size) aligned = message.size;
    *attributes = (afc_slice){message.bytes + aligned, message.size - aligned};
    return true;
}

static void take_link(afc__link_table *table, afc_slice message, bool is_gone) {
    struct ifinfomsg info;
    afc_slice rest;
    if (!read_fixed(message, &info, sizeof info, &rest)) return;
    /* A bridge sends similar messages about its ports (AF_BRIDGE), where a removed port is "deleted". */
    if (info.ifi_family != AF_UNSPEC || info.ifi_index <= 0) return;
    if (is_gone) {
        remove_link(table, info.ifi_index);
        return;
    }
    char name[AFC_LINK_NAME_SIZE] = "";
    link_attribute attribute;
    while (next_attribute(&rest, &attribute)) {
        if (attribute.type != IFLA_IFNAME || attribute.size > sizeof name) continue;
        memcpy(name, attribute.bytes, attribute.size);
        name[sizeof name - 1] = 0;
    }
    put_link(table, &info, name);
}

/* ---- Addresses ----------------------------------------------------------------------------- */

static size_t size_of_family(uint8_t family) {
    return family == AF_INET ? 4 : 16;
}

static bool is_link_local(const afc__reach_address *address) {
    return address->family == AF_INET6 && address->bytes[0] == 0xfe &&
           (address->bytes[1] & 0xc0) == 0x80;
}

static bool same_address(const afc__reach_address *a, const afc__reach_address *b) {
    return a->family == b->family && memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

static void put_own(afc__link_table *table, const afc__reach_own *new) {
    for (size_t i = 0; i < table->own_count; i++) {
        afc__reach_own *old = &table->own[i];
        if (old->index != new->index || !same_address(&old->address, &new->address)) continue;
        old->round = new->round;
        return;
    }
    void *own = ensure_capacity(table, table->own, table->own_count, &table->own_capacity,
                                sizeof *table->own);
    if (own == NULL) return;
    table->own = own;
    table->own[table->own_count++] = *new;
}

static void remove_own(afc__link_table *table, const afc__reach_own *gone) {
    for (size_t i = table->own_count; i > 0; i--) {
        afc__reach_own *old = &table->own[i - 1];
        if (old->index != gone->index || !same_address(&old->address, &gone->address)) continue;
        *old = table->own[--table->own_count];
    }
}

static void take_own(afc__link_table *table, afc_slice message, bool is_gone) {
    struct ifaddrmsg info;
    afc_slice rest;
    if (!read_fixed(message, &info, sizeof info, &rest)) return;
    if (info.ifa_family != AF_INET && info.ifa_family != AF_INET6) return;
    if (info.ifa_index > INT32_MAX) return;
    afc__reach_own own = {.index = (int)info.ifa_index, .round = table->round};
    bool has_local = false;
    link_attribute attribute;
    while (next_attribute(&rest, &attribute)) {
        /* On point-to-point links IFA_ADDRESS is the peer's address and IFA_LOCAL the local one. */
        bool is_local = attribute.type == IFA_LOCAL;
        if (!is_local && (attribute.type != IFA_ADDRESS || has_local)) continue;
        if (attribute.size != size_of_family(info.ifa_family)) continue;
        own.address.family = info.ifa_family;
        memcpy(own.address.bytes, attribute.bytes, attribute.size);
        has_local = is_local;
    }
    if (own.address.family == 0) return;
    if (is_link_local(&own.address)) own.address.scope = own.index;
    if (is_gone) {
        remove_own(table, &own);
    } else {
        put_own(table, &own);
    }
}

/* ---- Messages ------------------------------------------------------------------------------ */

static void take_message(afc__link_table *table, const struct nlmsghdr *header, afc_slice message) {
    bool is_reply = is_reading(table) && header->nlmsg_seq == table->sequence;
    if (header->nlmsg_flags & NLM_F_DUMP_INTR) table->must_redump = true;
    switch (header->nlmsg_type) {
    case NLMSG_DONE:
        if (is_reply) end_dump(table);
        break;
    case NLMSG_ERROR:
        if (is_reply) afc__link_table_refuse(table);
        break;
    case NLMSG_OVERRUN:
        afc__link_table_lose(table);
        break;
    case RTM_NEWLINK:
    case RTM_DELLINK:
        take_link(table, message, header->nlmsg_type == RTM_DELLINK);
        break;
    case RTM_NEWADDR:
    case RTM_DELADDR:
        take_own(table, message, header->nlmsg_type == RTM_DELADDR);
        break;
    default: /* Routes and rules: it only matters that something has changed. */
        break;
    }
}

void afc__link_table_take(afc__link_table *table, const void *datagram, size_t size) {
    const char *next = datagram;
    struct nlmsghdr header;
    if (table->stage == AFC__REACH_BROKEN) {
        table->refusals = 0;
        table->stage = AFC__REACH_NOTHING;
    }
    while (size >= sizeof header) {
        memcpy(&header, next, sizeof header);
        if (header.nlmsg_len < sizeof header || header.nlmsg_len > size) break;
        take_message(table, &header,
                     (afc_slice){next + NLMSG_HDRLEN, header.nlmsg_len - (uint32_t)sizeof header});
        size_t step = NLMSG_ALIGN((size_t)header.nlmsg_len);
        if (step > size) step = size;
        next += step;
        size -= step;
    }
}

/* ---- Deciding ------------------------------------------------------------------------------ */

static bool is_usable(const afc__reach_link *link) {
    return link != NULL && link->is_running;
}

/** Returns the link of the route's source address, preferably a running one; NULL if it is unknown. */
static const afc__reach_link *link_of_source(const afc__link_table *table,
                                             const afc__reach_address *source) {
    const afc__reach_link *found = NULL;
    for (size_t i = 0; i < table->own_count && !is_usable(found); i++) {
        const afc__reach_own *own = &table->own[i];
        if (!same_address(&own->address, source)) continue;
        if (source->scope != 0 && source->scope != own->index) continue;
        const afc__reach_link *link = find_link(table, own->index);
        if (link != NULL) found = link;
    }
    return found;
}

static const afc__reach_link *link_of_route(const afc__link_table *table,
                                            const afc__reach_route *route) {
    if (!same_address(&route->source, &route->destination)) {
        return link_of_source(table, &route->source);
    }
    /* Packets to a local address use the loopback link, whichever link has the address. */
    for (size_t i = 0; i < table->link_count; i++) {
        if (table->links[i].kind == AFC_LINK_LOOPBACK) return &table->links[i];
    }
    return NULL;
}

afc_reachability afc__reach_decide(const afc__link_table *table, const afc__reach_route *routes,
                                   size_t count, bool *is_transient) {
    *is_transient = false;
    for (size_t i = 0; i < count; i++) {
        if (!routes[i].exists) continue;
        const afc__reach_link *link = link_of_route(table, &routes[i]);
        if (link != NULL && !link->is_running) {
            if (!link->is_up) *is_transient = true;
            continue;
        }
        afc_reachability state = {.status = AFC_REACH_VIA_WIFI};
        if (link != NULL) {
            if (link->kind == AFC_LINK_CELLULAR) state.status = AFC_REACH_VIA_WWAN;
            state.link = link->kind;
            memcpy(state.link_name, link->name, sizeof state.link_name);
        }
        *is_transient = false;
        return state;
    }
    return (afc_reachability){.status = AFC_REACH_NONE};
}

static uint64_t hash(const afc__reach_own *own) {
    uint64_t value = 0xcbf29ce484222325u ^ (uint64_t)own->index;
    for (size_t i = 0; i < sizeof own->address.bytes; i++) {
        value = (value ^ own->address.bytes[i]) * 0x100000001b3u;
    }
    return value;
}

uint64_t afc__reach_fingerprint(const afc__link_table *table) {
    uint64_t fingerprint = 0;
    for (size_t i = 0; i < table->own_count; i++) {
        const afc__reach_own *own = &table->own[i];
        const afc__reach_link *link = find_link(table, own->index);
        if (link == NULL || !link->is_running || link->kind == AFC_LINK_LOOPBACK) continue;
        /*
         * A sum doesn't depend on the order of addresses. Link-local addresses are left out: they change with every
         * container that is started.
         */
        if (!is_link_local(&own->address)) fingerprint += hash(own);
    }
    return fingerprint;
}
