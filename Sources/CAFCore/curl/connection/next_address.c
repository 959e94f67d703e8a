#include "curl/connection/next_address.h"

#include "curl/body/body_flow.h"
#include "curl/exchange_state.h"

/** Returns the time that the connections of the exchange took so far, in microseconds. It grows when one is made. */
static int64_t connect_time(const afc__exchange *exchange) {
    curl_off_t time_us = 0;
    curl_easy_getinfo(exchange->easy, CURLINFO_CONNECT_TIME_T, &time_us);
    return (int64_t)time_us;
}

void afc__exchange_attempt_begins(afc__exchange *exchange) {
    if (!exchange->driver->quirks.waits_between_addresses) return;
    exchange->run.connect_time_us = connect_time(exchange);
}

void afc__exchange_attempt_ended(afc__exchange *exchange) {
    afc__driver *driver = exchange->driver;
    if (!driver->quirks.waits_between_addresses || exchange->attempt_node.next != NULL) return;
    afc__list_append(&driver->ended_attempts, &exchange->attempt_node);
}

/**
 * Changes what is paused and changes it back, as libcurl then runs the handle at once. Nothing can be paused before
 * there is a connection.
 */
static void run_soon(afc__exchange *exchange) {
    CURLcode code = curl_easy_pause(exchange->easy, CURLPAUSE_ALL);
    if (code == CURLE_OK) code = curl_easy_pause(exchange->easy, CURLPAUSE_CONT);
    /* CURLE_BAD_FUNCTION_ARGUMENT: the exchange lost its connection, and libcurl's message about its end follows. */
    if (code == CURLE_OK || code == CURLE_BAD_FUNCTION_ARGUMENT) return;
    afc__exchange_end_with(exchange, code);
    afc__exchange_report_end(exchange);
}

void afc__driver_begin_next_attempts(afc__driver *driver) {
    afc__node *node;
    while ((node = afc__list_first(&driver->ended_attempts)) != NULL) {
        afc__exchange *exchange = AFC__OWNER(node, afc__exchange, attempt_node);
        afc__list_remove(node);
        bool is_connected = connect_time(exchange) != exchange->run.connect_time_us;
        if (!is_connected && !afc__exchange_waits(exchange)) run_soon(exchange);
    }
}
