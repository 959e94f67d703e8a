/* WebSockets against the test server: the handshake, messages, limits, ends. */
#include "support/call.h"
#include "support/recorded_socket.h"
#include "support/test_proxy.h"

#include <stdlib.h>
#include <string.h>

/* ---- The handshake ------------------------------------------------------------------------- */

static void echoes_messages_and_closes(void **state) {
    fixture *fixture = *state;
    serve_echo(fixture, "/echo", NULL);
    recorded_socket *socket = socket_opened(fixture, "/echo");
    socket_send_text(socket, "hello");
    socket_wait_for(socket, &socket->message_count, 1);
    socket_close(socket);
    check_log(socket, "open;sent ok;text hello;closed 1000;");
    check_status(socket->failure.status, AFC_OK);
    assert_int_equal(socket->status, 101);
    assert_string_equal(seen_header(fixture, 0, "Sec-WebSocket-Version"), "13");
    assert_string_equal(seen_header(fixture, 0, "Transfer-Encoding"), "");
    assert_string_equal(seen_header(fixture, 0, "Expect"), "");
    assert_string_equal(seen_header(fixture, 0, "Accept-Encoding"), "");
    socket_free(socket);
}

static void accepts_ws_urls_and_subprotocols(void **state) {
    fixture *fixture = *state;
    static const char *const protocols[] = {"v2.chat", "v1.chat"};
    serve_echo(fixture, "/", "Sec-WebSocket-Protocol: v1.chat");
    recorded_socket *socket = socket_new(fixture, "/");
    socket->request.url = text_of(fixture, "ws%s", strchr(url_of(fixture, "/"), ':'));
    socket->options.protocols = protocols;
    socket->options.protocol_count = 2;
    socket_open(socket, fixture);
    socket_wait_for(socket, &socket->open_count, 1);
    socket_close(socket);
    check_log(socket, "open v1.chat;closed 1000;");
    assert_string_equal(seen_header(fixture, 0, "Sec-WebSocket-Protocol"), "v2.chat, v1.chat");
    socket_free(socket);
}

static void reports_why_handshake_was_refused(void **state) {
    fixture *fixture = *state;
    static const struct {
        const char *response;
        afc_status status;
        const char *text;
    } rows[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", AFC_EPROTOCOL, "status 200 OK"},
        {"HTTP/1.1 403 Forbidden\r\nContent-Length: 1000000\r\n\r\n", AFC_EPROTOCOL, "status 403"},
        {"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n", AFC_EAUTH, "status 401"},
        {"HTTP/1.1 101 Ok\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", AFC_EPROTOCOL,
         "no Sec-WebSocket-Accept"},
        {"HTTP/1.1 101 Ok\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
         "Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n",
         AFC_EPROTOCOL, "doesn't match"},
        {"HTTP/1.0 101 Ok\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", AFC_EPROTOCOL,
         "101 isn't HTTP/1.1"},
        {"HTTP/1.1 101 Ok\r\nUpgrade: websocket\r\nTransfer-Encoding: chunked\r\n\r\n",
         AFC_EPROTOCOL, "Content-Length or an encoding"},
        {"HTTP/1.1 101 Ok\r\nUpgrade: websocket\r\nContent-Length: 5\r\n\r\n", AFC_EPROTOCOL,
         "Content-Length or an encoding"},
        {"HTTP/1.1 302 Found\r\nLocation: ftp://x/\r\n\r\n", AFC_EREDIRECT, "neither http"},
        {"nonsense\r\n\r\n", AFC_EPROTOCOL, ""},
        {"", AFC_ELOST, ""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        serve_text(fixture, "/", rows[i].response);
        recorded_socket *socket = socket_new(fixture, "/");
        socket_open(socket, fixture);
        check_log(socket, "closed 1006;");
        if (socket->failure.status != rows[i].status)
            fail_msg("row %zu: %d %s", i, (int)socket->failure.status, socket->failure.text);
        check_contains(socket->failure.text, rows[i].text);
        socket_free(socket);
    }
}

static void follows_redirects_also_to_ws_urls(void **state) {
    fixture *fixture = *state;
    serve_echo(fixture, "/end", NULL);
    const char *rest = strchr(url_of(fixture, "/end"), ':');
    static const int statuses[] = {301, 302, 303, 307, 308};
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        const char *location = i % 2 == 0 ? text_of(fixture, "Location: ws%s", rest)
                                          : "Location: /end";
        serve(fixture, "/", answer(statuses[i], location, "elsewhere"));
        recorded_socket *socket = socket_opened(fixture, "/");
        /* Each connection has a key of its own. */
        const char *first = seen_header(fixture, 2 * i, "Sec-WebSocket-Key");
        const char *second = seen_header(fixture, 2 * i + 1, "Sec-WebSocket-Key");
        assert_int_equal(strlen(first), 24);
        assert_int_equal(strlen(second), 24);
        assert_string_not_equal(first, second);
        socket_send_text(socket, "hi");
        socket_wait_for(socket, &socket->message_count, 1);
        socket_close(socket);
        check_log(socket, "open;sent ok;text hi;closed 1000;");
        socket_free(socket);
    }
}

