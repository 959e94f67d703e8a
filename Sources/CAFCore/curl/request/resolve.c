/*
 * Decides which names are looked up, and when libcurl gets the addresses.
 *
 * CURLOPT_RESOLVE adds permanent entries to the multi handle's DNS cache. They never expire, so libcurl always finds
 * them, even if a transfer has waited long for its connection. So they are renewed and removed here. libcurl reads the
 * list when a transfer starts (Curl_pretransfer()), which is only certain once a callback of the transfer was called.
 * Until then, every transfer that needs an entry includes it.
 */
#include "curl/request/resolve.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/failure.h"
#include "base/text.h"
#include "curl/exchange_state.h"
#include "curl/request/network.h"
#include "message/host.h"
#include "message/ip.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum {
    FEWEST_BUCKETS = 256,
    MAX_BUCKETS = 65536,
    /* "65535", a colon, a minus and NUL. */
    KEY_SIZE = AFC__HOST_MAX + 8,
    /* The delay after a failed renewal. */
    RETRY_US = 1000 * 1000
};

/** The addresses of a name, as an entry for libcurl. Immutable. */
struct afc__resolved {
    unsigned references;
    afc__addresses *addresses;
    char text[]; /* "host:port:address,address", an entry of CURLOPT_RESOLVE. */
};

/** A host and port that hops or connections use, or that libcurl's cache still has. */
struct afc__name {
    afc__text_entry entry; /* Its key is "host:port", a part of `text`. */
    /* One of the session's overrides, which libcurl has from their own list. */
    bool is_override;
    bool is_looking_up;
    bool is_loaded; /* libcurl's cache has `resolved`. */
    afc__lookup lookup;
    /* When `resolved` must be looked up again, on the clock of afc__since_boot_us(). */
    int64_t expires_us;
    /* The earliest time of a renewal (afc__now_us()), as the last lookup failed. */
    int64_t retry_us;
    afc__list waiting; /* Uses (afc__host_use) that wait for addresses. */
    afc__resolved *resolved;
    unsigned users; /* Number of exchanges and connections that use the name. */
    unsigned connections;
    afc__node idle;         /* In names->idle, if the name has no users and no `evictor`. */
    afc__exchange *evictor; /* The exchange that removes the name from libcurl's cache, or NULL. */
    size_t host_size;
    /* "-host:port". The minus makes it an entry of CURLOPT_RESOLVE that removes the name. */
    char text[];
};

/* ---- Resolved ------------------------------------------------------------------------------ */

static void release_resolved(afc__resolved *resolved) {
    if (resolved == NULL || --resolved->references > 0) return;
    afc__addresses_release(resolved->addresses);
    afc_free(resolved);
}

/** Makes an entry, which retains `addresses`. Returns NULL when out of memory. */
static afc__resolved *new_resolved(const afc__name *name, afc__addresses *addresses) {
    size_t key_size = name->entry.key.size;
    size_t text_size = key_size + 2 + addresses->count * (INET6_ADDRSTRLEN + 3);
    afc__resolved *resolved = afc__alloc(sizeof *resolved + text_size);
    if (resolved == NULL) return NULL;
    resolved->references = 1;
    resolved->addresses = afc__addresses_retain(addresses);
    char *at = resolved->text;
    memcpy(at, name->entry.key.bytes, key_size);
    at += key_size;
    for (size_t i = 0; i < addresses->count; i++) {
        const afc__address *address = &addresses->list[i];
        *at++ = i == 0 ? ':' : ',';
        char written[INET6_ADDRSTRLEN];
        inet_ntop(address->family, address->bytes, written, sizeof written);
        at = afc__host_write(at, afc_slice_of(written));
    }
    *at = '\0';
    return resolved;
}

static bool is_same_list(const afc__addresses *a, const afc__addresses *b) {
    if (a->count != b->count) return false;
    for (size_t i = 0; i < a->count; i++) {
        const afc__address *left = &a->list[i], *right = &b->list[i];
        bool is_same = left->family == right->family && left->scope == right->scope &&
                       memcmp(left->bytes, right->bytes, sizeof left->bytes) == 0;
        if (!is_same) return false;
    }
    return true;
}

