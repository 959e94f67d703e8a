#include "curl/driver.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/failure.h"
#include "curl/allocator.h"
#include "curl/body/body_flow.h"
#include "curl/body/decoder.h"
#include "curl/body/direct_io.h"
#include "curl/body/early_response.h"
#include "curl/body/peer_end.h"
#include "curl/connection/connection_auth.h"
#include "curl/connection/connection_reuse.h"
#include "curl/connection/pruning.h"
#include "curl/connection/sockets.h"
#include "curl/exchange.h"
#include "curl/exchange_state.h"
#include "curl/library.h"
#include "curl/metrics.h"
#include "curl/multi_handle.h"
#include "curl/outcome.h"
#include "curl/request/idn.h"
#include "curl/request/network.h"
#include "curl/request/proxy.h"
#include "curl/trace.h"

#include <string.h>

/* ---- Making and ending --------------------------------------------------------------------- */

static bool set_share(CURLSH *share) {
    /* No CURLSHOPT_LOCKFUNC is needed: the share never leaves the loop thread. */
    return curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION) == CURLSHE_OK;
}

/** Sets up TLS to proxies. They get no client certificate; only servers do. */
static afc_status set_proxy_tls(afc__driver *driver, const afc_session_options *options,
                                afc_failure *failure) {
    afc_tls_options tls = {.min_version = options->tls.min_version,
                           .max_version = options->tls.max_version,
                           .ciphers = options->tls.ciphers,
                           .cipher_suites = options->tls.cipher_suites,
                           .write_key_log = options->tls.write_key_log};
    return afc__tls_new(&driver->proxy_tls, options->proxy_trust, &tls, failure);
}

afc_status afc__driver_new(afc__driver **out, afc__loop *loop, const afc_session_options *options,
                           afc_failure *failure) {
    *out = NULL;
    afc_status status = afc__libcurl_check(failure);
    if (status != AFC_OK) return status;
    afc__driver *driver = afc__zalloc(sizeof *driver);
    if (driver == NULL) return afc__fail_memory(failure);
    driver->loop = loop;
    afc__body_lists_init(&driver->bodies);
    afc__pruning_init(driver);
    afc__list_init(&driver->running);
    afc__list_init(&driver->ended_attempts);
    driver->encodings = afc__decodable_codings();
    driver->auth_schemes = afc__connection_schemes();
    driver->quirks = afc__quirks_of(afc__libcurl_info()->version_num);
    driver->max_idle_s = (long)options->max_idle_s;
    driver->max_age_s = (long)options->max_connection_age_s;
    driver->pooled.max_requests = options->max_requests_per_connection;
    /*
     * 0 seconds must mean that no connection is reused. But to CURLOPT_MAXAGE_CONN, 0 means less than a second, or in
     * later versions no limit.
     */
    driver->forbids_reuse = options->max_idle_connections == 0 || options->max_idle_s == 0;
    driver->max_connections_per_host = options->max_connections_per_host;
    driver->max_connections = options->max_connections;
    driver->max_idle_connections = options->max_idle_connections != 0
                                       ? (long)options->max_idle_connections
                                       : 1;
    status = afc__driver_set_proxies(driver, &options->proxies, failure);
    if (status == AFC_OK) {
        status = afc__network_new(&driver->network, &options->network,
                                  options->max_connections != 0, failure);
    }
    if (status == AFC_OK) {
        status = afc__driver_check_doh_proxy(driver, options->network.doh_url, failure);
    }
    if (status == AFC_OK) status = afc__names_init(driver, failure);
    if (status == AFC_OK) {
        status = afc__tls_new(&driver->tls, options->trust, &options->tls, failure);
    }
    if (status == AFC_OK) status = set_proxy_tls(driver, options, failure);
    if (status == AFC_OK) {
        driver->memory = afc__memory_new();
        driver->share = curl_share_init();
        if (options->user_agent != NULL) {
            driver->user_agent = afc__copy_text(afc_slice_of(options->user_agent));
        }
        bool is_complete = driver->memory != NULL && driver->share != NULL &&
                           (options->user_agent == NULL || driver->user_agent != NULL) &&
                           afc__multi_make(driver, NULL) == AFC_OK && set_share(driver->share);
        if (!is_complete) status = afc__fail(failure, AFC_ENOMEM, "out of memory for libcurl");
    }
    if (status != AFC_OK) {
        afc__driver_free(driver);
        return status;
    }
    *out = driver;
    return AFC_OK;
}

