/** Which proxy a hop goes through, and what libcurl is told of it. */
#ifndef AF_CURL_PROXY_H
#define AF_CURL_PROXY_H

#include "curl/driver_internal.h"

/** The proxy of the next hop; NULL: none. As af__proxies_choose(). */
af_status af__driver_choose_proxy(const af__driver *driver, const af__transfer *transfer,
                                  const af__proxy **out, af_failure *failure);

/** Choose the proxy of this hop, and tell libcurl. After everything else that the hop needs. */
af_status af__exchange_set_proxy(af__exchange *exchange, af_failure *failure);

/** Read the environment, or take what is given. */
af_status af__driver_set_proxies(af__driver *driver, const af_proxies *proxies,
                                 af_failure *failure);

/** What a libcurl code means that is the proxy's doing; AF_OK: it is not. */
af_status af__exchange_map_proxy_result(const af__exchange *exchange, CURLcode code);

#endif
