#include "message/ip.h"

#include "base/text.h"
#include "message/encoding.h"

#include <stdio.h>
#include <string.h>

static bool parse_ipv4(uint8_t *out, afc_slice text) {
    size_t at = 0;
    for (int part = 0; part < 4; part++) {
        if (part > 0 && (at == text.size || text.bytes[at++] != '.')) return false;
        size_t start = at;
        unsigned value = 0;
        while (at < text.size && afc__is_digit(text.bytes[at]) && at - start < 3) {
            value = value * 10 + (unsigned)(text.bytes[at++] - '0');
        }
        bool has_leading_zero = at - start > 1 && text.bytes[start] == '0';
        if (at == start || has_leading_zero || value > 255) return false;
        out[part] = (uint8_t)value;
    }
    return at == text.size;
}

/** The bytes before and after "::". */
typedef struct ipv6_halves {
    uint8_t bytes[2][16];
    size_t sizes[2];
    unsigned which; /* The current half. */
} ipv6_halves;

static bool put_group(ipv6_halves *halves, unsigned value) {
    size_t *size = &halves->sizes[halves->which];
    if (halves->sizes[0] + halves->sizes[1] > 14) return false;
    halves->bytes[halves->which][(*size)++] = (uint8_t)(value >> 8);
    halves->bytes[halves->which][(*size)++] = (uint8_t)value;
    return true;
}

static bool put_ipv4(ipv6_halves *halves, afc_slice text) {
    uint8_t bytes[4];
    return parse_ipv4(bytes, text) && put_group(halves, bytes[0] * 256u + bytes[1]) &&
           put_group(halves, bytes[2] * 256u + bytes[3]);
}

static bool read_groups(ipv6_halves *halves, afc_slice text, size_t at) {
    while (at < text.size) {
        size_t start = at;
        unsigned value = 0;
        for (; at < text.size && afc__hex_value(text.bytes[at]) >= 0 && at - start < 4; at++) {
            value = value * 16 + (unsigned)afc__hex_value(text.bytes[at]);
        }
        if (at < text.size && text.bytes[at] == '.') {
            return put_ipv4(halves, (afc_slice){text.bytes + start, text.size - start});
        }
        if (at == start || !put_group(halves, value)) return false;
        if (at == text.size) return true;
        if (text.bytes[at++] != ':' || at == text.size) return false;
        if (text.bytes[at] == ':') {
            if (halves->which == 1) return false;
            halves->which = 1;
            at++;
        }
    }
    return true;
}

static bool parse_ipv6(uint8_t *out, afc_slice text) {
    ipv6_halves halves = {.which = 0};
    bool begins_with_gap = text.size >= 2 && text.bytes[0] == ':' && text.bytes[1] == ':';
    if (begins_with_gap) halves.which = 1;
    if (!read_groups(&halves, text, begins_with_gap ? 2 : 0)) return false;
    size_t size = halves.sizes[0] + halves.sizes[1];
    if (halves.which == 1 ? size > 14 : size != 16) return false;
    memset(out, 0, 16);
    memcpy(out, halves.bytes[0], halves.sizes[0]);
    memcpy(out + 16 - halves.sizes[1], halves.bytes[1], halves.sizes[1]);
    return true;
}

bool afc__ip_parse(afc__ip *out, afc_slice text) {
    memset(out, 0, sizeof *out);
    bool is_ipv4 = parse_ipv4(out->bytes, text);
    if (!is_ipv4 && !parse_ipv6(out->bytes, text)) return false;
    out->size = is_ipv4 ? 4 : 16;
    return true;
}

/* ---- Hosts of URLs ------------------------------------------------------------------------- */

/**
 * Reads a number in decimal, octal or hexadecimal. It saturates: a number that is too large is invalid in every
 * address.
 */
static bool read_number(afc_slice text, uint64_t *out) {
    unsigned radix = 10;
    bool begins_with_zero = text.size > 1 && text.bytes[0] == '0';
    if (begins_with_zero && afc__lower(text.bytes[1]) == 'x') {
        radix = 16;
        text = (afc_slice){text.bytes + 2, text.size - 2};
    } else if (begins_with_zero) {
        radix = 8;
    } else if (text.size == 0) {
        return false;
    }
    *out = 0;
    for (size_t i = 0; i < text.size; i++) {
        int digit = afc__hex_value(text.bytes[i]);
        if (digit < 0 || (unsigned)digit >= radix) return false;
        if (*out <= UINT32_MAX) *out = *out * radix + (unsigned)digit;
    }
    return true;
}

