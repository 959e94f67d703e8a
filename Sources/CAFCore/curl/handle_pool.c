#include "curl/handle_pool.h"

#include "curl/exchange.h"
#include "curl/exchange_state.h"
#include "curl/request/network.h"

/* Maximum number of idle handles, which take about 8 KiB each. Those beyond it are freed after a burst. */
enum { MAX_IDLE_HANDLES = 128 };

/* ---- Which handles ------------------------------------------------------------------------- */

/**
 * Returns whether the handle, whose hop has ended, must not be freed before the multi handle: see
 * afc__quirks.frees_lookups_too_early. A lookup that has failed isn't in progress any more.
 */
static bool must_be_parked(const afc__exchange *exchange) {
    if (!exchange->driver->quirks.frees_lookups_too_early || !exchange->hop.is_looking_up)
        return false;
    bool has_no_name = exchange->run.code == CURLE_COULDNT_RESOLVE_HOST ||
                       exchange->run.code == CURLE_COULDNT_RESOLVE_PROXY;
    return !exchange->run.has_ended || !has_no_name;
}

/** Returns whether the handle, whose hop has ended, may carry another one. */
static bool may_serve_again(const afc__exchange *exchange) {
    const afc__driver *driver = exchange->driver;
    /*
     * A handle that was cancelled while it waited for a connection keeps its buffers, and then refuses other sizes for
     * them (CURLOPT_BUFFERSIZE). After a refused option, its buffers may not match its state.
     */
    if (!afc__exchange_is_connected(exchange)) return false;
    /* libcurl keeps more state of NTLM and Negotiate than can be reset. */
    if (exchange->state.connection_auth) return false;
    /* libcurl before 8.8 never clears CURLINFO_OS_ERRNO: it would apply to the next hop. */
    long system_error = 0;
    curl_easy_getinfo(exchange->easy, CURLINFO_OS_ERRNO, &system_error);
    if (system_error != 0) return false;
    /*
     * libcurl repeats a request whose pooled connection ended without a response. It counts the repetitions in the
     * handle, of all of its requests, and fails at the sixth (Curl_retry_request() in lib/transfer.c). Only
     * curl_easy_reset() clears the number.
     */
    if (exchange->hop.was_repeated || exchange->run.progress == AFC__PROGRESS_SENT) return false;
    /*
     * Handles that libcurl has made for DNS over HTTPS may still be looking up the hop's name; they are freed with this
     * one.
     */
    bool is_done = exchange->run.has_ended && exchange->run.code == CURLE_OK;
    return afc__network_doh_host(driver->network) == NULL || is_done;
}

/* ---- Taking and giving back ---------------------------------------------------------------- */

afc_status afc__handle_pool_make(afc__exchange **out, afc__driver *driver, afc_failure *failure) {
    afc_status status = afc__exchange_new(out, driver, failure);
    if (status != AFC_OK) return status;
    (*out)->multi_number = driver->multi.number;
    driver->pool.count++;
    return AFC_OK;
}

static void push(afc__exchange **list, size_t *count, afc__exchange *exchange) {
    exchange->next_free = *list;
    *list = exchange;
    ++*count;
}

static afc__exchange *pop(afc__exchange **list, size_t *count) {
    afc__exchange *exchange = *list;
    if (exchange == NULL) return NULL;
    *list = exchange->next_free;
    --*count;
    return exchange;
}

afc__exchange *afc__handle_pool_take(afc__handle_pool *pool) {
    return pop(&pool->idle, &pool->idle_count);
}

static void free_handle(afc__handle_pool *pool, afc__exchange *exchange) {
    afc__exchange_free(exchange);
    pool->count--;
}

void afc__handle_pool_give_back(afc__exchange *exchange) {
    afc__driver *driver = exchange->driver;
    afc__handle_pool *pool = &driver->pool;
    /* These depend on the hop, which is reset below. */
    bool is_current = exchange->multi_number == driver->multi.number;
    bool stays = is_current && may_serve_again(exchange);
    bool is_parked = is_current && must_be_parked(exchange);
    afc__exchange_reset(exchange);
    if (is_parked) {
        push(&pool->parked, &pool->parked_count, exchange);
    } else if (stays && pool->idle_count < MAX_IDLE_HANDLES) {
        push(&pool->idle, &pool->idle_count, exchange);
    } else {
        driver->multi.is_abandoning = true;
        free_handle(pool, exchange);
        driver->multi.is_abandoning = false;
    }
}

void afc__handle_pool_free_idle(afc__handle_pool *pool) {
    afc__exchange *exchange;
    while ((exchange = pop(&pool->idle, &pool->idle_count)) != NULL) free_handle(pool, exchange);
}

void afc__handle_pool_free_parked(afc__handle_pool *pool) {
    afc__exchange *exchange;
    while ((exchange = pop(&pool->parked, &pool->parked_count)) != NULL)
        free_handle(pool, exchange);
}
