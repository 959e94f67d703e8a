/** The easy handles of a driver: which may carry another hop, and which can't be freed yet. */
#ifndef AFC_CURL_HANDLE_POOL_H
#define AFC_CURL_HANDLE_POOL_H

#include "curl/driver.h"

/* Limits memory: a parked handle and its lookup use some 30 KiB until the session ends. */
enum { AFC__PARKED_HANDLES_MAX = 256 };

/** The handles that are linked through `next_free` carry no hop. */
typedef struct afc__handle_pool {
    afc__exchange *idle;
    afc__exchange *parked; /**< Unused until the session ends; see must_be_parked(). */
    size_t idle_count, parked_count;
    size_t count; /**< All, with those in use. */
} afc__handle_pool;

/** Makes a handle, to be given back. Fails like afc__exchange_new(). */
afc_status afc__handle_pool_make(afc__exchange **out, afc__driver *driver, afc_failure *failure);

/** Takes an idle handle out of the pool. Returns NULL if the pool is empty. The caller gives the handle back. */
afc__exchange *afc__handle_pool_take(afc__handle_pool *pool);

/** Resets the handle, whose hop has ended, and keeps or frees it. */
void afc__handle_pool_give_back(afc__exchange *exchange);

/** Frees the idle handles, before the multi handle, and the parked ones, after it. */
void afc__handle_pool_free_idle(afc__handle_pool *pool);
void afc__handle_pool_free_parked(afc__handle_pool *pool);

/** Returns whether another name may be looked up over HTTPS, although its handle might have to be parked. */
static inline bool afc__handle_pool_may_park(const afc__handle_pool *pool) {
    return pool->parked_count < AFC__PARKED_HANDLES_MAX;
}

#endif
