#include "curl/driver.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/failure.h"
#include "curl/allocator.h"
#include "curl/body_flow.h"
#include "curl/connection_auth.h"
#include "curl/driver_internal.h"
#include "curl/early_response.h"
#include "curl/exchange.h"
#include "curl/handle.h"
#include "curl/idn.h"
#include "curl/isolation.h"
#include "curl/library.h"
#include "curl/network.h"
#include "curl/outcome.h"
#include "curl/proxy.h"
#include "curl/read_pause.h"
#include "curl/sockets.h"

#include <string.h>

/*
 * Older versions accept any number of stacked content encodings (CVE-2023-23916). Each of them
 * allocates memory before our callback sees the field.
 */

/*
 * The maximum number of idle handles that are kept, some 8 KiB each. Others are freed after a
 * burst.
 */
enum { MOST_SPARE_HANDLES = 128 };

/* ---- Making and ending --------------------------------------------------------------------- */

static const char *decodable_encodings(void) {
    int features = curl_version_info(CURLVERSION_NOW)->features;
    bool has_brotli = (features & CURL_VERSION_BROTLI) != 0;
    bool has_zstd = (features & CURL_VERSION_ZSTD) != 0;
    if ((features & CURL_VERSION_LIBZ) == 0) return NULL;
    if (has_brotli && has_zstd) return "gzip, br, zstd";
    if (has_brotli) return "gzip, br";
    return has_zstd ? "gzip, zstd" : "gzip";
}

static bool set_multi(const af__driver *driver, const af_session_options *options) {
    CURLM *multi = driver->multi;
    long pipelining = driver->multiplexes ? CURLPIPE_MULTIPLEX : CURLPIPE_NOTHING;
    long idle = options->max_idle_connections != 0 ? (long)options->max_idle_connections : 1;
    return curl_multi_setopt(multi, CURLMOPT_PIPELINING, pipelining) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, (long)AF__MOST_STREAMS) ==
               CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, idle) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS,
                             (long)options->max_connections_per_host) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS,
                             (long)options->max_connections) == CURLM_OK;
}

static bool set_share(CURLSH *share) {
    /* Without lock functions: the share never leaves the loop thread. */
    return curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION) == CURLSHE_OK;
}

/** Sets up TLS to proxies. They get no client certificate; only servers do. */
static af_status set_proxy_tls(af__driver *driver, const af_session_options *options,
                               af_failure *failure) {
    af_tls_options tls = {.min_version = options->tls.min_version,
                          .max_version = options->tls.max_version,
                          .ciphers = options->tls.ciphers,
                          .cipher_suites = options->tls.cipher_suites,
                          .write_key_log = options->tls.write_key_log};
    return af__tls_new(&driver->proxy_tls, options->proxy_trust, &tls, failure);
}

af_status af__driver_new(af__driver **out, af__loop *loop, const af_session_options *options,
                         af_failure *failure) {
    *out = NULL;
    af_status status = af__libcurl_check(failure);
    if (status != AF_OK) return status;
    af__driver *driver = af__zalloc(sizeof *driver);
    if (driver == NULL) return af__fail_memory(failure);
    driver->loop = loop;
    driver->encodings = decodable_encodings();
    driver->auth_schemes = af__connection_schemes();
    driver->multiplexes = af__may_multiplex();
    driver->guards_fields = af__must_guard_fields();
    driver->parks_handles = af__must_park_handles();
    driver->reads_while_paused = af__reads_while_paused();
    driver->max_idle_s = (long)options->max_idle_s;
    driver->forbids_reuse = options->max_idle_connections == 0;
    driver->max_connections_per_host = options->max_connections_per_host;
    driver->max_connections = options->max_connections;
    status = af__driver_set_proxies(driver, &options->proxies, failure);
    if (status == AF_OK) {
        status = af__network_new(&driver->network, &options->network, options->max_connections != 0,
                                 failure);
    }
    if (status == AF_OK) status = af__names_init(driver, failure);
    if (status == AF_OK) {
        status = af__tls_new(&driver->tls, options->trust, &options->tls, failure);
    }
    if (status == AF_OK) status = set_proxy_tls(driver, options, failure);
    if (status == AF_OK) {
        driver->memory = af__memory_new();
        driver->multi = curl_multi_init();
        driver->share = curl_share_init();
        if (options->user_agent != NULL) {
            driver->user_agent = af__copy_text(af_slice_of(options->user_agent));
        }
        bool is_complete = driver->memory != NULL && driver->multi != NULL &&
                           driver->share != NULL &&
                           (options->user_agent == NULL || driver->user_agent != NULL) &&
                           set_multi(driver, options) && af__driver_use_loop(driver) &&
                           set_share(driver->share);
        if (!is_complete) status = af__fail(failure, AF_ENOMEM, "out of memory for libcurl");
    }
    if (status != AF_OK) {
        af__driver_free(driver);
        return status;
    }
    *out = driver;
    return AF_OK;
}

