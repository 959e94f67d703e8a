/*
 * Responses that arrive at once, and are longer than libcurl reads at once: nothing is left behind when the server then
 * sends nothing more.
 */
#include "support/call.h"
#include "support/files.h"
#include "support/h2.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Only a transfer that hangs takes so long. */
    IDLE_MS = 3000,
    BURST_MAX = 512 * 1024,
    HPACK_FIELD_MAX = 60 * 1024
};

/* ---- The server ---------------------------------------------------------------------------- */

typedef enum shape_end {
    END_IN_LAST_DATA, /**< Without a body, a DATA frame of no bytes. */
    END_IN_HEAD       /**< Without a body only. */
} shape_end;

/** What every request is answered with. */
typedef struct shape {
    size_t head, field, body;
    size_t interim; /**< A 103 before it, with so many bytes of fields; 0: none. */
    size_t frame;   /**< Size of each DATA frame; 0: as large as may be. */
    shape_end end;
    unsigned streams; /**< Answered in one burst; 0: one. */
} shape;

typedef struct burst {
    uint8_t *bytes;
    size_t size;
    uint8_t *block; /**< One head in HPACK, before it is cut into frames. */
} burst;

static void put_frame(burst *burst, uint8_t type, uint8_t flags, uint32_t stream,
                      const void *payload, size_t size) {
    uint8_t *out = burst->bytes + burst->size;
    const uint8_t head[] = {
        (uint8_t)(size >> 16),   (uint8_t)(size >> 8),   (uint8_t)size,  type, flags, 0,
        (uint8_t)(stream >> 16), (uint8_t)(stream >> 8), (uint8_t)stream};
    memcpy(out, head, sizeof head);
    if (size > 0) memcpy(out + sizeof head, payload, size);
    burst->size += sizeof head + size;
}

/** HPACK: a literal without indexing and with a new name. Returns its end. */
static uint8_t *put_field(uint8_t *out, unsigned number, size_t size) {
    *out++ = 0;
    *out++ = 5;
    snprintf((char *)out, 6, "x%04u", number % 10000);
    out += 5;
    size_t rest = size;
    if (rest < 127) {
        *out++ = (uint8_t)rest;
    } else {
        *out++ = 127;
        for (rest -= 127; rest >= 128; rest /= 128) *out++ = (uint8_t)(128 + rest % 128);
        *out++ = (uint8_t)rest;
    }
    memset(out, 'y', size);
    return out + size;
}

/** A head with so many bytes of fields, in as many frames as it takes. */
static void put_head(burst *burst, uint32_t stream, const char *status, size_t size, size_t field,
                     uint8_t flags) {
    uint8_t *block = burst->block;
    uint8_t *end = block;
    *end++ = 0x08;
    *end++ = 3;
    memcpy(end, status, 3);
    end += 3;
    for (unsigned i = 0; size > 0; i++) {
        size_t next = size < field ? size : field;
        end = put_field(end, i, next);
        size -= next;
    }
    size_t left = (size_t)(end - block);
    uint8_t type = H2_HEADERS;
    for (const uint8_t *at = block; left > 0 || type == H2_HEADERS;) {
        size_t next = left < H2_FRAME_MAX ? left : H2_FRAME_MAX;
        left -= next;
        uint8_t first = type == H2_HEADERS ? flags : 0;
        put_frame(burst, type, (uint8_t)(first | (left == 0 ? H2_END_HEADERS : 0)), stream, at,
                  next);
        at += next;
        type = H2_CONTINUATION;
    }
}

static void put_response(burst *burst, const shape *shape, uint32_t stream) {
    static const uint8_t zeros[H2_FRAME_MAX];
    bool ends_in_head = shape->body == 0 && shape->end == END_IN_HEAD;
    size_t frame = shape->frame != 0 ? shape->frame : H2_FRAME_MAX;
    if (shape->interim > 0) put_head(burst, stream, "103", shape->interim, shape->field, 0);
    put_head(burst, stream, "200", shape->head, shape->field, ends_in_head ? H2_END_STREAM : 0);
    if (ends_in_head) return;
    size_t left = shape->body;
    do {
        size_t next = left < frame ? left : frame;
        left -= next;
        put_frame(burst, H2_DATA, left == 0 ? H2_END_STREAM : 0, stream, zeros, next);
    } while (left > 0);
}

static void serve_bursts(h2_peer *peer, burst *burst, const shape *shape) {
    uint32_t stream;
    unsigned count = 0;
    while ((stream = h2_read_request(peer)) != 0) {
        put_response(burst, shape, stream);
        if (++count < shape->streams) continue;
        if (afts_conn_send(peer->conn, burst->bytes, burst->size) != 0) return;
        burst->size = 0;
        count = 0;
    }
}

