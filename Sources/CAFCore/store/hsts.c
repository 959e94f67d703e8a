#include "store/hsts.h"

#include "base/alloc.h"
#include "base/domain.h"
#include "base/failure.h"
#include "base/file.h"
#include "base/keyed_hash.h"
#include "base/list.h"
#include "base/sized.h"
#include "base/timers.h"
#include "message/fields.h"
#include "message/host.h"
#include "message/ip.h"
#include "store/at_exit.h"
#include "store/file.h"
#include "store/suffixes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum {
    FIRST_BUCKETS = 64,
    MAX_HOSTS = 10000,
    /* A site may have 1/SITE_PART of the store and one more, so that its subdomains can't evict all other hosts. */
    SITE_PART = 20,
    MAX_HOST = 255,
    MAX_FILE = 8 * 1024 * 1024,
    MAX_LINE = 512
};

/* A hundred years; no sum with it overflows. */
static const int64_t MAX_AGE = INT64_C(100) * 366 * 86400;

/** A registrable domain that has entries. */
typedef struct hsts_site {
    struct hsts_site *next;
    size_t count; /**< Number of entries of the site. */
    /** Orders the entries of the site by expiry. Empty until the site reaches its limit for the first time. */
    afc__timers ends;
    size_t size;
    char name[];
} hsts_site;

typedef struct hsts_entry {
    struct hsts_entry *next;
    afc__timer end;      /**< Expiry in Unix time, as the deadline of a timer in afc_hsts.ends. */
    afc__timer site_end; /**< The same time in the heap of the site, once that is used. */
    hsts_site *site;
    bool includes_subdomains;
    char host[];
} hsts_entry;

struct afc_hsts {
    atomic_uint references;
    /*
     * Held while the store is saved, so that no save replaces the file of a later one. It is taken before `lock`, which
     * isn't held while the file is written.
     */
    pthread_mutex_t saving;
    pthread_mutex_t lock;
    char *path; /* The store's file; NULL if it has none. */
    afc__at_exit at_exit;
    uint32_t max_hosts;
    afc__hash_seed seed;
    /* Under the lock. */
    hsts_entry **buckets; /* Lists of entries by the hash of their host. */
    hsts_site **sites;    /* Lists of sites by the hash of their name; also bucket_count. */
    size_t bucket_count;
    afc__timers ends; /* Orders all entries by expiry. */
    bool has_changed; /* An entry has changed since the file was saved. */
};

static int64_t current(void) {
    return (int64_t)time(NULL);
}

/* ---- The field ----------------------------------------------------------------------------- */

bool afc__hsts_read(afc__hsts_field *out, afc_slice value) {
    bool has_age = false;
    *out = (afc__hsts_field){0};
    while (value.size > 0) {
        bool is_open;
        size_t size = afc__find_unquoted(value, ';', &is_open);
        /* A field that isn't well formed is ignored as a whole (RFC 6797 6.1). */
        if (is_open) return false;
        afc_slice directive = afc__trim((afc_slice){value.bytes, size});
        size_t step = size < value.size ? size + 1 : size;
        value = (afc_slice){value.bytes + step, value.size - step};
        const char *equals = directive.size > 0 ? memchr(directive.bytes, '=', directive.size)
                                                : NULL;
        size_t name_size = equals != NULL ? (size_t)(equals - directive.bytes) : directive.size;
        afc_slice name = afc__trim((afc_slice){directive.bytes, name_size});
        if (afc__same_name(name, "max-age")) {
            if (has_age || equals == NULL) return false;
            afc_slice age = {equals + 1, directive.size - name_size - 1};
            if (!afc__parse_clamped(afc__without_quotes(afc__trim(age)), MAX_AGE, &out->age)) {
                return false;
            }
            has_age = true;
        } else if (afc__same_name(name, "includeSubDomains")) {
            if (out->includes_subdomains || equals != NULL) return false;
            out->includes_subdomains = true;
        }
    }
    return has_age;
}

/* ---- The table ----------------------------------------------------------------------------- */