/* ---- Names --------------------------------------------------------------------------------- */

static void free_name(afc__names *names, afc__name *name) {
    afc__resolver_cancel(&name->lookup);
    afc__text_table_remove(&names->table, &name->entry);
    if (name->idle.next != NULL) names->idle_count--;
    afc__list_remove(&name->idle);
    release_resolved(name->resolved);
    afc_free(name);
}

static afc__name *new_name(afc__names *names, afc_slice key, size_t host_size) {
    afc__name *name = afc__zalloc(sizeof *name + key.size + 2);
    if (name == NULL) return NULL;
    name->text[0] = '-';
    memcpy(name->text + 1, key.bytes, key.size);
    name->entry.key = (afc_slice){name->text + 1, key.size};
    name->host_size = host_size;
    afc__list_init(&name->waiting);
    afc__text_table_add(&names->table, &name->entry);
    return name;
}

static void make_idle(afc__names *names, afc__name *name) {
    if (name->is_override) return;
    /* No exchange is left to receive the result. */
    afc__resolver_cancel(&name->lookup);
    name->is_looking_up = false;
    if (name->resolved == NULL) {
        free_name(names, name);
        return;
    }
    afc__list_append(&names->idle, &name->idle);
    names->idle_count++;
}

static void use_name(afc__names *names, afc__name *name) {
    if (name->users++ > 0) return;
    if (name->idle.next != NULL) names->idle_count--;
    afc__list_remove(&name->idle);
    if (name->evictor == NULL) return;
    /*
     * The removal is cancelled: libcurl skips an entry without text. If libcurl has read the entry already, the name is
     * added to its cache again.
     */
    afc__hosts *hosts = &name->evictor->hosts;
    hosts->list[AFC__HOSTS_MAX].data = NULL;
    hosts->evicted = NULL;
    name->evictor = NULL;
    name->is_loaded = false;
}

static void stop_using_name(afc__names *names, afc__name *name) {
    if (--name->users == 0) make_idle(names, name);
}

/**
 * Makes room for one more name if too many are idle: frees the least recently used one, if necessary by an entry in the
 * exchange's list.
 */
static void evict(afc__names *names, afc__exchange *exchange) {
    if (names->idle_count < AFC__IDLE_NAMES_MAX || exchange->hosts.evicted != NULL) return;
    afc__name *name = AFC__OWNER(afc__list_first(&names->idle), afc__name, idle);
    if (!name->is_loaded) {
        free_name(names, name);
        return;
    }
    afc__list_remove(&name->idle);
    names->idle_count--;
    name->evictor = exchange;
    exchange->hosts.evicted = name;
}

/* ---- To libcurl ---------------------------------------------------------------------------- */

static void fail_exchange(afc__exchange *exchange) {
    afc__driver *driver = exchange->driver;
    exchange->hosts.stage = AFC__STAGE_FAILED;
    afc__list_append(&driver->names.failed, &exchange->hosts.node);
    /* Makes the loop call afc__driver_next_ended() before it waits. */
    afc__loop_arm(driver->loop, &driver->alarm, afc__loop_now(driver->loop));
}

/**
 * Sets CURLOPT_RESOLVE to the names that libcurl's cache lacks, followed by the session's overrides. Those must be in
 * each list, as an override for every host ("*") is only effective as part of it.
 */
static CURLcode set_list(afc__exchange *exchange) {
    afc__hosts *hosts = &exchange->hosts;
    struct curl_slist *first = NULL, **link = &first;
    for (size_t i = 0; i < AFC__HOSTS_MAX; i++) {
        const afc__host_use *use = &hosts->uses[i];
        if (use->name == NULL || use->name->is_loaded) continue;
        hosts->list[i].data = use->resolved->text;
        *link = &hosts->list[i];
        link = &hosts->list[i].next;
    }
    if (hosts->evicted != NULL) {
        hosts->list[AFC__HOSTS_MAX].data = hosts->evicted->text;
        *link = &hosts->list[AFC__HOSTS_MAX];
        link = &hosts->list[AFC__HOSTS_MAX].next;
    }
    *link = NULL;
    if (first == NULL) return CURLE_OK;
    *link = afc__network_overrides(exchange->driver->network);
    hosts->has_list = true;
    return curl_easy_setopt(exchange->easy, CURLOPT_RESOLVE, first);
}

