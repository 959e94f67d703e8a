#include "store/cookie_jar.h"

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/text.h"
#include "message/fields.h"
#include "message/host.h"
#include "message/ip.h"
#include "store/suffixes.h"

#include <stdlib.h>

/* ---- Cookies in the jar -------------------------------------------------------------------- */

/** Returns the bucket of a root. All cookies of a site have the same root, and so the same bucket. */
static afc__jar_cookie **bucket_of(const afc_cookie_jar *jar, afc_slice root) {
    return &jar->buckets[afc__keyed_hash(&jar->seed, root) % jar->bucket_count];
}

/** Returns the bucket of a NUL-terminated domain. */
static afc__jar_cookie **bucket_of_domain(const afc_cookie_jar *jar, afc_slice domain) {
    return bucket_of(jar, afc__suffixes_root(domain.bytes));
}

static void put_into_bucket(afc_cookie_jar *jar, afc__jar_cookie *cookie) {
    afc__jar_cookie **link = bucket_of(jar, cookie->root);
    cookie->next = *link;
    *link = cookie;
}

/** Doubles the number of buckets. If out of memory, nothing changes, and lookups take longer. */
static void grow(afc_cookie_jar *jar) {
    size_t bucket_count = jar->bucket_count * 2;
    afc__jar_cookie **buckets = afc__zalloc(bucket_count * sizeof *buckets);
    if (buckets == NULL) return;
    afc_free(jar->buckets);
    jar->buckets = buckets;
    jar->bucket_count = bucket_count;
    for (afc__node *node = jar->by_use.head.next; node != &jar->by_use.head; node = node->next) {
        put_into_bucket(jar, AFC__OWNER(node, afc__jar_cookie, use));
    }
}

static afc_slice place(char **storage, afc_slice text) {
    afc_slice placed = {*storage, text.size};
    if (text.size > 0) memcpy(*storage, text.bytes, text.size);
    (*storage)[text.size] = '\0';
    *storage += text.size + 1;
    return placed;
}

/** Copies a cookie, with its texts in the same block. */
static afc__jar_cookie *copy(const afc__jar_cookie *from) {
    size_t size = from->name.size + from->value.size + from->domain.size + from->path.size + 4;
    afc__jar_cookie *cookie = afc__alloc(sizeof *cookie + size);
    if (cookie == NULL) return NULL;
    char *storage = (char *)(cookie + 1);
    *cookie = *from;
    cookie->name = place(&storage, from->name);
    cookie->value = place(&storage, from->value);
    cookie->domain = place(&storage, from->domain);
    cookie->path = place(&storage, from->path);
    cookie->site = afc__suffixes_site(cookie->domain.bytes);
    cookie->root = afc__suffixes_root(cookie->domain.bytes);
    return cookie;
}

/** Overwrites the cookie before freeing it: values are secrets. */
static void drop(afc__jar_cookie *cookie) {
    size_t size = cookie->name.size + cookie->value.size + cookie->domain.size + cookie->path.size +
                  4;
    afc__free_secret(cookie, sizeof *cookie + size);
}

static void take_out(afc_cookie_jar *jar, afc__jar_cookie **link) {
    afc__jar_cookie *cookie = *link;
    *link = cookie->next;
    afc__list_remove(&cookie->use);
    jar->count--;
    if (cookie->expires_s != AFC_COOKIE_SESSION) jar->has_changed = true;
    drop(cookie);
}

static void touch(afc_cookie_jar *jar, afc__jar_cookie *cookie) {
    cookie->used = ++jar->clock;
    afc__list_remove(&cookie->use);
    afc__list_append(&jar->by_use, &cookie->use);
}

static bool has_expired(const afc__jar_cookie *cookie, int64_t now) {
    return cookie->expires_s <= now;
}

/* ---- Evicting ------------------------------------------------------------------------------ */

