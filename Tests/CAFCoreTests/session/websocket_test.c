/* WebSockets against the test server: the handshake, messages, limits, ends. */
#include "support/call.h"
#include "support/relay.h"
#include "support/websocket.h"

#include <stdlib.h>
#include <string.h>

/* ---- The handshake ------------------------------------------------------------------------- */

static void echoes_messages_and_closes(void **state) {
    world *world = *state;
    serve_echo(world, "/echo", NULL);
    wire *wire = wire_opened(world, "/echo");
    wire_send_text(wire, "hello");
    wire_wait_for(wire, &wire->message_count, 1);
    wire_close(wire);
    check_log(wire, "open;sent ok;text hello;closed 1000;");
    check_status(wire->failure.status, AFC_OK);
    assert_int_equal(wire->status, 101);
    assert_string_equal(seen_header(world, 0, "Sec-WebSocket-Version"), "13");
    assert_string_equal(seen_header(world, 0, "Transfer-Encoding"), "");
    assert_string_equal(seen_header(world, 0, "Expect"), "");
    assert_string_equal(seen_header(world, 0, "Accept-Encoding"), "");
    wire_free(wire);
}

static void accepts_ws_urls_and_subprotocols(void **state) {
    world *world = *state;
    static const char *const protocols[] = {"v2.chat", "v1.chat"};
    serve_echo(world, "/", "Sec-WebSocket-Protocol: v1.chat");
    wire *wire = wire_new(world, "/");
    wire->request.url = text_of(world, "ws%s", strchr(url_of(world, "/"), ':'));
    wire->options.protocols = protocols;
    wire->options.protocol_count = 2;
    wire_open(wire, world);
    wire_wait_for(wire, &wire->open_count, 1);
    wire_close(wire);
    check_log(wire, "open v1.chat;closed 1000;");
    assert_string_equal(seen_header(world, 0, "Sec-WebSocket-Protocol"), "v2.chat, v1.chat");
    wire_free(wire);
}

static void reports_why_handshake_was_refused(void **state) {
    world *world = *state;
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
        serve_text(world, "/", rows[i].response);
        wire *wire = wire_new(world, "/");
        wire_open(wire, world);
        check_log(wire, "closed 1006;");
        if (wire->failure.status != rows[i].status)
            fail_msg("row %zu: %d %s", i, (int)wire->failure.status, wire->failure.text);
        check_contains(wire->failure.text, rows[i].text);
        wire_free(wire);
    }
}

static void follows_redirects_also_to_ws_urls(void **state) {
    world *world = *state;
    serve_echo(world, "/end", NULL);
    const char *rest = strchr(url_of(world, "/end"), ':');
    static const int statuses[] = {301, 302, 303, 307, 308};
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        const char *location = i % 2 == 0 ? text_of(world, "Location: ws%s", rest)
                                          : "Location: /end";
        serve(world, "/", answer(statuses[i], location, "elsewhere"));
        wire *wire = wire_opened(world, "/");
        /* Each connection has a key of its own. */
        const char *first = seen_header(world, 2 * i, "Sec-WebSocket-Key");
        const char *second = seen_header(world, 2 * i + 1, "Sec-WebSocket-Key");
        assert_int_equal(strlen(first), 24);
        assert_int_equal(strlen(second), 24);
        assert_string_not_equal(first, second);
        wire_send_text(wire, "hi");
        wire_wait_for(wire, &wire->message_count, 1);
        wire_close(wire);
        check_log(wire, "open;sent ok;text hi;closed 1000;");
        wire_free(wire);
    }
}

static void answers_challenge_of_server(void **state) {
    world *world = *state;
    serve_echo(world, "/", NULL);
    serve_once(world, "/", answer(401, "WWW-Authenticate: Basic realm=\"x\"", "who?"));
    afc_credentials credentials = AFC_CREDENTIALS_INIT;
    credentials.user = "user";
    credentials.password = "pass";
    wire *wire = wire_new(world, "/");
    wire->request.credentials = &credentials;
    wire_open(wire, world);
    wire_wait_for(wire, &wire->open_count, 1);
    wire_close(wire);
    check_log(wire, "open;closed 1000;");
    assert_string_equal(seen_header(world, 1, "Authorization"), "Basic dXNlcjpwYXNz");
    wire_free(wire);
}

