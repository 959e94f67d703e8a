/** Shared by the files of the driver, the only ones that know libcurl. */
#ifndef AF_CURL_DRIVER_INTERNAL_H
#define AF_CURL_DRIVER_INTERNAL_H

#include "curl/driver.h"
#include "curl/resolve.h"
#include "message/proxy.h"
#include "message/redact.h"
#include "tls/tls.h"

#include <curl/curl.h>

/** The options of an easy handle that differ from request to request, as last set. */
typedef struct af__easy_state {
    enum { AF__SHAPE_GET, AF__SHAPE_HEAD, AF__SHAPE_POST, AF__SHAPE_UPLOAD } shape;
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
    bool
        awaits_field; /**< No field line has come since libcurl freed the last response's fields. */
    long connect_error; /**< errno of a failed address, when another one was connected. */
    int socket_error;   /**< errno where there was no socket to be had; 0: there was. */
    long connections;   /**< Made for it, when the request was last about to be sent. */
    uint64_t carrier;   /**< The number of the HTTP/2 connection that took it last; 0: none. */
    int carrier_socket; /**< Its descriptor then. */
    bool was_repeated;  /**< libcurl has sent it more than once. */
    bool avoids_reuse;  /**< A pooled connection had input that nobody had asked for. */
    af__transfer *transfer;
    af__exchange_owner owner;
    af__tls_peer *peer;
    af__tls_peer *proxy_peer; /**< Of a new connection to a proxy over TLS. */
    unsigned tls_layers;      /**< Prepared for the connection that is being made. */
    int64_t last_activity_us;
    bool is_multiplexed; /**< What moves on the connection may be somebody else's. */
    curl_off_t moved;    /**< Then: bytes of bodies, when last looked at. */
    bool
        is_ready; /**< The connection stands, so that what comes is the server's, or of a proxy without a tunnel. */
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
    bool has_ended;
    unsigned place; /**< See af__apart_take(). */
    CURLcode code;
    uint64_t serial; /**< Another one for every hop. */
    af__trace trace;
    af__hosts hosts;

    /* An answer that libcurl would have lost; see early_response.c. */
    af__buffer salvage;
    bool is_replay;
    int replay_listener, replay_peer; /**< -1: none. */
    af_hop measured;                  /**< What was known when the connection broke. */
    bool has_whole_answer;            /**< All of its body came, though not all of ours went. */
    int64_t salvaged;                 /**< Bytes of it that libcurl knows nothing of. */
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

typedef struct af__memory af__memory;
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
    long idle_seconds;
    bool multiplexes; /**< af__may_multiplex() */
    bool forbids_reuse;
    bool guards_fields;      /**< af__must_guard_fields() */
    bool reads_while_paused; /**< af__reads_while_paused() */
    bool rechecks;           /**< Some socket must be rechecked. */
    unsigned auth_schemes;   /**< af__connection_schemes() */
    uint32_t connections_per_host, connections_total;
    uint32_t active;
    bool is_abandoning; /**< What libcurl lets go of now is in the middle of something. */
    unsigned places;    /**< Taken, as bits; see af__apart_take(). */
    af__alarm alarm;
    af__socket **sockets; /**< By descriptor. */
    size_t socket_capacity;
    af__socket *by_port[AF__PORT_PLACES]; /**< Connections by their local port. */
    uint64_t opened;                      /**< Sockets, so far. */
    af__exchange *free;
    size_t free_count, handle_count; /**< Exchanges that are kept, and all. */
    af__exchange *to_flush;          /**< As soon as libcurl has returned; see body_flow.c. */
    af__exchange *broken;            /**< That has ended them; af__driver_next_ended() says so. */
    atomic_uint_fast64_t connections;
};

/** curl_global_init(), with a heap that keeps at hand what loop threads free. */
CURLcode af__memory_init_libcurl(void);

/** What one loop thread keeps. NULL when out of memory. */
af__memory *af__memory_new(void);

