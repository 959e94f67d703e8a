#include "trust/hostname.h"

#include "base/text.h"

#include <arpa/inet.h>
#include <string.h>

/** Reads an address and normalises it. */
static bool read_address(afc__trust_host *out) {
    unsigned char address[16];
    struct in_addr short_form;
    if (inet_pton(AF_INET6, out->text, address) == 1) {
        return inet_ntop(AF_INET6, address, out->text, sizeof out->text) != NULL;
    }
    /*
     * URL parsers treat a host that ends in a number as an IPv4 address (WHATWG URL), and it would be connected to
     * as one.
     */
    const char *label = strrchr(out->text, '.');
    label = label != NULL ? label + 1 : out->text;
    if (!afc__is_digit(*label) || inet_aton(out->text, &short_form) == 0) return false;
    return inet_ntop(AF_INET, &short_form, out->text, sizeof out->text) != NULL;
}

static bool has_good_labels(const char *text) {
    size_t length = 0;
    for (const char *at = text; *at != '\0'; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte <= ' ' || byte >= 127 || strchr("*:/[]@\\", byte) != NULL) return false;
        if (byte == '.' && length == 0) return false;
        length = byte == '.' ? 0 : length + 1;
    }
    return length > 0;
}

bool afc__trust_host_read(afc__trust_host *out, const char *text) {
    size_t size = strlen(text);
    memset(out, 0, sizeof *out);
    if (size > 2 && text[0] == '[' && text[size - 1] == ']') {
        text++;
        size -= 2;
    }
    if (size > 1 && text[size - 1] == '.') size--;
    if (size == 0 || size >= sizeof out->text) return false;
    for (size_t i = 0; i < size; i++) out->text[i] = afc__lower(text[i]);
    out->is_address = read_address(out);
    return out->is_address || has_good_labels(out->text);
}

bool afc__host_pattern_read(afc__host_pattern *out, const char *text, bool includes_subdomains) {
    out->kind = includes_subdomains ? AFC__PATTERN_SUBDOMAINS : AFC__PATTERN_EXACT;
    if (text[0] == '*' && text[1] == '.') {
        if (includes_subdomains) return false;
        out->kind = AFC__PATTERN_WILDCARD;
        text += 2;
    }
    if (!afc__trust_host_read(&out->host, text)) return false;
    return out->kind == AFC__PATTERN_EXACT || !out->host.is_address;
}

unsigned afc__host_pattern_specificity(const afc__host_pattern *pattern,
                                       const afc__trust_host *host) {
    size_t size = strlen(host->text), wanted = strlen(pattern->host.text);
    if (host->is_address != pattern->host.is_address || size < wanted) return 0;
    size_t before = size - wanted;
    if (strcmp(host->text + before, pattern->host.text) != 0) return 0;
    unsigned specificity = 4 * (unsigned)wanted;
    if (before == 0) {
        if (pattern->kind == AFC__PATTERN_WILDCARD) return 0;
        return pattern->kind == AFC__PATTERN_EXACT ? specificity + 3 : specificity + 2;
    }
    bool is_below = host->text[before - 1] == '.';
    if (!is_below || pattern->kind == AFC__PATTERN_EXACT) return 0;
    if (pattern->kind == AFC__PATTERN_SUBDOMAINS) return specificity + 1;
    return memchr(host->text, '.', before - 1) == NULL ? specificity + 2 : 0;
}