static void take_out_expired(afc_cookie_jar *jar, int64_t now) {
    if (jar->earliest_expiry > now) return;
    jar->earliest_expiry = INT64_MAX;
    for (size_t i = 0; i < jar->bucket_count; i++) {
        afc__jar_cookie **link = &jar->buckets[i];
        while (*link != NULL) {
            if (has_expired(*link, now)) {
                take_out(jar, link);
                continue;
            }
            if ((*link)->expires_s < jar->earliest_expiry) {
                jar->earliest_expiry = (*link)->expires_s;
            }
            link = &(*link)->next;
        }
    }
}

/** Returns whether `a` is evicted before `b`: first cookies without Secure, then the least recently used. */
static bool goes_before(const afc__jar_cookie *a, const afc__jar_cookie *b) {
    if (a->is_secure != b->is_secure) return !a->is_secure;
    return a->used < b->used;
}

/** Returns the number of cookies in the jar of the site of a new cookie. */
static uint32_t count_beside(const afc_cookie_jar *jar, const afc__jar_cookie *new) {
    uint32_t count = 0;
    for (const afc__jar_cookie *cookie = *bucket_of(jar, new->root); cookie != NULL;
         cookie = cookie->next) {
        if (afc__is_same(cookie->site, new->site)) count++;
    }
    return count;
}

/**
 * Evicts a cookie of the site of a new cookie; the new one counts as the last used. Returns false if the new one would
 * have to be evicted, because it isn't Secure and all others are: an attacker on http must not evict those (RFC 6265bis
 * 5.7).
 */
static bool take_out_of_site(afc_cookie_jar *jar, const afc__jar_cookie *new) {
    afc__jar_cookie **first = NULL;
    for (afc__jar_cookie **link = bucket_of(jar, new->root); *link != NULL; link = &(*link)->next) {
        if (!afc__is_same((*link)->site, new->site)) continue;
        if (first == NULL || goes_before(*link, *first)) first = link;
    }
    if (first == NULL || ((*first)->is_secure && !new->is_secure)) return false;
    take_out(jar, first);
    return true;
}

static void take_out_of_all(afc_cookie_jar *jar) {
    afc__jar_cookie *first = AFC__OWNER(afc__list_first(&jar->by_use), afc__jar_cookie, use);
    afc__jar_cookie **link = bucket_of(jar, first->root);
    while (*link != first) link = &(*link)->next;
    take_out(jar, link);
}

/**
 * Evicts cookies if the jar, or the site of a new cookie, is full. The limit is per site: with a limit per domain, a
 * server with many subdomains could evict all other cookies with a few redirects. Returns false if there is no room for
 * the new cookie.
 */
static bool make_room(afc_cookie_jar *jar, const afc__jar_cookie *new, int64_t now) {
    bool is_full = jar->count >= jar->max_cookies ||
                   count_beside(jar, new) >= jar->max_cookies_per_site;
    if (!is_full) return true;
    take_out_expired(jar, now);
    bool is_site_full = count_beside(jar, new) >= jar->max_cookies_per_site;
    if (is_site_full && !take_out_of_site(jar, new)) return false;
    if (jar->count >= jar->max_cookies) take_out_of_all(jar);
    return true;
}

/* ---- Storing ------------------------------------------------------------------------------- */

static afc__jar_cookie **find(afc_cookie_jar *jar, const afc__jar_cookie *wanted) {
    for (afc__jar_cookie **link = bucket_of_domain(jar, wanted->domain); *link != NULL;
         link = &(*link)->next) {
        const afc__jar_cookie *cookie = *link;
        if (cookie->is_host_only == wanted->is_host_only &&
            afc__is_same(cookie->name, wanted->name) &&
            afc__is_same(cookie->domain, wanted->domain) &&
            afc__is_same(cookie->path, wanted->path)) {
            return link;
        }
    }
    return NULL;
}

/** Returns whether a Secure cookie in a bucket would be replaced or shadowed by a new one. */
static bool has_shadowed(const afc__jar_cookie *bucket, const afc__jar_cookie *new, int64_t now) {
    for (const afc__jar_cookie *old = bucket; old != NULL; old = old->next) {
        bool is_near = old->is_secure && afc__is_same(old->name, new->name) &&
                       (afc__cookie_domain_matches(old->domain, new->domain) ||
                        afc__cookie_domain_matches(new->domain, old->domain));
        bool is_alive = !has_expired(old, now);
        if (is_near && is_alive && afc__cookie_path_matches(new->path, old->path)) return true;
    }
    return false;
}

