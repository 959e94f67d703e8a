/*
 * Maps libcurl's result of a hop to a failure of this library: from the code to a status first, then by rules about the
 * code, libcurl's texts and the state of the hop.
 */
#include "curl/outcome.h"

#include "base/failure.h"
#include "curl/connection/socket.h"
#include "curl/error_texts.h"
#include "curl/exchange_state.h"
#include "curl/request/network.h"
#include "curl/request/proxy.h"
#include "message/fields.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

/* ---- Codes --------------------------------------------------------------------------------- */

/** Maps a libcurl code to a status. */
static afc_status status_of(CURLcode code) {
    switch ((int)code) {
    case CURLE_OK:
        return AFC_OK;
    case CURLE_OUT_OF_MEMORY:
    case CURLE_ABORTED_BY_CALLBACK: /* A socket can't be watched; other callbacks give a reason. */
        return AFC_ENOMEM;
    case CURLE_URL_MALFORMAT:
        return AFC_EINVAL;
    case CURLE_NOT_BUILT_IN:
        return AFC_EUNSUPPORTED;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        return AFC_EDNS;
    case CURLE_COULDNT_CONNECT:
    case CURLE_INTERFACE_FAILED:
    case CURLE_PROXY:
        return AFC_ECONNECT;
    case CURLE_OPERATION_TIMEDOUT:
        return AFC_ETIMEOUT;
    case CURLE_PARTIAL_FILE:
        return AFC_ETRUNCATED;
    case AFC__CURLE_TOO_LARGE:
        return AFC_ETOOBIG;
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
        return AFC_ELOST;
    case CURLE_TOO_MANY_REDIRECTS: /* Rounds of authentication; libcurl follows no redirects. */
        return AFC_EAUTH;
    case CURLE_SEND_FAIL_REWIND:
        return AFC_EREPLAY;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_SSL_ENGINE_SETFAILED:
    case CURLE_SSL_ENGINE_INITFAILED:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CRL_BADFILE:
    case CURLE_SSL_SHUTDOWN_FAILED:
    case CURLE_SSL_CLIENTCERT:
        return AFC_ETLS;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
        return AFC_EUNTRUSTED;
    case CURLE_AGAIN:
    case CURLE_FAILED_INIT:
    case CURLE_RECURSIVE_API_CALL:
    case CURLE_WRITE_ERROR:
    case CURLE_READ_ERROR:
        return AFC_EINTERNAL;
    default:
        /*
         * Invalid replies, encodings, chunks or HTTP/2 frames: the peer's fault. So is CURLE_BAD_FUNCTION_ARGUMENT
         * during a transfer: a trailer line without a colon causes it.
         */
        return AFC_EPROTOCOL;
    }
}

/** Returns whether libcurl's text has this meaning. */
static bool text_means(const afc__exchange *exchange, afc__text_meaning meaning) {
    return afc__text_means(afc_slice_of(exchange->error_text), meaning);
}

/** Detects invalid chunks, which libcurl reports as a failure to receive. */
static bool is_bad_chunk(const afc__exchange *exchange, CURLcode code) {
    return code == CURLE_RECV_ERROR && text_means(exchange, AFC__TEXT_BAD_CHUNK);
}

/**
 * Detects a line of the head or the trailers that exceeds libcurl's own buffer. libcurl reports it like a lack of
 * memory, which is less likely to be the cause.
 */
static bool is_long_line(const afc__exchange *exchange, CURLcode code) {
    curl_off_t first_byte = 0;
    if (code == CURLE_RECV_ERROR) return text_means(exchange, AFC__TEXT_LONG_TRAILER);
    curl_easy_getinfo(exchange->easy, CURLINFO_STARTTRANSFER_TIME_T, &first_byte);
    return (code == CURLE_OUT_OF_MEMORY || (int)code == AFC__CURLE_TOO_LARGE) &&
           afc__hop_in_head(&exchange->hop.transfer->hop) && first_byte > 0 &&
           afc__exchange_is_connected(exchange);
}

/**
 * Detects a connection closed in the middle of the head, which libcurl reports as an empty response
 * or a short body.
 */
