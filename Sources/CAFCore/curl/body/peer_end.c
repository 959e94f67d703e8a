/*
 * Ends exchanges whose peer has ended its direction while ours is paused.
 *
 * libcurl ends a transfer only when both directions have ended. After an upgrade our direction is usually paused, until
 * there is a message to send, and a request body is paused while its source has no bytes. libcurl doesn't report then
 * that the peer's direction has ended, with or without a response. But it waits for nothing on the connection any more.
 */
#include "curl/body/peer_end.h"

#include "curl/connection/socket.h"
#include "curl/exchange_state.h"

/** A request whose upgrade was refused ends like any other. */
static bool asks_for_upgrade(const afc__exchange *exchange) {
    const afc__transfer *transfer = exchange->hop.transfer;
    return transfer->purpose == AFC__PURPOSE_UPGRADE && !afc__transfer_refuses_upgrade(transfer);
}

bool afc__exchange_waits_for_body(const afc__exchange *exchange) {
    return exchange->hop.transfer != NULL && afc__exchange_sending_waits(exchange) &&
           exchange->carrier == 0 && !exchange->state.connection_auth;
}

static void look_later(afc__exchange *exchange) {
    if (exchange->unwatched_node.next != NULL) return;
    afc__list_append(&exchange->driver->bodies.unwatched, &exchange->unwatched_node);
}

/* At a response that isn't a success libcurl stops sending, but a paused body makes it wait all the same. */
void afc__exchange_got_head(afc__exchange *exchange) {
    bool is_refusal = exchange->hop.transfer->hop.reader->head.status >= 300;
    if (!is_refusal || asks_for_upgrade(exchange) || !afc__exchange_waits_for_body(exchange))
        return;
    exchange->run.nudge = AFC__NUDGE_DUE;
    look_later(exchange);
}

void afc__exchange_socket_is_unwatched(afc__exchange *exchange, curl_socket_t descriptor) {
    if (exchange->hop.transfer == NULL) return;
    if (!asks_for_upgrade(exchange) && !afc__exchange_waits_for_body(exchange)) return;
    exchange->unwatched_socket = descriptor;
    look_later(exchange);
}

/**
 * Returns whether libcurl may read for the exchange at the moment, so that silence has a meaning. An exchange that is
 * held, suspended or has yielded isn't read, and is resumed in both directions later.
 */
static bool may_read(const afc__exchange *exchange) {
    const afc__transfer *transfer = exchange->hop.transfer;
    if (transfer->hop.is_held || afc__transfer_is_suspended(transfer)) return false;
    if (exchange->run.has_yielded) return false;
    if (exchange->run.has_ended || !afc__exchange_waits(exchange)) return false;
    if (asks_for_upgrade(exchange)) return true;
    return !afc__exchange_receiving_is_paused(exchange) && afc__exchange_waits_for_body(exchange);
}

/**
 * Returns whether libcurl waits for nothing on the connection, or would if it weren't called again and again
 * (read_pause.c), for which only the end of the peer's direction can be the reason.
 */
static bool has_peer_ended(const afc__exchange *exchange) {
    if (exchange->run.has_met_end) return true;
    if (afc__driver_waits_on(exchange->driver, exchange->unwatched_socket)) return false;
    return asks_for_upgrade(exchange) || afc__list_is_empty(&exchange->watched);
}

/**
 * Resumes the paused request body. If libcurl has given up sending, it ends the exchange now. Otherwise it calls the
 * read callback again.
 */
static void nudge(afc__exchange *exchange) {
    afc__sending_resumes(exchange);
    CURLcode code = curl_easy_pause(exchange->easy, CURLPAUSE_CONT);
    if (code != CURLE_OK && code != CURLE_BAD_FUNCTION_ARGUMENT)
        afc__exchange_end_with(exchange, code);
}

/**
 * Ends the exchange if its response has ended with the connection, although libcurl would still send the rest of the
 * request body.
 */
static void end_with_connection(afc__exchange *exchange) {
    const afc__transfer *transfer = exchange->hop.transfer;
    curl_off_t received = 0;
    curl_easy_getinfo(exchange->easy, CURLINFO_SIZE_DOWNLOAD_T, &received);
    if (!afc__transfer_has_plain_body(transfer)) return;
    switch (transfer->hop.framing.kind) {
    case AFC__FRAMING_CLOSE:
        afc__exchange_end_with(exchange, CURLE_OK);
        break;
    case AFC__FRAMING_LENGTH:
        if (afc__hop_bytes_missing(&transfer->hop, received) > 0)
            afc__exchange_end_with(exchange, CURLE_PARTIAL_FILE);
        break;
    case AFC__FRAMING_NONE:
    case AFC__FRAMING_CHUNKED:
        break;
    }
}

static void end_unwatched(afc__exchange *exchange) {
    if (afc__hop_in_head(&exchange->hop.transfer->hop)) {
        afc__exchange_end_with(exchange, CURLE_GOT_NOTHING);
    } else if (asks_for_upgrade(exchange)) {
        afc__exchange_end_with(exchange, CURLE_OK);
    } else if (exchange->run.nudge != AFC__NUDGED) {
        exchange->run.nudge = AFC__NUDGED;
        nudge(exchange);
    } else {
        end_with_connection(exchange);
    }
}

afc__exchange *afc__driver_end_next_unwatched(afc__driver *driver) {
    afc__node *node;
    while ((node = afc__list_first(&driver->bodies.unwatched)) != NULL) {
        afc__exchange *exchange = AFC__OWNER(node, afc__exchange, unwatched_node);
        afc__list_remove(node);
        bool must_nudge = exchange->run.nudge == AFC__NUDGE_DUE;
        if (must_nudge) exchange->run.nudge = AFC__NUDGE_NONE;
        if (!may_read(exchange)) continue;
        if (must_nudge)
            nudge(exchange);
        else if (has_peer_ended(exchange))
            end_unwatched(exchange);
        if (exchange->run.has_ended) return exchange;
    }
    return NULL;
}