/**
 * Returns whether a new cookie would replace or shadow a Secure one, which an attacker on http must not do (RFC 6265bis
 * 5.7). All domains below a root are in the bucket of the root. The domains above it are public suffixes, each of which
 * is its own root.
 */
static bool would_shadow_secure(const afc_cookie_jar *jar, const afc__jar_cookie *new,
                                int64_t now) {
    afc_slice root = afc__suffixes_root(new->domain.bytes);
    if (afc__is_public_suffix(root.bytes)) {
        /* There are many roots below a public suffix. */
        for (size_t i = 0; i < jar->bucket_count; i++) {
            if (has_shadowed(jar->buckets[i], new, now)) return true;
        }
        return false;
    }
    for (const char *domain = root.bytes; domain != NULL;) {
        if (has_shadowed(*bucket_of(jar, afc_slice_of(domain)), new, now)) return true;
        domain = strchr(domain, '.');
        if (domain != NULL) domain++;
    }
    return false;
}

static afc_status insert(afc_cookie_jar *jar, afc__jar_cookie *new, int64_t now, const char **why) {
    afc__jar_cookie *cookie = copy(new);
    if (cookie == NULL) return AFC_ENOMEM;
    afc__jar_cookie **old = find(jar, new);
    cookie->created = old != NULL ? (*old)->created : jar->clock + 1;
    if (old != NULL) take_out(jar, old);
    if (has_expired(cookie, now)) {
        drop(cookie);
        return AFC_OK;
    }
    if (!make_room(jar, cookie, now)) {
        drop(cookie);
        *why = "the jar is full of Secure cookies of the cookie's site";
        return AFC_EINVAL;
    }
    if (jar->count >= jar->bucket_count) grow(jar);
    put_into_bucket(jar, cookie);
    touch(jar, cookie);
    if (cookie->expires_s < jar->earliest_expiry) jar->earliest_expiry = cookie->expires_s;
    jar->count++;
    if (cookie->expires_s != AFC_COOKIE_SESSION) jar->has_changed = true;
    return AFC_OK;
}

static bool has_tab(afc_slice text) {
    return text.size > 0 && memchr(text.bytes, '\t', text.size) != NULL;
}

/**
 * Checks a cookie from a server, a program or a file. `given_path` is the path without the default: "__Host-" requires
 * that one was given (RFC 6265bis 5.7).
 */
static bool is_good(const afc__jar_cookie *cookie, afc_slice given_path, const char **why) {
    if (!afc__cookie_is_clean(cookie->name, cookie->value, why)) return false;
    /* Tabs separate the fields of a cookie file. */
    if (has_tab(cookie->name) || has_tab(cookie->path)) {
        *why = "the cookie's name or path contains a tab";
    }
    if (cookie->path.size == 0 || cookie->path.bytes[0] != '/') {
        *why = "the cookie's path doesn't begin with a slash";
    }
    afc_slice promise = cookie->name.size > 0 ? cookie->name : cookie->value;
    bool has_name = cookie->name.size > 0;
    bool is_kept = afc__cookie_prefix_ok(promise, has_name && cookie->is_secure,
                                         has_name && cookie->is_host_only, given_path);
    if (!is_kept) *why = "the cookie doesn't meet the conditions of its name prefix";
    return *why == NULL;
}

/**
 * Determines a cookie's domain: the Domain attribute in lower case, stored in `storage`, or the host. Returns false if
 * the host may not set cookies for that domain.
 */