static void uses_tunnel_through_http_proxy(void **state) {
    world *world = *state;
    serve_echo(world, "/", NULL);
    static const char *const schemes[] = {"http", "socks5h"};
    for (size_t i = 0; i < COUNT_OF(schemes); i++) {
        relay *relay = relay_new(world);
        wire *wire = wire_new(world, "/");
        wire->request.proxy = relay_url(relay, schemes[i], NULL);
        wire_open(wire, world);
        wire_wait_for(wire, &wire->open_count, 1);
        wire_send_text(wire, "hi");
        wire_wait_for(wire, &wire->message_count, 1);
        wire_close(wire);
        check_log(wire, "open;sent ok;text hi;closed 1000;");
        assert_int_equal(relay_count(relay), 1);
        check_contains(relay_seen(relay, 0), i == 0 ? "CONNECT 127.0.0.1:" : "SOCKS 127.0.0.1:");
        wire_free(wire);
        relay_free(relay);
    }
}

static void refuses_invalid_input(void **state) {
    world *world = *state;
    static const afc_header reserved[] = {
        {S_INIT("Sec-WebSocket-Key"), S_INIT("x"), 0},
        {S_INIT("upgrade"), S_INIT("x"), 0},
        {S_INIT("Connection"), S_INIT("x"), AFC_HEADER_REMOVE},
    };
    for (int i = 0; i < 13; i++) {
        wire *wire = wire_new(world, "/");
        afc_failure failure;
        if (i < 3) {
            wire->request.headers = &reserved[i];
            wire->request.header_count = 1;
        }
        if (i == 3) wire->request.url = "ws://127.0.0.1/#fragment";
        if (i == 4) wire->request.url = "ftp://127.0.0.1/";
        if (i == 5) wire->request.url = NULL;
        if (i == 6) wire->request.method = "POST";
        if (i == 7) wire->request.timeouts.total_ms = 1;
        if (i == 8) wire->options.close_timeout_ms = 0;
        if (i == 9) wire->options.server_window_bits = 7;
        if (i == 10) wire->options.size = 1;
        if (i == 11) wire->request.url = "wss:/x";
        if (i == 12) wire->request.header_count = 1;
        check_status(afc_websocket_open(&wire->socket, world->session, &wire->request,
                                        &wire->options, &wire->events, &failure),
                     AFC_EINVAL);
        assert_null(wire->socket);
        assert_true(failure.text[0] != '\0');
        if (i == 6) check_contains(failure.text, "must have the default method");
        if (i == 7) check_contains(failure.text, "set open_timeout_ms");
        if (i == 4) check_contains(failure.text, "\"ftp\" of a WebSocket: expected ws, wss, http");
        assert_int_equal(atomic_load(&wire->release_count), 1);
        assert_int_equal(atomic_load(&wire->closed_count), 0);
        wire_free(wire);
    }
}

/** A program with other headers; base.h says how structs grow. */
static void reads_options_of_other_versions(void **state) {
    world *world = *state;
    static const struct {
        size_t size; /**< Of the options; 0: of this version. */
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
    serve_echo(world, "/", NULL);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        wire *wire = wire_new(world, "/");
        struct {
            afc_websocket_options known;
            uint64_t unknown;
        } later = {wire->options, rows[i].unknown};
        afc_failure failure;
        if (rows[i].size != 0) later.known.size = rows[i].size;
        later.known.limits.reserved[3] = rows[i].reserved;
        check_status(afc_websocket_open(&wire->socket, world->session, &wire->request, &later.known,
                                        &wire->events, &failure),
                     rows[i].status);
        if (rows[i].status == AFC_OK) wire_wait_for(wire, &wire->open_count, 1);
        if (rows[i].status == AFC_OK) wire_close(wire);
        wire_free(wire);
    }
}

static void limits_time_of_handshake(void **state) {
    world *world = *state;
    afts_script *script = afts_script_new();
    afts_stall(script, "never");
    serve(world, "/", script);
    wire *wire = wire_new(world, "/");
    wire->options.open_timeout_ms = 50;
    wire_open(wire, world);
    check_log(wire, "closed 1006;");
    check_status(wire->failure.status, AFC_ETIMEOUT);
    assert_int_equal(wire->failure.timeout, AFC_TIMEOUT_TOTAL);
    assert_int_equal(wire->failure.reason, AFC_REASON_NOT_OPEN);
    assert_string_equal(wire->failure.text, "total timeout: the WebSocket isn't open after 50 ms");
    wire_free(wire);
}

