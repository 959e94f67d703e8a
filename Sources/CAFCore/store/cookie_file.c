#include "store/cookie_file.h"

#include "base/failure.h"
#include "base/text.h"
#include "message/fields.h"
#include "message/ip.h"
#include "store/file.h"
#include "store/suffixes.h"

#include <stdio.h>

enum { MAX_FILE = 32 * 1024 * 1024, MAX_LINE = 16 * 1024, FIELDS = 7 };

static const char http_only_mark[] = "#HttpOnly_", same_site_mark[] = "# SameSite=";
static const char *const same_sites[] = {NULL, "None", "Lax", "Strict"};

/* ---- Reading ------------------------------------------------------------------------------- */

/** Splits a line at tabs, and terminates each field with a NUL; the last field takes the rest. Returns their number. */
static size_t split(char *line, const char *fields[FIELDS]) {
    size_t count = 0;
    while (line != NULL && count < FIELDS) {
        fields[count++] = line;
        line = count < FIELDS ? strchr(line, '\t') : NULL;
        if (line != NULL) *line++ = '\0';
    }
    return count;
}

static bool starts(const char *line, const char *mark) {
    return strncmp(line, mark, strlen(mark)) == 0;
}

static afc_same_site read_same_site(const char *line) {
    const char *value = line + sizeof same_site_mark - 1;
    for (int i = AFC_SAME_SITE_NONE; i <= AFC_SAME_SITE_STRICT; i++) {
        if (strcmp(value, same_sites[i]) == 0) return (afc_same_site)i;
    }
    return AFC_SAME_SITE_UNSET;
}

/**
 * Adapts what curl and browsers write to what a jar holds. Names in upper case become lower case. The cookie of an
 * address, or of a name that is itself a public suffix, isn't sent to subdomains (RFC 6265 5.3 step 5). A path that
 * doesn't begin with a slash becomes the default path (5.1.4). `domain` is changed.
 */
static void adapt(afc_cookie *cookie, char *domain) {
    afc__ip ip;
    for (char *at = domain; *at != '\0'; at++) *at = afc__lower(*at);
    cookie->domain = domain;
    bool is_address = afc__ip_read_host(&ip, afc_slice_of(domain)) == AFC__HOST_ADDRESS;
    /*
     * Without a list of public suffixes the domain is kept for a process that has one; until then the cookie is sent to
     * that host only.
     */
    if (is_address || afc__is_known_suffix(domain)) cookie->is_host_only = true;
    if (cookie->path[0] != '/') cookie->path = "/";
}

/** Compares without case, as curl does: files that JavaScript has written say "true". */
static bool is_true(const char *field) {
    return afc__same_name(afc_slice_of(field), "TRUE");
}

/**
 * Reads an expiry in seconds. Browser extensions write a fraction, and Python an empty field for a session cookie. curl
 * writes INT64_MAX for a very large Max-Age, which is reduced by one here because it would stand for a session cookie.
 */
static bool read_expiry(const char *field, int64_t *expires_s) {
    afc_slice whole = {field, afc__span_until(afc_slice_of(field), '.')};
    const char *rest = field + whole.size;
    if (*rest == '.') rest += 1 + strspn(rest + 1, "0123456789");
    if (*rest != '\0') return false;
    uint64_t seconds = 0;
    bool is_session = *field == '\0';
    if (!is_session && !afc__parse_number(whole, INT64_MAX, &seconds)) return false;
    if (seconds == AFC_COOKIE_SESSION) seconds--;
    *expires_s = seconds != 0 ? (int64_t)seconds : AFC_COOKIE_SESSION;
    return true;
}

static afc_status read_cookie(afc_cookie_jar *jar, char *line, afc_same_site same_site,
                              int64_t now) {
    const char *fields[FIELDS] = {NULL}, *why;
    afc_cookie cookie = AFC_COOKIE_INIT;
    cookie.is_http_only = starts(line, http_only_mark);
    if (cookie.is_http_only) line += sizeof http_only_mark - 1;
    size_t count = split(line, fields);
    if (count < FIELDS - 1 || !read_expiry(fields[4], &cookie.expires_s)) return AFC_OK;
    cookie.is_host_only = !is_true(fields[1]);
    cookie.path = fields[2];
    adapt(&cookie, line[0] == '.' ? line + 1 : line);
    cookie.is_secure = is_true(fields[3]);
    cookie.name = fields[5];
    cookie.value = count == FIELDS ? fields[6] : "";
    cookie.same_site = same_site;
    afc_status status = afc__cookie_jar_put(jar, &cookie, now, &why);
    return status == AFC_ENOMEM ? status : AFC_OK;
}

