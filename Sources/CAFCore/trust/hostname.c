#include "trust/hostname.h"

#include "base/domain.h"
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
    afc_slice host = afc_slice_of(text);
    memset(out, 0, sizeof *out);
    if (host.size > 2 && text[0] == '[' && text[host.size - 1] == ']') {
        host = (afc_slice){text + 1, host.size - 2};
    }
    host = afc__without_dot(host);
    if (host.size == 0 || host.size >= sizeof out->text) return false;
    for (size_t i = 0; i < host.size; i++) out->text[i] = afc__lower(host.bytes[i]);
    /* Read as URLs are: otherwise a rule could be for another host than the one that is connected to. */
    afc__ip address;
    afc__host_kind kind = afc__ip_read_host(&address, afc_slice_of(out->text));
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
    afc_slice name = afc_slice_of(host->text), wanted = afc_slice_of(pattern->host.text);
    if (host->is_address != pattern->host.is_address) return 0;
    if (!afc__is_in_domain(name, wanted)) return 0;
    size_t before = name.size - wanted.size;
    unsigned specificity = 4 * (unsigned)wanted.size;
    if (before == 0) {
        if (pattern->kind == AFC__PATTERN_WILDCARD) return 0;
        return pattern->kind == AFC__PATTERN_EXACT ? specificity + 3 : specificity + 2;
    }
    if (pattern->kind == AFC__PATTERN_EXACT) return 0;
    if (pattern->kind == AFC__PATTERN_SUBDOMAINS) return specificity + 1;
    return memchr(host->text, '.', before - 1) == NULL ? specificity + 2 : 0;
}
