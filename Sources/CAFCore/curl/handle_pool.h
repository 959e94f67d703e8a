/**
 * The pool of a driver's easy handles: idle ones, which may carry another hop, and parked ones, which can't be used or
 * freed before the session ends. Loop thread only.
 */
#ifndef AFC_CURL_HANDLE_POOL_H
#define AFC_CURL_HANDLE_POOL_H

#include "curl/driver.h"

/* A limit of memory: a parked handle and its lookup take about 30 KiB until the session ends. */
enum { AFC__PARKED_HANDLES_MAX = 256 };

/** The pool. Its lists are linked through `next_free`; their handles carry no hop. */
typedef struct afc__handle_pool {
    afc__exchange *idle;
    /** Neither used nor freed until the session ends; see must_be_parked(). */
    afc__exchange *parked;
    size_t idle_count, parked_count;
    size_t count; /**< All handles, including those in use. */
} afc__handle_pool;

/** Makes an easy handle. The caller gives it back with afc__handle_pool_give_back(). Fails like afc__exchange_new(). */
afc_status afc__handle_pool_make(afc__exchange **out, afc__driver *driver, afc_failure *failure);

/** Takes an idle handle out of the pool. Returns NULL if the pool is empty. The caller gives the handle back. */
afc__exchange *afc__handle_pool_take(afc__handle_pool *pool);

/** Resets the handle, whose hop has ended, and pools, parks or frees it. */
void afc__handle_pool_give_back(afc__exchange *exchange);

/** Frees the idle handles; call it before the multi handle is freed. */
void afc__handle_pool_free_idle(afc__handle_pool *pool);
/** Frees the parked handles; call it after the multi handle was freed. */
void afc__handle_pool_free_parked(afc__handle_pool *pool);

/** Returns whether another lookup with DNS over HTTPS may begin, although its handle may have to be parked. */
static inline bool afc__handle_pool_may_park(const afc__handle_pool *pool) {
    return pool->parked_count < AFC__PARKED_HANDLES_MAX;
}

#endif