static void free_all(af__exchange *exchange) {
    while (exchange != NULL) {
        af__exchange *next = exchange->next_free;
        af__exchange_free(exchange);
        exchange = next;
    }
}

void af__driver_free(af__driver *driver) {
    /* No exchange is left that could handle input on the connections closed below. */
    af__driver_forget_last(driver);
    free_all(driver->free);
    if (driver->multi != NULL) curl_multi_cleanup(driver->multi);
    free_all(driver->parked);
    if (driver->share != NULL) curl_share_cleanup(driver->share);
    af__driver_free_sockets(driver);
    af_free(driver->user_agent);
    af__proxies_clear(&driver->proxies);
    af__names_clear(driver);
    af__network_free(driver->network);
    af__tls_free(driver->tls);
    af__tls_free(driver->proxy_tls);
    af__memory_free(driver->memory);
    af_free(driver);
}

/* ---- Exchanges ----------------------------------------------------------------------------- */

static void free_exchange(af__driver *driver, af__exchange *exchange) {
    af__driver_forget_exchange(driver, exchange);
    driver->is_abandoning = true;
    af__exchange_free(exchange);
    driver->is_abandoning = false;
}

static void release_to_pool(af__driver *driver, af__exchange *exchange) {
    bool stays = af__exchange_may_serve_again(exchange);
    bool is_parked = af__exchange_must_be_parked(exchange);
    af__exchange_reset(exchange);
    if (is_parked) {
        exchange->next_free = driver->parked;
        driver->parked = exchange;
        driver->parked_count++;
        return;
    }
    if (!stays || driver->free_count >= MOST_SPARE_HANDLES) {
        free_exchange(driver, exchange);
        return;
    }
    exchange->next_free = driver->free;
    driver->free = exchange;
    driver->free_count++;
}

static af__exchange *take_spare(af__driver *driver) {
    af__exchange *exchange = driver->free;
    if (exchange == NULL) return NULL;
    driver->free = exchange->next_free;
    driver->free_count--;
    return exchange;
}

/** On any failure, recycles `*exchange` and sets it to NULL. */
static af_status prepare(af__driver *driver, af__exchange **exchange, af__transfer *transfer,
                         af__exchange_owner owner, af_failure *failure) {
    if (*exchange == NULL) return af__fail(failure, AF_ENOMEM, "out of memory for libcurl");
    (*exchange)->transfer = transfer;
    (*exchange)->owner = owner;
    (*exchange)->last_activity_us = af__loop_now(driver->loop);
    (*exchange)->serial++;
    af_status status = af__exchange_prepare(*exchange, failure);
    if (status == AF_OK) return AF_OK;
    release_to_pool(driver, *exchange);
    *exchange = NULL;
    return status;
}

af_status af__driver_start(af__driver *driver, af__exchange **out, af__transfer *transfer,
                           af__exchange_owner owner, af_failure *failure) {
    *out = NULL;
    af__memory_use(driver->memory);
    af_failure refused = {0};
    af_status status = af__driver_convert_host(&transfer->request.url, failure);
    if (status != AF_OK) return status;
    af__exchange *exchange = take_spare(driver);
    bool is_spare = exchange != NULL;
    if (!is_spare) exchange = af__exchange_new(driver);
    status = prepare(driver, &exchange, transfer, owner, &refused);
    /*
     * If others still used its connection when it was done, libcurl before 8.7 keeps a handle's
     * receive buffer and then refuses another size for it. A new handle accepts any option.
     */
    if (status != AF_OK && is_spare && refused.curl_code == CURLE_BAD_FUNCTION_ARGUMENT) {
        refused = (af_failure){0};
        exchange = af__exchange_new(driver);
        status = prepare(driver, &exchange, transfer, owner, &refused);
    }
    if (status != AF_OK) {
        if (failure != NULL) *failure = refused;
        return status;
    }
    status = af__exchange_begin(exchange, failure);
    if (status != AF_OK) {
        release_to_pool(driver, exchange);
        return status;
    }
    driver->active++;
    *out = exchange;
    if (exchange->hosts.stage == AF__STAGE_LOOKING_UP) {
        exchange->was_connecting = true;
        owner.connecting(owner.context, af__now_us());
    }
    return AF_OK;
}

bool af__driver_handle_post(af__driver *driver, const af__post *post) {
    if (post != &driver->names.client.post) return false;
    af__memory_use(driver->memory);
    af__names_take_ended(driver);
    return true;
}

/* ---- Beginning once more ------------------------------------------------------------------- */