static void answers_challenge_of_server(void **state) {
    fixture *fixture = *state;
    serve_echo(fixture, "/", NULL);
    serve_once(fixture, "/", answer(401, "WWW-Authenticate: Basic realm=\"x\"", "who?"));
    afc_credentials credentials = AFC_CREDENTIALS_INIT;
    credentials.user = "user";
    credentials.password = "pass";
    recorded_socket *socket = socket_new(fixture, "/");
    socket->request.credentials = &credentials;
    socket_open(socket, fixture);
    socket_wait_for(socket, &socket->open_count, 1);
    socket_close(socket);
    check_log(socket, "open;closed 1000;");
    assert_string_equal(seen_header(fixture, 1, "Authorization"), "Basic dXNlcjpwYXNz");
    socket_free(socket);
}

static void uses_tunnel_through_http_proxy(void **state) {
    fixture *fixture = *state;
    serve_echo(fixture, "/", NULL);
    static const char *const schemes[] = {"http", "socks5h"};
    for (size_t i = 0; i < COUNT_OF(schemes); i++) {
        test_proxy *test_proxy = test_proxy_new(fixture);
        recorded_socket *socket = socket_new(fixture, "/");
        socket->request.proxy = test_proxy_url(test_proxy, schemes[i], NULL);
        socket_open(socket, fixture);
        socket_wait_for(socket, &socket->open_count, 1);
        socket_send_text(socket, "hi");
        socket_wait_for(socket, &socket->message_count, 1);
        socket_close(socket);
        check_log(socket, "open;sent ok;text hi;closed 1000;");
        assert_int_equal(test_proxy_count(test_proxy), 1);
        check_contains(test_proxy_request(test_proxy, 0),
                       i == 0 ? "CONNECT 127.0.0.1:" : "SOCKS 127.0.0.1:");
        socket_free(socket);
        test_proxy_free(test_proxy);
    }
}

static void refuses_invalid_input(void **state) {
    fixture *fixture = *state;
    static const afc_header reserved[] = {
        {S_INIT("Sec-WebSocket-Key"), S_INIT("x"), 0},
        {S_INIT("upgrade"), S_INIT("x"), 0},
        {S_INIT("Connection"), S_INIT("x"), AFC_HEADER_REMOVE},
    };
    for (int i = 0; i < 13; i++) {
        recorded_socket *socket = socket_new(fixture, "/");
        afc_failure failure;
        if (i < 3) {
            socket->request.headers = &reserved[i];
            socket->request.header_count = 1;
        }
        if (i == 3) socket->request.url = "ws://127.0.0.1/#fragment";
        if (i == 4) socket->request.url = "ftp://127.0.0.1/";
        if (i == 5) socket->request.url = NULL;
        if (i == 6) socket->request.method = "POST";
        if (i == 7) socket->request.timeouts.total_ms = 1;
        if (i == 8) socket->options.close_timeout_ms = 0;
        if (i == 9) socket->options.server_window_bits = 7;
        if (i == 10) socket->options.size = 1;
        if (i == 11) socket->request.url = "wss:/x";
        if (i == 12) socket->request.header_count = 1;
        check_status(afc_websocket_open(&socket->socket, fixture->session, &socket->request,
                                        &socket->options, &socket->events, &failure),
                     AFC_EINVAL);
        assert_null(socket->socket);
        assert_true(failure.text[0] != '\0');
        if (i == 6) check_contains(failure.text, "must have the default method");
        if (i == 7) check_contains(failure.text, "set open_timeout_ms");
        if (i == 4) check_contains(failure.text, "\"ftp\" of a WebSocket: expected ws, wss, http");
        assert_int_equal(atomic_load(&socket->release_count), 1);
        assert_int_equal(atomic_load(&socket->closed_count), 0);
        socket_free(socket);
    }
}