static size_t bucket_of(const afc_hsts *hsts, afc_slice name) {
    return (size_t)(afc__keyed_hash(&hsts->seed, name) % hsts->bucket_count);
}

static afc_slice name_of(const hsts_site *site) {
    return (afc_slice){site->name, site->size};
}

static hsts_entry **find(const afc_hsts *hsts, const char *host) {
    hsts_entry **link = &hsts->buckets[bucket_of(hsts, afc_slice_of(host))];
    while (*link != NULL && strcmp((*link)->host, host) != 0) link = &(*link)->next;
    return link;
}

static hsts_site **find_site(const afc_hsts *hsts, afc_slice name) {
    hsts_site **link = &hsts->sites[bucket_of(hsts, name)];
    while (*link != NULL && !afc__is_same(name_of(*link), name)) link = &(*link)->next;
    return link;
}

static hsts_entry *entry_at(const afc_hsts *hsts, size_t index) {
    return AFC__OWNER(hsts->ends.heap[index], hsts_entry, end);
}

/** Moves all entries and sites to other tables, and frees the old ones. */
static void rehash(afc_hsts *hsts, hsts_entry **buckets, hsts_site **sites, size_t bucket_count) {
    hsts_site **old = hsts->sites;
    size_t old_count = hsts->bucket_count;
    afc_free(hsts->buckets);
    hsts->buckets = buckets;
    hsts->sites = sites;
    hsts->bucket_count = bucket_count;
    for (size_t i = 0; i < hsts->ends.count; i++) {
        hsts_entry *entry = entry_at(hsts, i);
        hsts_entry **link = &buckets[bucket_of(hsts, afc_slice_of(entry->host))];
        entry->next = *link;
        *link = entry;
    }
    for (size_t i = 0; i < old_count; i++) {
        for (hsts_site *site = old[i], *next; site != NULL; site = next) {
            hsts_site **link = &sites[bucket_of(hsts, name_of(site))];
            next = site->next;
            site->next = *link;
            *link = site;
        }
    }
    afc_free(old);
}

/** Doubles the tables. If out of memory, nothing changes, and lookups take longer. */
static void grow(afc_hsts *hsts) {
    size_t count = hsts->bucket_count * 2;
    hsts_entry **buckets = afc__zalloc(count * sizeof *buckets);
    hsts_site **sites = afc__zalloc(count * sizeof *sites);
    if (buckets != NULL && sites != NULL) {
        rehash(hsts, buckets, sites, count);
    } else {
        afc_free(buckets);
        afc_free(sites);
    }
}

/**
 * Returns the site with this name, which is made if it is missing, and counts another entry of it. Returns NULL if out
 * of memory.
 */
static hsts_site *join_site(afc_hsts *hsts, afc_slice name) {
    hsts_site **link = find_site(hsts, name);
    if (*link == NULL) {
        hsts_site *new = afc__zalloc(sizeof *new + name.size);
        if (new == NULL) return NULL;
        memcpy(new->name, name.bytes, name.size);
        new->size = name.size;
        *link = new;
    }
    (*link)->count++;
    return *link;
}

static void leave_site(afc_hsts *hsts, hsts_site *site) {
    if (--site->count > 0) return;
    hsts_site **link = find_site(hsts, name_of(site));
    *link = site->next;
    afc__timers_clear(&site->ends);
    afc_free(site);
}

static void take_out(afc_hsts *hsts, hsts_entry *entry) {
    *find(hsts, entry->host) = entry->next;
    afc__timers_disarm(&hsts->ends, &entry->end);
    afc__timers_disarm(&entry->site->ends, &entry->site_end);
    leave_site(hsts, entry->site);
    hsts->has_changed = true;
    afc_free(entry);
}

static void clear(afc_hsts *hsts) {
    while (hsts->ends.count > 0) take_out(hsts, entry_at(hsts, hsts->ends.count - 1));
}

static bool is_full(const afc_hsts *hsts) {
    return hsts->ends.count >= hsts->max_hosts;
}

static size_t max_of_site(const afc_hsts *hsts) {
    return hsts->max_hosts / SITE_PART + 1;
}