static bool is_decimal(afc_slice text) {
    for (size_t i = 0; i < text.size; i++) {
        if (!afc__is_digit(text.bytes[i])) return false;
    }
    return text.size > 0;
}

static afc_slice last_label(afc_slice host) {
    const char *dot = host.size != 0 ? memrchr(host.bytes, '.', host.size) : NULL;
    size_t start = dot != NULL ? (size_t)(dot - host.bytes) + 1 : 0;
    return (afc_slice){host.bytes + start, host.size - start};
}

/** Reads up to four numbers with dots; the last one fills the rest of the 32 bits (inet_aton()). */
static bool read_short_ipv4(uint8_t *out, afc_slice host) {
    for (int i = 0; i < 4; i++) {
        const char *dot = host.size != 0 ? memchr(host.bytes, '.', host.size) : NULL;
        size_t size = dot != NULL ? (size_t)(dot - host.bytes) : host.size;
        uint64_t number;
        if (!read_number((afc_slice){host.bytes, size}, &number)) return false;
        if (dot == NULL) {
            if (number >> 8 * (4 - i) != 0) return false;
            for (int k = 3; k >= i; k--, number >>= 8) out[k] = (uint8_t)number;
            return true;
        }
        if (number > 255) return false;
        out[i] = (uint8_t)number;
        host = (afc_slice){dot + 1, host.size - size - 1};
    }
    return false;
}

afc__host_kind afc__ip_read_host(afc__ip *out, afc_slice host) {
    uint64_t ignored;
    if (afc__ip_parse(out, host)) return AFC__HOST_ADDRESS;
    if (host.size > 1 && host.bytes[host.size - 1] == '.') host.size--;
    afc_slice last = last_label(host);
    if (!is_decimal(last) && !read_number(last, &ignored)) return AFC__HOST_NAME;
    memset(out, 0, sizeof *out);
    out->size = 4;
    return read_short_ipv4(out->bytes, host) ? AFC__HOST_ADDRESS : AFC__HOST_INVALID;
}

static unsigned group_of(const afc__ip *ip, int index) {
    return ip->bytes[2 * index] * 256u + ip->bytes[2 * index + 1];
}

/** Finds the first of the longest runs of at least two zero groups (RFC 5952 4.2). Returns its length, or 0. */
static int longest_gap(const afc__ip *ip, int *start) {
    int longest = 0;
    for (int i = 0; i < 8; i++) {
        int end = i;
        while (end < 8 && group_of(ip, end) == 0) end++;
        if (end - i > longest && end - i > 1) {
            longest = end - i;
            *start = i;
        }
        if (end > i) i = end;
    }
    return longest;
}

/**
 * Writes dotted decimal. Without snprintf(), which takes as long as all else of a URL: every request to an address
 * needs this.
 */
static size_t write_v4(const afc__ip *ip, char *out) {
    char *at = out;
    for (int i = 0; i < 4; i++) {
        unsigned value = ip->bytes[i];
        if (i > 0) *at++ = '.';
        if (value >= 100) *at++ = (char)('0' + value / 100);
        if (value >= 10) *at++ = (char)('0' + value / 10 % 10);
        *at++ = (char)('0' + value % 10);
    }
    *at = '\0';
    return (size_t)(at - out);
}

size_t afc__ip_write(const afc__ip *ip, char out[AFC__IP_SIZE]) {
    if (ip->size == 4) return write_v4(ip, out);
    int gap = 0, gap_size = longest_gap(ip, &gap);
    size_t size = 0;
    for (int i = 0; i < 8; i++) {
        bool is_gap = gap_size > 0 && i == gap;
        bool follows_gap = gap_size > 0 && i == gap + gap_size;
        if (is_gap) {
            size += (size_t)snprintf(out + size, AFC__IP_SIZE - size, "::");
            i += gap_size - 1;
        } else {
            const char *mark = i == 0 || follows_gap ? "" : ":";
            size += (size_t)snprintf(out + size, AFC__IP_SIZE - size, "%s%x", mark,
                                     group_of(ip, i));
        }
    }
    return size;
}