static void names_setting_that_handshake_can_not_have(void **state) {
    fixture *fixture = *state;
    static const char *const names[] = {"method",
                                        "body",
                                        "sink",
                                        "version",
                                        "expect",
                                        "keep_encoding",
                                        "flags",
                                        "max_send_bytes_per_s",
                                        "max_receive_bytes_per_s"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        recorded_socket *socket = socket_new(fixture, "/");
        afc_request *request = &socket->request;
        afc_failure failure;
        if (i == 0) request->method = "HEAD";
        if (i == 1) request->body.kind = AFC_BODY_BYTES;
        if (i == 2) request->sink.kind = AFC_SINK_CALLBACK;
        if (i == 3) request->version = AFC_HTTP_PREFER_1_1;
        if (i == 4) request->expect = AFC_EXPECT_NEVER;
        if (i == 5) request->keep_encoding = true;
        if (i == 6) request->flags = AFC_REQUEST_MERGE_COOKIES | 1u << 31;
        if (i == 7) request->max_send_bytes_per_s = 1;
        if (i == 8) request->max_receive_bytes_per_s = 1;
        check_status(afc_websocket_open(&socket->socket, fixture->session, request,
                                        &socket->options, &socket->events, &failure),
                     AFC_EINVAL);
        assert_string_equal(
            failure.text,
            text_of(fixture, "the request of a WebSocket must have the default %s", names[i]));
        socket_free(socket);
    }
}

/** A program with other headers; base.h says how structs grow. */
static void reads_options_of_other_versions(void **state) {
    fixture *fixture = *state;
    static const struct {
        size_t size; /**< Size of the options; 0: that of this version. */
        uint64_t unknown;
        uint32_t reserved;
        afc_status status;
    } rows[] = {
        {sizeof(afc_websocket_options) + sizeof(uint64_t), 0, 0, AFC_OK},
        {sizeof(afc_websocket_options) + sizeof(uint64_t), 1, 0, AFC_EUNSUPPORTED},
        {sizeof(afc_websocket_options) - sizeof(uint64_t), 0, 0, AFC_EINVAL},
        {0, 0, 0, AFC_OK},
        {0, 0, 1, AFC_EUNSUPPORTED},
    };
    serve_echo(fixture, "/", NULL);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        recorded_socket *socket = socket_new(fixture, "/");
        struct {
            afc_websocket_options known;
            uint64_t unknown;
        } later = {socket->options, rows[i].unknown};
        afc_failure failure;
        if (rows[i].size != 0) later.known.size = rows[i].size;
        later.known.limits.reserved[3] = rows[i].reserved;
        check_status(afc_websocket_open(&socket->socket, fixture->session, &socket->request,
                                        &later.known, &socket->events, &failure),
                     rows[i].status);
        if (rows[i].status == AFC_OK) socket_wait_for(socket, &socket->open_count, 1);
        if (rows[i].status == AFC_OK) socket_close(socket);
        socket_free(socket);
    }
}

static void limits_time_of_handshake(void **state) {
    fixture *fixture = *state;
    afts_script *script = afts_script_new();
    afts_stall(script, "never");
    serve(fixture, "/", script);
    recorded_socket *socket = socket_new(fixture, "/");
    socket->options.open_timeout_ms = 50;
    socket_open(socket, fixture);
    check_log(socket, "closed 1006;");
    check_status(socket->failure.status, AFC_ETIMEOUT);
    assert_int_equal(socket->failure.timeout, AFC_TIMEOUT_TOTAL);
    assert_int_equal(socket->failure.reason, AFC_REASON_NOT_OPEN);
    assert_string_equal(socket->failure.text,
                        "total timeout: the WebSocket isn't open after 50 ms");
    socket_free(socket);
}