/** Adds the handle to the multi handle, once all addresses are known. */
static void add_to_libcurl(afc__exchange *exchange) {
    afc__hosts *hosts = &exchange->hosts;
    CURLMcode code = CURLM_OUT_OF_MEMORY;
    if (exchange->driver->multi.handle != NULL && set_list(exchange) == CURLE_OK) {
        code = curl_multi_add_handle(exchange->driver->multi.handle, exchange->easy);
    }
    hosts->stage = AFC__STAGE_ADDED;
    hosts->added_us = afc__now_us();
    hosts->refusal = code;
    if (code != CURLM_OK) fail_exchange(exchange);
}

/* ---- Lookups ------------------------------------------------------------------------------- */

static void stop_waiting(afc__host_use *use) {
    if (use->node.next == NULL) return;
    afc__list_remove(&use->node);
    use->exchange->hosts.missing--;
}

static void set_addresses(afc__host_use *use, const afc__name *name) {
    stop_waiting(use);
    use->resolved = name->resolved;
    if (use->resolved != NULL) use->resolved->references++;
}

static void give_to_waiting(afc__name *name) {
    afc__node *node;
    while ((node = afc__list_first(&name->waiting)) != NULL) {
        afc__host_use *use = AFC__OWNER(node, afc__host_use, node);
        afc__exchange *exchange = use->exchange;
        set_addresses(use, name);
        if (exchange->hosts.missing > 0) continue;
        exchange->hosts.waited_us = afc__now_us() - exchange->hosts.began_us;
        afc__exchange_note_activity(exchange);
        afc__exchange_report_queued(exchange);
        add_to_libcurl(exchange);
    }
}

static void fail_waiting(afc__name *name, int error, int system_error) {
    afc__node *node;
    while ((node = afc__list_first(&name->waiting)) != NULL) {
        afc__host_use *use = AFC__OWNER(node, afc__host_use, node);
        afc__exchange *exchange = use->exchange;
        for (size_t i = 0; i < AFC__HOSTS_MAX; i++) stop_waiting(&exchange->hosts.uses[i]);
        exchange->hosts.error = error;
        exchange->hosts.system_error = system_error;
        exchange->hosts.is_proxy = use == &exchange->hosts.uses[0] &&
                                   exchange->hop.transfer->hop.proxy != NULL;
        fail_exchange(exchange);
    }
}

/** Handles the end of a lookup: the exchanges that wait for it start or fail. */
static void handle_lookup_end(afc__name *name) {
    afc__addresses *found = name->lookup.found;
    int error = name->lookup.error, system_error = name->lookup.system_error;
    name->lookup = (afc__lookup){0};
    name->is_looking_up = false;
    name->retry_us = found == NULL ? afc__now_us() + RETRY_US : 0;
    if (found != NULL) {
        bool is_same = name->resolved != NULL && is_same_list(name->resolved->addresses, found);
        afc__resolved *resolved = is_same ? NULL : new_resolved(name, found);
        if (is_same || resolved != NULL) name->expires_us = found->expires_us;
        if (resolved != NULL) {
            release_resolved(name->resolved);
            name->resolved = resolved;
            name->is_loaded = false;
        } else if (!is_same) {
            error = EAI_MEMORY;
        }
        afc__addresses_release(found);
    }
    if (error == 0) {
        give_to_waiting(name);
    } else {
        fail_waiting(name, error, system_error);
    }
}

static void look_up(afc__driver *driver, afc__name *name) {
    char host[KEY_SIZE];
    if (name->is_looking_up) return;
    memcpy(host, name->entry.key.bytes, name->host_size);
    host[name->host_size] = '\0';
    name->is_looking_up = true;
    int family = afc__network_family(driver->network);
    if (afc__resolver_begin(&name->lookup, &driver->names.client, host, family,
                            AFC__LOOKUP_SHARED)) {
        handle_lookup_end(name);
    }
}