static bool is_cut_head(const afc__exchange *exchange, CURLcode code) {
    return (code == CURLE_GOT_NOTHING || code == CURLE_PARTIAL_FILE) &&
           exchange->hop.transfer->hop.phase == AFC__PHASE_HEAD &&
           !afc__hop_has_no_response(&exchange->hop.transfer->hop);
}

/**
 * Detects a line of the head that libcurl can't keep, and refuses without a text: a folded first field line, or one with
 * a CR in its name.
 */
static bool has_bad_line(const afc__exchange *exchange, CURLcode code) {
    return code == CURLE_BAD_FUNCTION_ARGUMENT && afc__hop_in_head(&exchange->hop.transfer->hop) &&
           afc__exchange_is_connected(exchange);
}

/** Detects a line behind the status line of a response to CONNECT that libcurl, or exchange.c, refused. */
static bool has_bad_line_in_connect(const afc__exchange *exchange, CURLcode code) {
    bool is_refusal = code == CURLE_BAD_FUNCTION_ARGUMENT || code == CURLE_WRITE_ERROR;
    return is_refusal && exchange->run.is_behind_status_line &&
           !afc__exchange_is_connected(exchange);
}

/** Returns whether a bad line was folded. Where handle.c needn't look at lines, folded ones are the likelier. */
static bool has_folded_line(const afc__exchange *exchange) {
    return exchange->run.has_folded_line || !exchange->driver->quirks.appends_to_freed_field;
}

static bool begins_folded(const afc__exchange *exchange, CURLcode code) {
    return has_bad_line(exchange, code) && has_folded_line(exchange);
}

static bool begins_folded_in_connect(const afc__exchange *exchange, CURLcode code) {
    return has_bad_line_in_connect(exchange, code) && has_folded_line(exchange);
}

/**
 * Returns whether a body that ends with the connection may be truncated: over TLS it is complete only if the server
 * sent close_notify.
 */
static bool lacks_close_notify(const afc__exchange *exchange) {
    const afc__transfer *transfer = exchange->hop.transfer;
    return afc__hop_ends_with_connection(&transfer->hop) && transfer->request.url.is_https &&
           !afc__hop_is_http_2(&transfer->hop) && !afc__tls_peer_got_close_notify(exchange->peer);
}

/** Returns whether the peer cut a TLS connection without close_notify, in the middle of a body. */
static bool is_cut_short(const afc__exchange *exchange, CURLcode code) {
    return code == CURLE_RECV_ERROR && afc__hop_needs_body(&exchange->hop.transfer->hop) &&
           text_means(exchange, AFC__TEXT_CUT_TLS);
}

/**
 * Returns whether the server reset its stream in the middle of a body. The reset isn't the server's if the error is
 * PROTOCOL_ERROR: nghttp2 resets a stream with it when the server violates the protocol, such as by sending more than
 * Content-Length announced.
 */
static bool is_reset_stream(const afc__exchange *exchange, CURLcode code) {
    return code == CURLE_HTTP2_STREAM && afc__hop_needs_body(&exchange->hop.transfer->hop) &&
           !text_means(exchange, AFC__TEXT_PROTOCOL_ERROR);
}

static bool lacks_descriptors(const afc__exchange *exchange, CURLcode code) {
    int error = exchange->run.socket_error;
    return code == CURLE_COULDNT_CONNECT && (error == EMFILE || error == ENFILE);
}

static bool lacks_socket_memory(const afc__exchange *exchange, CURLcode code) {
    int error = exchange->run.socket_error;
    return code == CURLE_COULDNT_CONNECT && (error == ENOBUFS || error == ENOMEM);
}

/**
 * Returns whether no socket could be opened because the process or the system ran out of descriptors or memory. The
 * host isn't the cause.
 */
static bool lacks_sockets(const afc__exchange *exchange, CURLcode code) {
    return lacks_descriptors(exchange, code) || lacks_socket_memory(exchange, code);
}

/** Detects too many rounds of authentication, which libcurl counts as redirects; it follows no real ones. */
static bool takes_too_many_rounds(const afc__exchange *exchange, CURLcode code) {
    (void)exchange;
    return code == CURLE_TOO_MANY_REDIRECTS;
}

/**
 * Detects frames that nghttp2 refuses, including floods, which libcurl reports as a failure to
 * receive.
 */
