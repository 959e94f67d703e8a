/** The options of an easy handle that differ between requests, as last set, and the macro that sets options. */
#ifndef AFC_CURL_EASY_OPTIONS_H
#define AFC_CURL_EASY_OPTIONS_H

#include <curl/curl.h>
#include <stdbool.h>

/** The options as last set. A `set_…` function calls libcurl only if its option changes. */
typedef struct afc__easy_state {
    /** The error of the first option that libcurl refused; see afc__easy_check(). */
    CURLcode refusal;
    enum { AFC__KIND_GET, AFC__KIND_HEAD, AFC__KIND_POST, AFC__KIND_UPLOAD } request_kind;
    bool has_custom_method;   /**< CURLOPT_CUSTOMREQUEST isn't NULL. */
    long http_version;        /**< CURLOPT_HTTP_VERSION */
    bool waits_for_multiplex; /**< CURLOPT_PIPEWAIT */
    bool is_fresh;            /**< CURLOPT_FRESH_CONNECT */
    bool connect_only; /**< libcurl gives up a request before it sends anything; see exchange.c. */
    long tls_options;  /**< CURLOPT_SSL_OPTIONS; see connection/isolation.c. */
    bool has_proxy;
    bool has_tunnel;      /**< CURLOPT_HTTPPROXYTUNNEL: a tunnel also for http:// URLs. */
    bool has_own_socket;  /**< The Unix-domain socket is the request's, not the session's. */
    bool has_proxy_field; /**< CURLOPT_PROXYHEADER is set. */
    /**
     * The value of CURLOPT_HTTPHEADER: fields of this request only, or one of the two lists that requests without
     * fields of their own share, for decoded and for plain bodies. See request_fields.c.
     */
    enum { AFC__FIELDS_OF_REQUEST, AFC__FIELDS_DECODED, AFC__FIELDS_PLAIN } fields;
    bool connection_auth; /**< libcurl authenticates the connection with NTLM or Negotiate. */
    bool forbids_reuse;   /**< CURLOPT_FORBID_REUSE */
    long connect_ms;      /**< CURLOPT_CONNECTTIMEOUT_MS */
    long expect_ms;       /**< CURLOPT_EXPECT_100_TIMEOUT_MS */
    long weight;          /**< CURLOPT_STREAM_WEIGHT */
    long buffer_size, upload_buffer_size; /**< CURLOPT_BUFFERSIZE, CURLOPT_UPLOAD_BUFFERSIZE */
    bool is_verbose;                      /**< CURLOPT_VERBOSE; see trace.c. */
} afc__easy_state;

/** Stores the error of the first option that libcurl refused. */
static inline void afc__easy_check(afc__easy_state *state, CURLcode code) {
    if (state->refusal == CURLE_OK) state->refusal = code;
}

/** Sets an option of the exchange's handle. A refusal is stored by afc__easy_check(). */
#define AFC__SET(exchange, option, value)                                                          \
    afc__easy_check(&(exchange)->state, curl_easy_setopt((exchange)->easy, option, value))

#endif