static void works_over_tls_with_http_1_1(void **state) {
    (void)state;
    fixture *fixture = fixture_new_alpn("h2,http/1.1", NULL);
    serve_echo(fixture, "/", NULL);
    recorded_socket *socket = socket_new(fixture, "/");
    socket->request.url = text_of(fixture, "wss%s", strchr(tls_url(fixture), ':'));
    socket_open(socket, fixture);
    socket_wait_for(socket, &socket->open_count, 1);
    socket_send_text(socket, "secret");
    socket_wait_for(socket, &socket->message_count, 1);
    socket_close(socket);
    check_log(socket, "open;sent ok;text secret;closed 1000;");
    afts_connection *connection = afts_copy_connection(fixture->server, 0);
    assert_string_equal(connection->alpn, "http/1.1");
    afts_connection_free(connection);
    socket_free(socket);
    fixture_free(fixture);
}

/* ---- Messages ------------------------------------------------------------------------------ */

static void passes_on_bytes_that_come_with_the_head(void **state) {
    fixture *fixture = *state;
    static char bytes[100 * 4];
    for (size_t i = 0; i < sizeof bytes; i += 4) memcpy(bytes + i, "\x81\x02hi", 4);
    serve_socket_bytes(fixture, "/", (afc_slice){bytes, sizeof bytes});
    recorded_socket *socket = socket_opened(fixture, "/");
    socket_wait_for(socket, &socket->message_count, 100);
    afc_websocket_cancel(socket->socket);
    socket_wait(socket);
    check_status(socket->failure.status, AFC_ECANCELED);
    socket_free(socket);
}

static void echoes_large_messages_in_order(void **state) {
    fixture *fixture = *state;
    static const size_t sizes[] = {0, 1, 125, 126, 65535, 65536, 3000000};
    size_t total = 0;
    serve_echo(fixture, "/", NULL);
    recorded_socket *socket = socket_opened(fixture, "/");
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        char *bytes = calloc(1, sizes[i] + 1);
        assert_non_null(bytes);
        check_status(afc_websocket_send(socket->socket, AFC_WEBSOCKET_BINARY,
                                        (afc_slice){bytes, sizes[i]}, 0, NULL),
                     AFC_OK);
        free(bytes);
        total += sizes[i];
    }
    socket_wait_for(socket, &socket->message_count, COUNT_OF(sizes));
    assert_int_equal(atomic_load(&socket->received), total);
    assert_int_equal(afc_websocket_get_queued(socket->socket), 0);
    socket_close(socket);
    socket_wait(socket);
    check_status(socket->failure.status, AFC_OK);
    socket_free(socket);
}

static void passes_on_pieces(void **state) {
    fixture *fixture = *state;
    afts_script *script = afts_script_new();
    afts_upgrade(script, NULL);
    afts_send_frame(script, AFTS_FRAME_TEXT, "one", 3);
    afts_stall(script, "next");
    afts_send_frame(script, AFTS_FRAME_FIN, "two", 3);
    afts_send_frame(script, AFTS_FRAME_FIN | AFTS_FRAME_CLOSE, "", 0);
    afts_wait_peer_close(script);
    serve(fixture, "/", script);
    recorded_socket *socket = socket_new(fixture, "/");
    socket->options.deliver_in_pieces = true;
    socket->options.close_timeout_ms = 50;
    socket_open(socket, fixture);
    socket_wait_for(socket, &socket->message_count, 1);
    afts_release(fixture->server, "next", 1);
    check_log(socket, "open;text one+;more two;closed 1005;");
    check_status(socket->failure.status, AFC_OK);
    socket_free(socket);
}