static bool is_bad_frame(const afc__exchange *exchange, CURLcode code) {
    bool is_code = code == CURLE_RECV_ERROR || code == CURLE_HTTP2;
    return is_code && text_means(exchange, AFC__TEXT_BAD_FRAME);
}

bool afc__exchange_met_bad_frame(const afc__exchange *exchange) {
    return is_bad_frame(exchange, exchange->run.code);
}

/**
 * Detects different Location fields: libcurl 8.17.0 and later refuse such a response, whatever its
 * status.
 */
static bool has_different_targets(const afc__exchange *exchange, CURLcode code) {
    int status = exchange->hop.transfer->hop.reader->head.status;
    return code == CURLE_WEIRD_SERVER_REPLY && status >= 300 && status < 400 &&
           text_means(exchange, AFC__TEXT_DIFFERENT_LOCATIONS);
}

/**
 * After GOAWAY nghttp2 closes the streams above the last one that it names, which leaves no error text. If the
 * transport ends instead, libcurl reports a text or another code.
 */
bool afc__exchange_went_away(const afc__exchange *exchange, CURLcode code) {
    bool is_code = code == CURLE_HTTP2 || code == CURLE_PARTIAL_FILE;
    return exchange->driver->quirks.fails_after_goaway && is_code &&
           exchange->error_text[0] == '\0' &&
           afc__hop_has_no_response(&exchange->hop.transfer->hop);
}

/**
 * A connection that was closed may have had invalid frames: libcurl then closes it before it reports the end of a
 * stream, so that the socket with this descriptor has another number.
 */
bool afc__exchange_has_doubtful_end(const afc__exchange *exchange, CURLcode code) {
    if (!exchange->driver->quirks.hides_broken_frames) return false;
    if (code != CURLE_OK || exchange->carrier == 0) return false;
    return exchange->driver->sockets[exchange->carrier_socket]->number != exchange->carrier;
}

/**
 * Returns whether the server had ended the connection, with or without GOAWAY, before it sent
 * anything.
 */
static bool is_ended_connection(const afc__exchange *exchange, CURLcode code) {
    /* libcurl 8.21.0 leaves an error text about its socket, so a text doesn't exclude a GOAWAY. */
    long error = 0;
    curl_easy_getinfo(exchange->easy, CURLINFO_OS_ERRNO, &error);
    bool is_cut = error == EPIPE || error == ECONNRESET;
    bool has_ended = exchange->peer != NULL ? afc__tls_peer_has_ended(exchange->peer) : is_cut;
    bool is_goaway = code == CURLE_HTTP2 && (exchange->error_text[0] == '\0' || has_ended);
    return (is_goaway || code == CURLE_PARTIAL_FILE) && !is_bad_frame(exchange, code) &&
           afc__hop_has_no_response(&exchange->hop.transfer->hop);
}

/**
 * Returns whether the server may not have read the whole request. A body that is sent together with the head
 * (AFC__KIND_POST) is sent at once; that doesn't show that the server has read it.
 */
static bool may_be_unread(const afc__exchange *exchange) {
    const afc__transfer *transfer = exchange->hop.transfer;
    return transfer->request.sends_body && (exchange->state.request_kind == AFC__KIND_POST ||
                                            transfer->progress.sent < transfer->source.length);
}

/**
 * Detects the end of a body that ends with the connection, though by a reset: the kernel of a server that closes its
 * socket before it has read the whole request resets the connection.
 */
static bool ends_by_reset(const afc__exchange *exchange, CURLcode code) {
    const afc__transfer *transfer = exchange->hop.transfer;
    long error = 0;
    if (code != CURLE_RECV_ERROR || transfer->request.url.is_https) return false;
    if (!afc__hop_ends_with_connection(&transfer->hop)) return false;
    curl_easy_getinfo(exchange->easy, CURLINFO_OS_ERRNO, &error);
    return error == ECONNRESET && may_be_unread(exchange) && afc__exchange_accepts_end(exchange);
}

/**
 * Returns whether the end of an early response may be missing. libcurl has read it from the listener of this process,
 * which ends the connection in order even if the server hadn't.
 */
static bool lost_reinjected_end(const afc__exchange *exchange) {
    return afc__exchange_uses_own_listener(exchange) &&
           afc__hop_ends_with_connection(&exchange->hop.transfer->hop) &&
           !afc__exchange_accepts_end(exchange);
}