/** From now on this thread keeps what it frees there. */
void af__memory_use(af__memory *memory);

/** In bytes; of the thread that uses it. */
size_t af__memory_kept(const af__memory *memory);

/** Free all that is kept. On the thread that used it, or where none did. */
void af__memory_free(af__memory *memory);

/** An easy handle with everything set that no request changes. NULL when out of memory. */
af__exchange *af__exchange_new(af__driver *driver);
void af__exchange_free(af__exchange *exchange);

/** May the handle carry another hop? Before af__exchange_reset(). */
bool af__exchange_may_serve_again(const af__exchange *exchange);

/** Would this libcurl append a folded first field line to a field that it has freed? See driver_handle.c. */
bool af__must_guard_fields(void);

/** After the transfer has accepted a line of a head, of a tunnel's too. */
void af__exchange_guard_fields(af__exchange *exchange, af_slice line);

/** Before libcurl stores a line of a head: make it one that is refused if it would be appended to a freed field. */
void af__exchange_guard_line(const af__exchange *exchange, char *line);

/** CURLOPT_PREREQFUNCTION; the context is an exchange. */
int af__exchange_connected(void *exchange, char *remote, char *local, int remote_port,
                           int local_port);

/** A socket was opened for the exchange; it is about to be closed. */
void af__reuse_opened(af__socket *socket, af__exchange *exchange);
void af__reuse_closing(af__socket *socket);

/** Something came on a socket that libcurl doesn't wait for. */
void af__reuse_heard(af__socket *socket);

/** The exchange has ended, but nothing was sent: begin it again on a new connection. false: it has ended. */
bool af__exchange_use_another(af__exchange *exchange);

/** Is what came a head of HTTP/2, on a connection that speaks HTTP/1? */
bool af__exchange_claims_http_2(const af__exchange *exchange);

/** A line of the final head was the last one: libcurl may drop what comes right behind the response. */
void af__exchange_watch_excess(af__exchange *exchange);

/** A text of libcurl's. Has it dropped something? */
void af__exchange_heed_excess(af__exchange *exchange, af_slice text);

/** CURLOPT_FORBID_REUSE, for the connection of this hop. */
void af__exchange_set_reuse(af__exchange *exchange, bool is_forbidden);

/** CURLOPT_VERBOSE. */
void af__exchange_set_verbose(af__exchange *exchange, bool is_on);

/**
 * A host in another script becomes A-labels, if this libcurl can do that. AF_EINVAL: it is no valid name; AF_ENOMEM; the
 * URL is then as it was.
 */
af_status af__driver_convert_host(af__url *url, af_failure *failure);

/** Set what this hop needs. */
af_status af__exchange_prepare(af__exchange *exchange, af_failure *failure);

/** The proxy of the next hop; NULL: none. As af__proxies_choose(). */
af_status af__driver_choose_proxy(const af__driver *driver, const af__transfer *transfer,
                                  const af__proxy **out, af_failure *failure);

/** Path of the Unix-domain socket of the next hop, its own or the session's; NULL: none. */
const char *af__driver_socket(const af__driver *driver, const af__transfer *transfer);

/** Does this hop go to a Unix-domain socket, its own or the session's? */
bool af__exchange_uses_socket(const af__exchange *exchange);

/** Choose the proxy of this hop, and tell libcurl. After everything else that the hop needs. */
af_status af__exchange_set_proxy(af__exchange *exchange, af_failure *failure);

/** Read the environment, or take what is given. */
af_status af__driver_set_proxies(af__driver *driver, const af_proxies *proxies,
                                 af_failure *failure);

/** What a libcurl code means that is the proxy's doing; AF_OK: it is not. */
af_status af__exchange_judge_proxy(const af__exchange *exchange, CURLcode code);

/**
 * The ways to the hosts of a session. `*out` is NULL if nothing of the options is set. AF_EINVAL,
 * AF_EUNSUPPORTED, AF_ENOMEM.
 */
