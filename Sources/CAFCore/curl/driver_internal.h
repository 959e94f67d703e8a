/** Shared by the files of the driver, the only ones that know libcurl. */
#ifndef AF_CURL_DRIVER_INTERNAL_H
#define AF_CURL_DRIVER_INTERNAL_H

#include "curl/allocator.h"
#include "curl/driver.h"
#include "curl/resolve.h"
#include "message/proxy.h"
#include "message/redact.h"
#include "tls/tls.h"

#include <curl/curl.h>

/** The options of an easy handle that differ from request to request, as last set. */
typedef struct af__easy_state {
    enum { AF__KIND_GET, AF__KIND_HEAD, AF__KIND_POST, AF__KIND_UPLOAD } request_kind;
    bool has_custom_method;
    long http_version;
    bool waits_for_multiplex;
    bool decodes;
    bool is_fresh;
    long tls_options;
    bool has_proxy;
    bool has_own_socket;
    bool has_proxy_field;
    bool connection_auth; /**< libcurl authenticates the connection. */
    bool forbids_reuse;
    long connect_ms;
    long expect_ms;
    long weight;
    long buffer_size, upload_buffer_size;
    bool is_verbose; /**< CURLOPT_VERBOSE; see trace.c. */
} af__easy_state;

/** What a traced hop needs to report itself; see trace.c. */
typedef struct af__trace {
    af__buffer head;         /**< Of a request, as far as it has been sent. A secret. */
    af__redaction redaction; /**< Between two lines of the response. */
    char address[46];        /**< Of the last socket that was opened. */
    uint16_t port;
} af__trace;

/** How far a hop has come with its request. */
typedef enum af__attempt {
    AF__ATTEMPT_NONE,  /**< libcurl has no connection for it yet, and perhaps never looked at it. */
    AF__ATTEMPT_SENT,  /**< A connection carries it; nothing of a response has come. */
    AF__ATTEMPT_HEARD, /**< A line of a response has come. */
    AF__ATTEMPT_UNCLEAN /**< Nothing was sent, as its connection had input; see connection_reuse.c. */
} af__attempt;

/** What is spoken on a connection, as its last exchange knew. */
typedef enum af__connection {
    AF__CONNECTION_UNKNOWN, /**< It is being made, or not one of ours. */
    AF__CONNECTION_HTTP_1,
    AF__CONNECTION_HTTP_2, /**< libcurl reads between requests; frames may come at any time. */
    AF__CONNECTION_ENDED   /**< Shut down by us, as something came that nobody had asked for. */
} af__connection;

typedef struct af__socket af__socket;

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
    af__attempt attempt;
    /** No field line has come since libcurl freed the last response's fields. */
    bool awaits_field;
    long connect_error; /**< errno of a failed address, when another one was connected. */
    int socket_error;   /**< errno where there was no socket to be had; 0: there was. */
    long connections;   /**< Made for it, when the request was last about to be sent. */
    uint64_t carrier;   /**< The number of the HTTP/2 connection that took it last; 0: none. */
    int carrier_socket; /**< Its descriptor then. */
    af__tls_peer
        *carrier_peer; /**< The peer of the connection that took it last; NULL: none, or no TLS. */
    bool was_repeated; /**< libcurl has sent it more than once. */
    bool avoids_reuse; /**< A pooled connection had input that nobody had asked for. */
    af__transfer *transfer;
    af__exchange_owner owner;
    af__tls_peer *peer;
    af__tls_peer *proxy_peer; /**< Of a new connection to a proxy over TLS. */
    unsigned tls_layers;      /**< Prepared for the connection that is being made. */
    int64_t last_activity_us;
    bool is_multiplexed; /**< What moves on the connection may be somebody else's. */
    curl_off_t moved;    /**< Then: bytes of bodies, when last looked at. */
    /** The connection stands, so that what comes is the server's, or of a proxy without a tunnel. */
    bool is_ready;
    af__buffer proxy_text;
    struct curl_slist proxy_field; /**< Proxy-Authorization, in `proxy_text`. */
    int64_t passed;                /**< Bytes of the body that the transfer has taken. */
    bool has_paused;
    bool is_stopped;  /**< libcurl must not read for it; see read_pause.c. */
    af__socket *held; /**< HTTP/1: this is not watched for it; NULL: none is. */
    enum {
        AF__FLUSH_NONE,
        AF__FLUSH_DUE,    /**< In the driver's list, once libcurl has returned. */
        AF__FLUSHING,     /**< libcurl passes on what it has collected. */
        AF__FLUSH_STOPPED /**< It has done so, and reads nothing. */
    } flush;              /**< Of a decoded body; see body_flow.c. */
    af__exchange *next_to_flush, *next_broken;
    bool was_connecting;
    bool is_behind_status_line; /**< The last line of a response to CONNECT was its first. */
    bool is_looking_up;         /**< libcurl looks its host up over HTTPS. */
    bool has_ended;
    unsigned slot; /**< See af__isolation_take(). */
    CURLcode code;
    uint64_t serial; /**< Another one for every hop. */
    af__trace trace;
    af__hosts hosts;

    /* An answer that libcurl would have lost; see early_response.c. */
    af__buffer early_response;
    bool is_reinjected;
    int reinjection_listener, reinjection_peer; /**< -1: none. */
    af_hop measured;                            /**< What was known when the connection broke. */
    bool has_whole_answer;  /**< All of its body came, though not all of ours went. */
    int64_t recovered_size; /**< Bytes of it that libcurl knows nothing of. */
};