static void joins_fragments_around_control_frames(void **state) {
    fixture *fixture = *state;
    serve_socket_bytes(fixture, "/",
                       S("\x01\x03"
                         "Hel\x89\x01p\x8a\x01q\x80\x02"
                         "lo\x88\x00"));
    recorded_socket *socket = socket_new(fixture, "/");
    socket->options.close_timeout_ms = 50;
    socket_open(socket, fixture);
    check_log(socket, "open;stray q;text Hello;closed 1005;");
    socket_free(socket);
}

static void sends_messages_in_pieces_and_waits_for_open(void **state) {
    fixture *fixture = *state;
    serve_echo(fixture, "/", NULL);
    recorded_socket *socket = socket_new(fixture, "/");
    socket_open(socket, fixture);
    check_status(
        afc_websocket_send(socket->socket, AFC_WEBSOCKET_TEXT, S("one "), AFC_WEBSOCKET_MORE, NULL),
        AFC_OK);
    check_status(afc_websocket_send(socket->socket, AFC_WEBSOCKET_TEXT, S("two"), 0, NULL), AFC_OK);
    socket_wait_for(socket, &socket->message_count, 1);
    socket_close(socket);
    check_log(socket, "open;sent ok;sent ok;text one two;closed 1000;");
    socket_free(socket);
}

static void compresses_with_codec(void **state) {
    fixture *fixture = *state;
    atomic_int streams = 0;
    afc_websocket_codec codec = stored_codec(&streams);
    serve_echo(fixture, "/",
               "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits=10");
    recorded_socket *socket = socket_new(fixture, "/");
    socket->options.codec = &codec;
    socket->options.compression_threshold = 4;
    socket_open(socket, fixture);
    socket_wait_for(socket, &socket->open_count, 1);
    assert_true(socket->is_compressed);
    socket_send_text(socket, "compressed");
    socket_send_text(socket, "no");
    socket_wait_for(socket, &socket->message_count, 2);
    socket_close(socket);
    socket_wait(socket);
    check_contains(socket->log, "text compressed;");
    check_contains(socket->log, "text no;");
    assert_string_equal(seen_header(fixture, 0, "Sec-WebSocket-Extensions"),
                        "permessage-deflate; client_max_window_bits");
    socket_free(socket);
    assert_int_equal(atomic_load(&streams), 0);
}

static void answers_pings_and_measures_pongs(void **state) {
    fixture *fixture = *state;
    afts_script *script = afts_script_new();
    afts_upgrade(script, NULL);
    afts_send_frame(script, AFTS_FRAME_FIN | AFTS_FRAME_PING, "are you there", 13);
    afts_send_frame(script, AFTS_FRAME_FIN | AFTS_FRAME_PONG, "unasked", 7);
    afts_echo_frames(script);
    serve(fixture, "/", script);
    recorded_socket *socket = socket_opened(fixture, "/");
    socket_wait_for(socket, &socket->pong_count, 1);
    check_status(afc_websocket_ping(socket->socket, S("1")), AFC_OK);
    socket_wait_for(socket, &socket->pong_count, 2);
    assert_true(atomic_load(&socket->round_trip_us) >= 0);
    socket_close(socket);
    check_log(socket, "open;stray unasked;pong 1;closed 1000;");
    afts_connection *connection = afts_copy_connection(fixture->server, 0);
    assert_true(connection->received_total > 0);
    afts_connection_free(connection);
    socket_free(socket);
}

static void ends_without_pong(void **state) {
    fixture *fixture = *state;
    serve_socket_bytes(fixture, "/", S(""));
    recorded_socket *socket = socket_new(fixture, "/");
    socket->options.ping_interval_ms = 10;
    socket->options.pong_timeout_ms = 30;
    socket_open(socket, fixture);
    check_log(socket, "open;closed 1006;");
    check_status(socket->failure.status, AFC_ETIMEOUT);
    check_contains(socket->failure.text, "no pong within 30 ms");
    assert_int_equal(socket->failure.reason, AFC_REASON_NO_PONG);
    socket_free(socket);
}