static void handle(afts_conn *conn, const struct afts_request *request, void *payload) {
    (void)request;
    h2_peer *peer = malloc(sizeof *peer);
    burst burst = {.bytes = malloc(BURST_MAX), .block = malloc(BURST_MAX)};
    if (peer != NULL && burst.bytes != NULL && burst.block != NULL && h2_begin(peer, conn))
        serve_bursts(peer, &burst, payload);
    free(burst.block);
    free(burst.bytes);
    free(peer);
}

/* ---- The client ---------------------------------------------------------------------------- */

typedef enum reader { IN_MEMORY, IN_CALLBACKS, WITH_REFUSALS, IN_FILE, READERS } reader;

typedef struct setup {
    fixture *fixture;
    shape shape;
    folder folder;
    bool is_clear;
} setup;

static void setup_begin(setup *setup, bool is_clear) {
    *setup = (struct setup){.is_clear = is_clear};
    setup->fixture = is_clear ? fixture_new(NULL, NULL) : h2_fixture(NULL);
    h2_serve(setup->fixture, handle, &setup->shape, H2_CLOSE);
    folder_make(&setup->folder);
}

static void setup_end(setup *setup) {
    folder_remove(&setup->folder);
    fixture_free(setup->fixture);
}

static call *make_call(setup *setup, reader reader) {
    call *call = call_new(setup->fixture, "/");
    if (setup->is_clear)
        call->request.version = AFC_HTTP_PREFER_2_PRIOR_KNOWLEDGE;
    else
        call->request.url = tls_url(setup->fixture);
    call->request.timeouts.idle_ms = IDLE_MS;
    if (reader == IN_CALLBACKS) {
        call->request.sink.kind = AFC_SINK_CALLBACK;
        call->keeps_body = true;
    } else if (reader == IN_FILE) {
        call->request.sink = (afc_sink){.kind = AFC_SINK_FILE,
                                        .path = path_in(&setup->folder, "file")};
    }
    return call;
}

static size_t size_received(const call *call, reader reader) {
    return reader == IN_FILE ? (size_t)afc_result_get_download(call->result)->size
                             : call->body.size;
}

static void check_complete(setup *setup, call *call, reader reader) {
    const shape *shape = &setup->shape;
    if (call->failure.status == AFC_OK && size_received(call, reader) == shape->body) return;
    fail_msg("%s, reader %d, head of %zu, fields of %zu, body of %zu: %d %s",
             setup->is_clear ? "clear" : "TLS", (int)reader, shape->head, shape->field, shape->body,
             (int)call->failure.status, call->failure.text);
}

static void check_fetch_by(setup *setup, reader reader) {
    call *call = make_call(setup, reader);
    if (reader == WITH_REFUSALS)
        call_perform_with_refusals(call);
    else
        call_perform(call);
    check_complete(setup, call, reader);
    call_free(call);
}

static void check_shapes(const shape *shapes, size_t count) {
    for (int clear = 0; clear < 2; clear++) {
        setup setup;
        setup_begin(&setup, clear != 0);
        for (size_t i = 0; i < count; i++) {
            setup.shape = shapes[i];
            for (reader reader = IN_MEMORY; reader < READERS; reader++)
                check_fetch_by(&setup, reader);
        }
        setup_end(&setup);
    }
}

static const size_t heads[] = {0, 20000, 33000, 60000, 84000};
static const size_t bodies[] = {0, 2, 1000, 3000, 5000, 40000};

static void long_heads_with_bodies_in_the_same_burst_arrive(void **state) {
    (void)state;
    shape shapes[COUNT_OF(heads) * COUNT_OF(bodies)];
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        shapes[i] = (shape){.head = heads[i / COUNT_OF(bodies)],
                            .body = bodies[i % COUNT_OF(bodies)],
                            .field = 3000};
    }
    check_shapes(shapes, COUNT_OF(shapes));
}

static void long_heads_without_bodies_arrive(void **state) {
    (void)state;
    shape shapes[COUNT_OF(heads)];
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        shapes[i] = (shape){.head = heads[i], .field = 400, .end = END_IN_HEAD};
    check_shapes(shapes, COUNT_OF(shapes));
}

/** Such a field is longer than what libcurl reads at once, so none of its reads of that part ends a line. */
static void long_fields_arrive(void **state) {
    (void)state;
    const shape shapes[] = {{.head = 40000, .field = HPACK_FIELD_MAX, .body = 2},
                            {.head = 60000, .field = HPACK_FIELD_MAX, .body = 2},
                            {.head = 60000, .field = HPACK_FIELD_MAX, .end = END_IN_HEAD},
                            {.head = 100000, .field = 50000, .body = 1000}};
    check_shapes(shapes, COUNT_OF(shapes));
}