af_status af__network_new(af__network **out, const af_network_options *options,
                          bool has_total_limit, af_failure *failure);
void af__network_free(af__network *network);

/** The server that is asked for names over HTTPS; NULL: none is. */
const char *af__network_doh_host(const af__network *network);

/** The same with its port; empty: none is. */
af_slice af__network_doh_server(const af__network *network, uint16_t *port);

/** For CURLOPT_RESOLVE; NULL: none. */
struct curl_slist *af__network_overrides(const af__network *network);

/** Are DNS servers of the caller's choice asked? */
bool af__network_has_servers(const af__network *network);

/** Do connections leave by a link or an address of the caller's choice? */
bool af__network_has_interface(const af__network *network);

/** AF_INET, AF_INET6 or AF_UNSPEC. */
int af__network_family(const af__network *network);

/** What no request changes, for a new handle. */
CURLcode af__exchange_set_network(af__exchange *exchange);

/** May this hop's connection go to this address? If not, its transfer has failed. */
bool af__exchange_may_connect(const af__exchange *exchange, const struct curl_sockaddr *address);

/** Set the socket of this hop. */
CURLcode af__exchange_set_socket(af__exchange *exchange);

bool af__can_ask_proxies_over_tls(void);

/** What libcurl has to know of TLS to proxies and of none of its requests. */
CURLcode af__exchange_set_proxy_tls(af__exchange *exchange);

/** CURLOPT_SSL_CTX_FUNCTION; the context is an exchange. */
CURLcode af__exchange_prepare_tls(CURL *easy, void *ssl_context, void *context);

/** A connection from the pool was judged when it was made, by another exchange. */
void af__exchange_adopt_peer(af__exchange *exchange);

/** Which of AF_AUTH_NTLM and AF_AUTH_NEGOTIATE this libcurl has. */
unsigned af__connection_schemes(void);

/** Tell libcurl for whom to authenticate the connection, if for anybody. */
void af__exchange_set_auth(af__exchange *exchange);

/** Overwrite what was sent of credentials. */
void af__exchange_forget_fields(af__exchange *exchange);

/** The same for the proxy, which was chosen, and its field. AF_ENOMEM, AF_EAUTH. */
af_status af__exchange_set_proxy_auth(af__exchange *exchange, af_failure *failure);

/** CURLOPT_WRITEFUNCTION and CURLOPT_READFUNCTION; the context is an exchange. */
size_t af__exchange_take_body(char *bytes, size_t one, size_t size, void *exchange);
size_t af__exchange_read_body(char *buffer, size_t one, size_t size, void *exchange);

/** Does this libcurl read what a paused exchange gets? Otherwise the functions of read_pause.c do nothing. */
bool af__reads_while_paused(void);

/** What libcurl may know of this readiness; 0: nothing. */
unsigned af__reading_filter(af__socket *socket, unsigned readiness);

/** Do some read on this connection, and some not? */
bool af__reading_is_mixed(const af__socket *socket);

/** A callback is about to return CURL_WRITEFUNC_PAUSE. */
void af__reading_stops(af__exchange *exchange);

/** Before curl_easy_pause() resumes, and after. false: its socket can't be watched. */
void af__reading_may_begin(af__exchange *exchange);
bool af__reading_begins(af__exchange *exchange);

/** Before libcurl runs: let no paused exchange read because another one of its connection was resumed. */
void af__driver_recheck(af__driver *driver);

/** It is on this connection now; NULL: on none. false: its socket can't be watched. */
bool af__exchange_set_carrier(af__exchange *exchange, af__socket *socket);

/** Would libcurl pass on the body as it is encoded? Then its transfer has failed. */
bool af__exchange_cannot_decode(const af__exchange *exchange);

/** libcurl has returned: let the transfers keep what it has decoded of bodies that have to wait. */
void af__driver_flush(af__driver *driver);

