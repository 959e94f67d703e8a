/** The multi handle of a driver, and its replacement after an error that libcurl doesn't recover from. */
#ifndef AFC_CURL_MULTI_HANDLE_H
#define AFC_CURL_MULTI_HANDLE_H

#include "curl/driver.h"

#include <curl/curl.h>

typedef struct afc__multi {
    CURLM *handle;      /**< NULL: memory was too short for another one. */
    CURLMcode error;    /**< Other than CURLM_OK: `handle` is unusable. */
    unsigned number;    /**< How many were replaced. */
    bool is_abandoning; /**< libcurl is releasing connections with unfinished exchanges. */
} afc__multi;

/**
 * Keeps an error after which the multi handle is unusable. libcurl 7.88.1, for example, leaves a hash without buckets
 * when memory is short, and divides by their number in the next call. After CURLM_ABORTED_BY_CALLBACK (a socket can't
 * be watched) it crashes when it fails a transfer that has no connection. Harmless are: CURLM_CALL_MULTI_PERFORM, which
 * libcurl no longer returns; CURLM_BAD_SOCKET and CURLM_RECURSIVE_API_CALL, which it returns before it changes
 * anything.
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

/** Returns whether libcurl may run its transfers. */
static inline bool afc__multi_is_usable(const afc__multi *multi) {
    return multi->handle != NULL && !afc__multi_is_broken(multi);
}

/** Makes the driver's multi handle. AFC_ENOMEM: it has none. */
afc_status afc__multi_make(afc__driver *driver, afc_failure *failure);

/** Closes every connection and frees what may only be freed after that. */
void afc__multi_free(afc__driver *driver);

/**
 * If the multi handle is unusable, ends every exchange with an error, closes every connection and makes a new
 * handle. AFC_ENOMEM: there is no handle. Don't call it inside libcurl.
 */
afc_status afc__multi_replace_if_broken(afc__driver *driver, afc_failure *failure);

#endif