static void works_over_tls_with_http_1_1(void **state) {
    (void)state;
    world *world = world_new_alpn("h2,http/1.1", NULL);
    serve_echo(world, "/", NULL);
    wire *wire = wire_new(world, "/");
    wire->request.url = text_of(world, "wss%s", strchr(tls_url(world), ':'));
    wire_open(wire, world);
    wire_wait_for(wire, &wire->open_count, 1);
    wire_send_text(wire, "secret");
    wire_wait_for(wire, &wire->message_count, 1);
    wire_close(wire);
    check_log(wire, "open;sent ok;text secret;closed 1000;");
    afts_connection *connection = afts_copy_connection(world->server, 0);
    assert_string_equal(connection->alpn, "http/1.1");
    afts_connection_free(connection);
    wire_free(wire);
    world_free(world);
}

/* ---- Messages ------------------------------------------------------------------------------ */

static void passes_on_bytes_that_come_with_the_head(void **state) {
    world *world = *state;
    static char bytes[100 * 4];
    for (size_t i = 0; i < sizeof bytes; i += 4) memcpy(bytes + i, "\x81\x02hi", 4);
    serve_wire(world, "/", (afc_slice){bytes, sizeof bytes});
    wire *wire = wire_opened(world, "/");
    wire_wait_for(wire, &wire->message_count, 100);
    afc_websocket_cancel(wire->socket);
    wire_wait(wire);
    check_status(wire->failure.status, AFC_ECANCELED);
    wire_free(wire);
}

static void echoes_large_messages_in_order(void **state) {
    world *world = *state;
    static const size_t sizes[] = {0, 1, 125, 126, 65535, 65536, 3000000};
    size_t total = 0;
    serve_echo(world, "/", NULL);
    wire *wire = wire_opened(world, "/");
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        char *bytes = calloc(1, sizes[i] + 1);
        assert_non_null(bytes);
        check_status(afc_websocket_send(wire->socket, AFC_WEBSOCKET_BINARY,
                                        (afc_slice){bytes, sizes[i]}, 0, NULL),
                     AFC_OK);
        free(bytes);
        total += sizes[i];
    }
    wire_wait_for(wire, &wire->message_count, COUNT_OF(sizes));
    assert_int_equal(atomic_load(&wire->received), total);
    assert_int_equal(afc_websocket_get_queued(wire->socket), 0);
    wire_close(wire);
    wire_wait(wire);
    check_status(wire->failure.status, AFC_OK);
    wire_free(wire);
}

static void passes_on_pieces(void **state) {
    world *world = *state;
    afts_script *script = afts_script_new();
    afts_upgrade(script, NULL);
    afts_send_frame(script, AFTS_FRAME_TEXT, "one", 3);
    afts_stall(script, "next");
    afts_send_frame(script, AFTS_FRAME_FIN, "two", 3);
    afts_send_frame(script, AFTS_FRAME_FIN | AFTS_FRAME_CLOSE, "", 0);
    afts_wait_peer_close(script);
    serve(world, "/", script);
    wire *wire = wire_new(world, "/");
    wire->options.deliver_in_pieces = true;
    wire->options.close_timeout_ms = 50;
    wire_open(wire, world);
    wire_wait_for(wire, &wire->message_count, 1);
    afts_release(world->server, "next", 1);
    check_log(wire, "open;text one+;more two;closed 1005;");
    check_status(wire->failure.status, AFC_OK);
    wire_free(wire);
}

static void joins_fragments_around_control_frames(void **state) {
    world *world = *state;
    serve_wire(world, "/",
               S("\x01\x03"
                 "Hel\x89\x01p\x8a\x01q\x80\x02"
                 "lo\x88\x00"));
    wire *wire = wire_new(world, "/");
    wire->options.close_timeout_ms = 50;
    wire_open(wire, world);
    check_log(wire, "open;stray q;text Hello;closed 1005;");
    wire_free(wire);
}