void afc__names_take_ended(afc__driver *driver) {
    afc__lookup *lookup;
    while ((lookup = afc__resolver_take_ended(&driver->names.client)) != NULL) {
        handle_lookup_end(AFC__OWNER(lookup, afc__name, lookup));
    }
}

/* ---- Which names a hop needs --------------------------------------------------------------- */

/** Returns whether libcurl resolves the host without a lookup. */
static bool is_built_in(afc_slice host) {
    afc__ip ip;
    if (host.size == 9 && memcmp(host.bytes, "localhost", 9) == 0) return true;
    if (afc__ip_parse(&ip, host) || memchr(host.bytes, ':', host.size) != NULL) return true;
    return afc__ends_with(host, ".localhost");
}

static afc__name *find_name(const afc__names *names, const char *key, size_t size) {
    afc__text_entry *entry = afc__text_table_find(&names->table, (afc_slice){key, size});
    return entry != NULL ? AFC__OWNER(entry, afc__name, entry) : NULL;
}

/** Returns whether there is an override for every host on this port. */
static bool has_wildcard(const afc__names *names, const char *port, size_t size) {
    char key[8] = "*";
    if (!names->has_wildcard) return false;
    memcpy(key + 1, port, size);
    return find_name(names, key, size + 1) != NULL;
}

/** Adds a name that the exchange needs, unless it needs no lookup. Fails with AFC_ENOMEM. */
static afc_status need_name(afc__exchange *exchange, size_t index, afc_slice host, uint16_t port) {
    afc__names *names = &exchange->driver->names;
    char key[KEY_SIZE];
    if (is_built_in(host) || host.size > AFC__HOST_MAX) return AFC_OK;
    if (afc__is_ascii(host)) {
        memcpy(key, host.bytes, host.size);
    } else {
        /* libcurl itself refuses a name that can't be converted. */
        if (!afc__driver_host_to_ascii(key, AFC__HOST_MAX + 1, host)) return AFC_OK;
        host = afc_slice_of(key);
    }
    size_t port_size = (size_t)(afc__write_port(key + host.size, port) - (key + host.size));
    size_t size = host.size + port_size;
    afc__name *name = find_name(names, key, size);
    if (name == NULL) {
        if (has_wildcard(names, key + host.size, port_size)) return AFC_OK;
        evict(names, exchange);
        name = new_name(names, (afc_slice){key, size}, host.size);
        if (name == NULL) return AFC_ENOMEM;
    }
    if (name->is_override) return AFC_OK;
    use_name(names, name);
    exchange->hosts.uses[index].exchange = exchange;
    exchange->hosts.uses[index].name = name;
    return AFC_OK;
}

static afc_status need_names(afc__exchange *exchange) {
    const afc__network *network = exchange->driver->network;
    const afc__url *url = &exchange->hop.transfer->request.url;
    const afc__proxy *proxy = exchange->hop.transfer->hop.proxy;
    uint16_t doh_port = 0;
    afc_slice doh = afc__network_doh_server(network, &doh_port);
    if (afc__exchange_uses_own_listener(exchange) || afc__exchange_uses_socket(exchange))
        return AFC_OK;
    /* Custom DNS servers require c-ares, which uses no threads: libcurl looks up the names then. */
    if (afc__network_has_servers(network)) return AFC_OK;
    /* With DNS over HTTPS libcurl looks up one name only, that of the DNS server. */
    if (doh.size > 0) return need_name(exchange, 0, doh, doh_port);
    if (proxy == NULL) return need_name(exchange, 0, url->host, url->port);
    afc_status status = need_name(exchange, 0, afc_slice_of(proxy->host), proxy->port);
    /* A socks5 proxy gets the server's address; a socks5h proxy gets its name. */
    if (status == AFC_OK && proxy->kind == AFC__PROXY_SOCKS5) {
        status = need_name(exchange, 1, url->host, url->port);
    }
    return status;
}

/**
 * Returns whether the hop may use known addresses without waiting: an open connection proves that its address is still
 * valid, even if the addresses have expired.
 */