/** One that ended in that, or NULL. */
af__exchange *af__driver_next_broken(af__driver *driver);

/** The exchange is recycled. */
void af__exchange_forget_flush(af__exchange *exchange);

/** What af__exchange_continue() does for one that is paused. */
bool af__exchange_resume(af__exchange *exchange);

/** libcurl is done. Does the transfer still keep bytes? Then af__exchange_continue() ends it later. */
bool af__exchange_must_deliver(af__exchange *exchange);

/** Forget everything of the hop. */
void af__exchange_reset(af__exchange *exchange);

/** Connections of exchanges that no other may share. */
enum {
    AF__APART_NOT = 0,  /**< A connection as any other. */
    AF__APART_ALONE = 7 /**< A new one, not used again; in between: one of this number. */
};

/** Must this hop have a connection to itself? The place is its own until it is given back. */
unsigned af__apart_take(af__driver *driver, const af__transfer *transfer);
void af__apart_give_back(af__driver *driver, unsigned place);

/**
 * libcurl before 8.0 fails on the second request of a connection in the clear that speaks HTTP/2 by
 * prior knowledge: there each request gets its own.
 */
bool af__must_not_share(const af__transfer *transfer);

/**
 * Does this libcurl share connections of HTTP/2 safely? Before 8.1.0 the reset of a stream passes for the
 * end of its response while another stream of the connection waits (cf_h2_recv() in lib/http2.c), so that
 * a response without Content-Length would be cut without an error.
 */
bool af__may_multiplex(void);

/** The CURLOPT_SSL_OPTIONS that keep the connection of a place from everybody else. */
long af__apart_options(unsigned place);

/** What a libcurl code means to us. */
void af__exchange_judge(const af__exchange *exchange, CURLcode code, af_failure *failure);

/** The numbers of the hop. */
void af__exchange_measure(const af__exchange *exchange, af_hop *hop);

/** libcurl is about to close a socket of the exchange: keep what there is of an answer. */
void af__exchange_salvage(af__exchange *exchange, curl_socket_t descriptor);

/** The exchange has ended: begin once more with the answer that was kept. false: there is none. */
bool af__exchange_replay(af__exchange *exchange);
curl_socket_t af__exchange_open_replay(af__exchange *exchange, struct curl_sockaddr *address);

/** The connection is there: put the answer on it. */
bool af__exchange_feed_replay(af__exchange *exchange);

/** Has an answer that is no success come, all of it, though not all of our body went? HTTP/2 only. */
bool af__exchange_is_answered(const af__exchange *exchange);

/** The exchange has ended: what was kept may be the rest of the answer's body. */
void af__exchange_finish_body(af__exchange *exchange);

/** Forget what was kept. */
void af__exchange_end_replay(af__exchange *exchange);

/** The numbers of the hop, of which only the answer is the replay's. */
void af__exchange_measure_replay(const af__exchange *exchange, af_hop *hop);

/** Once for each handle. */
void af__exchange_init_trace(af__exchange *exchange);
CURLcode af__exchange_set_trace(af__exchange *exchange);

/** A socket to this address is about to be made. */
void af__exchange_trace_socket(af__exchange *exchange, const struct curl_sockaddr *address);

/** The connection of the hop can be used. */
void af__exchange_trace_ready(af__exchange *exchange);

/** A line of a response, or of the proxy's to CONNECT. */
void af__exchange_trace_line(af__exchange *exchange, af_slice line);

/** A name is about to be looked up. */
void af__exchange_pause_trace(af__exchange *exchange);
void af__exchange_end_trace(af__exchange *exchange);

/** libcurl's callbacks for opening and closing sockets. */
curl_socket_t af__driver_open_socket(void *exchange, curlsocktype purpose,
                                     struct curl_sockaddr *address);
int af__driver_close_socket(void *driver, curl_socket_t descriptor);

#endif
