/** Chooses the proxy of a hop and configures libcurl for it. Loop thread only, unless stated otherwise. */
#ifndef AFC_CURL_REQUEST_PROXY_H
#define AFC_CURL_REQUEST_PROXY_H

#include "curl/driver.h"

#include <curl/curl.h>

/**
 * Sets `*out` to the proxy of the next hop, or to NULL if it uses none. Fails with AFC_EUNSUPPORTED if the proxy would
 * make the check of addresses impossible, and like afc__proxies_choose().
 */
afc_status afc__driver_choose_proxy(const afc__driver *driver, const afc__transfer *transfer,
                                    const afc__proxy **out, afc_failure *failure);

/**
 * Chooses the proxy of this hop, stores it in afc__hop.proxy and configures libcurl. Call it after all other options of
 * the hop are set. Fails like afc__driver_choose_proxy() and afc__exchange_set_proxy_auth().
 */
afc_status afc__exchange_set_proxy(afc__exchange *exchange, afc_failure *failure);

/**
 * Reads the session's proxies from the environment or the options, before its loop runs. Fails like
 * afc__proxies_init().
 */
afc_status afc__driver_set_proxies(afc__driver *driver, const afc_proxies *proxies,
                                   afc_failure *failure);

/**
 * Checks that DNS over HTTPS uses no other proxy than the session's. The handles that libcurl makes for it get no proxy
 * options and read the environment. `doh_url` may be NULL. Fails with AFC_EUNSUPPORTED, AFC_EINVAL or AFC_ENOMEM.
 */
afc_status afc__driver_check_doh_proxy(const afc__driver *driver, const char *doh_url,
                                       afc_failure *failure);

/** Returns the status for a libcurl code that the proxy caused, or AFC_OK if the proxy isn't the cause. */
afc_status afc__exchange_map_proxy_result(const afc__exchange *exchange, CURLcode code);

#endif
