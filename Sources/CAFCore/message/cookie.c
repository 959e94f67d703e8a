#include "message/cookie.h"

#include "base/domain.h"
#include "base/text.h"
#include "message/date.h"
#include "message/fields.h"
#include "message/ip.h"

/* ---- Dates --------------------------------------------------------------------------------- */

/* The value of a component that wasn't found yet. */
enum { UNSEEN = -1 };

/** Returns whether this octet separates the parts of a cookie date (RFC 6265 5.1.1). */
static bool is_delimiter(char c) {
    unsigned char u = (unsigned char)c;
    return u == 0x09 || (u >= 0x20 && u <= 0x2f) || (u >= 0x3b && u <= 0x40) ||
           (u >= 0x5b && u <= 0x60) || (u >= 0x7b && u <= 0x7e);
}

/** Reads a number of `least` to `most` digits, which must not be followed by another digit. Returns its size, or 0. */
static size_t read_digits(afc_slice text, size_t least, size_t most, int *out) {
    size_t size = 0;
    int value = 0;
    while (size < text.size && afc__is_digit(text.bytes[size])) {
        if (size == most) return 0;
        value = value * 10 + (text.bytes[size++] - '0');
    }
    if (size < least) return 0;
    *out = value;
    return size;
}

static bool read_time(afc__date *date, afc_slice token) {
    int parts[3];
    for (int i = 0; i < 3; i++) {
        size_t size = read_digits(token, 1, 2, &parts[i]);
        if (size == 0) return false;
        token = (afc_slice){token.bytes + size, token.size - size};
        if (i == 2) break;
        if (token.size == 0 || token.bytes[0] != ':') return false;
        token = (afc_slice){token.bytes + 1, token.size - 1};
    }
    date->hour = parts[0];
    date->minute = parts[1];
    date->second = parts[2];
    return true;
}

static bool read_month(afc__date *date, afc_slice token) {
    static const char names[] = "janfebmaraprmayjunjulaugsepoctnovdec";
    if (token.size < 3) return false;
    for (int i = 0; i < 12; i++) {
        if (!afc__same_text(token.bytes, names + 3 * i, 3)) continue;
        date->month = i + 1;
        return true;
    }
    return false;
}

static void read_token(afc__date *date, afc_slice token) {
    if (date->hour == UNSEEN && read_time(date, token)) return;
    if (date->day == UNSEEN && read_digits(token, 1, 2, &date->day) != 0) return;
    if (date->month == UNSEEN && read_month(date, token)) return;
    if (date->year == UNSEEN) read_digits(token, 2, 4, &date->year);
}

bool afc__cookie_date(afc_slice text, int64_t *seconds) {
    afc__date date = {UNSEEN, UNSEEN, UNSEEN, UNSEEN, UNSEEN, UNSEEN};
    size_t at = 0;
    while (at < text.size) {
        while (at < text.size && is_delimiter(text.bytes[at])) at++;
        size_t start = at;
        while (at < text.size && !is_delimiter(text.bytes[at])) at++;
        if (at > start) read_token(&date, (afc_slice){text.bytes + start, at - start});
    }
    /* RFC 6265bis 5.1.1 defines this century for cookies only: afc_date_parse() follows RFC 9110. */
    if (date.year >= 70 && date.year <= 99) date.year += 1900;
    if (date.year >= 0 && date.year <= 69) date.year += 2000;
    /* UNSEEN is out of range for every component. */
    return date.year >= 1601 && date.second <= 59 && afc__date_seconds(&date, seconds);
}

/* ---- Lines --------------------------------------------------------------------------------- */

bool afc__cookie_is_clean(afc_slice name, afc_slice value, const char **why) {
    *why = NULL;
    if (!afc__may_be_sent(name) || !afc__may_be_sent(value))
        *why = "the cookie contains a control character";
    if (name.size == 0 && value.size == 0) *why = "the cookie has neither name nor value";
    if (name.size + value.size > AFC__COOKIE_MAX) *why = "the cookie is too long";
    return *why == NULL;
}

/**
 * Splits at the first `mark` and trims both parts. Returns false if there is no mark; `first` is then the whole text.
 */
static bool cut(afc_slice text, char mark, afc_slice *first, afc_slice *second) {
    const char *found = text.size > 0 ? memchr(text.bytes, mark, text.size) : NULL;
    size_t size = found != NULL ? (size_t)(found - text.bytes) : text.size;
    *first = afc__trim((afc_slice){text.bytes, size});
    *second = found != NULL ? afc__trim((afc_slice){found + 1, text.size - size - 1})
                            : (afc_slice){"", 0};
    return found != NULL;
}

/** Reads Max-Age in seconds; a negative one counts as 0. Returns false if it isn't a number. */
static bool read_age(afc_slice value, int64_t *out) {
    bool is_negative = value.size > 0 && value.bytes[0] == '-';
    size_t at = is_negative ? 1 : 0;
    int64_t age = 0;
    if (at == value.size) return false;
    for (; at < value.size; at++) {
        if (!afc__is_digit(value.bytes[at])) return false;
        if (age <= AFC__COOKIE_LIFE_MAX) age = age * 10 + (value.bytes[at] - '0');
    }
    *out = is_negative ? 0 : age;
    return true;
}

