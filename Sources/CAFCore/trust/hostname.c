#include "trust/hostname.h"

#include "base/text.h"
#include "message/ip.h"

#include <string.h>

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
    /* As URLs are read, or a rule would be for another host than the one that is connected to. */
    afc__ip address;
    afc__host_kind kind = afc__ip_read_host(&address, (afc_slice){out->text, size});
    out->is_address = kind == AFC__HOST_ADDRESS;
    if (out->is_address) afc__ip_write(&address, out->text);
    return out->is_address || (kind == AFC__HOST_NAME && has_good_labels(out->text));
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
