/* The moment when a hop has its connection and its request is about to be sent. */
#include "net/driver_internal.h"

int af__exchange_connected(void *context, char *remote, char *local, int remote_port,
                           int local_port) {
    (void)remote, (void)local, (void)remote_port, (void)local_port;
    af__exchange *exchange = context;
    exchange->is_ready = true;
    exchange->attempt = AF__ATTEMPT_SENT;
    af__exchange_names_are_loaded(exchange);
    curl_easy_getinfo(exchange->easy, CURLINFO_OS_ERRNO, &exchange->connect_error);
    bool is_ready = exchange->is_replay ? af__exchange_feed_replay(context)
                                        : af__transfer_begin_body(exchange->transfer);
    if (!is_ready) return CURL_PREREQFUNC_ABORT;
    af__exchange_adopt_peer(context);
    af__result_set_evidence(exchange->transfer->result, af__tls_peer_copy_evidence(exchange->peer));
    exchange->transfer->shares_connection = exchange->is_multiplexed &&
                                            exchange->place == AF__APART_NOT &&
                                            !af__must_not_share(exchange->transfer);
    af__exchange_trace_ready(exchange);
    exchange->last_activity_us = af__loop_now(exchange->driver->loop);
    exchange->owner.connected(exchange->owner.context);
    return CURL_PREREQFUNC_OK;
}