static bool choose_domain(afc__jar_cookie *out, afc_slice requested_domain, const char *host,
                          char *storage, const char **why) {
    afc_slice own = afc_slice_of(host);
    for (size_t i = 0; i < requested_domain.size; i++) {
        storage[i] = afc__lower(requested_domain.bytes[i]);
    }
    /* A trailing dot is kept, so that no host matches (RFC 6265 5.1.3). */
    storage[requested_domain.size] = '\0';
    afc_slice domain = {storage, requested_domain.size};
    bool is_own = afc__is_same(domain, own);
    out->is_host_only = requested_domain.size == 0;
    out->domain = out->is_host_only ? own : domain;
    if (out->is_host_only) return true;
    if (!afc__cookie_domain_matches(own, domain)) {
        *why = "the cookie's domain doesn't match its host";
        return false;
    }
    afc__ip ip;
    bool is_address = afc__ip_parse(&ip, own);
    if ((is_address || afc__is_public_suffix(storage)) && !is_own) {
        *why = "the cookie's domain is a public suffix";
        return false;
    }
    out->is_host_only = is_address || afc__is_known_suffix(storage);
    return true;
}

afc_status afc__cookie_jar_keep(afc_cookie_jar *jar, const afc__cookie_site *site, afc_slice line,
                                int64_t now, const char **why) {
    afc__cookie_line read;
    char storage[AFC__COOKIE_ATTRIBUTE_MAX + 1];
    *why = NULL;
    if (!afc__cookie_read(&read, line, now, why)) return AFC_EINVAL;
    afc__jar_cookie new = {.name = read.name,
                           .value = read.value,
                           .path = read.path,
                           .expires_s = read.expires_s,
                           .is_secure = read.is_secure,
                           .is_http_only = read.is_http_only,
                           .same_site = read.same_site};
    if (read.path.size == 0 || has_tab(read.path)) new.path = afc__cookie_default_path(site->path);
    /*
     * Default paths are limited, too: URLs have up to 64 KiB, and a few hundred such paths would be too large for a
     * file.
     */
    if (new.path.size > AFC__COOKIE_ATTRIBUTE_MAX) {
        *why = "the cookie's path is too long";
        return AFC_EINVAL;
    }
    if (!choose_domain(&new, read.domain, site->host, storage, why)) return AFC_EINVAL;
    if (new.is_secure && !site->is_secure) *why = "a Secure cookie was set over http";
    if (*why != NULL || !is_good(&new, read.path, why)) return AFC_EINVAL;
    pthread_mutex_lock(&jar->lock);
    bool is_covered = !site->is_secure && would_shadow_secure(jar, &new, now);
    afc_status status = is_covered ? AFC_EINVAL : insert(jar, &new, now, why);
    pthread_mutex_unlock(&jar->lock);
    if (is_covered) *why = "a cookie set over http would shadow a Secure one";
    return status;
}

static bool is_name(afc_slice text) {
    for (size_t i = 0; i < text.size; i++) {
        if (text.bytes[i] >= 'A' && text.bytes[i] <= 'Z') return false;
    }
    return afc__is_dns_name(text);
}

/** Reads a domain: a name, or an address, whose normal form is written to `storage`. Returns false if it is neither. */
static bool read_domain(afc_slice *domain, bool *is_address, char storage[AFC__IP_SIZE]) {
    afc__ip ip;
    afc__host_kind kind = afc__ip_read_host(&ip, *domain);
    *is_address = kind == AFC__HOST_ADDRESS;
    if (*is_address) *domain = (afc_slice){storage, afc__ip_write(&ip, storage)};
    return *is_address || (kind == AFC__HOST_NAME && is_name(*domain));
}