static afc_same_site read_same_site(afc_slice value) {
    if (afc__same_name(value, "Strict")) return AFC_SAME_SITE_STRICT;
    if (afc__same_name(value, "Lax")) return AFC_SAME_SITE_LAX;
    return afc__same_name(value, "None") ? AFC_SAME_SITE_NONE : AFC_SAME_SITE_UNSET;
}

typedef struct lifetime {
    int64_t age, date;
    bool has_age, has_date;
} lifetime;

static void apply_attribute(afc__cookie_line *out, lifetime *life, afc_slice name,
                            afc_slice value) {
    if (value.size > AFC__COOKIE_ATTRIBUTE_MAX) return;
    if (afc__same_name(name, "Expires")) {
        life->has_date = afc__cookie_date(value, &life->date) || life->has_date;
    } else if (afc__same_name(name, "Max-Age")) {
        life->has_age = read_age(value, &life->age) || life->has_age;
    } else if (afc__same_name(name, "Domain")) {
        if (value.size > 0 && value.bytes[0] == '.') {
            value = (afc_slice){value.bytes + 1, value.size - 1};
        }
        out->domain = value;
    } else if (afc__same_name(name, "Path")) {
        bool is_absolute = value.size > 0 && value.bytes[0] == '/';
        out->path = is_absolute ? value : (afc_slice){"", 0};
    } else if (afc__same_name(name, "Secure")) {
        out->is_secure = true;
    } else if (afc__same_name(name, "HttpOnly")) {
        out->is_http_only = true;
    } else if (afc__same_name(name, "SameSite")) {
        out->same_site = read_same_site(value);
    }
}

/** Returns the expiry: Max-Age has precedence over Expires (RFC 6265 5.3 step 3), and both are limited to 400 days. */
static int64_t end_of(const lifetime *life, int64_t now) {
    int64_t latest = now + AFC__COOKIE_LIFE_MAX;
    if (!life->has_age && !life->has_date) return AFC_COOKIE_SESSION;
    if (life->has_age && life->age == 0) return 0;
    int64_t end = life->has_age ? now + life->age : life->date;
    return end < latest ? end : latest;
}

bool afc__cookie_read(afc__cookie_line *out, afc_slice line, int64_t now, const char **why) {
    *out = (afc__cookie_line){.name = {"", 0}, .domain = {"", 0}, .path = {"", 0}};
    lifetime life = {0};
    const char *end = line.size > 0 ? memchr(line.bytes, ';', line.size) : NULL;
    size_t size = end != NULL ? (size_t)(end - line.bytes) : line.size;
    if (!afc__may_be_sent(line)) {
        *why = "the cookie contains a control character";
        return false;
    }
    if (!cut((afc_slice){line.bytes, size}, '=', &out->name, &out->value)) {
        out->value = out->name;
        out->name = (afc_slice){"", 0};
    }
    if (!afc__cookie_is_clean(out->name, out->value, why)) return false;
    while (size < line.size) {
        const char *start = line.bytes + size + 1;
        size_t left = line.size - size - 1;
        const char *next = left > 0 ? memchr(start, ';', left) : NULL;
        afc_slice name, value, attribute = {start, next != NULL ? (size_t)(next - start) : left};
        cut(attribute, '=', &name, &value);
        apply_attribute(out, &life, name, value);
        size += 1 + attribute.size;
    }
    out->expires_s = end_of(&life, now);
    return true;
}

bool afc__cookie_prefix_ok(afc_slice name, bool is_secure, bool is_host_only, afc_slice path) {
    if (afc__begins_with_name(name, "__Secure-")) return is_secure;
    if (!afc__begins_with_name(name, "__Host-")) return true;
    return is_secure && is_host_only && path.size == 1 && path.bytes[0] == '/';
}

/* ---- Paths and domains --------------------------------------------------------------------- */

afc_slice afc__cookie_default_path(afc_slice url_path) {
    const char *slash = url_path.size > 0 && url_path.bytes[0] == '/'
                            ? memrchr(url_path.bytes, '/', url_path.size)
                            : NULL;
    if (slash == NULL || slash == url_path.bytes) return (afc_slice){"/", 1};
    return (afc_slice){url_path.bytes, (size_t)(slash - url_path.bytes)};
}

bool afc__cookie_path_matches(afc_slice url_path, afc_slice cookie_path) {
    if (cookie_path.size == 0 || url_path.size < cookie_path.size) return false;
    if (memcmp(url_path.bytes, cookie_path.bytes, cookie_path.size) != 0) return false;
    return url_path.size == cookie_path.size || cookie_path.bytes[cookie_path.size - 1] == '/' ||
           url_path.bytes[cookie_path.size] == '/';
}

bool afc__cookie_domain_matches(afc_slice host, afc_slice domain) {
    afc__ip ip;
    if (!afc__is_in_domain(host, domain)) return false;
    return host.size == domain.size || !afc__ip_parse(&ip, host);
}
