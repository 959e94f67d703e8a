/*
 * One hop on one easy handle: its options and callbacks.
 *
 * Handles are recycled. Options that never change are set once. An option that a request can change is a field of
 * afc__easy_state, written only by the `set_…` functions, so no option of one request affects the next.
 */
#include "curl/exchange.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/failure.h"
#include "curl/body/body_flow.h"
#include "curl/body/buffers.h"
#include "curl/body/direct_io.h"
#include "curl/body/early_response.h"
#include "curl/body/peer_end.h"
#include "curl/body/read_pause.h"
#include "curl/connection/connection_auth.h"
#include "curl/connection/connection_reuse.h"
#include "curl/connection/isolation.h"
#include "curl/connection/socket.h"
#include "curl/connection/sockets.h"
#include "curl/connection/tls_setup.h"
#include "curl/exchange_state.h"
#include "curl/handle.h"
#include "curl/library.h"
#include "curl/request/network.h"
#include "curl/request/proxy.h"
#include "curl/request/request_fields.h"
#include "curl/trace.h"
#include "transfer/auth.h"

#include <afcore/version.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum {
    /* A body up to this size is sent together with the head, without being copied. */
    INLINE_BODY = 64 * 1024,
    /* The default weight of a stream (RFC 7540 section 5.3.5). */
    DEFAULT_WEIGHT = 16,
    /*
     * How long a request body waits for 100 (Continue): longer than most round trips, and shorter than libcurl's
     * default of a second, which would delay every upload to servers without support for Expect. The long one is for
     * callers who ask for Expect explicitly.
     */
    EXPECT_WAIT_MS = 200,
    LONG_EXPECT_WAIT_MS = 1000
};

/* libcurl's own default is five minutes; without connect_ms only the caller's other time limits apply. */
#define NO_CONNECT_LIMIT_MS 2000000000L

/* ---- Setting ------------------------------------------------------------------------------- */

/** Fails if libcurl has refused an option since the last call; see AFC__SET(). */
static afc_status report_option(afc__exchange *exchange, afc_failure *failure) {
    CURLcode code = exchange->state.refusal;
    exchange->state.refusal = CURLE_OK;
    if (code == CURLE_OK) return AFC_OK;
    bool is_unknown = code == CURLE_UNKNOWN_OPTION || code == CURLE_NOT_BUILT_IN;
    afc_status status = is_unknown ? AFC_EUNSUPPORTED : AFC_EINTERNAL;
    if (code == CURLE_OUT_OF_MEMORY) status = AFC_ENOMEM;
    afc__fail(failure, status, "libcurl refused an option: %s", curl_easy_strerror(code));
    if (failure != NULL) failure->curl_code = (int)code;
    return status;
}

/* ---- Callbacks ----------------------------------------------------------------------------- */

/**
 * Handles a line of a response to CONNECT. Refuses a folded first field line (RFC 9112 2.2), which some versions of
 * libcurl up to 8.17.0 accept there. Returns false if the hop ends here; outcome.c finds out why.
 */
static bool accept_connect_line(afc__exchange *exchange, afc_slice line) {
    bool is_folded = line.bytes[0] == ' ' || line.bytes[0] == '\t';
    if (is_folded && exchange->run.is_behind_status_line) {
        exchange->run.has_folded_line = true;
        return false;
    }
    exchange->run.is_behind_status_line = afc__is_status_line(line);
    return afc__transfer_on_connect_line(exchange->hop.transfer, line);
}

/**
 * Reports how much was sent of a body that was set with CURLOPT_POSTFIELDS, for which libcurl calls no read callback.
 * Called when a response begins: the size that libcurl reports starts again with each round of authentication.
 */