/**
 * Returns the entry that expires first of a site at its limit. Returns NULL if out of memory. Nearly all sites stay
 * below the limit, so the entries of a site are only sorted here.
 */
static hsts_entry *first_of_site(const afc_hsts *hsts, hsts_site *site) {
    if (site->ends.count == 0) {
        if (afc__timers_reserve(&site->ends, max_of_site(hsts)) != AFC_OK) return NULL;
        for (size_t i = 0; i < hsts->ends.count; i++) {
            hsts_entry *entry = entry_at(hsts, i);
            if (entry->site != site) continue;
            afc__timers_arm(&site->ends, &entry->site_end, entry->end.deadline);
        }
    }
    return AFC__OWNER(afc__timers_first(&site->ends), hsts_entry, site_end);
}

static void set_end(afc_hsts *hsts, hsts_entry *entry, int64_t expires_s) {
    afc__timers_arm(&hsts->ends, &entry->end, expires_s);
    if (entry->site->ends.capacity != 0)
        afc__timers_arm(&entry->site->ends, &entry->site_end, expires_s);
    hsts->has_changed = true;
}

/**
 * Evicts entries if the store, or the site of a new entry, is full; the site counts the new one already. Returns false
 * if out of memory.
 */
static bool make_room(afc_hsts *hsts, hsts_site *site) {
    if (site->count > max_of_site(hsts)) {
        hsts_entry *first = first_of_site(hsts, site);
        if (first == NULL) return false;
        take_out(hsts, first);
    }
    /* Evicts the entry that expires first; expired ones are included. */
    if (is_full(hsts)) take_out(hsts, entry_at(hsts, 0));
    return true;
}

static afc_status insert(afc_hsts *hsts, hsts_entry *new, int64_t expires_s) {
    if (afc__timers_reserve(&hsts->ends, hsts->ends.count + 1) != AFC_OK) return AFC_ENOMEM;
    new->site = join_site(hsts, afc__suffixes_site(new->host));
    if (new->site == NULL) return AFC_ENOMEM;
    if (!make_room(hsts, new->site)) {
        leave_site(hsts, new->site);
        return AFC_ENOMEM;
    }
    if (hsts->ends.count >= hsts->bucket_count) grow(hsts);
    hsts_entry **link = &hsts->buckets[bucket_of(hsts, afc_slice_of(new->host))];
    new->next = *link;
    *link = new;
    set_end(hsts, new, expires_s);
    return AFC_OK;
}

/** Adds, changes or removes the entry of exactly this host; entries of its parents and subdomains stay. */
static afc_status put(afc_hsts *hsts, const char *host, int64_t expires_s, bool includes_subdomains,
                      int64_t now) {
    hsts_entry *old = *find(hsts, host);
    if (expires_s <= now) {
        if (old != NULL) take_out(hsts, old);
        return AFC_OK;
    }
    if (old != NULL) {
        old->includes_subdomains = includes_subdomains;
        set_end(hsts, old, expires_s);
        return AFC_OK;
    }
    size_t size = strlen(host) + 1;
    hsts_entry *new = afc__zalloc(sizeof *new + size);
    if (new == NULL) return AFC_ENOMEM;
    memcpy(new->host, host, size);
    new->includes_subdomains = includes_subdomains;
    afc_status status = insert(hsts, new, expires_s);
    if (status != AFC_OK) afc_free(new);
    return status;
}

afc_status afc__hsts_keep(afc_hsts *hsts, const char *host, const afc__hsts_field *field,
                          int64_t now) {
    afc__ip ip;
    if (afc__ip_parse(&ip, afc_slice_of(host))) return AFC_OK;
    int64_t expires_s = field->age > 0 ? now + field->age : 0;
    pthread_mutex_lock(&hsts->lock);
    afc_status status = put(hsts, host, expires_s, field->includes_subdomains, now);
    pthread_mutex_unlock(&hsts->lock);
    return status;
}