static afc_status read_lines(afc_cookie_jar *jar, afc_slice rest, int64_t now) {
    char line[MAX_LINE];
    afc_same_site same_site = AFC_SAME_SITE_UNSET;
    afc_status status = AFC_OK;
    while (status == AFC_OK && afc__file_next_line(&rest, line, sizeof line)) {
        if (starts(line, same_site_mark)) {
            same_site = read_same_site(line);
        } else if (line[0] != '#' || starts(line, http_only_mark)) {
            status = read_cookie(jar, line, same_site, now);
            same_site = AFC_SAME_SITE_UNSET;
        }
    }
    explicit_bzero(line, sizeof line);
    return status;
}

afc_status afc__cookie_file_load(afc_cookie_jar *jar, const char *path, int64_t now,
                                 afc_failure *failure) {
    afc__buffer text;
    afc__buffer_init(&text, MAX_FILE);
    afc_status status = afc__file_load(&text, path, failure);
    if (status == AFC_OK) {
        status = read_lines(jar, afc__buffer_slice(&text), now);
        if (status != AFC_OK) afc__fail_memory(failure);
    }
    afc__buffer_wipe(&text);
    afc__buffer_clear(&text);
    return status;
}

/* ---- Writing ------------------------------------------------------------------------------- */

static afc_status append(afc__buffer *text, const char *part) {
    return afc__buffer_append(text, part, strlen(part));
}

static afc_status write_cookie(afc__buffer *text, const afc_cookie *cookie) {
    char number[32];
    bool has_expiry = cookie->expires_s != AFC_COOKIE_SESSION;
    snprintf(number, sizeof number, "%lld", has_expiry ? (long long)cookie->expires_s : 0);
    const char *site = same_sites[cookie->same_site];
    const char *parts[] = {site != NULL ? same_site_mark : "",
                           site != NULL ? site : "",
                           site != NULL ? "\n" : "",
                           cookie->is_http_only ? http_only_mark : "",
                           cookie->is_host_only ? "" : ".",
                           cookie->domain,
                           cookie->is_host_only ? "\tFALSE\t" : "\tTRUE\t",
                           cookie->path,
                           cookie->is_secure ? "\tTRUE\t" : "\tFALSE\t",
                           number,
                           "\t",
                           cookie->name,
                           "\t",
                           cookie->value,
                           "\n"};
    afc_status status = AFC_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == AFC_OK; i++) {
        status = append(text, parts[i]);
    }
    return status;
}

/*
 * Writes the cookies in the order of the list. Among paths of equal length, older cookies come first there: the file
 * has no other information about creation times.
 */
afc_status afc__cookie_file_write(const afc_cookie_list *list, bool includes_session,
                                  afc_bytes *out, afc_failure *failure) {
    afc__buffer text;
    afc__buffer_init(&text, MAX_FILE);
    afc_status status = append(&text, "# Netscape HTTP Cookie File\n");
    for (size_t i = 0; i < list->count && status == AFC_OK; i++) {
        const afc_cookie *cookie = &list->cookies[i];
        bool is_kept = includes_session || cookie->expires_s != AFC_COOKIE_SESSION;
        if (is_kept) status = write_cookie(&text, cookie);
    }
    if (status == AFC_OK) {
        *out = afc__buffer_take(&text);
        return AFC_OK;
    }
    *out = (afc_bytes){NULL, 0};
    afc__buffer_wipe(&text);
    afc__buffer_clear(&text);
    if (status == AFC_ENOMEM) return afc__fail_memory(failure);
    return afc__fail(failure, AFC_EFILE, "too many cookies for a file");
}

afc_status afc__cookie_file_save(const afc_cookie_list *list, const char *path,
                                 afc_failure *failure) {
    afc_bytes text;
    afc_status status = afc__cookie_file_write(list, false, &text, failure);
    if (status != AFC_OK) return status;
    status = afc__file_save(path, (afc_slice){text.bytes, text.size}, failure);
    explicit_bzero(text.bytes, text.size);
    afc_free(text.bytes);
    return status;
}