afc_status afc__cookie_jar_put(afc_cookie_jar *jar, const afc_cookie *given, int64_t now,
                               const char **why) {
    char storage[AFC__IP_SIZE];
    bool is_address = false;
    *why = NULL;
    if (given->name == NULL || given->value == NULL || given->domain == NULL ||
        given->path == NULL || (unsigned)given->same_site > AFC_SAME_SITE_STRICT) {
        *why = "the cookie has no name, value, domain or path, or an invalid same_site";
        return AFC_EINVAL;
    }
    afc__jar_cookie new = {.name = afc_slice_of(given->name),
                           .value = afc_slice_of(given->value),
                           .domain = afc_slice_of(given->domain),
                           .path = afc_slice_of(given->path),
                           .expires_s = given->expires_s,
                           .is_host_only = given->is_host_only,
                           .is_secure = given->is_secure,
                           .is_http_only = given->is_http_only,
                           .same_site = given->same_site};
    if (new.path.size > AFC__COOKIE_ATTRIBUTE_MAX) *why = "the cookie's path is too long";
    if (!read_domain(&new.domain, &is_address, storage))
        *why = "invalid cookie domain: expected an address or a lower-case ASCII name";
    bool is_wide = *why == NULL && !new.is_host_only;
    if (is_wide && (is_address || afc__is_known_suffix(given->domain))) {
        *why = "the cookie's domain is a public suffix";
    }
    /* A semicolon would be sent as the start of another cookie. */
    if (strpbrk(given->name, ";=") != NULL || strchr(given->value, ';') != NULL ||
        strchr(given->path, ';') != NULL) {
        *why = "the cookie contains a semicolon, or its name an equals sign";
    }
    if (afc__has_control(new.path)) *why = "the cookie contains a control character";
    if (*why != NULL || !is_good(&new, new.path, why)) return AFC_EINVAL;
    pthread_mutex_lock(&jar->lock);
    afc_status status = insert(jar, &new, now, why);
    pthread_mutex_unlock(&jar->lock);
    return status;
}

/* ---- Selecting and sending ----------------------------------------------------------------- */

typedef struct cookie_selection {
    afc__jar_cookie **cookies;
    size_t count, capacity;
    bool lacks_memory;
} cookie_selection;

static void select_cookie(cookie_selection *selection, afc__jar_cookie *cookie) {
    if (selection->count == selection->capacity) {
        size_t capacity = selection->capacity * 2 + 16;
        afc__jar_cookie **cookies = afc__realloc(selection->cookies, capacity * sizeof *cookies);
        if (cookies == NULL) {
            selection->lacks_memory = true;
            return;
        }
        selection->cookies = cookies;
        selection->capacity = capacity;
    }
    selection->cookies[selection->count++] = cookie;
}

/**
 * Returns whether a cookie is sent to subdomains of its domain. Never without a list of public suffixes: the domain may
 * be one.
 */
static bool reaches_subdomains(const afc__jar_cookie *cookie) {
    return !cookie->is_host_only && afc__suffixes_are_known();
}

static void select_domain(const afc_cookie_jar *jar, const afc__cookie_site *site, afc_slice domain,
                          bool is_host, int64_t now, cookie_selection *out) {
    for (afc__jar_cookie *cookie = *bucket_of_domain(jar, domain); cookie != NULL;
         cookie = cookie->next) {
        bool is_sent = afc__is_same(cookie->domain, domain) &&
                       (is_host || reaches_subdomains(cookie)) &&
                       (site->is_secure || !cookie->is_secure) && !has_expired(cookie, now) &&
                       afc__cookie_path_matches(site->path, cookie->path);
        if (is_sent) select_cookie(out, cookie);
    }
}

/** Orders cookies for sending: longer paths first, then older ones (RFC 6265bis 5.8.3). */
static int compare(const void *left, const void *right) {
    const afc__jar_cookie *a = *(afc__jar_cookie *const *)left;
    const afc__jar_cookie *b = *(afc__jar_cookie *const *)right;
    if (a->path.size != b->path.size) return a->path.size > b->path.size ? -1 : 1;
    if (a->created == b->created) return 0;
    return a->created < b->created ? -1 : 1;
}

/** Returns the size of "name=value" in a Cookie field. */
static size_t size_of_pair(const afc__jar_cookie *cookie) {
    return cookie->name.size + (cookie->name.size > 0 ? 1 : 0) + cookie->value.size;
}