/* ---- Networks ------------------------------------------------------------------------------ */

bool afc__ip_is_in(const afc__ip *ip, const afc__ip *network, unsigned prefix) {
    if (ip->size != network->size || prefix > ip->size * 8u) return false;
    size_t whole = prefix / 8;
    if (memcmp(ip->bytes, network->bytes, whole) != 0) return false;
    unsigned rest = prefix % 8;
    if (rest == 0) return true;
    unsigned mask = 0xff00u >> rest & 0xff;
    return ((ip->bytes[whole] ^ network->bytes[whole]) & mask) == 0;
}

bool afc__ip_is_loopback(const afc__ip *ip) {
    static const uint8_t mapped[13] = {[10] = 0xff, [11] = 0xff, [12] = 127};
    static const uint8_t one[16] = {[15] = 1};
    if (ip->size == 4) return ip->bytes[0] == 127;
    return memcmp(ip->bytes, one, 16) == 0 || memcmp(ip->bytes, mapped, 13) == 0;
}

/* ---- Public addresses ---------------------------------------------------------------------- */

typedef struct ip_network {
    uint8_t bytes[6];
    uint8_t prefix;
} ip_network;

static bool is_in_any(const afc__ip *ip, const ip_network *networks, size_t count) {
    for (size_t i = 0; i < count; i++) {
        afc__ip network = {.size = ip->size};
        memcpy(network.bytes, networks[i].bytes, ip->size == 4 ? 4 : sizeof networks[i].bytes);
        if (afc__ip_is_in(ip, &network, networks[i].prefix)) return true;
    }
    return false;
}

/** Excludes special-purpose addresses (RFC 6890 and the IANA registry) and multicast. */
static bool is_public_ipv4(const afc__ip *ip) {
    static const ip_network special[] = {
        {{0}, 8},
        {{10}, 8},
        {{100, 64}, 10},
        {{127}, 8},
        {{169, 254}, 16},
        {{172, 16}, 12},
        {{192, 0, 0}, 24},
        {{192, 0, 2}, 24},
        {{192, 88, 99}, 24},
        {{192, 168}, 16},
        {{198, 18}, 15},
        {{198, 51, 100}, 24},
        {{203, 0, 113}, 24},
        {{224}, 3},
    };
    return !is_in_any(ip, special, sizeof special / sizeof *special);
}

/** Returns the IPv4 address that is embedded at byte `at`. */
static afc__ip embedded(const afc__ip *ip, size_t at) {
    afc__ip inner = {.size = 4};
    memcpy(inner.bytes, ip->bytes + at, 4);
    return inner;
}

static bool begins_with(const afc__ip *ip, const char *text, unsigned prefix) {
    afc__ip network;
    return afc__ip_parse(&network, afc_slice_of(text)) && afc__ip_is_in(ip, &network, prefix);
}

/**
 * Returns whether the interface identifier is that of ISATAP: a router of the network then sends packets to the IPv4
 * address in it (RFC 5214 6.1).
 */
static bool is_isatap(const afc__ip *ip) {
    /* The bits "u" and "g" of a modified EUI-64. */
    return (ip->bytes[8] & ~3u) == 0 && ip->bytes[9] == 0 && ip->bytes[10] == 0x5e &&
           ip->bytes[11] == 0xfe;
}

bool afc__ip_is_public(const afc__ip *ip) {
    static const ip_network special[] = {
        {{0x20, 0x01, 0}, 23}, {{0x20, 0x01, 0x0d, 0xb8}, 32}, {{0x3f, 0xff}, 20}};
    static const ip_network unicast[] = {{{0x20}, 3}};
    if (ip->size == 4) return is_public_ipv4(ip);
    if (begins_with(ip, "::ffff:0:0", 96) || begins_with(ip, "64:ff9b::", 96)) {
        afc__ip inner = embedded(ip, 12);
        return is_public_ipv4(&inner);
    }
    if (begins_with(ip, "2002::", 16)) {
        afc__ip inner = embedded(ip, 2);
        return is_public_ipv4(&inner);
    }
    if (is_isatap(ip)) {
        afc__ip inner = embedded(ip, 12);
        if (!is_public_ipv4(&inner)) return false;
    }
    return is_in_any(ip, unicast, 1) && !is_in_any(ip, special, sizeof special / sizeof *special);
}