static void sends_messages_in_pieces_and_waits_for_open(void **state) {
    world *world = *state;
    serve_echo(world, "/", NULL);
    wire *wire = wire_new(world, "/");
    wire_open(wire, world);
    check_status(
        afc_websocket_send(wire->socket, AFC_WEBSOCKET_TEXT, S("one "), AFC_WEBSOCKET_MORE, NULL),
        AFC_OK);
    check_status(afc_websocket_send(wire->socket, AFC_WEBSOCKET_TEXT, S("two"), 0, NULL), AFC_OK);
    wire_wait_for(wire, &wire->message_count, 1);
    wire_close(wire);
    check_log(wire, "open;sent ok;sent ok;text one two;closed 1000;");
    wire_free(wire);
}

static void compresses_with_codec(void **state) {
    world *world = *state;
    atomic_int streams = 0;
    afc_websocket_codec codec = stored_codec(&streams);
    serve_echo(world, "/",
               "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits=10");
    wire *wire = wire_new(world, "/");
    wire->options.codec = &codec;
    wire->options.compression_threshold = 4;
    wire_open(wire, world);
    wire_wait_for(wire, &wire->open_count, 1);
    assert_true(wire->is_compressed);
    wire_send_text(wire, "compressed");
    wire_send_text(wire, "no");
    wire_wait_for(wire, &wire->message_count, 2);
    wire_close(wire);
    wire_wait(wire);
    check_contains(wire->log, "text compressed;");
    check_contains(wire->log, "text no;");
    assert_string_equal(seen_header(world, 0, "Sec-WebSocket-Extensions"),
                        "permessage-deflate; client_max_window_bits");
    wire_free(wire);
    assert_int_equal(atomic_load(&streams), 0);
}

static void answers_pings_and_measures_pongs(void **state) {
    world *world = *state;
    afts_script *script = afts_script_new();
    afts_upgrade(script, NULL);
    afts_send_frame(script, AFTS_FRAME_FIN | AFTS_FRAME_PING, "are you there", 13);
    afts_send_frame(script, AFTS_FRAME_FIN | AFTS_FRAME_PONG, "unasked", 7);
    afts_echo_frames(script);
    serve(world, "/", script);
    wire *wire = wire_opened(world, "/");
    wire_wait_for(wire, &wire->pong_count, 1);
    check_status(afc_websocket_ping(wire->socket, S("1")), AFC_OK);
    wire_wait_for(wire, &wire->pong_count, 2);
    assert_true(atomic_load(&wire->round_trip_us) >= 0);
    wire_close(wire);
    check_log(wire, "open;stray unasked;pong 1;closed 1000;");
    afts_connection *connection = afts_copy_connection(world->server, 0);
    assert_true(connection->received_total > 0);
    afts_connection_free(connection);
    wire_free(wire);
}

static void ends_without_pong(void **state) {
    world *world = *state;
    serve_wire(world, "/", S(""));
    wire *wire = wire_new(world, "/");
    wire->options.ping_interval_ms = 10;
    wire->options.pong_timeout_ms = 30;
    wire_open(wire, world);
    check_log(wire, "open;closed 1006;");
    check_status(wire->failure.status, AFC_ETIMEOUT);
    check_contains(wire->failure.text, "no pong within 30 ms");
    assert_int_equal(wire->failure.reason, AFC_REASON_NO_PONG);
    wire_free(wire);
}

static void stays_open_while_pongs_come(void **state) {
    world *world = *state;
    serve_echo(world, "/", NULL);
    wire *wire = wire_new(world, "/");
    wire->options.ping_interval_ms = 5;
    wire_open(wire, world);
    /* Echoes are read in their order: behind so many automatic pings, which aren't reported. */
    for (unsigned i = 1; i <= 20; i++) {
        wire_wait_for(wire, &wire->open_count, 1);
        check_status(afc_websocket_ping(wire->socket, S("own")), AFC_OK);
        wire_wait_for(wire, &wire->pong_count, i);
    }
    wire_close(wire);
    wire_wait(wire);
    check_status(wire->failure.status, AFC_OK);
    wire_free(wire);
}

/* ---- Ends ---------------------------------------------------------------------------------- */

static void end_without_close_frame_is_lost_connection(void **state) {
    world *world = *state;
    afts_script *script = afts_script_new();
    afts_upgrade(script, NULL);
    afts_close(script);
    serve(world, "/", script);
    wire *wire = wire_new(world, "/");
    wire_open(wire, world);
    check_log(wire, "open;closed 1006;");
    check_status(wire->failure.status, AFC_ELOST);
    check_contains(wire->failure.text, "without a close frame");
    wire_free(wire);
}