static void long_interim_heads_arrive(void **state) {
    (void)state;
    const shape shapes[] = {{.interim = 40000, .head = 100, .field = 1000, .body = 2},
                            {.interim = 20000, .head = 20000, .field = 1000, .body = 2},
                            {.interim = 20000, .head = 20000, .field = 1000, .end = END_IN_HEAD}};
    check_shapes(shapes, COUNT_OF(shapes));
}

/** Bodies about as long as what is read at once, in frames that don't end there. */
static void bodies_in_one_burst_arrive(void **state) {
    (void)state;
    static const size_t sizes[] = {15000, 16000, 16200, 16384, 16500, 31000,
                                   32200, 32600, 32768, 33000, 64000, 65600};
    static const size_t frames[] = {0, 1000, 16000, 9000};
    shape shapes[COUNT_OF(sizes) * COUNT_OF(frames)];
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        shapes[i] = (shape){.head = 300,
                            .field = 100,
                            .body = sizes[i / COUNT_OF(frames)],
                            .frame = frames[i % COUNT_OF(frames)]};
    }
    check_shapes(shapes, COUNT_OF(shapes));
}

static void rate_limited_bodies_in_one_burst_arrive(void **state) {
    (void)state;
    setup setup;
    setup_begin(&setup, false);
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        setup.shape = (shape){.head = heads[i], .field = 1000, .body = 20000};
        call *call = make_call(&setup, IN_MEMORY);
        call->request.max_receive_bytes_per_s = 100000;
        call_perform(call);
        check_complete(&setup, call, IN_MEMORY);
        call_free(call);
    }
    setup_end(&setup);
}

/** Both responses are in one burst if the two requests share a connection. Requests with callbacks never do. */
static void two_streams_in_one_burst_arrive(void **state) {
    (void)state;
    static const reader readers[] = {IN_MEMORY, IN_CALLBACKS};
    setup setup;
    setup_begin(&setup, false);
    for (size_t i = 0; i < COUNT_OF(heads) * COUNT_OF(bodies); i++) {
        setup.shape = (shape){.head = heads[i / COUNT_OF(bodies)],
                              .body = bodies[i % COUNT_OF(bodies)],
                              .field = 3000};
        /* Makes the connection for both, if they share one. */
        setup.shape.streams = 1;
        check_fetch_by(&setup, IN_MEMORY);
        for (size_t r = 0; r < COUNT_OF(readers); r++) {
            call *calls[2];
            setup.shape.streams = h2_multiplexes() && readers[r] == IN_MEMORY ? 2 : 1;
            for (size_t n = 0; n < 2; n++) call_start(calls[n] = make_call(&setup, readers[r]));
            for (size_t n = 0; n < 2; n++) {
                call_wait(calls[n]);
                check_complete(&setup, calls[n], readers[r]);
                call_free(calls[n]);
            }
        }
    }
    setup_end(&setup);
}

/* ---- HTTP/1.1 ------------------------------------------------------------------------------ */

static void long_heads_and_bodies_of_http_1_arrive(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    char *fields = malloc(BURST_MAX);
    static char content[40001];
    memset(content, 'z', sizeof content - 1);
    for (size_t i = 0; i < COUNT_OF(heads) * COUNT_OF(bodies); i++) {
        size_t body = bodies[i % COUNT_OF(bodies)], size = 0;
        for (unsigned n = 0; size < heads[i / COUNT_OF(bodies)]; n++)
            size += (size_t)snprintf(fields + size, 2000, "x%u: %01000d\r\n", n, 0);
        afts_script *script = afts_script_new();
        fields[size] = '\0';
        afts_respond(script, 200, fields, content, body);
        assert_int_equal(afts_fallback(fixture->server, script), 0);
        setup setup = {.fixture = fixture, .shape = {.head = size, .body = body}};
        folder_make(&setup.folder);
        for (reader reader = IN_MEMORY; reader < READERS; reader++) check_fetch_by(&setup, reader);
        folder_remove(&setup.folder);
    }
    free(fields);
    fixture_free(fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_heads_with_bodies_in_the_same_burst_arrive),
        cmocka_unit_test(long_heads_without_bodies_arrive),
        cmocka_unit_test(long_fields_arrive),
        cmocka_unit_test(long_interim_heads_arrive),
        cmocka_unit_test(bodies_in_one_burst_arrive),
        cmocka_unit_test(rate_limited_bodies_in_one_burst_arrive),
        cmocka_unit_test(two_streams_in_one_burst_arrive),
        cmocka_unit_test(long_heads_and_bodies_of_http_1_arrive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
