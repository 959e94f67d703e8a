/* Reads the metrics of a hop from its handle. */
#include "curl/metrics.h"

#include "base/clock.h"
#include "curl/body/direct_io.h"
#include "curl/exchange_state.h"

#include <string.h>

static int64_t number(CURL *easy, CURLINFO info) {
    curl_off_t value = 0;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? (int64_t)value : 0;
}

/**
 * Converts a time of libcurl, where 0 means "immediately" or "never". It was immediately if a later phase has a time.
 * Returns -1 for "never".
 */
static int64_t reached(int64_t time, int64_t later) {
    return time > 0 || later > 0 ? time : -1;
}

static void copy_address(CURL *easy, CURLINFO address, CURLINFO port, char *text, size_t size,
                         uint16_t *number) {
    const char *found = NULL;
    long value = 0;
    if (curl_easy_getinfo(easy, address, &found) == CURLE_OK && found != NULL) {
        size_t length = strnlen(found, size - 1);
        memcpy(text, found, length);
        text[length] = '\0';
    }
    if (curl_easy_getinfo(easy, port, &value) == CURLE_OK) *number = (uint16_t)value;
}

/**
 * Sets the metrics of a hop that libcurl never started. They can't be read from the handle, which may still have
 * another hop's.
 */
static void measure_unsent(const afc__exchange *exchange, afc_hop *hop) {
    bool waited = exchange->hosts.began_us != 0;
    hop->dns_us = hop->connect_us = hop->request_sent_us = hop->first_byte_us = -1;
    hop->tls_us = exchange->hop.transfer->request.url.is_https ? -1 : 0;
    hop->total_us = waited ? afc__now_us() - exchange->hosts.began_us : 0;
}

/**
 * Adds the duration of our own lookup, `waited_us`, to the times: libcurl measures them from the moment when it got the
 * hop.
 */
static void add_wait(afc_hop *hop, int64_t waited_us) {
    int64_t *const moments[] = {&hop->dns_us, &hop->connect_us, &hop->request_sent_us,
                                &hop->first_byte_us, &hop->total_us};
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
        if (*moments[i] >= 0) *moments[i] += waited_us;
    }
    /* 0 means that there is no TLS, or that it was set up already. */
    if (hop->tls_us > 0) hop->tls_us += waited_us;
}

/**
 * Sets the times of a new connection. Not called for reused ones: each call of curl_easy_getinfo() costs some 80
 * instructions.
 */
static void collect_connect_times(CURL *easy, bool is_https, int64_t request, afc_hop *hop) {
    int64_t tls = number(easy, CURLINFO_APPCONNECT_TIME_T);
    int64_t connect = number(easy, CURLINFO_CONNECT_TIME_T);
    hop->tls_us = is_https ? reached(tls, request) : 0;
    hop->connect_us = reached(connect, tls > 0 ? tls : request);
    hop->dns_us = reached(number(easy, CURLINFO_NAMELOOKUP_TIME_T), connect);
}

void afc__exchange_collect_timings(const afc__exchange *exchange, afc_hop *hop) {
    CURL *easy = exchange->easy;
    if (exchange->hosts.stage != AFC__STAGE_ADDED) {
        measure_unsent(exchange, hop);
        return;
    }
    const afc__transfer *transfer = exchange->hop.transfer;
    int64_t first_byte = number(easy, CURLINFO_STARTTRANSFER_TIME_T);
    int64_t request = number(easy, CURLINFO_PRETRANSFER_TIME_T);
    long connections = 0;
    curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &connections);
    hop->is_reused = connections == 0 && request > 0;
    hop->first_byte_us = reached(first_byte, 0);
    hop->request_sent_us = reached(request, first_byte);
    if (!hop->is_reused) collect_connect_times(easy, transfer->request.url.is_https, request, hop);
    /* CURLINFO_TOTAL_TIME_T of a hop that is cancelled here would end at what libcurl did last. */
    hop->total_us = exchange->run.has_ended ? number(easy, CURLINFO_TOTAL_TIME_T)
                                            : afc__now_us() - exchange->hosts.added_us;
    int64_t sent = transfer->request.sends_body ? number(easy, CURLINFO_SIZE_UPLOAD_T) : 0;
    hop->sent = sent;
    hop->received = number(easy, CURLINFO_SIZE_DOWNLOAD_T) + exchange->early.recovered_size;
    afc__direct_add_bytes(exchange, hop);
    if (connections > 0) {
        atomic_fetch_add_explicit(&exchange->driver->connections, (uint64_t)connections,
                                  memory_order_relaxed);
    }
    add_wait(hop, exchange->hosts.waited_us);
    hop->is_retried = exchange->hop.was_repeated;
    if (hop->is_reused) hop->dns_us = hop->connect_us = hop->tls_us = 0;
    copy_address(easy, CURLINFO_PRIMARY_IP, CURLINFO_PRIMARY_PORT, hop->remote_address,
                 sizeof hop->remote_address, &hop->remote_port);
    copy_address(easy, CURLINFO_LOCAL_IP, CURLINFO_LOCAL_PORT, hop->local_address,
                 sizeof hop->local_address, &hop->local_port);
}
