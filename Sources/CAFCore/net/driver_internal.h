/** Shared by the files of the driver, the only ones that know libcurl. */
#ifndef AF_NET_DRIVER_INTERNAL_H
#define AF_NET_DRIVER_INTERNAL_H

#include "net/driver.h"
#include "net/tls.h"

#include <curl/curl.h>

/** The options of an easy handle that differ from request to request, as last set. */
typedef struct af__easy_state {
    enum { AF__SHAPE_GET, AF__SHAPE_HEAD, AF__SHAPE_POST, AF__SHAPE_UPLOAD } shape;
    bool has_custom_method;
    long http_version;
    bool waits_for_multiplex;
    bool decodes;
    bool is_fresh;
    bool forbids_reuse;
    long connect_ms;
    long expect_ms;
    long weight;
    long buffer_size, upload_buffer_size;
} af__easy_state;

struct af__exchange {
    af__exchange *next_free;
    af__driver *driver;
    CURL *easy;
    af__easy_state state;
    CURLcode option_error; /**< The first option that libcurl refused. */
    char error_text[CURL_ERROR_SIZE];
    CURLU *url;                /**< The last hop's server, as libcurl parses it. */
    char *origin;              /**< The same as text, "https://host:port"; NULL: none yet. */
    struct curl_slist *fields; /**< `field_capacity` nodes, linked as far as needed. */
    size_t field_capacity;
    af__buffer field_text;

    /* This hop. */
    af__transfer *transfer;
    af__exchange_owner owner;
    af__tls_peer *peer;
    int64_t last_activity_us;
    bool has_paused;
    bool was_connecting;
    bool has_ended;
    CURLcode code;
};

typedef struct af__socket {
    af__watch watch;
    af__driver *driver;
    af__exchange *exchange; /**< Of the last one that libcurl named; for its activity only. */
    unsigned wanted;        /**< Readiness that libcurl wants. */
    unsigned watched;       /**< Readiness that epoll reports. */
    bool is_registered;     /**< epoll knows the descriptor. */
    bool is_own;            /**< Opened by us, so we are told when it closes. */
} af__socket;

struct af__driver {
    af__loop *loop;
    CURLM *multi;
    CURLSH *share;
    af__tls *tls;
    char *user_agent;
    const char *encodings; /**< What this libcurl decodes, for Accept-Encoding. */
    long idle_seconds;
    bool forbids_reuse;
    uint32_t connections_per_host, connections_total;
    uint32_t active;
    af__alarm alarm;
    af__socket **sockets; /**< By descriptor. */
    size_t socket_capacity;
    af__exchange *free;
    atomic_uint_fast64_t connections;
};

/** An easy handle with everything set that no request changes. NULL when out of memory. */
af__exchange *af__exchange_new(af__driver *driver);
void af__exchange_free(af__exchange *exchange);

/** Set what this hop needs. */
af_status af__exchange_prepare(af__exchange *exchange, af_failure *failure);

/** Forget everything of the hop. */
void af__exchange_reset(af__exchange *exchange);

/** What a libcurl code means to us. */
void af__exchange_judge(const af__exchange *exchange, CURLcode code, af_failure *failure);

/** The numbers of the hop. */
void af__exchange_measure(const af__exchange *exchange, af_hop *hop);

/** libcurl's callbacks for opening and closing sockets. */
curl_socket_t af__driver_open_socket(void *exchange, curlsocktype purpose,
                                     struct curl_sockaddr *address);
int af__driver_close_socket(void *driver, curl_socket_t descriptor);

#endif