static bool is_usable_now(const afc__name *name) {
    return name->resolved != NULL &&
           (name->connections > 0 || afc__since_boot_us() < name->expires_us);
}

/** Returns whether known addresses must be renewed. */
static bool must_refresh(const afc__name *name, int64_t now) {
    return now >= name->retry_us && afc__since_boot_us() >= name->expires_us;
}

void afc__names_forget_loaded(afc__driver *driver) {
    afc__text_table *table = &driver->names.table;
    for (size_t i = 0; table->buckets != NULL && i <= table->mask; i++) {
        for (afc__text_entry *entry = table->buckets[i]; entry != NULL; entry = entry->next) {
            AFC__OWNER(entry, afc__name, entry)->is_loaded = false;
        }
    }
}

static void wait_for(afc__exchange *exchange, afc__host_use *use) {
    afc__list_append(&use->name->waiting, &use->node);
    exchange->hosts.missing++;
}

afc_status afc__exchange_begin(afc__exchange *exchange, afc_failure *failure) {
    afc__hosts *hosts = &exchange->hosts;
    afc__driver *driver = exchange->driver;
    int64_t now = afc__loop_now(driver->loop);
    if (need_names(exchange) != AFC_OK) {
        afc__exchange_release_names(exchange);
        return afc__fail_memory(failure);
    }
    hosts->waited_us = 0;
    /* All missing names are counted before the first lookup: it may end at once, and would start the hop. */
    hosts->missing = 1;
    hosts->stage = AFC__STAGE_LOOKING_UP;
    for (size_t i = 0; i < AFC__HOSTS_MAX; i++) {
        afc__host_use *use = &hosts->uses[i];
        if (use->name != NULL && !is_usable_now(use->name)) wait_for(exchange, use);
    }
    for (size_t i = 0; i < AFC__HOSTS_MAX && hosts->stage == AFC__STAGE_LOOKING_UP; i++) {
        afc__host_use *use = &hosts->uses[i];
        if (use->name == NULL) continue;
        bool waits = use->node.next != NULL;
        if (!waits && use->resolved == NULL) set_addresses(use, use->name);
        if (waits || must_refresh(use->name, now)) {
            look_up(driver, use->name);
        }
    }
    hosts->missing--;
    if (hosts->stage == AFC__STAGE_LOOKING_UP && hosts->missing == 0) add_to_libcurl(exchange);
    if (hosts->stage == AFC__STAGE_LOOKING_UP) hosts->began_us = afc__now_us();
    return AFC_OK;
}

/* ---- The end ------------------------------------------------------------------------------- */

afc__exchange *afc__names_next_failed(afc__driver *driver) {
    afc__node *node = afc__list_first(&driver->names.failed);
    if (node == NULL) return NULL;
    afc__list_remove(node);
    return AFC__OWNER(node, afc__exchange, hosts.node);
}

void afc__exchange_names_are_loaded(afc__exchange *exchange) {
    afc__hosts *hosts = &exchange->hosts;
    if (!hosts->has_list) return;
    for (size_t i = 0; i < AFC__HOSTS_MAX; i++) {
        const afc__host_use *use = &hosts->uses[i];
        if (use->name != NULL && use->name->resolved == use->resolved) use->name->is_loaded = true;
    }
    if (hosts->evicted == NULL) return;
    afc__name *name = hosts->evicted;
    hosts->list[AFC__HOSTS_MAX].data = NULL;
    hosts->evicted = NULL;
    name->evictor = NULL;
    free_name(&exchange->driver->names, name);
}

void afc__exchange_release_names(afc__exchange *exchange) {
    afc__hosts *hosts = &exchange->hosts;
    afc__names *names = &exchange->driver->names;
    if (hosts->has_list) {
        /* libcurl must not read this list later, as it points into the exchange, and the overrides must not be lost. */
        curl_easy_setopt(exchange->easy, CURLOPT_RESOLVE,
                         afc__network_overrides(exchange->driver->network));
    }
    afc__list_remove(&hosts->node);
    for (size_t i = 0; i < AFC__HOSTS_MAX; i++) {
        afc__host_use *use = &hosts->uses[i];
        afc__list_remove(&use->node);
        release_resolved(use->resolved);
        if (use->name != NULL) stop_using_name(names, use->name);
    }
    if (hosts->evicted != NULL) {
        hosts->evicted->evictor = NULL;
        make_idle(names, hosts->evicted);
    }
    *hosts = (afc__hosts){0};
}

