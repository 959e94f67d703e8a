/**
 * The multi handle of a driver, and its replacement: after an error that libcurl doesn't recover from, and by versions of
 * libcurl that keep something for each host.
 */
#ifndef AFC_CURL_MULTI_HANDLE_H
#define AFC_CURL_MULTI_HANDLE_H

#include "curl/driver.h"

#include <curl/curl.h>

typedef struct afc__multi {
    CURLM *handle;   /**< NULL if there was no memory for a new one. */
    CURLMcode error; /**< Unless CURLM_OK, `handle` is unusable. */
    unsigned number; /**< How many handles were replaced so far. */
    uint64_t opened; /**< afc__connections.opened when `handle` was made. */
    /** libcurl is releasing handles or connections of unfinished exchanges: their sockets are shut down. */
    bool is_abandoning;
} afc__multi;

/**
 * Stores an error after which the multi handle is unusable.
 *
 * - libcurl 7.88.1, for example, leaves a hash without buckets when memory is short, and divides by their number in the
 *   next call.
 * - After CURLM_ABORTED_BY_CALLBACK (a socket can't be watched) it crashes when it fails a transfer that has no
 *   connection.
 * - Harmless are CURLM_CALL_MULTI_PERFORM, which libcurl no longer returns, and CURLM_BAD_SOCKET and
 *   CURLM_RECURSIVE_API_CALL, which it returns before it changes anything.
 */
static inline void afc__multi_check(afc__multi *multi, CURLMcode code) {
    bool is_harmless = code == CURLM_OK || code == CURLM_CALL_MULTI_PERFORM ||
                       code == CURLM_BAD_SOCKET || code == CURLM_RECURSIVE_API_CALL;
    if (!is_harmless) multi->error = code;
}

/** Returns whether the multi handle is about to be replaced, and must not be used until then. */
static inline bool afc__multi_is_broken(const afc__multi *multi) {
    return multi->error != CURLM_OK;
}

/** Returns whether there is a multi handle that may be used. */
static inline bool afc__multi_is_usable(const afc__multi *multi) {
    return multi->handle != NULL && !afc__multi_is_broken(multi);
}

/** Makes the driver's multi handle. Fails with AFC_ENOMEM; `handle` is then NULL. */
afc_status afc__multi_make(afc__driver *driver, afc_failure *failure);

/**
 * Frees the multi handle, which closes every connection, the idle easy handles before it and the parked ones after it.
 */
void afc__multi_free(afc__driver *driver);

/**
 * If the multi handle is unusable, ends every exchange with an error, closes every connection and makes a new handle.
 * Fails with AFC_ENOMEM; there is no handle then. Don't call it inside libcurl.
 */
afc_status afc__multi_replace_if_broken(afc__driver *driver, afc_failure *failure);

/**
 * Frees the multi handle if it has opened many connections, no exchange runs, and libcurl keeps an entry for each host
 * (afc__quirks.keeps_closed_hosts). Call afc__multi_replace_if_broken() afterwards, and neither inside libcurl.
 */
void afc__multi_free_if_grown(afc__driver *driver);

#endif