/**
 * Returns whether the encoded body is incomplete, though its framing is complete. An empty body passes: servers name a
 * coding for one that they don't have.
 */
static bool lacks_encoded_end(const afc__exchange *exchange) {
    const afc__decoder *decoder = exchange->run.decoder;
    return decoder != NULL && afc__hop_needs_body(&exchange->hop.transfer->hop) &&
           !afc__decoder_is_whole(decoder);
}

/**
 * Returns whether the chosen interface or address can't be used. Some versions of libcurl report that as a failed
 * connection.
 */
static bool lacks_interface(const afc__exchange *exchange, CURLcode code) {
    if (code == CURLE_INTERFACE_FAILED) return true;
    return code == CURLE_COULDNT_CONNECT && afc__network_has_interface(exchange->driver->network) &&
           text_means(exchange, AFC__TEXT_NOT_BOUND);
}

/**
 * Returns whether a request that only connects has succeeded: libcurl has a connection, and had nothing to send. See
 * set_connect_only() in exchange.c.
 */
static bool is_connected_only(const afc__exchange *exchange, CURLcode code) {
    return code == CURLE_PARTIAL_FILE &&
           exchange->hop.transfer->purpose == AFC__PURPOSE_CONNECTION &&
           afc__exchange_is_connected(exchange);
}

bool afc__exchange_is_upgrade_over(const afc__exchange *exchange, CURLcode code) {
    if (!afc__transfer_is_upgraded(exchange->hop.transfer)) return false;
    return code == CURLE_OK || code == CURLE_GOT_NOTHING;
}

/* ---- Causes -------------------------------------------------------------------------------- */

/** What is known about the cause of a failure. */
typedef struct failure_cause {
    afc_status status;
    afc_reason reason;
    afc_trust_reason trust;
    long system_error;
    const char *text; /* libcurl's, a constant, or `described`. */
    char described[AFC_FAILURE_TEXT_SIZE];
} failure_cause;

/** libcurl decodes no content, so it refuses a transfer coding. head.c refuses those that it accepts. */
static bool has_transfer_coding(const afc__exchange *exchange, CURLcode code) {
    (void)exchange;
    return code == CURLE_BAD_CONTENT_ENCODING;
}

/**
 * The rules for what libcurl's code doesn't tell by itself. The first one that fits counts: later ones may map the same
 * code to something more general.
 */
static const struct {
    bool (*fits)(const afc__exchange *exchange, CURLcode code);
    afc_status status;
    afc_reason reason;
    const char *text; /* NULL keeps libcurl's text. */
} rules[] = {
    {is_ended_connection, AFC_ELOST, AFC_REASON_NONE, "the server had closed the connection"},
    {takes_too_many_rounds, AFC_EAUTH, AFC_REASON_NONE,
     "connection authentication takes too many rounds"},
    {has_different_targets, AFC_EREDIRECT, AFC_REASON_NONE,
     "the redirect has conflicting Locations"},
    {has_transfer_coding, AFC_EPROTOCOL, AFC_REASON_NONE,
     "the body has a transfer coding that the request didn't accept"},
    {lacks_descriptors, AFC_ENOMEM, AFC_REASON_NONE,
     "cannot open a connection: too many open files"},
    {lacks_socket_memory, AFC_ENOMEM, AFC_REASON_NONE, "out of memory for a connection"},
    {lacks_interface, AFC_ECONNECT, AFC_REASON_INTERFACE, NULL},
    {is_bad_frame, AFC_EPROTOCOL, AFC_REASON_NONE,
     "HTTP/2 protocol error, or too many frames from the server"},
    {is_long_line, AFC_ETOOBIG, AFC_REASON_LINE_LIMIT,
     "a line of the response's head or trailers is too long"},
    {begins_folded_in_connect, AFC_ECONNECT, AFC_REASON_NONE,
     "the proxy's response has a folded first field line"},
    {has_bad_line_in_connect, AFC_ECONNECT, AFC_REASON_NONE,
     "the proxy's response has an invalid field line"},
    {begins_folded, AFC_EPROTOCOL, AFC_REASON_NONE, "the first response header line is folded"},
    {has_bad_line, AFC_EPROTOCOL, AFC_REASON_NONE, "a response header line is invalid"},
    {is_bad_chunk, AFC_EPROTOCOL, AFC_REASON_NONE, NULL},
    {is_cut_short, AFC_ETRUNCATED, AFC_REASON_NONE, NULL},
    {is_reset_stream, AFC_ETRUNCATED, AFC_REASON_NONE, NULL},
};