bool afc__hsts_wants(afc_hsts *hsts, const char *host, int64_t now) {
    afc__ip ip;
    if (afc__ip_parse(&ip, afc_slice_of(host))) return false;
    pthread_mutex_lock(&hsts->lock);
    bool is_wanted = false;
    for (const char *name = hsts->ends.count > 0 ? host : NULL; name != NULL && !is_wanted;) {
        const hsts_entry *entry = *find(hsts, name);
        is_wanted = entry != NULL && entry->end.deadline > now &&
                    (name == host || entry->includes_subdomains);
        name = strchr(name, '.');
        if (name != NULL) name++;
    }
    pthread_mutex_unlock(&hsts->lock);
    return is_wanted;
}

/* ---- Hosts of programs and files ----------------------------------------------------------- */

/** Copies a host in lower case, without a trailing dot. Returns false if it isn't a name. */
static bool read_host(const char *text, char out[MAX_HOST + 1]) {
    afc__ip ip;
    afc_slice host = afc__without_dot(afc_slice_of(text));
    if (host.size > MAX_HOST || !afc__is_dns_name(host)) return false;
    for (size_t i = 0; i < host.size; i++) out[i] = afc__lower(host.bytes[i]);
    out[host.size] = '\0';
    return afc__ip_read_host(&ip, afc_slice_of(out)) == AFC__HOST_NAME;
}

afc_status afc_hsts_add(afc_hsts *hsts, const char *host, int64_t expires_s,
                        bool include_subdomains, afc_failure *failure) {
    char name[MAX_HOST + 1];
    afc__clear_failure(failure);
    if (host == NULL || !read_host(host, name)) {
        return afc__fail(failure, AFC_EINVAL, "invalid host: expected an ASCII name");
    }
    pthread_mutex_lock(&hsts->lock);
    afc_status status = put(hsts, name, expires_s, include_subdomains, current());
    pthread_mutex_unlock(&hsts->lock);
    return status == AFC_OK ? AFC_OK : afc__fail_memory(failure);
}

bool afc_hsts_has(afc_hsts *hsts, const char *host) {
    char name[MAX_HOST + 1];
    return read_host(host, name) && afc__hsts_wants(hsts, name, current());
}

size_t afc_hsts_remove(afc_hsts *hsts, const char *host) {
    char name[MAX_HOST + 1];
    if (host != NULL && !read_host(host, name)) return 0;
    pthread_mutex_lock(&hsts->lock);
    size_t before = hsts->ends.count;
    if (host != NULL) {
        hsts_entry *entry = *find(hsts, name);
        if (entry != NULL) take_out(hsts, entry);
    } else {
        clear(hsts);
    }
    size_t count = before - hsts->ends.count;
    pthread_mutex_unlock(&hsts->lock);
    return count;
}

/* ---- The file ------------------------------------------------------------------------------ */

static bool read_moment(const char *text, int64_t *out) {
    struct tm parts = {0};
    int used = 0;
    if (strcmp(text, "\"unlimited\"") == 0) {
        *out = AFC_HSTS_FOREVER;
        return true;
    }
    int count = sscanf(text, "\"%4d%2d%2d %2d:%2d:%2d\"%n", &parts.tm_year, &parts.tm_mon,
                       &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &used);
    if (count != 6 || used == 0 || text[used] != '\0' || parts.tm_year < 1900) return false;
    parts.tm_year -= 1900;
    parts.tm_mon -= 1;
    /* timegm() normalises: "20301331" would become 31 January 2031. */
    struct tm given = parts;
    *out = (int64_t)timegm(&parts);
    return parts.tm_mon == given.tm_mon && parts.tm_mday == given.tm_mday &&
           parts.tm_hour == given.tm_hour && parts.tm_min == given.tm_min &&
           parts.tm_sec == given.tm_sec;
}

/**
 * Returns whether an entry of a file fits into the store. The order of lines has no meaning, so a later line must not
 * evict an entry that expires later.
 */