static void reset_is_lost_connection(void **state) {
    world *world = *state;
    afts_script *script = afts_script_new();
    afts_upgrade(script, NULL);
    afts_stall(script, "open");
    afts_reset(script);
    serve(world, "/", script);
    wire *wire = wire_opened(world, "/");
    afts_release(world->server, "open", 1);
    check_log(wire, "open;closed 1006;");
    check_status(wire->failure.status, AFC_ELOST);
    wire_free(wire);
}

/** With its code (RFC 6455 5.5.1). */
static void answers_close_of_server(void **state) {
    world *world = *state;
    static const struct {
        afc_slice bytes;
        const char *log;
        size_t size;       /**< Of the payload of our close frame, */
        const char *frame; /**< and the payload. */
    } rows[] = {
        {S_INIT("\x88\x06\x0b\xb8"
                "done"),
         "open;closed 3000 done;", 2, "\x0b\xb8"},
        {S_INIT("\x88\x00"), "open;closed 1005;", 0, ""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        serve_wire(world, "/", rows[i].bytes);
        wire *wire = wire_new(world, "/");
        wire->options.close_timeout_ms = 50;
        wire_open(wire, world);
        check_log(wire, rows[i].log);
        check_status(wire->failure.status, AFC_OK);
        assert_true(afts_wait_closed(world->server, i + 1, PATIENCE_MS));
        afts_connection *connection = afts_copy_connection(world->server, i);
        const uint8_t *frame = connection->received + connection->received_size - 6 - rows[i].size;
        assert_int_equal(frame[0], 0x88);
        assert_int_equal(frame[1], 0x80 + rows[i].size);
        for (size_t k = 0; k < rows[i].size; k++) {
            assert_int_equal(frame[6 + k] ^ frame[2 + k], (unsigned char)rows[i].frame[k]);
        }
        afts_connection_free(connection);
        wire_free(wire);
    }
}

static void server_that_never_closes_is_left_after_the_deadline(void **state) {
    world *world = *state;
    serve_wire(world, "/", S(""));
    wire *wire = wire_new(world, "/");
    wire->options.close_timeout_ms = 30;
    wire_open(wire, world);
    wire_wait_for(wire, &wire->open_count, 1);
    wire_close(wire);
    check_log(wire, "open;closed 1006;");
    check_status(wire->failure.status, AFC_ETIMEOUT);
    wire_free(wire);
}

static void broken_rules_end_the_socket_with_their_code(void **state) {
    world *world = *state;
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
        serve_wire(world, "/", rows[i].bytes);
        wire *wire = wire_new(world, "/");
        wire_open(wire, world);
        check_log(wire, "open;closed 1006;");
        check_status(wire->failure.status, rows[i].status);
        assert_true(afts_wait_closed(world->server, i + 1, PATIENCE_MS));
        afts_connection *connection = afts_copy_connection(world->server, i);
        /* The masked close frame is all that we sent behind the head. */
        const uint8_t *frame = connection->received + connection->received_size - 8;
        assert_int_equal(frame[0], 0x88);
        assert_int_equal(frame[1], 0x82);
        assert_int_equal(frame[6] ^ frame[2], (unsigned char)rows[i].frame[0]);
        assert_int_equal(frame[7] ^ frame[3], (unsigned char)rows[i].frame[1]);
        afts_connection_free(connection);
        wire_free(wire);
    }
}

static void send_echo(wire *wire) {
    (void)afc_websocket_send(wire->socket, AFC_WEBSOCKET_TEXT, afc_slice_of("echo"), 0, NULL);
}

/** RFC 6455 7.1.7: the peer's fault isn't that of the messages before it. */
static void sends_what_waits_before_it_fails(void **state) {
    world *world = *state;
    serve_wire(world, "/", S("\xf0\x00"));
    wire *wire = wire_new(world, "/");
    wire->at_open = send_echo;
    wire_open(wire, world);
    check_log(wire, "open;sent ok;closed 1006;");
    check_status(wire->failure.status, AFC_EPROTOCOL);
    assert_true(afts_wait_closed(world->server, 1, PATIENCE_MS));
    afts_connection *connection = afts_copy_connection(world->server, 0);
    /* A masked text of four bytes, then the masked close frame. */
    const uint8_t *frames = connection->received + connection->received_size - 18;
    assert_int_equal(frames[0], 0x81);
    assert_int_equal(frames[10], 0x88);
    afts_connection_free(connection);
    wire_free(wire);
}