struct af__socket {
    af__watch watch;
    af__driver *driver;
    af__exchange *exchange; /**< Of the last one that libcurl named; for its activity only. */
    af__exchange *last;     /**< That one, also when libcurl has let go of the socket, */
    uint64_t last_serial;   /**< if this is still its hop. */
    af__name *name;         /**< Of the host that it was opened for; NULL: none was looked up. */
    unsigned wanted;        /**< Readiness that libcurl wants. */
    unsigned watched;       /**< Readiness that epoll reports. */
    bool is_registered;     /**< epoll knows the descriptor. */
    bool is_own;            /**< Opened by us, so we are told when it closes. */

    /* Of a connection; see connection_reuse.c. */
    af__connection kind;
    af__exchange *opener;   /**< For which it was opened, */
    uint64_t opener_serial; /**< if this is still its hop. */
    uint64_t number;        /**< Of all connections; 0: it is closed. */
    uint64_t closed_number; /**< Of the one before, which had this descriptor, */
    bool was_open;          /**< and which the peer had not ended when it was closed. */
    af__tls_peer *proxy;    /**< Of a proxy over TLS; NULL: there is none. */
    uint32_t streams;       /**< HTTP/2: exchanges that it carries, */
    uint32_t stopped;       /**< and those of them that are stopped. */
    bool must_recheck;      /**< See af__driver_recheck(). */
    af__socket *next_alike; /**< In the same place of af__driver.by_port. */
    int local_port;
    char local[46], remote[46];
};

typedef struct af__network af__network;

enum { AF__PORT_PLACES = 256 };

struct af__driver {
    af__loop *loop;
    CURLM *multi;
    CURLSH *share;
    af__tls *tls;
    af__tls *proxy_tls; /**< For proxies: their own policy, and no client certificates. */
    af__proxies proxies;
    af__network *network; /**< NULL: as the system does it. */
    af__names names;
    af__memory *memory;
    char *user_agent;
    const char *encodings; /**< What this libcurl decodes, for Accept-Encoding. */
    long max_idle_s;
    bool multiplexes; /**< af__may_multiplex() */
    bool forbids_reuse;
    bool guards_fields;      /**< af__must_guard_fields() */
    bool reads_while_paused; /**< af__reads_while_paused() */
    bool rechecks;           /**< Some socket must be rechecked. */
    unsigned auth_schemes;   /**< af__connection_schemes() */
    uint32_t max_connections_per_host, max_connections;
    uint32_t active;
    bool is_abandoning; /**< What libcurl lets go of now is in the middle of something. */
    unsigned slots;     /**< Taken, as bits; see af__isolation_take(). */
    af__alarm alarm;
    af__socket **sockets; /**< By descriptor. */
    size_t socket_capacity;
    af__socket *by_port[AF__PORT_PLACES]; /**< Connections by their local port. */
    uint64_t opened;                      /**< Sockets, so far. */
    af__exchange *free;
    size_t free_count, handle_count; /**< Exchanges that are kept, and all. */
    bool parks_handles;              /**< af__must_park_handles() */
    af__exchange *parked; /**< Unused until the session ends; see af__exchange_must_be_parked(). */
    size_t parked_count;
    af__exchange *to_flush; /**< As soon as libcurl has returned; see body_flow.c. */
    af__exchange *broken;   /**< That has ended them; af__driver_next_ended() says so. */
    atomic_uint_fast64_t connections;
};

#endif
