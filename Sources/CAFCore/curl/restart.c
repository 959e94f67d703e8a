/*
 * Exchanges that libcurl has ended and that begin once more: on a new connection, as the pooled one had input before
 * anything was sent, or with the early response that was kept.
 */
#include "curl/restart.h"

#include "base/clock.h"
#include "curl/exchange.h"
#include "curl/isolation.h"
#include "curl/outcome.h"
#include "curl/read_pause.h"

bool af__exchange_use_another(af__exchange *exchange) {
    af__driver *driver = exchange->driver;
    curl_multi_remove_handle(driver->multi, exchange->easy);
    af__apart_give_back(driver, exchange->place);
    af__tls_peer_release(exchange->peer);
    exchange->peer = NULL;
    exchange->tls_layers = 0;
    exchange->salvage.size = 0;
    exchange->attempt = AF__ATTEMPT_NONE;
    exchange->connections = 0;
    af__exchange_set_carrier(exchange, NULL);
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

bool af__exchange_replay(af__exchange *exchange) {
    if (exchange->code != CURLE_SEND_ERROR || exchange->salvage.size == 0) return false;
    if (!af__hop_in_head(exchange->transfer)) return false;
    af__exchange_measure(exchange, &exchange->measured);
    curl_multi_remove_handle(exchange->driver->multi, exchange->easy);
    exchange->is_replay = true;
    exchange->has_ended = exchange->has_paused = false;
    exchange->passed = 0;
    if (af__exchange_prepare(exchange, NULL) == AF_OK &&
        curl_multi_add_handle(exchange->driver->multi, exchange->easy) == CURLM_OK) {
        return true;
    }
    exchange->has_ended = true;
    return false;
}
