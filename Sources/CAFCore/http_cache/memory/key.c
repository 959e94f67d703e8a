#include "http_cache/memory/key.h"

#include "base/failure.h"
#include "base/text.h"
#include "message/url.h"

#include <string.h>

afc_status afc__http_cache_key_make(afc__buffer *out, afc_slice partition, afc_slice url) {
    if (partition.size != 0 && memchr(partition.bytes, '\n', partition.size) != NULL) {
        return AFC_EINVAL;
    }
    afc_status status = afc__buffer_append_two(out, partition, (afc_slice){"\n", 1});
    return status == AFC_OK ? afc__buffer_append(out, url.bytes, url.size) : status;
}

afc_status afc__http_cache_key_parse(afc__buffer *out, const char *partition, const char *url,
                                     afc_failure *failure) {
    afc__url parsed;
    afc_status status = afc__url_parse(&parsed, afc_slice_of(url), failure);
    if (status != AFC_OK) return status;
    status = afc__http_cache_key_make(out, afc_slice_of(partition), afc_slice_of(parsed.text));
    afc__url_clear(&parsed);
    if (status == AFC_EINVAL) {
        return afc__fail(failure, status, "a partition must not contain a line feed");
    }
    if (status == AFC_ETOOBIG) {
        return afc__fail(failure, status, "partition and URL are too long for the cache");
    }
    return status == AFC_ENOMEM ? afc__fail_memory(failure) : status;
}

afc_slice afc__http_cache_key_partition(afc_slice key) {
    const char *line = key.size != 0 ? memchr(key.bytes, '\n', key.size) : NULL;
    return (afc_slice){key.bytes, line != NULL ? (size_t)(line - key.bytes) : 0};
}

afc_slice afc__http_cache_key_url(afc_slice key) {
    const char *line = key.size != 0 ? memchr(key.bytes, '\n', key.size) : NULL;
    if (line == NULL) return key;
    size_t start = (size_t)(line - key.bytes) + 1;
    return (afc_slice){key.bytes + start, key.size - start};
}

afc_slice afc__http_cache_key_host(afc_slice key) {
    afc_slice url = afc__http_cache_key_url(key);
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
