/** Chooses the proxy of a hop and configures libcurl for it. */
#ifndef AFC_CURL_REQUEST_PROXY_H
#define AFC_CURL_REQUEST_PROXY_H

#include "curl/driver.h"

#include <curl/curl.h>

/** Returns the proxy of the next hop; NULL: none. See afc__proxies_choose(). */
afc_status afc__driver_choose_proxy(const afc__driver *driver, const afc__transfer *transfer,
                                    const afc__proxy **out, afc_failure *failure);

/**
 * Chooses the proxy of this hop and configures libcurl. Call it after all other options of the hop
 * are set.
 */
afc_status afc__exchange_set_proxy(afc__exchange *exchange, afc_failure *failure);

/** Reads the proxies from the environment, or from the options. */
afc_status afc__driver_set_proxies(afc__driver *driver, const afc_proxies *proxies,
                                   afc_failure *failure);

/**
 * Checks that DNS over HTTPS would use no other proxy than the session's own. libcurl's handles for it get no proxy
 * options and read the environment. NULL: it isn't used. AFC_EUNSUPPORTED, AFC_EINVAL, AFC_ENOMEM.
 */
afc_status afc__driver_check_doh_proxy(const afc__driver *driver, const char *doh_url,
                                       afc_failure *failure);

/** Maps a libcurl code that the proxy caused; AFC_OK: the proxy isn't the cause. */
afc_status afc__exchange_map_proxy_result(const afc__exchange *exchange, CURLcode code);

#endif