static bool can_stay(const afc_hsts *hsts, const char *host, int64_t expires_s) {
    if (*find(hsts, host) != NULL) return true;
    hsts_site *site = *find_site(hsts, afc__suffixes_site(host));
    if (site != NULL && site->count >= max_of_site(hsts)) {
        const hsts_entry *first = first_of_site(hsts, site);
        return first == NULL || expires_s > first->end.deadline;
    }
    return !is_full(hsts) || expires_s > entry_at(hsts, 0)->end.deadline;
}

static afc_status read_line(afc_hsts *hsts, char *line, int64_t now) {
    char name[MAX_HOST + 1];
    int64_t expires_s;
    bool includes_subdomains = line[0] == '.';
    char *space = strchr(line, ' ');
    if (line[0] == '#' || space == NULL) return AFC_OK;
    *space = '\0';
    bool is_good = read_host(line + (includes_subdomains ? 1 : 0), name) &&
                   read_moment(space + 1, &expires_s) && can_stay(hsts, name, expires_s);
    return is_good ? put(hsts, name, expires_s, includes_subdomains, now) : AFC_OK;
}

static afc_status load(afc_hsts *hsts, const char *path, afc_failure *failure) {
    char line[MAX_LINE];
    int64_t now = current();
    afc__buffer text;
    afc__buffer_init(&text, MAX_FILE);
    afc_status status = afc__file_load(&text, path, failure);
    afc_slice rest = {text.bytes, text.size};
    while (status == AFC_OK && afc__file_next_line(&rest, line, sizeof line)) {
        status = read_line(hsts, line, now);
        if (status != AFC_OK) afc__fail_memory(failure);
    }
    afc__buffer_clear(&text);
    return status;
}

static afc_status write_entry(afc__buffer *text, const hsts_entry *entry) {
    char line[MAX_LINE], moment[64] = "unlimited";
    time_t expires_s = (time_t)entry->end.deadline;
    struct tm parts;
    bool is_year = entry->end.deadline < AFC_HSTS_FOREVER && gmtime_r(&expires_s, &parts) != NULL &&
                   parts.tm_year < 8100;
    if (is_year) strftime(moment, sizeof moment, "%Y%m%d %H:%M:%S", &parts);
    int size = snprintf(line, sizeof line, "%s%s \"%s\"\n", entry->includes_subdomains ? "." : "",
                        entry->host, moment);
    return afc__buffer_append(text, line, (size_t)size);
}

/**
 * Writes all entries that haven't expired. `*had_changed` tells whether the store has changed since its file was saved.
 * With `is_own`, this is a save of that file, and resets has_changed.
 */
static afc_status write_entries(afc_hsts *hsts, bool is_own, bool *had_changed, afc__buffer *text,
                                afc_failure *failure) {
    static const char head[] = "# Hosts that require https; with a dot, also their subdomains\n";
    afc_status status = afc__buffer_append(text, head, sizeof head - 1);
    int64_t now = current();
    pthread_mutex_lock(&hsts->lock);
    for (size_t i = 0; i < hsts->ends.count && status == AFC_OK; i++) {
        const hsts_entry *entry = entry_at(hsts, i);
        if (entry->end.deadline > now) status = write_entry(text, entry);
    }
    *had_changed = hsts->has_changed;
    if (is_own) hsts->has_changed = false;
    pthread_mutex_unlock(&hsts->lock);
    if (status == AFC_ETOOBIG) return afc__fail(failure, AFC_EFILE, "too many hosts for a file");
    return status == AFC_OK ? AFC_OK : afc__fail_memory(failure);
}

afc_status afc_hsts_save(afc_hsts *hsts, const char *path, afc_failure *failure) {
    afc__buffer text;
    const char *target = path != NULL ? path : hsts->path;
    afc__clear_failure(failure);
    if (target == NULL) return afc__fail(failure, AFC_EINVAL, "no path: the store has no file");
    bool had_changed, is_own = path == NULL;
    afc__buffer_init(&text, MAX_FILE);
    pthread_mutex_lock(&hsts->saving);
    afc_status status = write_entries(hsts, is_own, &had_changed, &text, failure);
    if (status == AFC_OK) {
        status = afc__file_save(target, afc__buffer_slice(&text), failure);
    }
    if (status != AFC_OK && is_own && had_changed) {
        pthread_mutex_lock(&hsts->lock);
        hsts->has_changed = true;
        pthread_mutex_unlock(&hsts->lock);
    }
    pthread_mutex_unlock(&hsts->saving);
    afc__buffer_clear(&text);
    return status;
}