static void stays_open_while_pongs_come(void **state) {
    fixture *fixture = *state;
    serve_echo(fixture, "/", NULL);
    recorded_socket *socket = socket_new(fixture, "/");
    socket->options.ping_interval_ms = 5;
    socket_open(socket, fixture);
    /* Echoes are read in their order: behind so many automatic pings, which aren't reported. */
    for (unsigned i = 1; i <= 20; i++) {
        socket_wait_for(socket, &socket->open_count, 1);
        check_status(afc_websocket_ping(socket->socket, S("own")), AFC_OK);
        socket_wait_for(socket, &socket->pong_count, i);
    }
    socket_close(socket);
    socket_wait(socket);
    check_status(socket->failure.status, AFC_OK);
    socket_free(socket);
}

/* ---- Ends ---------------------------------------------------------------------------------- */

static void callbacks_may_be_missing(void **state) {
    fixture *fixture = *state;
    static const char frames[] = "\x81\x02hi\x8A\x01p\x89\x01p\x88\x02\x03\xE8";
    afts_script *script = afts_script_new();
    afts_upgrade(script, NULL);
    afts_send(script, frames, sizeof frames - 1);
    afts_close(script);
    serve(fixture, "/", script);
    recorded_socket *socket = socket_new(fixture, "/");
    socket->events.on_open = NULL;
    socket->events.on_message = NULL;
    socket->events.on_sent = NULL;
    socket->events.on_pong = NULL;
    socket_open(socket, fixture);
    check_status(afc_websocket_send(socket->socket, AFC_WEBSOCKET_TEXT, S("x"), 0, NULL), AFC_OK);
    check_log(socket, "closed 1000;");
    check_status(socket->failure.status, AFC_OK);
    socket_free(socket);
}

static void end_without_close_frame_is_lost_connection(void **state) {
    fixture *fixture = *state;
    afts_script *script = afts_script_new();
    afts_upgrade(script, NULL);
    afts_close(script);
    serve(fixture, "/", script);
    recorded_socket *socket = socket_new(fixture, "/");
    socket_open(socket, fixture);
    check_log(socket, "open;closed 1006;");
    check_status(socket->failure.status, AFC_ELOST);
    check_contains(socket->failure.text, "without a close frame");
    check_status(afc_websocket_send(socket->socket, AFC_WEBSOCKET_TEXT, S("x"), 0, NULL),
                 AFC_ECLOSED);
    check_status(afc_websocket_ping(socket->socket, S("x")), AFC_ECLOSED);
    assert_int_equal(afc_websocket_get_queued(socket->socket), 0);
    socket_free(socket);
}

static void reset_is_lost_connection(void **state) {
    fixture *fixture = *state;
    afts_script *script = afts_script_new();
    afts_upgrade(script, NULL);
    afts_stall(script, "open");
    afts_reset(script);
    serve(fixture, "/", script);
    recorded_socket *socket = socket_opened(fixture, "/");
    afts_release(fixture->server, "open", 1);
    check_log(socket, "open;closed 1006;");
    check_status(socket->failure.status, AFC_ELOST);
    socket_free(socket);
}