static void floods_of_control_frames_cost_no_memory(void **state) {
    world *world = *state;
    afts_script *script = afts_script_new();
    afts_upgrade(script, NULL);
    afts_send_repeated(script, "\x89\x01p", 3, 100000);
    afts_send_frame(script, AFTS_FRAME_FIN | AFTS_FRAME_TEXT, "end", 3);
    afts_wait_peer_close(script);
    serve(world, "/", script);
    wire *wire = wire_opened(world, "/");
    wire_wait_for(wire, &wire->message_count, 1);
    assert_int_equal(afc_websocket_get_queued(wire->socket), 0);
    afc_websocket_cancel(wire->socket);
    wire_free(wire);
}

static void close_before_open_cancels(void **state) {
    world *world = *state;
    afts_script *script = afts_script_new();
    afts_stall(script, "never");
    serve(world, "/", script);
    wire *wire = wire_new(world, "/");
    wire_open(wire, world);
    assert_true(afts_wait_stalled(world->server, "never", 1, PATIENCE_MS));
    wire_send_text(wire, "never sent");
    wire_close(wire);
    check_log(wire, "sent cancelled;closed 1006;");
    check_status(wire->failure.status, AFC_ECANCELED);
    wire_free(wire);
}

static void checks_codes_and_reasons_of_close(void **state) {
    world *world = *state;
    char longest[AFC_WEBSOCKET_REASON_MAX + 2] = "";
    memset(longest, 'r', sizeof longest - 1);
    serve_echo(world, "/", NULL);
    wire *wire = wire_opened(world, "/");
    static const uint16_t invalid[] = {1, 999, 1004, 1005, 1006, 1015, 2999, 5000, 65535};
    for (size_t i = 0; i < COUNT_OF(invalid); i++) {
        check_status(afc_websocket_close(wire->socket, invalid[i], S("")), AFC_EINVAL);
    }
    check_status(afc_websocket_close(wire->socket, 1000, S("\xff")), AFC_EINVAL);
    check_status(afc_websocket_close(wire->socket, 0, S("why")), AFC_EINVAL);
    check_status(afc_websocket_close(wire->socket, 1000, afc_slice_of(longest)), AFC_EINVAL);
    longest[AFC_WEBSOCKET_REASON_MAX] = '\0';
    check_status(afc_websocket_close(wire->socket, 4000, afc_slice_of(longest)), AFC_OK);
    wire_wait(wire);
    assert_int_equal(wire->code, 4000);
    wire_free(wire);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WORLD_TEST(echoes_messages_and_closes),
        WORLD_TEST(accepts_ws_urls_and_subprotocols),
        WORLD_TEST(reports_why_handshake_was_refused),
        WORLD_TEST(follows_redirects_also_to_ws_urls),
        WORLD_TEST(answers_challenge_of_server),
        WORLD_TEST(uses_tunnel_through_http_proxy),
        WORLD_TEST(refuses_invalid_input),
        WORLD_TEST(reads_options_of_other_versions),
        WORLD_TEST(limits_time_of_handshake),
        cmocka_unit_test(works_over_tls_with_http_1_1),
        WORLD_TEST(passes_on_bytes_that_come_with_the_head),
        WORLD_TEST(echoes_large_messages_in_order),
        WORLD_TEST(passes_on_pieces),
        WORLD_TEST(joins_fragments_around_control_frames),
        WORLD_TEST(sends_messages_in_pieces_and_waits_for_open),
        WORLD_TEST(compresses_with_codec),
        WORLD_TEST(answers_pings_and_measures_pongs),
        WORLD_TEST(ends_without_pong),
        WORLD_TEST(stays_open_while_pongs_come),
        WORLD_TEST(end_without_close_frame_is_lost_connection),
        WORLD_TEST(reset_is_lost_connection),
        WORLD_TEST(answers_close_of_server),
        WORLD_TEST(server_that_never_closes_is_left_after_the_deadline),
        WORLD_TEST(broken_rules_end_the_socket_with_their_code),
        WORLD_TEST(sends_what_waits_before_it_fails),
        WORLD_TEST(floods_of_control_frames_cost_no_memory),
        WORLD_TEST(close_before_open_cancels),
        WORLD_TEST(checks_codes_and_reasons_of_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
