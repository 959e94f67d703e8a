#include "http_cache/key.h"

#include "base/text.h"

#include <string.h>

afc_status afc__cache_key_make(afc__buffer *out, afc_slice partition, afc_slice url) {
    if (partition.size != 0 && memchr(partition.bytes, '\n', partition.size) != NULL) {
        return AFC_EINVAL;
    }
    afc_status status = afc__buffer_append_two(out, partition, (afc_slice){"\n", 1});
    return status == AFC_OK ? afc__buffer_append(out, url.bytes, url.size) : status;
}

afc_slice afc__cache_key_url(afc_slice key) {
    const char *line = key.size != 0 ? memchr(key.bytes, '\n', key.size) : NULL;
    if (line == NULL) return key;
    size_t start = (size_t)(line - key.bytes) + 1;
    return (afc_slice){key.bytes + start, key.size - start};
}

afc_slice afc__cache_key_host(afc_slice key) {
    afc_slice url = afc__cache_key_url(key);
    const char *scheme_end = url.size != 0 ? memmem(url.bytes, url.size, "://", 3) : NULL;
    if (scheme_end == NULL) return (afc_slice){0};
    const char *end = url.bytes + url.size, *start = scheme_end + 3;
    bool is_address = start < end && *start == '[';
    const char *stops = is_address ? "]" : ":/?";
    if (is_address) start++;
    const char *at = start;
    while (at < end && strchr(stops, *at) == NULL) at++;
    return (afc_slice){start, (size_t)(at - start)};
}
