/**
 * What the loaded version of libcurl does differently from others, decided once for each session. Versions before
 * 7.88.0 are refused; see library.c. Behaviour that all versions show, or that is handled whatever the version, is
 * described beside the code. Pure functions.
 */
#ifndef AFC_CURL_QUIRKS_H
#define AFC_CURL_QUIRKS_H

#include <stdbool.h>

/** A member is true if the version behaves as its comment says. */
typedef struct afc__quirks {
    /* HTTP/2 and connections. */

    /**
     * From 8.1.0: multiplexes HTTP/2 safely. Before, a stream reset counts as the end of its response while another
     * stream of the connection is paused (cf_h2_recv() in lib/http2.c), so a response without Content-Length would be
     * truncated without an error.
     */
    bool multiplexes;
    /** Before 8.0.0: fails on the second request of a cleartext HTTP/2 connection with prior knowledge. */
    bool fails_on_second_clear_request;
    /**
     * Before 8.1.0: when GOAWAY leaves a connection without streams, fails without a text, with CURLE_HTTP2 or, from
     * 8.0.0, CURLE_PARTIAL_FILE (should_close_session() in lib/http2.c). From 8.4.0, libcurl repeats a request that
     * GOAWAY refused.
     */
    bool fails_after_goaway;
    /**
     * 8.8.0 to 8.18: if it repeats a request that was sent over HTTP/2 and leaves no error text, the server refused the
     * stream. Before, the end of the connection was another reason (stream_recv() in lib/http2.c). From 8.19.0 on, a
     * new connection erases the text (Curl_reset_fail()).
     */
    bool repeats_without_text_if_refused;
    /**
     * Before 8.10.0: if a full pool closes its oldest connection for another one, keeps an empty list for that
     * connection's host (Curl_conncache_extract_oldest() in lib/conncache.c). It is freed with the multi handle, and
     * searched whenever the pool is full.
     */
    bool keeps_closed_hosts;
    /**
     * From 8.12.0: doesn't use a connection that has had no response yet. If HTTP/2 is possible, it opens another
     * connection, or with CURLOPT_PIPEWAIT waits for that response.
     */
    bool wants_response_first;
    /** From 8.16.0: the result of ALPN counts as such a response. Plain HTTP has no ALPN. */
    bool alpn_counts_as_response;
    /**
     * 8.5.0 to 8.8.0: frees the handles that look up a name over HTTPS together with the handle that needs the name,
     * but leaves them in the list of the multi handle, which then uses freed memory (Curl_close() in lib/url.c; fixed
     * in 8.9.0, PR 14212). They are freed safely once the multi handle is gone.
     */
    bool frees_lookups_too_early;
    /**
     * Before 8.4.0: after a failed attempt to connect, begins the next address of the host only when a socket or a
     * timer of the handle makes it run again, and sets no timer for that (is_connected() in lib/connect.c). There may
     * be none before the time limit.
     */
    bool waits_between_addresses;
    /**
     * From 8.21.0: for CURLOPT_CAINFO and CURLOPT_CAPATH of NULL, loads the system's certificates for each connection,
     * which takes 30 ms.
     */
    bool loads_default_anchors;

    /**
     * Before 8.1.0: when invalid frames end an HTTP/2 connection, ends its streams as if they were complete, and closes
     * the connection, as after a GOAWAY (h2_process_pending_input() in lib/http2.c).
     */
    bool hides_broken_frames;
    /**
     * From 8.22.0: keeps a connection whose HTTP/2 frames were invalid, and fails each later request on it. Pending
     * input doesn't make it drop a multiplexed connection (Curl_cpool_conn_seems_healthy() in lib/conncache.c).
     */
    bool keeps_broken_connections;

    /**
     * Before 8.1.0: when a part of a connection's input fills the buffer of one read (CURLOPT_BUFFERSIZE), cf_h2_recv()
     * in lib/http2.c keeps the rest, but nothing makes it pass the rest on: it sets no timer, cf_h2_data_pending()
     * never finds the rest, and the end of a stream whose last DATA frame didn't fit is only noticed with the next
     * bytes of the socket. If none come, the exchange hangs.
     */
    bool hangs_if_read_buffer_fills;

    /* Heads. */

    /** Before 8.1.0: appends a folded first field line to a freed field; see handle.c. */
    bool appends_to_freed_field;
    /**
     * From 8.0.0: adds Expect only for bodies larger than 1 MiB or of unknown length; earlier versions for every body
     * read through a callback.
     */
    bool omits_expect_of_short_bodies;
    /** From 8.13.0: omits a field with a long name or value (MAX_FIELD in request_fields.c), without an error. */
    bool omits_long_fields;
    /**
     * Before 8.7.0: sends the rest of a head that the socket didn't accept at once from the upload buffer. If the
     * request has no body, it considers the request sent after the first buffer (readwrite_upload() in lib/transfer.c),
     * and the transfer hangs.
     */
    bool sends_heads_by_upload_buffer;

    /* Bodies. */

    /**
     * Before 8.7.0: may wait for 100 (Continue) for ever. Each part of a response that arrives starts the wait anew,
     * but not the timer that ends it, and the end of the wait isn't checked if something arrives when the timer fires.
     */
    bool forgets_waiting_body;
    /**
     * From 8.18.0: if a final response refuses a body that waits for 100 (Continue), waits for its timeout and then
     * sends the body all the same.
     */
    bool sends_unwanted_body;
    /** 8.5.0: reads from the connection for paused exchanges; see read_pause.c. */
    bool reads_while_paused;
    /**
     * 8.8.0 to 8.14.1: reads for an exchange that pauses again while curl_easy_pause() resumes it, as the call has
     * marked it as ready to send (select_bits in curl_easy_pause() and select_bits_paused() in lib/transfer.c). What
     * libcurl holds grows with each call, and if the connection has ended, it ends the exchange and drops what it
     * holds. Fixed in 8.15.0.
     */
    bool reads_after_pausing_again;
} afc__quirks;

/** Returns the quirks of a version, which is `version_num` of curl_version_info(). */
afc__quirks afc__quirks_of(unsigned version);

#endif