static void apply_rules(const afc__exchange *exchange, CURLcode code, failure_cause *cause) {
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (!rules[i].fits(exchange, code)) continue;
        cause->status = rules[i].status;
        cause->reason = rules[i].reason;
        if (rules[i].text != NULL) cause->text = rules[i].text;
        return;
    }
}

/**
 * Names the Unix-domain socket that couldn't be connected. libcurl's text has an IP address, which has nothing to do
 * with the failure.
 */
static void describe_socket(const afc__exchange *exchange, CURLcode code, failure_cause *cause) {
    const char *socket = afc__driver_socket(exchange->driver, exchange->hop.transfer);
    if (code != CURLE_COULDNT_CONNECT || socket == NULL || cause->system_error == 0) return;
    snprintf(cause->described, sizeof cause->described, "cannot connect to the socket %s: %s",
             socket, strerror((int)cause->system_error));
    cause->text = cause->described;
}

/**
 * Adds the system's error to the text about a failed connection. libcurl's text has only the address that was tried
 * last.
 */
static void describe_connect(const afc__exchange *exchange, CURLcode code, failure_cause *cause) {
    bool is_known = code == CURLE_COULDNT_CONNECT && cause->system_error != 0 &&
                    cause->text == exchange->error_text && cause->text[0] != '\0';
    if (!is_known) return;
    snprintf(cause->described, sizeof cause->described, "%.*s (%s)", afc__cut(cause->text, 140),
             cause->text, strerror((int)cause->system_error));
    cause->text = cause->described;
}

/** Puts a sentence before OpenSSL's text, if its meaning is known. `peer` is "server" or "proxy". */
static void explain_tls(failure_cause *cause, const char *peer) {
    static const struct {
        afc__text_meaning meaning;
        afc_reason reason;
        const char *sentence;
    } known[] = {
        {AFC__TEXT_NOT_TLS, AFC_REASON_NOT_TLS, "doesn't use TLS on this port"},
        {AFC__TEXT_TLS_VERSION, AFC_REASON_TLS_VERSION, "uses no allowed version of TLS"},
        {AFC__TEXT_CUT_HANDSHAKE, AFC_REASON_NONE,
         "closed the connection during the TLS handshake"},
    };
    /* libcurl ends some texts with a space. */
    afc_slice text = afc__trim(afc_slice_of(cause->text));
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!afc__text_means(text, known[i].meaning)) continue;
        cause->reason = known[i].reason;
        snprintf(cause->described, sizeof cause->described, "the %s %s (%.*s)", peer,
                 known[i].sentence, afc__cut(text.bytes, text.size < 140 ? text.size : 140),
                 text.bytes);
        cause->text = cause->described;
        return;
    }
}

/** Adds what our own verification and the peer's alert tell about a failed TLS connection. */
static void describe_tls(const afc__exchange *exchange, failure_cause *cause) {
    bool may_be_tls = cause->status == AFC_EUNTRUSTED || cause->status == AFC_ETLS ||
                      cause->status == AFC_ELOST;
    if (!may_be_tls) return;
    bool is_proxys = afc__exchange_ended_at_proxy(exchange);
    const char *name = is_proxys ? "proxy" : "server";
    const afc__tls_peer *peer = is_proxys ? exchange->proxy_peer : exchange->peer;
    afc_status verdict = afc__tls_peer_get_verdict(peer, &cause->trust, &cause->text);
    const char *alert = afc__tls_peer_get_alert(peer, &cause->reason);
    /* libcurl reports some alerts about the client certificate as a failed verification of the server's. */
    if (cause->status == AFC_EUNTRUSTED || alert != NULL) cause->status = AFC_ETLS;
    if (verdict != AFC_OK) {
        cause->status = verdict;
        cause->reason = AFC_REASON_NONE;
    }
    if (cause->status == AFC_ETLS && alert != NULL) {
        snprintf(cause->described, sizeof cause->described, "the %s closed the TLS connection: %s",
                 name, alert);
        cause->text = cause->described;
    } else if (cause->status == AFC_ETLS) {
        cause->reason = AFC_REASON_NONE;
        explain_tls(cause, name);
    } else if (verdict == AFC_EUNTRUSTED && is_proxys) {
        snprintf(cause->described, sizeof cause->described, "the proxy isn't trusted: %s",
                 cause->text);
        cause->text = cause->described;
    }
}

