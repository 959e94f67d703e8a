#include "curl/connection/next_address.h"

#include "curl/body/body_flow.h"
#include "curl/exchange_state.h"

void afc__exchange_attempt_ended(afc__exchange *exchange) {
    afc__driver *driver = exchange->driver;
    if (!driver->quirks.waits_between_addresses || exchange->attempt_node.next != NULL) return;
    afc__list_append(&driver->ended_attempts, &exchange->attempt_node);
}

/** Returns whether one of its attempts has connected. */
static bool is_connected(const afc__exchange *exchange) {
    curl_off_t connected_us = 0;
    curl_easy_getinfo(exchange->easy, CURLINFO_CONNECT_TIME_T, &connected_us);
    return connected_us != 0;
}

/**
 * Changes what is paused and changes it back: libcurl then runs the handle at once, which is all that is wanted. Nothing is
 * paused before there is a connection.
 */
static void run_soon(afc__exchange *exchange) {
    CURLcode code = curl_easy_pause(exchange->easy, CURLPAUSE_ALL);
    if (code == CURLE_OK) code = curl_easy_pause(exchange->easy, CURLPAUSE_CONT);
    /* Without a connection the exchange has ended, and libcurl's message follows. */
    if (code == CURLE_OK || code == CURLE_BAD_FUNCTION_ARGUMENT) return;
    afc__exchange_end_with(exchange, code);
    afc__exchange_report_end(exchange);
}

void afc__driver_begin_next_attempts(afc__driver *driver) {
    afc__node *node;
    while ((node = afc__list_first(&driver->ended_attempts)) != NULL) {
        afc__exchange *exchange = AFC__OWNER(node, afc__exchange, attempt_node);
        afc__list_remove(node);
        if (!is_connected(exchange) && !afc__exchange_waits(exchange)) run_soon(exchange);
    }
}
