/** The key of a stored response: a partition and a normalised URL. Only responses to GET are stored. Pure functions. */
#ifndef AFC_HTTP_CACHE_MEMORY_KEY_H
#define AFC_HTTP_CACHE_MEMORY_KEY_H

#include "base/buffer.h"

#include <afcore/error.h>

/**
 * Appends the key of a URL that afc__url_parse() has normalised. Partitions share no responses. Fails with AFC_EINVAL
 * if the partition contains a line feed, AFC_ETOOBIG or AFC_ENOMEM.
 */
afc_status afc__http_cache_key_make(afc__buffer *out, afc_slice partition, afc_slice url);

/**
 * Does the same for a URL as a program writes it; an internationalised host must be given as A-labels. `partition` may
 * be NULL. Fails with AFC_EINVAL also if the URL is invalid; `failure` may be NULL.
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