/** Adds the name of the proxy that couldn't be reached, or that didn't connect. */
static void describe_proxy(const afc__exchange *exchange, CURLcode code, failure_cause *cause) {
    const afc__proxy *proxy = exchange->hop.transfer->hop.proxy;
    afc_status by_proxy = afc__exchange_map_proxy_result(exchange, code);
    if (by_proxy != AFC_OK) cause->status = by_proxy;
    if (by_proxy == AFC_EAUTH) cause->reason = AFC_REASON_PROXY_CREDENTIALS;
    if (cause->text[0] == '\0') cause->text = curl_easy_strerror(code);
    if (proxy == NULL || (code != CURLE_COULDNT_CONNECT && by_proxy == AFC_OK)) return;
    if (lacks_sockets(exchange, code)) return;
    char address[AFC__PROXY_ADDRESS_SIZE], text[AFC_FAILURE_TEXT_SIZE];
    afc__proxy_write_address(address, proxy);
    snprintf(text, sizeof text, "%.*s (proxy %.*s)", afc__cut(cause->text, 100), cause->text,
             afc__cut(address, 80), address);
    snprintf(cause->described, sizeof cause->described, "%s", text);
    cause->text = cause->described;
}

/** Returns whether the proxy failed, or couldn't be reached, rather than the server behind it. */
static bool is_about_proxy(const afc__exchange *exchange, CURLcode code, afc_status status) {
    if (exchange->hop.transfer->hop.proxy == NULL) return false;
    bool is_tls = status == AFC_ETLS || status == AFC_EUNTRUSTED;
    return (is_tls && afc__exchange_ended_at_proxy(exchange)) || code == CURLE_COULDNT_CONNECT ||
           code == CURLE_COULDNT_RESOLVE_PROXY ||
           afc__exchange_map_proxy_result(exchange, code) != AFC_OK;
}

static afc_party party_of(const afc__exchange *exchange, CURLcode code,
                          const failure_cause *cause) {
    switch (cause->status) {
    case AFC_EDNS:
    case AFC_ECONNECT:
    case AFC_ETLS:
    case AFC_EUNTRUSTED:
    case AFC_EAUTH:
        break;
    default:
        return AFC_PARTY_NONE;
    }
    if (cause->reason == AFC_REASON_INTERFACE) return AFC_PARTY_NONE;
    if (is_about_proxy(exchange, code, cause->status)) return AFC_PARTY_PROXY;
    return cause->status == AFC_EDNS ? AFC_PARTY_RESOLVER : AFC_PARTY_SERVER;
}

/**
 * Returns whether the result is known without the mapping of libcurl's code: the hop didn't fail, or `*failure` is set
 * to a failure that libcurl doesn't know.
 */
static bool is_settled(const afc__exchange *exchange, CURLcode code, afc_failure *failure) {
    if (code == CURLE_OK && lacks_close_notify(exchange)) {
        afc__fail(failure, AFC_ETRUNCATED, "the connection was closed before the end of the body");
    }
    if (code == CURLE_OK && lost_reinjected_end(exchange)) {
        afc__fail(failure, AFC_ELOST, "the connection was lost before the end of the body");
    }
    bool has_ended = code == CURLE_OK || ends_by_reset(exchange, code);
    if ((has_ended || exchange->early.is_complete) && failure->status == AFC_OK &&
        lacks_encoded_end(exchange)) {
        bool is_closed = afc__hop_ends_with_connection(&exchange->hop.transfer->hop);
        afc__fail(failure, AFC_ETRUNCATED,
                  is_closed ? "the connection was closed before the end of the %s body"
                            : "the %s data of the body ends early",
                  afc__decoder_name(exchange->run.decoder));
    }
    /* The transfer reports a head that was cut, as it knows how much was received. */
    if (has_ended || is_cut_head(exchange, code)) return true;
    if (exchange->early.is_complete) return true;
    if (is_connected_only(exchange, code) || afc__exchange_is_upgrade_over(exchange, code))
        return true;
    if (afc__exchange_uses_own_listener(exchange) &&
        afc__hop_has_no_response(&exchange->hop.transfer->hop)) {
        afc__fail(failure, AFC_ELOST, "the connection was lost while the request was being sent");
        return true;
    }
    if (code != CURLE_OPERATION_TIMEDOUT) return false;
    /* libcurl's connect timeout fired a moment before the task's own alarm. */
    afc__fail_connect_timeout(failure, exchange->hop.transfer->timeouts.connect_ms);
    failure->curl_code = (int)code;
    return true;
}