void afc__driver_get_fields(const afc__driver *driver, afc__session_stores *out) {
    out->user_agent = driver->user_agent;
    out->accept_encoding = driver->encodings;
    out->trust = afc__tls_trust_fingerprint(driver->tls);
}

void afc__driver_free(afc__driver *driver) {
    afc__multi_free(driver);
    /* libcurl's last timeout may still be armed. */
    afc__loop_disarm(driver->loop, &driver->alarm);
    afc__pruning_clear(driver);
    if (driver->share != NULL) curl_share_cleanup(driver->share);
    afc__driver_free_sockets(driver);
    afc_free(driver->user_agent);
    afc__direct_buffers_clear(&driver->direct);
    afc__proxies_clear(&driver->proxies);
    afc__names_clear(driver);
    afc__network_free(driver->network);
    afc__tls_free(driver->tls);
    afc__tls_free(driver->proxy_tls);
    afc__memory_free(driver->memory);
    afc_free(driver);
}

afc__memory *afc__driver_enter(afc__driver *driver) {
    return afc__memory_use(driver->memory);
}

/*
 * Restores the allocator that the thread used before: the program may use libcurl itself on this thread, while another
 * thread dispatches or closes the session.
 */
void afc__driver_leave(afc__memory *before) {
    (void)afc__memory_use(before);
}

/* ---- Exchanges ----------------------------------------------------------------------------- */

/**
 * Makes `*exchange` if it is NULL, and sets the options of the hop. On any failure, recycles the exchange and sets
 * `*exchange` to NULL.
 */
static afc_status prepare(afc__driver *driver, afc__exchange **exchange, afc__transfer *transfer,
                          unsigned slot, afc__exchange_owner owner, afc_failure *failure) {
    if (*exchange == NULL) {
        afc_status made = afc__handle_pool_make(exchange, driver, failure);
        if (made != AFC_OK) return made;
    }
    (*exchange)->hop.transfer = transfer;
    (*exchange)->hop.owner = owner;
    (*exchange)->hop.slot = slot;
    afc__exchange_note_activity(*exchange);
    (*exchange)->serial++;
    afc_status status = afc__exchange_prepare(*exchange, failure);
    if (status == AFC_OK) return AFC_OK;
    afc__handle_pool_give_back(*exchange);
    *exchange = NULL;
    return status;
}

afc_status afc__driver_start(afc__driver *driver, afc__exchange **out, afc__transfer *transfer,
                             unsigned slot, afc__exchange_owner owner, afc_failure *failure) {
    *out = NULL;
    (void)afc__memory_use(driver->memory);
    afc_failure refused = {0};
    afc__multi_free_if_grown(driver);
    afc_status status = afc__multi_replace_if_broken(driver, failure);
    if (status == AFC_OK) status = afc__driver_convert_host(&transfer->request.url, failure);
    if (status != AFC_OK) return status;
    afc__exchange *exchange = afc__handle_pool_take(&driver->pool);
    bool is_spare = exchange != NULL;
    status = prepare(driver, &exchange, transfer, slot, owner, &refused);
    /*
     * Before 8.7, a handle whose hop ended while other streams still used its connection keeps its receive buffer, and
     * then refuses another CURLOPT_BUFFERSIZE. A new handle accepts any option.
     */
    if (status != AFC_OK && is_spare && refused.curl_code == CURLE_BAD_FUNCTION_ARGUMENT) {
        refused = (afc_failure){0};
        status = prepare(driver, &exchange, transfer, slot, owner, &refused);
    }
    if (status != AFC_OK) {
        if (failure != NULL) *failure = refused;
        return status;
    }
    status = afc__exchange_begin(exchange, failure);
    if (status != AFC_OK) {
        afc__handle_pool_give_back(exchange);
        return status;
    }
    driver->active++;
    afc__list_append(&driver->running, &exchange->running_node);
    *out = exchange;
    if (exchange->hosts.stage == AFC__STAGE_LOOKING_UP)
        afc__exchange_report_connecting(exchange, afc__now_us());
    return AFC_OK;
}

bool afc__driver_handle_post(afc__driver *driver, const afc__post *post) {
    if (post != &driver->names.client.post) return false;
    (void)afc__memory_use(driver->memory);
    afc__names_take_ended(driver);
    return true;
}

