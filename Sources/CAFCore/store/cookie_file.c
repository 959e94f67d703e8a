/* Cookie files: the Netscape format, with SameSite in a comment line before its cookie. */
#include "base/alloc.h"
#include "base/failure.h"
#include "message/fields.h"
#include "store/cookie_jar.h"
#include "store/file.h"

#include <stdio.h>

enum { LONGEST_FILE = 32 * 1024 * 1024, LONGEST_LINE = 16 * 1024, FIELDS = 7 };

static const char http_only_mark[] = "#HttpOnly_", same_site_mark[] = "# SameSite=";
static const char *const same_sites[] = {NULL, "None", "Lax", "Strict"};

/* ---- Reading ------------------------------------------------------------------------------- */

/** Splits a line at tabs; the last field takes the rest. Terminates each with a NUL. */
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

static af_same_site read_same_site(const char *line) {
    const char *value = line + sizeof same_site_mark - 1;
    for (int i = AF_SAME_SITE_NONE; i <= AF_SAME_SITE_STRICT; i++) {
        if (strcmp(value, same_sites[i]) == 0) return (af_same_site)i;
    }
    return AF_SAME_SITE_UNSET;
}

static af_status read_cookie(af_cookie_jar *jar, char *line, af_same_site same_site, int64_t now) {
    const char *fields[FIELDS] = {NULL}, *why;
    af_cookie cookie = AF_COOKIE_INIT;
    cookie.is_http_only = starts(line, http_only_mark);
    if (cookie.is_http_only) line += sizeof http_only_mark - 1;
    size_t count = split(line, fields);
    uint64_t expires_s;
    if (count < FIELDS - 1) return AF_OK;
    if (!af__parse_number(af_slice_of(fields[4]), AF_COOKIE_SESSION - 1, &expires_s)) return AF_OK;
    cookie.is_host_only = strcmp(fields[1], "TRUE") != 0;
    cookie.domain = fields[0][0] == '.' ? fields[0] + 1 : fields[0];
    cookie.path = fields[2];
    cookie.is_secure = strcmp(fields[3], "TRUE") == 0;
    cookie.expires_s = expires_s != 0 ? (int64_t)expires_s : AF_COOKIE_SESSION;
    cookie.name = fields[5];
    cookie.value = count == FIELDS ? fields[6] : "";
    cookie.same_site = same_site;
    af_status status = af__cookie_jar_put(jar, &cookie, now, &why);
    return status == AF_ENOMEM ? status : AF_OK;
}

static af_status read_lines(af_cookie_jar *jar, af_slice rest, int64_t now) {
    char line[LONGEST_LINE];
    af_same_site same_site = AF_SAME_SITE_UNSET;
    af_status status = AF_OK;
    while (rest.size > 0 && status == AF_OK) {
        const char *end = memchr(rest.bytes, '\n', rest.size);
        size_t size = end != NULL ? (size_t)(end - rest.bytes) : rest.size;
        bool is_line = size < sizeof line && memchr(rest.bytes, '\0', size) == NULL;
        if (is_line) {
            memcpy(line, rest.bytes, size);
            line[size] = '\0';
            if (size > 0 && line[size - 1] == '\r') line[size - 1] = '\0';
        }
        if (is_line && starts(line, same_site_mark)) {
            same_site = read_same_site(line);
        } else if (is_line && (line[0] != '#' || starts(line, http_only_mark))) {
            status = read_cookie(jar, line, same_site, now);
            same_site = AF_SAME_SITE_UNSET;
        }
        size_t step = end != NULL ? size + 1 : size;
        rest = (af_slice){rest.bytes + step, rest.size - step};
    }
    return status;
}

af_status af__cookie_file_load(af_cookie_jar *jar, const char *path, int64_t now,
                               af_failure *failure) {
    af__buffer text;
    af__buffer_init(&text, LONGEST_FILE);
    af_status status = af__file_load(&text, path, failure);
    if (status == AF_OK && text.size > 0) {
        status = read_lines(jar, (af_slice){text.bytes, text.size}, now);
        if (status != AF_OK) af__fail(failure, status, "out of memory");
        memset(text.bytes, 0, text.size);
    }
    af__buffer_clear(&text);
    return status;
}

/* ---- Writing ------------------------------------------------------------------------------- */

static af_status append(af__buffer *text, const char *part) {
    return af__buffer_append(text, part, strlen(part));
}

static af_status write_cookie(af__buffer *text, const af_cookie *cookie) {
    char number[32];
    snprintf(number, sizeof number, "%lld", (long long)cookie->expires_s);
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
    af_status status = AF_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == AF_OK; i++) {
        status = append(text, parts[i]);
    }
    return status;
}

/** Writes the oldest cookie first: the order is the file's only information about creation times. */
af_status af__cookie_file_save(const af_cookie_list *list, const char *path, af_failure *failure) {
    af__buffer text;
    af__buffer_init(&text, LONGEST_FILE);
    af_status status = append(&text, "# Netscape HTTP Cookie File\n");
    for (size_t i = 0; i < list->count && status == AF_OK; i++) {
        const af_cookie *cookie = &list->cookies[i];
        if (cookie->expires_s != AF_COOKIE_SESSION) status = write_cookie(&text, cookie);
    }
    if (status == AF_ETOOBIG) status = af__fail(failure, AF_EFILE, "too many cookies for a file");
    if (status == AF_ENOMEM) af__fail_memory(failure);
    if (status == AF_OK) {
        status = af__file_save(path, (af_slice){text.bytes, text.size}, failure);
    }
    if (text.size > 0) memset(text.bytes, 0, text.size);
    af__buffer_clear(&text);
    return status;
}