void afc__exchange_map_result(const afc__exchange *exchange, CURLcode code, afc_failure *failure) {
    if (is_settled(exchange, code, failure)) return;
    failure_cause cause = {.status = status_of(code),
                           .reason = AFC_REASON_NONE,
                           .trust = AFC_TRUST_OTHER,
                           .text = exchange->error_text};
    curl_easy_getinfo(exchange->easy, CURLINFO_OS_ERRNO, &cause.system_error);
    if (lacks_sockets(exchange, code)) cause.system_error = exchange->run.socket_error;
    apply_rules(exchange, code, &cause);
    describe_socket(exchange, code, &cause);
    describe_connect(exchange, code, &cause);
    describe_tls(exchange, &cause);
    describe_proxy(exchange, code, &cause);
    /*
     * A lookup that failed inside libcurl was one with DNS over HTTPS: all other names are looked up before libcurl
     * gets the request. The exception is an override without addresses of the required family.
     */
    bool is_doh = afc__network_doh_host(exchange->driver->network) != NULL;
    if (cause.status == AFC_EDNS && code == CURLE_COULDNT_RESOLVE_HOST && is_doh)
        cause.reason = AFC_REASON_DNS_OVER_HTTPS;
    afc__fail(failure, cause.status, "%s", cause.text);
    if (cause.status == AFC_EUNTRUSTED) failure->trust = cause.trust;
    failure->reason = cause.reason;
    failure->party = party_of(exchange, code, &cause);
    failure->curl_code = (int)code;
    /* CURLINFO_OS_ERRNO may still be that of an address that was tried before the connected one. */
    if (cause.system_error != exchange->hop.connect_error)
        failure->system_error = (int)cause.system_error;
}

/* ---- Names ---------------------------------------------------------------------------------- */

void afc__exchange_explain_names(const afc__exchange *exchange, afc_failure *failure) {
    const afc__hosts *hosts = &exchange->hosts;
    if (hosts->error == 0) {
        afc_status status = hosts->refusal == CURLM_OUT_OF_MEMORY ? AFC_ENOMEM : AFC_EINTERNAL;
        afc__fail(failure, status, "libcurl refused the request: %s",
                  curl_multi_strerror(hosts->refusal));
        return;
    }
    bool lacks_memory = hosts->error == EAI_MEMORY ||
                        (hosts->error == EAI_SYSTEM && hosts->system_error == ENOMEM);
    if (lacks_memory) {
        afc__fail(failure, AFC_ENOMEM, "out of memory for resolving a host");
        return;
    }
    uint16_t port;
    afc_slice doh = afc__network_doh_server(exchange->driver->network, &port);
    afc_slice host = exchange->hop.transfer->request.url.host;
    if (hosts->is_proxy) host = afc_slice_of(exchange->hop.transfer->hop.proxy->host);
    if (doh.size > 0) host = doh;
    const char *reason = hosts->error == EAI_SYSTEM ? strerror(hosts->system_error)
                                                    : gai_strerror(hosts->error);
    afc__fail(failure, AFC_EDNS, "cannot resolve %s \"%.*s\": %s",
              hosts->is_proxy ? "proxy" : "host", (int)host.size, host.bytes, reason);
    failure->curl_code = hosts->is_proxy ? CURLE_COULDNT_RESOLVE_PROXY : CURLE_COULDNT_RESOLVE_HOST;
    failure->party = hosts->is_proxy ? AFC_PARTY_PROXY : AFC_PARTY_RESOLVER;
    failure->system_error = hosts->system_error;
}
