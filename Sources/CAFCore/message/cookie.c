#include "message/cookie.h"

#include "base/text.h"
#include "message/date.h"
#include "message/fields.h"
#include "message/ip.h"

/* ---- Dates --------------------------------------------------------------------------------- */

/* A component that was not found yet. */
enum { UNSEEN = -1 };

static bool is_delimiter(char c) {
    unsigned char u = (unsigned char)c;
    return u == 0x09 || (u >= 0x20 && u <= 0x2f) || (u >= 0x3b && u <= 0x40) ||
           (u >= 0x5b && u <= 0x60) || (u >= 0x7b && u <= 0x7e);
}

/** Reads a number of `least` to `most` digits that no digit follows. Returns its size, or 0. */
static size_t read_digits(af_slice text, size_t least, size_t most, int *out) {
    size_t size = 0;
    int value = 0;
    while (size < text.size && af__is_digit(text.bytes[size])) {
        if (size == most) return 0;
        value = value * 10 + (text.bytes[size++] - '0');
    }
    if (size < least) return 0;
    *out = value;
    return size;
}

static bool read_time(af__date *date, af_slice token) {
    int parts[3];
    for (int i = 0; i < 3; i++) {
        size_t size = read_digits(token, 1, 2, &parts[i]);
        if (size == 0) return false;
        token = (af_slice){token.bytes + size, token.size - size};
        if (i == 2) break;
        if (token.size == 0 || token.bytes[0] != ':') return false;
        token = (af_slice){token.bytes + 1, token.size - 1};
    }
    date->hour = parts[0];
    date->minute = parts[1];
    date->second = parts[2];
    return true;
}

static bool read_month(af__date *date, af_slice token) {
    static const char names[] = "janfebmaraprmayjunjulaugsepoctnovdec";
    if (token.size < 3) return false;
    for (int i = 0; i < 12; i++) {
        if (!af__same_text(token.bytes, names + 3 * i, 3)) continue;
        date->month = i + 1;
        return true;
    }
    return false;
}

static void read_token(af__date *date, af_slice token) {
    if (date->hour == UNSEEN && read_time(date, token)) return;
    if (date->day == UNSEEN && read_digits(token, 1, 2, &date->day) != 0) return;
    if (date->month == UNSEEN && read_month(date, token)) return;
    if (date->year == UNSEEN) read_digits(token, 2, 4, &date->year);
}

bool af__cookie_date(af_slice text, int64_t *seconds) {
    af__date date = {UNSEEN, UNSEEN, UNSEEN, UNSEEN, UNSEEN, UNSEEN};
    size_t at = 0;
    while (at < text.size) {
        while (at < text.size && is_delimiter(text.bytes[at])) at++;
        size_t start = at;
        while (at < text.size && !is_delimiter(text.bytes[at])) at++;
        if (at > start) read_token(&date, (af_slice){text.bytes + start, at - start});
    }
    /* RFC 6265bis 5.1.1, which is about cookies alone: af_date_parse() goes by RFC 9110. */
    if (date.year >= 70 && date.year <= 99) date.year += 1900;
    if (date.year >= 0 && date.year <= 69) date.year += 2000;
    /* UNSEEN is out of range for every component. */
    return date.year >= 1601 && date.second <= 59 && af__date_seconds(&date, seconds);
}

/* ---- Lines --------------------------------------------------------------------------------- */

bool af__cookie_is_clean(af_slice name, af_slice value, const char **why) {
    *why = NULL;
    if (!af__may_be_sent(name) || !af__may_be_sent(value))
        *why = "the cookie contains a control character";
    if (name.size == 0 && value.size == 0) *why = "the cookie has neither name nor value";
    if (name.size + value.size > AF__COOKIE_LONGEST) *why = "the cookie is too long";
    return *why == NULL;
}

/** Splits at the first `mark` and trims both parts. false: there is none, and `first` is the whole text. */
static bool cut(af_slice text, char mark, af_slice *first, af_slice *second) {
    const char *found = text.size > 0 ? memchr(text.bytes, mark, text.size) : NULL;
    size_t size = found != NULL ? (size_t)(found - text.bytes) : text.size;
    *first = af__trim((af_slice){text.bytes, size});
    *second = found != NULL ? af__trim((af_slice){found + 1, text.size - size - 1})
                            : (af_slice){"", 0};
    return found != NULL;
}

static bool read_age(af_slice value, int64_t *out) {
    bool is_negative = value.size > 0 && value.bytes[0] == '-';
    size_t at = is_negative ? 1 : 0;
    int64_t age = 0;
    if (at == value.size) return false;
    for (; at < value.size; at++) {
        if (!af__is_digit(value.bytes[at])) return false;
        if (age <= AF__COOKIE_LONGEST_LIFE) age = age * 10 + (value.bytes[at] - '0');
    }
    *out = is_negative ? 0 : age;
    return true;
}

