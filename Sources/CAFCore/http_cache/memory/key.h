/** The key of a stored response: a partition and a normalised URL. Only responses to GET are stored. Pure. */
#ifndef AFC_HTTP_CACHE_MEMORY_KEY_H
#define AFC_HTTP_CACHE_MEMORY_KEY_H

#include "base/buffer.h"

#include <afcore/error.h>

/**
 * Appends the key of a URL, normalised as afc__url_parse() does. Partitions share no responses; one has no line feed.
 * AFC_EINVAL (a line feed), AFC_ETOOBIG, AFC_ENOMEM.
 */
afc_status afc__http_cache_key_make(afc__buffer *out, afc_slice partition, afc_slice url);

/**
 * As afc__http_cache_key_make(), for a URL as a program writes it, with an internationalised host as A-labels.
 * `partition` may be NULL. AFC_EINVAL also for an invalid URL; `failure` may be NULL.
 */
afc_status afc__http_cache_key_parse(afc__buffer *out, const char *partition, const char *url,
                                     afc_failure *failure);

/** Returns the partition in a key. */
afc_slice afc__http_cache_key_partition(afc_slice key);

/** Returns the URL in a key. */
afc_slice afc__http_cache_key_url(afc_slice key);

/** Returns the host in a key's URL, without brackets and port. */
afc_slice afc__http_cache_key_host(afc_slice key);

#endif
