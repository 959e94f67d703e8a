/*
 * Which easy handles carry another hop, and how: libcurl keeps more in them than options.
 */
#include "curl/driver_internal.h"

/**
 * libcurl 7.84.0 to 8.0.1 keep a pointer to the last field of a response beyond the transfer, whose fields they
 * free, and append a folded line to it: a first line that begins with a space would then corrupt memory.
 * curl_easy_reset() keeps the pointer too. Within one transfer it is good: libcurl frees no field of several
 * responses, of rounds of authentication for example, before the next transfer begins.
 */
bool af__handles_serve_once(void) {
    unsigned version = curl_version_info(CURLVERSION_NOW)->version_num;
    return version >= 0x075400 && version < 0x080100;
}

bool af__exchange_renew(af__exchange *exchange) {
    if (!exchange->driver->handles_serve_once) return true;
    /* Far cheaper than setting every option again. All options go along but the share. */
    CURL *fresh = curl_easy_duphandle(exchange->easy);
    if (fresh == NULL) return false;
    if (curl_easy_setopt(fresh, CURLOPT_SHARE, exchange->driver->share) != CURLE_OK) {
        curl_easy_cleanup(fresh);
        return false;
    }
    curl_easy_cleanup(exchange->easy);
    exchange->easy = fresh;
    return true;
}

bool af__exchange_may_serve_again(const af__exchange *exchange) {
    const af__driver *driver = exchange->driver;
    /*
     * Cancelled while it waited for a connection, a handle keeps its buffers, and then refuses other sizes of
     * them; after an option that was refused it may not have those that its state says.
     */
    if (exchange->attempt == AF__ATTEMPT_NONE) return false;
    /* libcurl keeps more of NTLM and Negotiate than can be reset. */
    if (exchange->state.connection_auth) return false;
    /* Before 8.8 it never clears this: it would be the next hop's. */
    long system_error = 0;
    curl_easy_getinfo(exchange->easy, CURLINFO_OS_ERRNO, &system_error);
    if (system_error != 0 && !driver->handles_serve_once) return false;
    /* libcurl's own handles that ask for its name may still be under way: they go with it. */
    bool is_done = exchange->has_ended && exchange->code == CURLE_OK;
    return af__network_doh_host(driver->network) == NULL || is_done;
}