bool afc__exchange_may_look_up(const afc__exchange *exchange) {
    /* libcurl also calls CURLOPT_RESOLVER_START_FUNCTION for an interface that is given by its address. */
    return exchange->hosts.uses[0].name == NULL ||
           afc__network_doh_host(exchange->driver->network) != NULL ||
           afc__network_has_interface(exchange->driver->network);
}

void afc__exchange_add_scope(const afc__exchange *exchange, struct curl_sockaddr *address) {
    const afc__resolved *resolved = exchange->hosts.uses[0].resolved;
    struct sockaddr_in6 in;
    if (address->family != AF_INET6 || resolved == NULL ||
        afc__exchange_uses_own_listener(exchange))
        return;
    memcpy(&in, &address->addr, sizeof in);
    for (size_t i = 0; i < resolved->addresses->count; i++) {
        const afc__address *known = &resolved->addresses->list[i];
        if (known->scope == 0 || memcmp(known->bytes, &in.sin6_addr, 16) != 0) continue;
        in.sin6_scope_id = known->scope;
        memcpy(&address->addr, &in, sizeof in);
        return;
    }
}

/* ---- Connections --------------------------------------------------------------------------- */

afc__name *afc__name_of_connection(afc__exchange *exchange) {
    afc__name *name = exchange->hosts.uses[0].name;
    if (name == NULL || afc__exchange_uses_own_listener(exchange)) return NULL;
    name->connections++;
    use_name(&exchange->driver->names, name);
    return name;
}

void afc__name_connection_closed(afc__driver *driver, afc__name *name) {
    name->connections--;
    stop_using_name(&driver->names, name);
}

/* ---- Making and ending --------------------------------------------------------------------- */

static afc_status add_override(afc__names *names, const char *text) {
    const char *colon = strchr(text, ':');
    const char *end = colon != NULL ? strchr(colon + 1, ':') : NULL;
    if (end == NULL) return AFC_OK;
    size_t size = (size_t)(end - text);
    if (text[0] == '*') names->has_wildcard = true;
    if (find_name(names, text, size) != NULL) return AFC_OK;
    afc__name *name = new_name(names, (afc_slice){text, size}, (size_t)(colon - text));
    if (name == NULL) return AFC_ENOMEM;
    name->is_override = true;
    return AFC_OK;
}

afc_status afc__names_init(afc__driver *driver, afc_failure *failure) {
    afc__names *names = &driver->names;
    struct curl_slist *overrides = afc__network_overrides(driver->network);
    size_t count = FEWEST_BUCKETS, needed = 0;
    afc__list_init(&names->idle);
    afc__list_init(&names->failed);
    for (struct curl_slist *node = overrides; node != NULL; node = node->next) needed++;
    while (count < needed && count < MAX_BUCKETS) count *= 2;
    names->buckets = afc__zalloc(count * sizeof *names->buckets);
    if (names->buckets == NULL) return afc__fail_memory(failure);
    if (!afc__text_table_init(&names->table, names->buckets, count)) {
        return afc__fail(failure, AFC_EINTERNAL, "the system has no random bytes");
    }
    for (struct curl_slist *node = overrides; node != NULL; node = node->next) {
        if (add_override(names, node->data) == AFC_OK) continue;
        return afc__fail_memory(failure);
    }
    return afc__resolver_open(&names->client, driver->loop, failure);
}

void afc__names_clear(afc__driver *driver) {
    afc__names *names = &driver->names;
    afc__text_entry *entry;
    size_t place = 0;
    if (names->buckets == NULL) return;
    while ((entry = afc__text_table_drain(&names->table, &place)) != NULL) {
        free_name(names, AFC__OWNER(entry, afc__name, entry));
    }
    afc__resolver_close(&names->client);
    afc_free(names->buckets);
}