/** With its code (RFC 6455 5.5.1). */
static void answers_close_of_server(void **state) {
    fixture *fixture = *state;
    static const struct {
        afc_slice bytes;
        const char *log;
        size_t size;       /**< Size of the payload of our close frame, */
        const char *frame; /**< and the payload. */
    } rows[] = {
        {S_INIT("\x88\x06\x0b\xb8"
                "done"),
         "open;closed 3000 done;", 2, "\x0b\xb8"},
        {S_INIT("\x88\x00"), "open;closed 1005;", 0, ""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        serve_socket_bytes(fixture, "/", rows[i].bytes);
        recorded_socket *socket = socket_new(fixture, "/");
        socket->options.close_timeout_ms = 50;
        socket_open(socket, fixture);
        check_log(socket, rows[i].log);
        check_status(socket->failure.status, AFC_OK);
        assert_true(afts_wait_closed(fixture->server, i + 1, PATIENCE_MS));
        afts_connection *connection = afts_copy_connection(fixture->server, i);
        const uint8_t *frame = connection->received + connection->received_size - 6 - rows[i].size;
        assert_int_equal(frame[0], 0x88);
        assert_int_equal(frame[1], 0x80 + rows[i].size);
        for (size_t k = 0; k < rows[i].size; k++) {
            assert_int_equal(frame[6 + k] ^ frame[2 + k], (unsigned char)rows[i].frame[k]);
        }
        afts_connection_free(connection);
        socket_free(socket);
    }
}

static void server_that_never_closes_is_left_after_the_deadline(void **state) {
    fixture *fixture = *state;
    serve_socket_bytes(fixture, "/", S(""));
    recorded_socket *socket = socket_new(fixture, "/");
    socket->options.close_timeout_ms = 30;
    socket_open(socket, fixture);
    socket_wait_for(socket, &socket->open_count, 1);
    socket_close(socket);
    check_log(socket, "open;closed 1006;");
    check_status(socket->failure.status, AFC_ETIMEOUT);
    socket_free(socket);
}

static void broken_rules_end_the_socket_with_their_code(void **state) {
    fixture *fixture = *state;
    static const struct {
        afc_slice bytes;
        afc_status status;
        const char *frame; /**< The payload of our close frame. */
    } rows[] = {
        {S_INIT("\xf0\x00"), AFC_EPROTOCOL, "\x03\xea"},
        {S_INIT("\x81\x01\xff"), AFC_EPROTOCOL, "\x03\xef"},
        {S_INIT("\x82\x7f\x00\x00\x00\x00\x7f\xff\xff\xff"), AFC_ETOOBIG, "\x03\xf1"},
        {S_INIT("\x81\x85\x01\x02\x03\x04"), AFC_EPROTOCOL, "\x03\xea"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        serve_socket_bytes(fixture, "/", rows[i].bytes);
        recorded_socket *socket = socket_new(fixture, "/");
        socket_open(socket, fixture);
        check_log(socket, "open;closed 1006;");
        check_status(socket->failure.status, rows[i].status);
        assert_true(afts_wait_closed(fixture->server, i + 1, PATIENCE_MS));
        afts_connection *connection = afts_copy_connection(fixture->server, i);
        /* The masked close frame is all that we sent behind the head. */
        const uint8_t *frame = connection->received + connection->received_size - 8;
        assert_int_equal(frame[0], 0x88);
        assert_int_equal(frame[1], 0x82);
        assert_int_equal(frame[6] ^ frame[2], (unsigned char)rows[i].frame[0]);
        assert_int_equal(frame[7] ^ frame[3], (unsigned char)rows[i].frame[1]);
        afts_connection_free(connection);
        socket_free(socket);
    }
}

static void send_echo(recorded_socket *socket) {
    (void)afc_websocket_send(socket->socket, AFC_WEBSOCKET_TEXT, afc_slice_of("echo"), 0, NULL);
}

/** RFC 6455 7.1.7: the peer's fault isn't that of the messages before it. */
static void sends_what_waits_before_it_fails(void **state) {
    fixture *fixture = *state;
    serve_socket_bytes(fixture, "/", S("\xf0\x00"));
    recorded_socket *socket = socket_new(fixture, "/");
    socket->at_open = send_echo;
    socket_open(socket, fixture);
    check_log(socket, "open;sent ok;closed 1006;");
    check_status(socket->failure.status, AFC_EPROTOCOL);
    assert_true(afts_wait_closed(fixture->server, 1, PATIENCE_MS));
    afts_connection *connection = afts_copy_connection(fixture->server, 0);
    /* A masked text of four bytes, then the masked close frame. */
    const uint8_t *frames = connection->received + connection->received_size - 18;
    assert_int_equal(frames[0], 0x81);
    assert_int_equal(frames[10], 0x88);
    afts_connection_free(connection);
    socket_free(socket);
}

static void floods_of_control_frames_cost_no_memory(void **state) {
    fixture *fixture = *state;
    afts_script *script = afts_script_new();
    afts_upgrade(script, NULL);
    afts_send_repeated(script, "\x89\x01p", 3, 100000);
    afts_send_frame(script, AFTS_FRAME_FIN | AFTS_FRAME_TEXT, "end", 3);
    afts_wait_peer_close(script);
    serve(fixture, "/", script);
    recorded_socket *socket = socket_opened(fixture, "/");
    socket_wait_for(socket, &socket->message_count, 1);
    assert_int_equal(afc_websocket_get_queued(socket->socket), 0);
    afc_websocket_cancel(socket->socket);
    socket_free(socket);
}

static void close_before_open_cancels(void **state) {
    fixture *fixture = *state;
    afts_script *script = afts_script_new();
    afts_stall(script, "never");
    serve(fixture, "/", script);
    recorded_socket *socket = socket_new(fixture, "/");
    socket_open(socket, fixture);
    assert_true(afts_wait_stalled(fixture->server, "never", 1, PATIENCE_MS));
    socket_send_text(socket, "never sent");
    socket_close(socket);
    check_log(socket, "sent cancelled;closed 1006;");
    check_status(socket->failure.status, AFC_ECANCELED);
    socket_free(socket);
}

static void checks_codes_and_reasons_of_close(void **state) {
    fixture *fixture = *state;
    char longest[AFC_WEBSOCKET_REASON_MAX + 2] = "";
    memset(longest, 'r', sizeof longest - 1);
    serve_echo(fixture, "/", NULL);
    recorded_socket *socket = socket_opened(fixture, "/");
    static const uint16_t invalid[] = {1, 999, 1004, 1005, 1006, 1015, 2999, 5000, 65535};
    for (size_t i = 0; i < COUNT_OF(invalid); i++) {
        check_status(afc_websocket_close(socket->socket, invalid[i], S("")), AFC_EINVAL);
    }
    check_status(afc_websocket_close(socket->socket, 1000, S("\xff")), AFC_EINVAL);
    check_status(afc_websocket_close(socket->socket, 0, S("why")), AFC_EINVAL);
    check_status(afc_websocket_close(socket->socket, 1000, afc_slice_of(longest)), AFC_EINVAL);
    longest[AFC_WEBSOCKET_REASON_MAX] = '\0';
    check_status(afc_websocket_close(socket->socket, 4000, afc_slice_of(longest)), AFC_OK);
    socket_wait(socket);
    assert_int_equal(socket->code, 4000);
    socket_free(socket);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(echoes_messages_and_closes),
        FIXTURE_TEST(accepts_ws_urls_and_subprotocols),
        FIXTURE_TEST(reports_why_handshake_was_refused),
        FIXTURE_TEST(follows_redirects_also_to_ws_urls),
        FIXTURE_TEST(answers_challenge_of_server),
        FIXTURE_TEST(uses_tunnel_through_http_proxy),
        FIXTURE_TEST(refuses_invalid_input),
        FIXTURE_TEST(names_setting_that_handshake_can_not_have),
        FIXTURE_TEST(reads_options_of_other_versions),
        FIXTURE_TEST(limits_time_of_handshake),
        cmocka_unit_test(works_over_tls_with_http_1_1),
        FIXTURE_TEST(passes_on_bytes_that_come_with_the_head),
        FIXTURE_TEST(echoes_large_messages_in_order),
        FIXTURE_TEST(passes_on_pieces),
        FIXTURE_TEST(joins_fragments_around_control_frames),
        FIXTURE_TEST(sends_messages_in_pieces_and_waits_for_open),
        FIXTURE_TEST(compresses_with_codec),
        FIXTURE_TEST(answers_pings_and_measures_pongs),
        FIXTURE_TEST(ends_without_pong),
        FIXTURE_TEST(stays_open_while_pongs_come),
        FIXTURE_TEST(callbacks_may_be_missing),
        FIXTURE_TEST(end_without_close_frame_is_lost_connection),
        FIXTURE_TEST(reset_is_lost_connection),
        FIXTURE_TEST(answers_close_of_server),
        FIXTURE_TEST(server_that_never_closes_is_left_after_the_deadline),
        FIXTURE_TEST(broken_rules_end_the_socket_with_their_code),
        FIXTURE_TEST(sends_what_waits_before_it_fails),
        FIXTURE_TEST(floods_of_control_frames_cost_no_memory),
        FIXTURE_TEST(close_before_open_cancels),
        FIXTURE_TEST(checks_codes_and_reasons_of_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