/** Leaves out cookies that exceed the limits of a request. After one that doesn't fit, a shorter one may. */
static void keep_what_fits(cookie_selection *selection) {
    size_t kept = 0, size = 0;
    for (size_t i = 0; i < selection->count && kept < AFC__COOKIES_MAX; i++) {
        afc__jar_cookie *cookie = selection->cookies[i];
        size_t more = (kept > 0 ? sizeof "; " - 1 : 0) + size_of_pair(cookie);
        if (more > AFC__COOKIES_SIZE_MAX - size) continue;
        size += more;
        selection->cookies[kept++] = cookie;
    }
    selection->count = kept;
}

/** Selects and sorts the cookies that a request to `site` sends, or all cookies if `site` is NULL. Under the lock. */
static void select_for(const afc_cookie_jar *jar, const afc__cookie_site *site, int64_t now,
                       cookie_selection *out) {
    afc__ip ip;
    if (site == NULL) {
        for (size_t i = 0; i < jar->bucket_count; i++) {
            for (afc__jar_cookie *cookie = jar->buckets[i]; cookie != NULL; cookie = cookie->next) {
                if (!has_expired(cookie, now)) select_cookie(out, cookie);
            }
        }
    } else {
        afc_slice host = afc_slice_of(site->host);
        bool is_address = afc__ip_parse(&ip, host);
        select_domain(jar, site, host, true, now, out);
        const char *dot = host.bytes;
        while (!is_address && (dot = strchr(dot, '.')) != NULL) {
            select_domain(jar, site, afc_slice_of(++dot), false, now, out);
        }
    }
    if (out->count > 1) qsort(out->cookies, out->count, sizeof *out->cookies, compare);
    if (site != NULL) keep_what_fits(out);
}

/** The value of a Cookie field that is written. */
typedef struct cookie_text {
    afc_slice given; /**< The beginning of the value: cookies that the request has already. */
    char *out;
} cookie_text;

/** Returns whether the value of a Cookie field has a cookie with this name. */
static bool names_cookie(afc_slice given, afc_slice name) {
    while (given.size > 0) {
        const char *mark = memchr(given.bytes, ';', given.size);
        size_t size = mark != NULL ? (size_t)(mark - given.bytes) : given.size;
        afc_slice pair = afc__trim((afc_slice){given.bytes, size});
        const char *equals = pair.size > 0 ? memchr(pair.bytes, '=', pair.size) : NULL;
        if (equals != NULL) pair.size = (size_t)(equals - pair.bytes);
        if (afc__is_same(pair, name)) return true;
        if (mark == NULL) return false;
        given = (afc_slice){mark + 1, given.size - size - 1};
    }
    return false;
}

static afc_status write_cookie(afc__buffer *text, const afc__jar_cookie *cookie) {
    afc_status status = AFC_OK;
    if (text->size > 0) status = afc__buffer_append(text, "; ", 2);
    if (status == AFC_OK && cookie->name.size > 0) {
        status = afc__buffer_append_two(text, cookie->name, (afc_slice){"=", 1});
    }
    if (status != AFC_OK) return status;
    return afc__buffer_append(text, cookie->value.bytes, cookie->value.size);
}

/** Writes the value to `context`, a `cookie_text *`. */
static afc_status write_selection(afc_cookie_jar *jar, const cookie_selection *selection,
                                  void *context) {
    cookie_text *field = context;
    size_t count = 0, most = field->given.size;
    afc__buffer text;
    for (size_t i = 0; i < selection->count; i++) most += 2 + size_of_pair(selection->cookies[i]);
    afc__buffer_init(&text, most);
    /* Reserved at once: a buffer that grows would leave copies of secrets in freed memory. */
    afc_status status = afc__buffer_reserve(&text, most);
    if (status == AFC_OK) {
        status = afc__buffer_append(&text, field->given.bytes, field->given.size);
    }
    for (size_t i = 0; i < selection->count && status == AFC_OK; i++) {
        afc__jar_cookie *cookie = selection->cookies[i];
        if (names_cookie(field->given, cookie->name)) continue;
        status = write_cookie(&text, cookie);
        touch(jar, cookie);
        count++;
    }
    if (status == AFC_OK && count > 0 && text.size > 0) {
        field->out = afc__copy_text(afc__buffer_slice(&text));
        if (field->out == NULL) status = AFC_ENOMEM;
    }
    afc__buffer_wipe(&text);
    afc__buffer_clear(&text);
    return status;
}