static void report_inline_body(const afc__exchange *exchange) {
    afc__transfer *transfer = exchange->hop.transfer;
    curl_off_t sent = 0;
    if (!transfer->request.sends_body || exchange->state.request_kind != AFC__KIND_POST) return;
    curl_easy_getinfo(exchange->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    afc__transfer_set_sent(transfer, (int64_t)sent);
}

/** Handles a line of a head or of trailers. Returns false if the hop ends here. */
static bool accept_line(afc__exchange *exchange, afc_slice line) {
    afc__exchange_note_activity(exchange);
    bool is_connected = afc__exchange_is_connected(exchange);
    if (is_connected) afc__exchange_enter(exchange, AFC__PROGRESS_RESPONDING);
    afc__exchange_trace_line(exchange, line);
    if (!is_connected) return accept_connect_line(exchange, line);
    if (afc__is_status_line(line)) report_inline_body(exchange);
    if (!afc__transfer_on_line(exchange->hop.transfer, line)) return false;
    if (afc__exchange_claims_http_2(exchange)) {
        return afc__transfer_fail_text(exchange->hop.transfer, AFC_EPROTOCOL,
                                       "the server sent an HTTP/2 status line over HTTP/1");
    }
    /* The rest requires a complete final head. */
    exchange->early.is_complete = false;
    if (afc__hop_in_head(&exchange->hop.transfer->hop)) return true;
    const afc__transfer *transfer = exchange->hop.transfer;
    if (transfer->hop.framing.must_close || afc__transfer_expects_unsent_body(transfer))
        afc__exchange_close_after(exchange, true);
    afc__exchange_watch_excess(exchange);
    exchange->early.is_complete = afc__exchange_has_whole_response(exchange);
    if (!exchange->early.is_complete) afc__exchange_got_head(exchange);
    return !exchange->early.is_complete;
}

static size_t take_line(char *bytes, size_t one, size_t size, void *context) {
    (void)one;
    afc__exchange *exchange = context;
    afc_slice line = {bytes, size};
    /* Any return value but the size ends the transfer (CURLE_WRITE_ERROR); lines are never empty. */
    if (!accept_line(exchange, line)) return 0;
    afc__exchange_guard_fields(exchange, line);
    return size;
}

static int seek_body(void *context, curl_off_t offset, int origin) {
    afc__exchange *exchange = context;
    if (exchange->state.connect_only) return CURL_SEEKFUNC_OK;
    if (offset != 0 || origin != SEEK_SET) return CURL_SEEKFUNC_CANTSEEK;
    return afc__transfer_rewind_body(exchange->hop.transfer) ? CURL_SEEKFUNC_OK
                                                             : CURL_SEEKFUNC_FAIL;
}

/** Decides whether libcurl may look up a name. If not, the transfer may have failed with a reason. */
static bool begin_lookup(afc__exchange *exchange) {
    const afc__driver *driver = exchange->driver;
    if (!afc__exchange_may_look_up(exchange)) return false;
    if (afc__network_doh_host(driver->network) == NULL) return true;
    exchange->hop.is_looking_up = afc__handle_pool_may_park(&driver->pool);
    if (exchange->hop.is_looking_up) return true;
    afc_failure failure = {0};
    afc__fail(&failure, AFC_EUNSUPPORTED,
              "too many lookups over HTTPS were cancelled in this session for libcurl %s",
              afc_curl_version());
    return afc__transfer_fail(exchange->hop.transfer, &failure);
}

static int resolver_starts(void *resolver, void *reserved, void *context) {
    (void)resolver, (void)reserved;
    afc__exchange *exchange = context;
    afc__exchange_pause_trace(exchange);
    afc__exchange_report_connecting(exchange, afc__now_us());
    /* A return value other than 0 prevents the lookup, and then the transfer fails. */
    return begin_lookup(exchange) ? 0 : 1;
}

/* ---- Options that no request changes ------------------------------------------------------- */

static void set_constants(afc__exchange *exchange) {
    afc__driver *driver = exchange->driver;
    AFC__SET(exchange, CURLOPT_PRIVATE, exchange);
    AFC__SET(exchange, CURLOPT_ERRORBUFFER, exchange->error_text);
    AFC__SET(exchange, CURLOPT_SHARE, driver->share);
    AFC__SET(exchange, CURLOPT_NOSIGNAL, 1L);
    AFC__SET(exchange, CURLOPT_PROTOCOLS_STR, "http,https");
    AFC__SET(exchange, CURLOPT_FOLLOWLOCATION, 0L);
    AFC__SET(exchange, CURLOPT_PATH_AS_IS, 1L);
    AFC__SET(exchange, CURLOPT_PROXY, "");
    AFC__SET(exchange, CURLOPT_NOPROXY, "");
    AFC__SET(exchange, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    AFC__SET(exchange, CURLOPT_TCP_NODELAY, 1L);
    AFC__SET(exchange, CURLOPT_TCP_KEEPALIVE, 1L);
    AFC__SET(exchange, CURLOPT_MAXAGE_CONN, driver->max_idle_s);
    AFC__SET(exchange, CURLOPT_MAXLIFETIME_CONN, driver->max_age_s);

    AFC__SET(exchange, CURLOPT_HEADERFUNCTION, take_line);
    AFC__SET(exchange, CURLOPT_HEADERDATA, exchange);
    AFC__SET(exchange, CURLOPT_WRITEFUNCTION, afc__exchange_take_body);
    AFC__SET(exchange, CURLOPT_WRITEDATA, exchange);
    AFC__SET(exchange, CURLOPT_READFUNCTION, afc__exchange_read_body);
    AFC__SET(exchange, CURLOPT_READDATA, exchange);
    AFC__SET(exchange, CURLOPT_SEEKFUNCTION, seek_body);
    AFC__SET(exchange, CURLOPT_SEEKDATA, exchange);
    AFC__SET(exchange, CURLOPT_OPENSOCKETFUNCTION, afc__driver_open_socket);
    AFC__SET(exchange, CURLOPT_OPENSOCKETDATA, exchange);
    AFC__SET(exchange, CURLOPT_CLOSESOCKETFUNCTION, afc__driver_close_socket);
    AFC__SET(exchange, CURLOPT_CLOSESOCKETDATA, driver);
    AFC__SET(exchange, CURLOPT_RESOLVER_START_FUNCTION, resolver_starts);
    AFC__SET(exchange, CURLOPT_RESOLVER_START_DATA, exchange);
    AFC__SET(exchange, CURLOPT_PREREQFUNCTION, afc__exchange_on_prerequest);
    AFC__SET(exchange, CURLOPT_PREREQDATA, exchange);

    /*
     * trust/evaluate.c alone verifies the chain and the host name. libcurl loads no certificates (which costs 30 ms per
     * connection) and compares no name. But verification must be on, or OpenSSL would continue after a rejected chain.
     */
    AFC__SET(exchange, CURLOPT_SSL_VERIFYPEER, 1L);
    AFC__SET(exchange, CURLOPT_SSL_VERIFYHOST, 0L);
    AFC__SET(exchange, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    AFC__SET(exchange, CURLOPT_SSL_CTX_FUNCTION, afc__exchange_prepare_tls);
    AFC__SET(exchange, CURLOPT_SSL_CTX_DATA, exchange);
}

afc_status afc__exchange_new(afc__exchange **out, afc__driver *driver, afc_failure *failure) {
    *out = NULL;
    afc__exchange *exchange = afc__zalloc(sizeof *exchange);
    if (exchange == NULL) return afc__fail_memory(failure);
    exchange->driver = driver;
    afc__list_init(&exchange->watched);
    afc__list_init(&exchange->used);
    afc__list_init(&exchange->opened);
    exchange->easy = curl_easy_init();
    exchange->url = curl_url();
    afc__buffer_init(&exchange->field_text, UINT32_MAX);
    afc__buffer_init(&exchange->proxy_text, UINT32_MAX);
    afc__exchange_init_trace(exchange);
    afc__direct_reset(exchange);
    afc__early_response_init(&exchange->early);
    exchange->state = (afc__easy_state){.request_kind = AFC__KIND_GET,
                                        .http_version = CURL_HTTP_VERSION_2TLS,
                                        .connect_ms = -1,
                                        .expect_ms = LONG_EXPECT_WAIT_MS,
                                        .weight = DEFAULT_WEIGHT,
                                        .buffer_size = AFC__SMALL_READ,
                                        .upload_buffer_size = AFC__SMALL_UPLOAD_BUFFER};
    if (exchange->easy != NULL) {
        set_constants(exchange);
        afc__easy_check(&exchange->state, afc__exchange_set_network(exchange));
        afc__easy_check(&exchange->state, afc__exchange_set_tls(exchange));
        afc__easy_check(&exchange->state, afc__exchange_set_proxy_tls(exchange));
        afc__easy_check(&exchange->state, afc__exchange_set_trace(exchange));
        AFC__SET(exchange, CURLOPT_HTTP_VERSION, exchange->state.http_version);
        AFC__SET(exchange, CURLOPT_EXPECT_100_TIMEOUT_MS, exchange->state.expect_ms);
        AFC__SET(exchange, CURLOPT_BUFFERSIZE, exchange->state.buffer_size);
        AFC__SET(exchange, CURLOPT_UPLOAD_BUFFERSIZE, exchange->state.upload_buffer_size);
    }
    bool is_complete = exchange->easy != NULL && exchange->url != NULL;
    afc_status status = is_complete ? report_option(exchange, failure)
                                    : afc__fail(failure, AFC_ENOMEM, "out of memory for libcurl");
    if (status != AFC_OK) {
        afc__exchange_free(exchange);
        return status;
    }
    *out = exchange;
    return AFC_OK;
}

void afc__exchange_free(afc__exchange *exchange) {
    afc__exchange_end_trace(exchange);
    /*
     * Twice: curl_easy_cleanup() may still close connections of the handle, and may make a socket point to this
     * exchange again.
     */
    afc__exchange_forget_sockets(exchange);
    if (exchange->easy != NULL) curl_easy_cleanup(exchange->easy);
    afc__exchange_forget_sockets(exchange);
    curl_url_cleanup(exchange->url);
    afc_free(exchange->origin);
    afc__tls_peer_release(exchange->peer);
    afc__tls_peer_release(exchange->proxy_peer);
    afc__tls_peer_release(exchange->carrier_peer);
    afc__exchange_end_reinjection(exchange);
    afc__direct_reset(exchange);
    afc__buffer_clear(&exchange->field_text);
    afc__buffer_clear(&exchange->proxy_text);
    afc_free(exchange->fields);
    afc_free(exchange);
}

/* ---- Options of a hop ---------------------------------------------------------------------- */

/**
 * Sets the URL. libcurl would parse CURLOPT_URL again for every request. So it gets a parsed URL of the server
 * (CURLOPT_CURLU), which is only replaced for another server, and the request target separately
 * (CURLOPT_REQUEST_TARGET), which it sends byte for byte.
 */
static afc_status set_url(afc__exchange *exchange) {
    const afc__url *url = &exchange->hop.transfer->request.url;
    const char *target = url->path.bytes;
    size_t size = (size_t)(target - url->text);
    bool is_same = exchange->origin != NULL && strlen(exchange->origin) == size &&
                   memcmp(exchange->origin, url->text, size) == 0;
    if (!is_same) {
        afc_free(exchange->origin);
        exchange->origin = afc__copy_text((afc_slice){url->text, size});
        if (exchange->origin == NULL) return AFC_ENOMEM;
        CURLUcode code = curl_url_set(exchange->url, CURLUPART_URL, exchange->origin, 0);
        if (code == CURLUE_OK) {
            AFC__SET(exchange, CURLOPT_URL, exchange->origin);
            AFC__SET(exchange, CURLOPT_CURLU, exchange->url);
        } else {
            afc__easy_check(&exchange->state, CURLE_URL_MALFORMAT);
            afc_free(exchange->origin);
            exchange->origin = NULL;
        }
    }
    AFC__SET(exchange, CURLOPT_REQUEST_TARGET, target);
    return AFC_OK;
}

static bool takes_content(const char *method) {
    return strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0 ||
           strcmp(method, "PATCH") == 0;
}

/** Returns the AFC__KIND_… that libcurl needs for the request and its body. */
static int kind_of_body(const afc__exchange *exchange) {
    const afc__transfer *transfer = exchange->hop.transfer;
    const char *method = transfer->request.method;
    bool has_own_listener = afc__exchange_uses_own_listener(exchange);
    if (transfer->purpose == AFC__PURPOSE_CONNECTION) return AFC__KIND_UPLOAD;
    if (transfer->request.sends_body && !has_own_listener) {
        const afc_slice *memory = afc__source_in_memory(&transfer->source);
        /* A rate limit and Expect require that the body is read piece by piece, apart from the head. */
        bool is_inline = memory != NULL && memory->size <= INLINE_BODY &&
                         transfer->send_rate.per_second == 0 && !afc__transfer_expects(transfer);
        return is_inline ? AFC__KIND_POST : AFC__KIND_UPLOAD;
    }
    if (strcmp(method, "HEAD") == 0) return AFC__KIND_HEAD;
    /* RFC 9110 section 8.6: a request whose method anticipates content states its absence with Content-Length: 0. */
    return takes_content(method) && !has_own_listener ? AFC__KIND_POST : AFC__KIND_GET;
}

static void set_body(afc__exchange *exchange) {
    const afc__transfer *transfer = exchange->hop.transfer;
    afc__easy_state *state = &exchange->state;
    int kind = kind_of_body(exchange);
    if (state->request_kind != (unsigned)kind) {
        /*
         * Changes the kind of request to GET, and then to the new one: libcurl's options undo one another in this order
         * only.
         */
        if (state->request_kind == AFC__KIND_HEAD) AFC__SET(exchange, CURLOPT_NOBODY, 0L);
        if (state->request_kind == AFC__KIND_UPLOAD) AFC__SET(exchange, CURLOPT_UPLOAD, 0L);
        AFC__SET(exchange, CURLOPT_POSTFIELDS, NULL);
        AFC__SET(exchange, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)-1);
        AFC__SET(exchange, CURLOPT_INFILESIZE_LARGE, (curl_off_t)-1);
        AFC__SET(exchange, CURLOPT_HTTPGET, 1L);
        if (kind == AFC__KIND_HEAD) AFC__SET(exchange, CURLOPT_NOBODY, 1L);
        if (kind == AFC__KIND_POST) AFC__SET(exchange, CURLOPT_POST, 1L);
        if (kind == AFC__KIND_UPLOAD) AFC__SET(exchange, CURLOPT_UPLOAD, 1L);
        state->request_kind = (unsigned)kind;
    }
    if (kind == AFC__KIND_POST) {
        const afc_slice *memory = afc__source_in_memory(&transfer->source);
        bool has_bytes = transfer->request.sends_body && memory->size > 0;
        AFC__SET(exchange, CURLOPT_POSTFIELDS, has_bytes ? memory->bytes : "");
        AFC__SET(exchange, CURLOPT_POSTFIELDSIZE_LARGE,
                 has_bytes ? (curl_off_t)memory->size : (curl_off_t)0);
    } else if (kind == AFC__KIND_UPLOAD) {
        curl_off_t size = transfer->purpose == AFC__PURPOSE_CONNECTION
                              ? 1
                              : (curl_off_t)transfer->source.length;
        AFC__SET(exchange, CURLOPT_INFILESIZE_LARGE, size);
    }
}

/**
 * Lets libcurl connect without sending anything. libcurl never reuses connections made with CURLOPT_CONNECT_ONLY, and
 * closes those whose transfer a callback ends. But an upload that resumes at its end fails after the connection is
 * made, before the head is written (Curl_http_resume(), CURLE_PARTIAL_FILE), and its connection goes to the pool.
 */
static void set_connect_only(afc__exchange *exchange) {
    bool is_on = exchange->hop.transfer->purpose == AFC__PURPOSE_CONNECTION;
    if (is_on == exchange->state.connect_only) return;
    AFC__SET(exchange, CURLOPT_RESUME_FROM_LARGE, is_on ? (curl_off_t)1 : (curl_off_t)0);
    exchange->state.connect_only = is_on;
}

static void set_method(afc__exchange *exchange) {
    static const char *const natural[] = {"GET", "HEAD", "POST", "PUT"};
    const char *method = exchange->hop.transfer->request.method;
    bool is_natural = strcmp(method, natural[exchange->state.request_kind]) == 0;
    if (is_natural && !exchange->state.has_custom_method) return;
    AFC__SET(exchange, CURLOPT_CUSTOMREQUEST, is_natural ? NULL : method);
    exchange->state.has_custom_method = !is_natural;
}

/** Returns whether libcurl doesn't send a request on a connection that has had no response yet; see afc__quirks. */
static bool wants_response_first(const afc__exchange *exchange) {
    const afc__quirks *quirks = &exchange->driver->quirks;
    if (!quirks->wants_response_first) return false;
    return !quirks->alpn_counts_as_response || !exchange->hop.transfer->request.url.is_https;
}

static afc_status set_version(afc__exchange *exchange, afc_failure *failure) {
    const afc__transfer *transfer = exchange->hop.transfer;
    long version = CURL_HTTP_VERSION_2TLS;
    switch (exchange->state.connection_auth ? AFC_HTTP_PREFER_1_1 : transfer->version) {
    case AFC_HTTP_PREFER_AUTOMATIC:
    case AFC_HTTP_PREFER_2:
        /*
         * Without prior knowledge http:// uses HTTP/1.1 in any case. But if HTTP/2 seems possible, such a libcurl
         * waits.
         */
        if (!transfer->request.url.is_https && wants_response_first(exchange))
            version = CURL_HTTP_VERSION_1_1;
        break;
    case AFC_HTTP_PREFER_1_1:
        version = CURL_HTTP_VERSION_1_1;
        break;
    case AFC_HTTP_PREFER_2_PRIOR_KNOWLEDGE:
        version = CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;
        break;
    case AFC_HTTP_PREFER_3:
        if (!(afc__libcurl_info()->features & CURL_VERSION_HTTP3)) {
            return afc__fail(failure, AFC_EUNSUPPORTED, "libcurl was built without HTTP/3");
        }
        version = CURL_HTTP_VERSION_3;
        break;
    }
    if (version != exchange->state.http_version) {
        AFC__SET(exchange, CURLOPT_HTTP_VERSION, version);
        exchange->state.http_version = version;
    }
    /*
     * CURLOPT_PIPEWAIT makes a hop wait for a connection that is being made, which only helps if that may turn out to
     * be multiplexed.
     */
    bool waits = exchange->run.use == AFC__USE_SHARED;
    if (waits != exchange->state.waits_for_multiplex) {
        AFC__SET(exchange, CURLOPT_PIPEWAIT, waits ? 1L : 0L);
        exchange->state.waits_for_multiplex = waits;
    }
    return AFC_OK;
}

/** Returns whether the next hop may have to wait for a free connection. */
static bool is_at_connection_limit(const afc__driver *driver) {
    return (driver->max_connections_per_host != 0 &&
            driver->active >= driver->max_connections_per_host) ||
           (driver->max_connections != 0 && driver->active >= driver->max_connections);
}

static void isolate(afc__exchange *exchange) {
    long options = afc__isolation_begin(exchange);
    if (options == exchange->state.tls_options) return;
    AFC__SET(exchange, CURLOPT_SSL_OPTIONS, options);
    exchange->state.tls_options = options;
}

static void set_rest(afc__exchange *exchange) {
    const afc__transfer *transfer = exchange->hop.transfer;
    afc__easy_state *state = &exchange->state;
    isolate(exchange);
    afc__connection_use use = exchange->run.use;
    bool is_one_shot = use == AFC__USE_ONE_SHOT || afc__exchange_uses_own_listener(exchange);
    bool would_block_others = transfer->purpose == AFC__PURPOSE_CONNECTION &&
                              transfer->request.url.is_https && wants_response_first(exchange);
    afc__exchange_close_after(exchange,
                              exchange->driver->forbids_reuse || is_one_shot || would_block_others);
    bool is_fresh = transfer->is_retry || exchange->run.avoids_reuse || use == AFC__USE_FRESH ||
                    is_one_shot;
    if (is_fresh != state->is_fresh) {
        AFC__SET(exchange, CURLOPT_FRESH_CONNECT, is_fresh ? 1L : 0L);
        state->is_fresh = is_fresh;
    }
    /*
     * The task's own timer enforces the connect limit. The time in which the hop waits for a free connection doesn't
     * count there, but does for CURLOPT_CONNECTTIMEOUT_MS. If no such wait is possible, libcurl gets the limit, too, so
     * that it tries the next address of a host in time.
     */
    long connect = (long)transfer->timeouts.connect_ms;
    bool waits = is_at_connection_limit(exchange->driver);
    if (connect == 0 || waits) connect = NO_CONNECT_LIMIT_MS;
    if (connect != state->connect_ms) {
        AFC__SET(exchange, CURLOPT_CONNECTTIMEOUT_MS, connect);
        state->connect_ms = connect;
    }
    long wait = transfer->expect == AFC_EXPECT_ALWAYS ? LONG_EXPECT_WAIT_MS : EXPECT_WAIT_MS;
    if (wait != state->expect_ms) {
        AFC__SET(exchange, CURLOPT_EXPECT_100_TIMEOUT_MS, wait);
        state->expect_ms = wait;
    }
    long weight = transfer->priority != 0 ? (long)transfer->priority : DEFAULT_WEIGHT;
    if (weight != state->weight) {
        AFC__SET(exchange, CURLOPT_STREAM_WEIGHT, weight);
        state->weight = weight;
    }
    afc__exchange_set_read_size(exchange);
    afc__exchange_set_auth(exchange);
}

/**
 * Refuses a request without TLS to a host with pins: there is no certificate to compare them with. A request over a
 * Unix-domain socket is allowed, because it doesn't use the network.
 */
static afc_status check_pins(const afc__exchange *exchange, afc_failure *failure) {
    const afc__url *url = &exchange->hop.transfer->request.url;
    if (url->is_https || afc__exchange_uses_socket(exchange)) return AFC_OK;
    if (!afc__tls_demands_pin(exchange->driver->tls, url->host)) return AFC_OK;
    return afc__fail(
        failure, AFC_EINVAL,
        "the trust policy has pins for %.*s, so its URL must begin with https:// (not http://)",
        (int)url->host.size, url->host.bytes);
}

afc_status afc__exchange_prepare(afc__exchange *exchange, afc_failure *failure) {
    afc_status pins = check_pins(exchange, failure);
    if (pins != AFC_OK) return pins;
    exchange->error_text[0] = '\0';
    exchange->run.awaits_field = exchange->driver->quirks.appends_to_freed_field;
    if (set_url(exchange) != AFC_OK) return afc__fail_memory(failure);
    set_body(exchange);
    set_connect_only(exchange);
    set_method(exchange);
    set_rest(exchange);
    afc_status status = set_version(exchange, failure);
    if (status != AFC_OK) return status;
    status = afc__exchange_set_proxy(exchange, failure);
    if (status != AFC_OK) return status;
    /* Some fields depend on the proxy, so they are set after it. */
    status = afc__exchange_set_fields(exchange);
    if (status == AFC_ETOOBIG) {
        return afc__fail(failure, status, "the request's head exceeds libcurl's limit");
    }
    if (status != AFC_OK) return afc__fail_memory(failure);
    afc__exchange_set_upload_buffer(exchange);
    return report_option(exchange, failure);
}

/* ---- The end of a hop ---------------------------------------------------------------------- */

/** Releases what belongs to this run of the hop, and resets the run. */
static void release_connection(afc__exchange *exchange) {
    afc__exchange_release_names(exchange);
    afc__tls_peer_release(exchange->peer);
    afc__tls_peer_release(exchange->proxy_peer);
    afc__tls_peer_release(exchange->carrier_peer);
    exchange->peer = exchange->proxy_peer = exchange->carrier_peer = NULL;
    afc__receiving_begins(exchange);
    afc__exchange_set_carrier(exchange, NULL);
    afc__direct_reset(exchange);
    afc__decoder_free(exchange->run.decoder);
    exchange->run = (afc__exchange_run){0};
}

bool afc__exchange_restart(afc__exchange *exchange) {
    curl_multi_remove_handle(exchange->driver->multi.handle, exchange->easy);
    release_connection(exchange);
    afc__exchange_drop_early_response(exchange);
    exchange->run.avoids_reuse = true;
    if (afc__exchange_prepare(exchange, &exchange->own_failure) != AFC_OK ||
        afc__exchange_begin(exchange, &exchange->own_failure) != AFC_OK) {
        afc__exchange_end_with(exchange, CURLE_OUT_OF_MEMORY);
        return false;
    }
    if (exchange->hosts.stage == AFC__STAGE_LOOKING_UP)
        afc__exchange_report_connecting(exchange, afc__now_us());
    return true;
}

bool afc__exchange_restart_with_response(afc__exchange *exchange) {
    if (!afc__exchange_begin_reinjection(exchange)) return false;
    CURLM *multi = exchange->driver->multi.handle;
    curl_multi_remove_handle(multi, exchange->easy);
    afc__receiving_begins(exchange);
    afc__sending_resumes(exchange);
    exchange->run.has_ended = false;
    /* If this fails, the failure to send is reported: it is why the response couldn't be read. */
    if (afc__exchange_prepare(exchange, NULL) == AFC_OK &&
        curl_multi_add_handle(multi, exchange->easy) == CURLM_OK) {
        return true;
    }
    afc__exchange_end_with(exchange, CURLE_SEND_ERROR);
    return false;
}

void afc__exchange_reset(afc__exchange *exchange) {
    afc__exchange_end_trace(exchange);
    afc__exchange_forget_fields(exchange);
    release_connection(exchange);
    afc__exchange_end_reinjection(exchange);
    afc__exchange_leave_lists(exchange);
    afc__list_remove(&exchange->attempt_node);
    exchange->own_failure.status = AFC_OK;
    exchange->hop = (afc__exchange_hop){0};
}
