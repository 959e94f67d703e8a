/** The options of an easy handle that differ between requests, and how they are set. */
#ifndef AFC_CURL_EASY_OPTIONS_H
#define AFC_CURL_EASY_OPTIONS_H

#include <curl/curl.h>
#include <stdbool.h>

/** The options as last set. */
typedef struct afc__easy_state {
    CURLcode refusal; /**< The error of the first option that libcurl refused. */
    enum { AFC__KIND_GET, AFC__KIND_HEAD, AFC__KIND_POST, AFC__KIND_UPLOAD } request_kind;
    bool has_custom_method;
    long http_version;
    bool waits_for_multiplex;
    bool decodes;
    bool passes_encoded; /**< CURLOPT_HTTP_CONTENT_DECODING is 0. */
    bool is_fresh;
    bool connect_only; /**< libcurl gives up a request before it sends anything; see exchange.c. */
    long tls_options;
    bool has_proxy;
    bool has_tunnel; /**< Through an HTTP proxy, also for http. */
    bool has_own_socket;
    bool has_proxy_field;
    /** Which fields are set, if they are only those of every request with that coding; see request_fields.c. */
    enum { AFC__FIELDS_OF_REQUEST, AFC__FIELDS_DECODED, AFC__FIELDS_PLAIN } fields;
    bool connection_auth; /**< libcurl authenticates the connection. */
    bool forbids_reuse;
    long connect_ms;
    long expect_ms;
    long weight;
    long buffer_size, upload_buffer_size;
    bool is_verbose; /**< CURLOPT_VERBOSE; see trace.c. */
} afc__easy_state;

/** Keeps the error of the first option that libcurl refused. */
static inline void afc__easy_check(afc__easy_state *state, CURLcode code) {
    if (state->refusal == CURLE_OK) state->refusal = code;
}

/** Sets an option of the exchange's handle. Refusals are kept by afc__easy_check(). */
#define AFC__SET(exchange, option, value)                                                          \
    afc__easy_check(&(exchange)->state, curl_easy_setopt((exchange)->easy, option, value))

#endif
