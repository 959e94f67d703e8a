/** Chooses the proxy of a hop and configures libcurl for it. */
#ifndef AF_CURL_PROXY_H
#define AF_CURL_PROXY_H

#include "curl/driver_internal.h"

/** Returns the proxy of the next hop; NULL: none. See af__proxies_choose(). */
af_status af__driver_choose_proxy(const af__driver *driver, const af__transfer *transfer,
                                  const af__proxy **out, af_failure *failure);

/**
 * Chooses the proxy of this hop and configures libcurl. Call it after all other options of the hop
 * are set.
 */
af_status af__exchange_set_proxy(af__exchange *exchange, af_failure *failure);

/** Reads the proxies from the environment, or from the options. */
af_status af__driver_set_proxies(af__driver *driver, const af_proxies *proxies,
                                 af_failure *failure);

/** Maps a libcurl code that the proxy caused; AF_OK: the proxy isn't the cause. */
af_status af__exchange_map_proxy_result(const af__exchange *exchange, CURLcode code);

#endif