/* ---- Ending -------------------------------------------------------------------------------- */

afc__exchange *afc__driver_next_ended(afc__driver *driver) {
    int left;
    (void)afc__multi_replace_if_broken(driver, NULL);
    afc__exchange *failed = afc__names_next_failed(driver);
    if (failed == NULL) failed = afc__driver_next_broken(driver);
    if (failed != NULL) return failed;
    for (;;) {
        CURLMsg *message = curl_multi_info_read(driver->multi.handle, &left);
        if (message == NULL) return afc__driver_end_next_unwatched(driver);
        if (message->msg != CURLMSG_DONE) continue;
        CURLcode code = message->data.result;
        char *private = NULL;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
        afc__exchange *exchange = (afc__exchange *)(void *)private;
        afc__exchange_end_with(exchange, code);
        if (driver->quirks.keeps_broken_connections && afc__exchange_met_bad_frame(exchange))
            afc__reuse_broke(exchange);
        if (exchange->run.progress == AFC__PROGRESS_NOT_SENT && afc__exchange_restart(exchange))
            continue;
        if (afc__exchange_restart_with_response(exchange)) continue;
        afc__exchange_finish_body(exchange);
        if (afc__exchange_must_deliver(exchange)) continue;
        return exchange;
    }
}

void *afc__exchange_get_context(const afc__exchange *exchange) {
    return exchange->hop.owner.context;
}

static bool is_about_tls(const afc_failure *failure) {
    return failure->status == AFC_EUNTRUSTED || failure->status == AFC_ETLS;
}

void afc__driver_end(afc__driver *driver, afc__exchange *exchange, afc__outcome *outcome) {
    *outcome = (afc__outcome){0};
    outcome->verification = afc__tls_peer_copy_verification(exchange->peer);
    if (afc__exchange_uses_own_listener(exchange))
        afc__exchange_collect_reinjected(exchange, &outcome->hop);
    else
        afc__exchange_collect_timings(exchange, &outcome->hop);
    if (exchange->own_failure.status != AFC_OK) {
        outcome->failure = exchange->own_failure;
    } else if (exchange->hosts.stage == AFC__STAGE_FAILED) {
        afc__exchange_explain_names(exchange, &outcome->failure);
    } else if (exchange->run.has_ended) {
        afc__exchange_map_result(exchange, exchange->run.code, &outcome->failure);
        outcome->went_away = afc__exchange_went_away(exchange, exchange->run.code);
        outcome->has_doubtful_end = afc__exchange_has_doubtful_end(exchange, exchange->run.code);
        if (is_about_tls(&outcome->failure)) afc__exchange_trace_failed_tls(exchange);
    } else {
        afc__fail(&outcome->failure, AFC_ECANCELED, "broken off");
    }
    /* Sockets keep pointers to this exchange, also during its next hop; afc__exchange.serial differs then. */
    curl_multi_remove_handle(driver->multi.handle, exchange->easy);
    afc__list_remove(&exchange->running_node);
    driver->active--;
    afc__handle_pool_give_back(exchange);
}

bool afc__exchange_continue(afc__exchange *exchange) {
    afc__exchange_note_activity(exchange);
    if (exchange->hosts.stage != AFC__STAGE_ADDED) return true;
    /* The response may have been complete before its challenge was refused: then nothing is left to resume. */
    exchange->early.is_complete = afc__exchange_has_whole_response(exchange);
    if (exchange->early.is_complete) {
        afc__exchange_end_with(exchange, CURLE_WRITE_ERROR);
        return false;
    }
    return !afc__exchange_waits(exchange) || afc__exchange_resume(exchange);
}

bool afc__exchange_is_paused(const afc__exchange *exchange) {
    return afc__exchange_waits(exchange);
}

int64_t afc__exchange_last_activity(afc__exchange *exchange) {
    curl_off_t sent = 0, received = 0;
    if (exchange->run.is_multiplexed) {
        curl_easy_getinfo(exchange->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
        curl_easy_getinfo(exchange->easy, CURLINFO_SIZE_DOWNLOAD_T, &received);
    }
    if (sent + received != exchange->run.moved) exchange->hop.last_activity_us = afc__now_us();
    exchange->run.moved = sent + received;
    return exchange->hop.last_activity_us;
}

uint64_t afc__driver_connections(const afc__driver *driver) {
    return atomic_load_explicit(&driver->connections, memory_order_relaxed);
}