static af_same_site read_same_site(af_slice value) {
    if (af__same_name(value, "Strict")) return AF_SAME_SITE_STRICT;
    if (af__same_name(value, "Lax")) return AF_SAME_SITE_LAX;
    return af__same_name(value, "None") ? AF_SAME_SITE_NONE : AF_SAME_SITE_UNSET;
}

typedef struct lifetime {
    int64_t age, date;
    bool has_age, has_date;
} lifetime;

static void heed(af__cookie_line *out, lifetime *life, af_slice name, af_slice value) {
    if (value.size > AF__COOKIE_LONGEST_ATTRIBUTE) return;
    if (af__same_name(name, "Expires")) {
        life->has_date = af__cookie_date(value, &life->date) || life->has_date;
    } else if (af__same_name(name, "Max-Age")) {
        life->has_age = read_age(value, &life->age) || life->has_age;
    } else if (af__same_name(name, "Domain")) {
        if (value.size > 0 && value.bytes[0] == '.') {
            value = (af_slice){value.bytes + 1, value.size - 1};
        }
        out->domain = value;
    } else if (af__same_name(name, "Path")) {
        bool is_absolute = value.size > 0 && value.bytes[0] == '/';
        out->path = is_absolute ? value : (af_slice){"", 0};
    } else if (af__same_name(name, "Secure")) {
        out->is_secure = true;
    } else if (af__same_name(name, "HttpOnly")) {
        out->is_http_only = true;
    } else if (af__same_name(name, "SameSite")) {
        out->same_site = read_same_site(value);
    }
}

static int64_t end_of(const lifetime *life, int64_t now) {
    int64_t latest = now + AF__COOKIE_LONGEST_LIFE;
    if (!life->has_age && !life->has_date) return AF_COOKIE_SESSION;
    if (life->has_age && life->age == 0) return 0;
    int64_t end = life->has_age ? now + life->age : life->date;
    return end < latest ? end : latest;
}

bool af__cookie_read(af__cookie_line *out, af_slice line, int64_t now, const char **why) {
    *out = (af__cookie_line){.name = {"", 0}, .domain = {"", 0}, .path = {"", 0}};
    lifetime life = {0};
    const char *end = line.size > 0 ? memchr(line.bytes, ';', line.size) : NULL;
    size_t size = end != NULL ? (size_t)(end - line.bytes) : line.size;
    if (!af__may_be_sent(line)) {
        *why = "the cookie contains a control character";
        return false;
    }
    if (!cut((af_slice){line.bytes, size}, '=', &out->name, &out->value)) {
        out->value = out->name;
        out->name = (af_slice){"", 0};
    }
    if (!af__cookie_is_clean(out->name, out->value, why)) return false;
    while (size < line.size) {
        const char *start = line.bytes + size + 1;
        size_t left = line.size - size - 1;
        const char *next = left > 0 ? memchr(start, ';', left) : NULL;
        af_slice name, value, attribute = {start, next != NULL ? (size_t)(next - start) : left};
        cut(attribute, '=', &name, &value);
        heed(out, &life, name, value);
        size += 1 + attribute.size;
    }
    out->expires_s = end_of(&life, now);
    return true;
}

bool af__cookie_prefix_ok(af_slice name, bool is_secure, bool is_host_only, af_slice path) {
    if (af__begins_with_name(name, "__Secure-")) return is_secure;
    if (!af__begins_with_name(name, "__Host-")) return true;
    return is_secure && is_host_only && path.size == 1 && path.bytes[0] == '/';
}

/* ---- Paths and domains --------------------------------------------------------------------- */

af_slice af__cookie_default_path(af_slice url_path) {
    const char *slash = url_path.size > 0 && url_path.bytes[0] == '/'
                            ? memrchr(url_path.bytes, '/', url_path.size)
                            : NULL;
    if (slash == NULL || slash == url_path.bytes) return (af_slice){"/", 1};
    return (af_slice){url_path.bytes, (size_t)(slash - url_path.bytes)};
}

bool af__cookie_path_matches(af_slice url_path, af_slice cookie_path) {
    if (cookie_path.size == 0 || url_path.size < cookie_path.size) return false;
    if (memcmp(url_path.bytes, cookie_path.bytes, cookie_path.size) != 0) return false;
    return url_path.size == cookie_path.size || cookie_path.bytes[cookie_path.size - 1] == '/' ||
           url_path.bytes[cookie_path.size] == '/';
}

bool af__cookie_domain_matches(af_slice host, af_slice domain) {
    af__ip ip;
    if (domain.size == 0 || host.size < domain.size) return false;
    size_t above = host.size - domain.size;
    if (memcmp(host.bytes + above, domain.bytes, domain.size) != 0) return false;
    return above == 0 || (host.bytes[above - 1] == '.' && !af__ip_parse(&ip, host));
}