/** Starts an ended exchange again on a new connection, if nothing was sent. false: it has ended. */
static bool use_another(af__exchange *exchange) {
    af__driver *driver = exchange->driver;
    curl_multi_remove_handle(driver->multi, exchange->easy);
    af__isolation_give_back(driver, exchange->slot);
    af__tls_peer_release(exchange->peer);
    exchange->peer = NULL;
    exchange->tls_layers = 0;
    exchange->early_response.size = 0;
    exchange->attempt = AF__ATTEMPT_NONE;
    exchange->connections = 0;
    af__exchange_set_carrier(exchange, NULL);
    af__tls_peer_release(exchange->carrier_peer);
    exchange->carrier_peer = NULL;
    exchange->is_ready = exchange->has_ended = exchange->has_paused = false;
    exchange->avoids_reuse = true;
    af__exchange_release_names(exchange);
    if (af__exchange_prepare(exchange, NULL) != AF_OK ||
        af__exchange_begin(exchange, NULL) != AF_OK) {
        exchange->has_ended = true;
        exchange->code = CURLE_OUT_OF_MEMORY;
        return false;
    }
    bool begins = exchange->hosts.stage == AF__STAGE_LOOKING_UP && !exchange->was_connecting;
    if (begins) {
        exchange->was_connecting = true;
        exchange->owner.connecting(exchange->owner.context, af__now_us());
    }
    return true;
}

/** Starts an ended exchange again with the early response that was kept. false: there is none. */
static bool reinject(af__exchange *exchange) {
    if (exchange->code != CURLE_SEND_ERROR || exchange->early_response.size == 0) return false;
    if (!af__hop_in_head(exchange->transfer)) return false;
    af__exchange_collect_timings(exchange, &exchange->measured);
    curl_multi_remove_handle(exchange->driver->multi, exchange->easy);
    exchange->is_reinjected = true;
    exchange->has_ended = exchange->has_paused = false;
    exchange->passed = 0;
    if (af__exchange_prepare(exchange, NULL) == AF_OK &&
        curl_multi_add_handle(exchange->driver->multi, exchange->easy) == CURLM_OK) {
        return true;
    }
    exchange->has_ended = true;
    return false;
}

/* ---- Ending -------------------------------------------------------------------------------- */

af__exchange *af__driver_next_ended(af__driver *driver) {
    int left;
    af__exchange *failed = af__names_next_failed(driver);
    if (failed == NULL) failed = af__driver_next_broken(driver);
    if (failed != NULL) return failed;
    for (;;) {
        CURLMsg *message = curl_multi_info_read(driver->multi, &left);
        if (message == NULL) return NULL;
        if (message->msg != CURLMSG_DONE) continue;
        char *private = NULL;
        CURLcode code = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
        af__exchange *exchange = (af__exchange *)(void *)private;
        exchange->has_ended = true;
        exchange->code = code;
        if (exchange->attempt == AF__ATTEMPT_UNCLEAN && use_another(exchange)) continue;
        if (!exchange->is_reinjected && reinject(exchange)) continue;
        af__exchange_finish_body(exchange);
        if (af__exchange_must_deliver(exchange)) continue;
        return exchange;
    }
}

void *af__exchange_get_context(const af__exchange *exchange) {
    return exchange->owner.context;
}

void af__driver_end(af__driver *driver, af__exchange *exchange, af__outcome *outcome) {
    *outcome = (af__outcome){0};
    outcome->verification = af__tls_peer_copy_verification(exchange->peer);
    if (exchange->is_reinjected)
        af__exchange_collect_reinjected(exchange, &outcome->hop);
    else
        af__exchange_collect_timings(exchange, &outcome->hop);
    if (exchange->hosts.stage == AF__STAGE_FAILED) {
        af__exchange_explain_names(exchange, &outcome->failure);
    } else if (exchange->has_ended) {
        af__exchange_map_result(exchange, exchange->code, &outcome->failure);
    } else {
        af__fail(&outcome->failure, AF_ECANCELED, "broken off");
    }
    /*
     * Sockets keep a pointer to their last exchange for its activity; the handle's next hop is a
     * different one.
     */
    curl_multi_remove_handle(driver->multi, exchange->easy);
    driver->active--;
    release_to_pool(driver, exchange);
}

bool af__exchange_continue(af__exchange *exchange) {
    exchange->last_activity_us = af__loop_now(exchange->driver->loop);
    if (exchange->hosts.stage != AF__STAGE_ADDED) return true;
    /* The answer was there before it was known that it is none. */
    exchange->has_whole_answer = af__exchange_is_answered(exchange);
    if (exchange->has_whole_answer) {
        exchange->has_ended = true;
        exchange->code = CURLE_WRITE_ERROR;
        return false;
    }
    return !exchange->has_paused || af__exchange_resume(exchange);
}

bool af__exchange_is_paused(const af__exchange *exchange) {
    return exchange->has_paused;
}

int64_t af__exchange_last_activity(af__exchange *exchange) {
    curl_off_t sent = 0, received = 0;
    if (exchange->is_multiplexed) {
        curl_easy_getinfo(exchange->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
        curl_easy_getinfo(exchange->easy, CURLINFO_SIZE_DOWNLOAD_T, &received);
    }
    if (sent + received != exchange->moved) exchange->last_activity_us = af__now_us();
    exchange->moved = sent + received;
    return exchange->last_activity_us;
}

uint64_t af__driver_connections(const af__driver *driver) {
    return atomic_load_explicit(&driver->connections, memory_order_relaxed);
}