/** Calls `use` with the cookies for `site`, under the lock. */
static afc_status use_selection(afc_cookie_jar *jar, const afc__cookie_site *site, int64_t now,
                                afc_status (*use)(afc_cookie_jar *jar,
                                                  const cookie_selection *selection, void *context),
                                void *context) {
    cookie_selection selection = {0};
    pthread_mutex_lock(&jar->lock);
    select_for(jar, site, now, &selection);
    afc_status status = selection.lacks_memory ? AFC_ENOMEM : use(jar, &selection, context);
    pthread_mutex_unlock(&jar->lock);
    afc_free(selection.cookies);
    return status;
}

afc_status afc__cookie_jar_write(afc_cookie_jar *jar, const afc__cookie_site *site, int64_t now,
                                 afc_slice given, char **out) {
    cookie_text field = {.given = given};
    afc_status status = use_selection(jar, site, now, write_selection, &field);
    *out = field.out;
    return status;
}

static afc_cookie export_cookie(const afc__jar_cookie *cookie, char **storage) {
    afc_cookie public_cookie = AFC_COOKIE_INIT;
    public_cookie.name = place(storage, cookie->name).bytes;
    public_cookie.value = place(storage, cookie->value).bytes;
    public_cookie.domain = place(storage, cookie->domain).bytes;
    public_cookie.path = place(storage, cookie->path).bytes;
    public_cookie.expires_s = cookie->expires_s;
    public_cookie.is_host_only = cookie->is_host_only;
    public_cookie.is_secure = cookie->is_secure;
    public_cookie.is_http_only = cookie->is_http_only;
    public_cookie.same_site = cookie->same_site;
    return public_cookie;
}

/** Makes a list in `context`, an `afc_cookie_list **`. */
static afc_status make_list(afc_cookie_jar *jar, const cookie_selection *selection, void *context) {
    (void)jar;
    size_t count = selection->count, size = sizeof(afc_cookie_list) + count * sizeof(afc_cookie);
    for (size_t i = 0; i < count; i++) {
        const afc__jar_cookie *cookie = selection->cookies[i];
        size += cookie->name.size + cookie->value.size + cookie->domain.size + cookie->path.size;
    }
    afc_cookie_list *list = afc__alloc(size + count * 4);
    if (list == NULL) return AFC_ENOMEM;
    afc_cookie *cookies = (afc_cookie *)(void *)(list + 1);
    char *storage = (char *)(cookies + count);
    for (size_t i = 0; i < count; i++) cookies[i] = export_cookie(selection->cookies[i], &storage);
    *list = (afc_cookie_list){cookies, count};
    *(afc_cookie_list **)context = list;
    return AFC_OK;
}

afc_status afc__cookie_jar_list(afc_cookie_jar *jar, const afc__cookie_site *site, int64_t now,
                                afc_cookie_list **out) {
    *out = NULL;
    return use_selection(jar, site, now, make_list, out);
}

static bool matches(afc_slice text, const char *wanted) {
    return wanted == NULL || afc__is_same(text, afc_slice_of(wanted));
}

size_t afc_cookie_jar_remove(afc_cookie_jar *jar, const char *name, const char *domain,
                             const char *path) {
    size_t count = 0;
    pthread_mutex_lock(&jar->lock);
    for (size_t i = 0; i < jar->bucket_count; i++) {
        afc__jar_cookie **link = &jar->buckets[i];
        while (*link != NULL) {
            const afc__jar_cookie *cookie = *link;
            if (matches(cookie->name, name) && matches(cookie->domain, domain) &&
                matches(cookie->path, path)) {
                take_out(jar, link);
                count++;
            } else {
                link = &(*link)->next;
            }
        }
    }
    pthread_mutex_unlock(&jar->lock);
    return count;
}
