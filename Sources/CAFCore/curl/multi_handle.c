#include "curl/multi_handle.h"

#include "base/failure.h"
#include "curl/body/direct_io.h"
#include "curl/connection/sockets.h"
#include "curl/exchange_state.h"
#include "curl/request/resolve.h"

/* After how many connections a multi handle is replaced, if libcurl keeps their hosts. */
enum { MAX_OPENED = 1024 };

static bool set_options(const afc__driver *driver) {
    CURLM *multi = driver->multi.handle;
    long pipelining = driver->quirks.multiplexes ? CURLPIPE_MULTIPLEX : CURLPIPE_NOTHING;
    return curl_multi_setopt(multi, CURLMOPT_PIPELINING, pipelining) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, (long)AFC__STREAMS_MAX) ==
               CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, driver->max_idle_connections) ==
               CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS,
                             (long)driver->max_connections_per_host) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS,
                             (long)driver->max_connections) == CURLM_OK;
}

afc_status afc__multi_make(afc__driver *driver, afc_failure *failure) {
    driver->multi.handle = curl_multi_init();
    driver->multi.opened = driver->pooled.opened;
    if (driver->multi.handle != NULL && set_options(driver) && afc__driver_use_loop(driver))
        return AFC_OK;
    if (driver->multi.handle != NULL) curl_multi_cleanup(driver->multi.handle);
    driver->multi.handle = NULL;
    return afc__fail(failure, AFC_ENOMEM, "out of memory for libcurl");
}

void afc__multi_free(afc__driver *driver) {
    /* No exchange is left that could handle input on the connections closed below. */
    afc__driver_forget_last(driver);
    /* Idle handles have loaded host overrides into the DNS cache of this multi handle; new ones load them again. */
    afc__handle_pool_free_idle(&driver->pool);
    if (driver->multi.handle != NULL) curl_multi_cleanup(driver->multi.handle);
    driver->multi.handle = NULL;
    afc__handle_pool_free_parked(&driver->pool);
}

/* ---- Replacing ----------------------------------------------------------------------------- */

static void end_exchange(afc__exchange *exchange, CURLMcode error) {
    curl_multi_remove_handle(exchange->driver->multi.handle, exchange->easy);
    afc__direct_reset(exchange);
    bool is_unwatched = error == CURLM_ABORTED_BY_CALLBACK;
    bool lacks_memory = error == CURLM_OUT_OF_MEMORY || is_unwatched;
    afc_status status = lacks_memory ? AFC_ENOMEM : AFC_EINTERNAL;
    if (is_unwatched) {
        afc__fail(&exchange->own_failure, status,
                  "a socket couldn't be watched: out of memory, or of fs.epoll.max_user_watches");
    } else {
        afc__fail(&exchange->own_failure, status, "libcurl failed: %s", curl_multi_strerror(error));
    }
    afc__exchange_end_with(exchange, lacks_memory ? CURLE_OUT_OF_MEMORY : CURLE_FAILED_INIT);
    /* An exchange that failed before libcurl got it is in driver->names.failed already. */
    if (exchange->hosts.stage != AFC__STAGE_FAILED) afc__exchange_report_end(exchange);
}

/** Frees the multi handle, so that another one is made. */
static void give_up(afc__driver *driver) {
    driver->multi.number++;
    afc__multi_free(driver);
    afc__loop_disarm(driver->loop, &driver->alarm);
    afc__names_forget_loaded(driver);
}

void afc__multi_free_if_grown(afc__driver *driver) {
    bool has_grown = driver->quirks.keeps_closed_hosts &&
                     driver->pooled.opened - driver->multi.opened >= MAX_OPENED;
    if (has_grown && afc__list_is_empty(&driver->running) && afc__multi_is_usable(&driver->multi))
        give_up(driver);
}

afc_status afc__multi_replace_if_broken(afc__driver *driver, afc_failure *failure) {
    CURLMcode error = driver->multi.error;
    if (error != CURLM_OK) {
        driver->multi.error = CURLM_OK;
        afc__list *running = &driver->running;
        for (afc__node *node = running->head.next; node != &running->head; node = node->next) {
            end_exchange(AFC__OWNER(node, afc__exchange, running_node), error);
        }
        driver->multi.is_abandoning = true;
        give_up(driver);
        driver->multi.is_abandoning = false;
    }
    return driver->multi.handle != NULL ? AFC_OK : afc__multi_make(driver, failure);
}