afc_status afc_hsts_export(afc_hsts *hsts, afc_bytes *out, afc_failure *failure) {
    afc__buffer text;
    bool ignored;
    *out = (afc_bytes){NULL, 0};
    afc__clear_failure(failure);
    afc__buffer_init(&text, MAX_FILE);
    afc_status status = write_entries(hsts, false, &ignored, &text, failure);
    if (status == AFC_OK) *out = afc__buffer_take(&text);
    afc__buffer_clear(&text);
    return status;
}

/* ---- Creating and freeing ------------------------------------------------------------------ */

static void free_store(afc_hsts *hsts) {
    clear(hsts);
    afc__timers_clear(&hsts->ends);
    pthread_mutex_destroy(&hsts->lock);
    pthread_mutex_destroy(&hsts->saving);
    afc_free(hsts->buckets);
    afc_free(hsts->sites);
    afc_free(hsts->path);
    afc_free(hsts);
}

/** Saves the store if it has a file and something has changed. */
static void save_changes(void *context) {
    afc_hsts *hsts = context;
    pthread_mutex_lock(&hsts->lock);
    bool has_changed = hsts->has_changed;
    pthread_mutex_unlock(&hsts->lock);
    if (hsts->path != NULL && has_changed) afc_hsts_save(hsts, NULL, NULL);
}

static afc_status begin(afc_hsts *hsts, const char *path, afc_failure *failure) {
    if (!afc__hash_seed_make(&hsts->seed)) {
        return afc__fail(failure, AFC_EINTERNAL, "the system has no random bytes");
    }
    hsts->buckets = afc__zalloc(FIRST_BUCKETS * sizeof *hsts->buckets);
    hsts->sites = afc__zalloc(FIRST_BUCKETS * sizeof *hsts->sites);
    if (hsts->buckets == NULL || hsts->sites == NULL) return afc__fail_memory(failure);
    hsts->bucket_count = FIRST_BUCKETS;
    if (path == NULL) return AFC_OK;
    hsts->path = afc__absolute_path(path);
    if (hsts->path == NULL) return afc__fail_memory(failure);
    afc_status status = load(hsts, path, failure);
    hsts->has_changed = false;
    if (status == AFC_OK) afc__at_exit_add(&hsts->at_exit, hsts, save_changes);
    return status;
}

afc_status afc_hsts_new(afc_hsts **out, const afc_hsts_options *options, afc_failure *failure) {
    *out = NULL;
    AFC__READ_SIZED(afc_hsts_options, AFC_HSTS_OPTIONS_INIT, reserved, options, failure);
    afc_status checked = afc__check_reserved(&options->reserved, sizeof options->reserved,
                                             "afc_hsts_options", failure);
    if (checked != AFC_OK) return checked;
    afc_hsts *hsts = afc__zalloc(sizeof *hsts);
    if (hsts == NULL) return afc__fail_memory(failure);
    atomic_init(&hsts->references, 1);
    pthread_mutex_init(&hsts->saving, NULL);
    pthread_mutex_init(&hsts->lock, NULL);
    hsts->max_hosts = options->max_hosts != 0 ? options->max_hosts : MAX_HOSTS;
    afc_status status = begin(hsts, options->path, failure);
    if (status != AFC_OK) {
        free_store(hsts);
        return status;
    }
    *out = hsts;
    return AFC_OK;
}

afc_hsts *afc_hsts_retain(afc_hsts *hsts) {
    atomic_fetch_add_explicit(&hsts->references, 1, memory_order_relaxed);
    return hsts;
}

void afc_hsts_release(afc_hsts *hsts) {
    if (hsts == NULL || atomic_fetch_sub(&hsts->references, 1) != 1) return;
    afc__at_exit_remove(&hsts->at_exit);
    save_changes(hsts);
    free_store(hsts);
}
