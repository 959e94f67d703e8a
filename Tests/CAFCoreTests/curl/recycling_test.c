/*
 * Handles are recycled: whatever request went before, the next one must look as if it were the
 * first. Requests of every kind are sent over one session in many orders and compared, byte by
 * byte, with what each sends over a session of its own.
 */
#include "support/call.h"
#include "support/files.h"

#include <stdlib.h>
#include <string.h>

static char large[100000];

static const afc_header fields[] = {{{"X-One", 5}, {"1", 1}, 0},
                                    {{"Authorization", 13}, {"secret", 6}, AFC_HEADER_SECRET},
                                    {{"Accept", 6}, {"text/plain", 10}, 0}};
static const afc_header bare[] = {{{"User-Agent", 10}, {NULL, 0}, AFC_HEADER_REMOVE},
                                  {{"Accept", 6}, {NULL, 0}, AFC_HEADER_REMOVE},
                                  {{"Accept-Encoding", 15}, {NULL, 0}, AFC_HEADER_REMOVE}};

typedef struct reader {
    size_t position;
} reader;

static ptrdiff_t read_large(void *context, void *buffer, size_t size) {
    reader *reader = context;
    size_t left = sizeof large - reader->position;
    if (size > left) size = left;
    if (size > 5000) size = 5000;
    memcpy(buffer, large + reader->position, size);
    reader->position += size;
    return (ptrdiff_t)size;
}

static bool rewind_large(void *context) {
    ((reader *)context)->position = 0;
    return true;
}

/** Requests that differ in everything that a handle keeps. */
enum kind {
    PLAIN_GET,
    HEAD,
    DELETE,
    POST_SMALL,
    POST_EMPTY,
    POST_NOTHING,
    PUT_LARGE,
    PUT_FILE,
    PATCH_READER,
    POST_CHUNKED,
    GET_WITH_BODY,
    WITH_FIELDS,
    BARE,
    IDENTITY,
    CUSTOM_METHOD,
    REDIRECTED,
    REDIRECTED_POST,
    CANCELLED_AT_HEAD,
    TOO_LARGE,
    WRITTEN_AS_EVENTS,
    KINDS
};

static afc_status stop_at_head(call *call, afc_response *response) {
    (void)call, (void)response;
    return AFC_EUNSUPPORTED;
}

static void set_reader(call *call, reader *reader, int64_t length) {
    call->request.body = (afc_body){.kind = AFC_BODY_READER, .length = length};
    call->request.body.reader = (afc_reader){reader, read_large, rewind_large, NULL};
}

static void set_headers(call *call, const afc_header *headers, size_t count) {
    call->request.headers = headers;
    call->request.header_count = count;
}

/** The path tells the server's answer and names the kind. */
static const char *path_of(enum kind kind) {
    switch (kind) {
    case REDIRECTED:
        return "/302";
    case REDIRECTED_POST:
        return "/307";
    default:
        return "/";
    }
}

static afc_status set_up(call *call, enum kind kind, const char *file, reader *reader) {
    switch (kind) {
    case PLAIN_GET:
        break;
    case HEAD:
        call->request.method = "HEAD";
        break;
    case DELETE:
        call->request.method = "DELETE";
        break;
    case POST_SMALL:
        call_send(call, "POST", S("small"));
        break;
    case POST_EMPTY:
        call_send(call, "POST", S(""));
        break;
    case POST_NOTHING:
        call->request.method = "POST";
        break;
    case PUT_LARGE:
        call_send(call, "PUT", (afc_slice){large, sizeof large});
        break;
    case PUT_FILE:
        call->request.method = "PUT";
        call->request.body = (afc_body){.kind = AFC_BODY_FILE, .path = file};
        break;
    case PATCH_READER:
        call->request.method = "PATCH";
        set_reader(call, reader, sizeof large);
        break;
    case POST_CHUNKED:
        call->request.method = "POST";
        set_reader(call, reader, AFC_LENGTH_UNKNOWN);
        break;
    case GET_WITH_BODY:
        call_send(call, "GET", S("content of a GET"));
        break;
    case WITH_FIELDS:
        set_headers(call, fields, COUNT_OF(fields));
        break;
    case BARE:
        set_headers(call, bare, COUNT_OF(bare));
        break;
    case IDENTITY:
        call->request.keep_encoding = true;
        break;
    case CUSTOM_METHOD:
        call_send(call, "PROPFIND", S("<a/>"));
        break;
    case REDIRECTED:
        call_send(call, "POST", S("becomes a GET"));
        set_headers(call, fields, COUNT_OF(fields));
        break;
    case REDIRECTED_POST:
        call_send(call, "POST", (afc_slice){large, sizeof large});
        break;
    case CANCELLED_AT_HEAD:
        call->at_head = stop_at_head;
        return AFC_EUNSUPPORTED;
    case TOO_LARGE:
        call->request.limits.body_bytes = 1;
        return AFC_ETOOBIG;
    case WRITTEN_AS_EVENTS:
        call->request.sink.kind = AFC_SINK_CALLBACK;
        call->request.priority = 200;
        call->request.version = AFC_HTTP_PREFER_1_1;
        call->request.timeouts = (afc_timeouts){1000000, 2000000, 3000000, {0}};
        break;
    case KINDS:
        break;
    }
    return AFC_OK;
}

static void perform_kind(fixture *fixture, afc_session *session, enum kind kind, const char *file) {
    reader reader = {0};
    call *call = call_new(fixture, path_of(kind));
    call->session = session;
    afc_status expected = set_up(call, kind, file, &reader);
    call_perform(call);
    check_ended(call, expected);
    call_free(call);
}

static void append(afc_bytes *all, const void *bytes, size_t size) {
    all->bytes = realloc(all->bytes, all->size + size + 1);
    assert_non_null(all->bytes);
    if (size > 0) memcpy((char *)all->bytes + all->size, bytes, size);
    all->size += size;
}

/** Heads and bodies of the requests from number `*next` on, which is moved behind them. */
static afc_bytes take_seen(fixture *fixture, size_t *next) {
    afc_bytes all = {NULL, 0};
    for (size_t end = afts_server_stats(fixture->server).requests; *next < end; ++*next) {
        afts_request *request = afts_copy_request(fixture->server, *next);
        assert_non_null(request);
        append(&all, request->head, request->head_size);
        append(&all, request->body, request->body_size);
        afts_request_free(request);
    }
    return all;
}

static void recycled_handle_behaves_like_a_new_one(void **state) {
    fixture *fixture = *state;
    folder folder;
    folder_make(&folder);
    for (size_t i = 0; i < sizeof large; i++) large[i] = (char)('a' + i % 26);
    const char *file = path_in(&folder, "body");
    write_file(file, S("from a file"));
    serve(fixture, "/302", answer(302, "Location: /", ""));
    serve(fixture, "/307", answer(307, "Location: /", ""));

    afc_bytes alone[KINDS];
    size_t next = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        afc_session *session;
        check_status(afc_session_new(&session, NULL, NULL), AFC_OK);
        perform_kind(fixture, session, (enum kind)kind, file);
        alone[kind] = take_seen(fixture, &next);
        assert_true(alone[kind].size > 0);
        afc_session_release(session);
    }
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_connections_per_host = 1;
    afc_session *session;
    check_status(afc_session_new(&session, &options, NULL), AFC_OK);
    uint64_t random = 7;
    for (int round = 0; round < 600; round++) {
        enum kind kind = (enum kind)(next_random(&random) % KINDS);
        perform_kind(fixture, session, kind, file);
        afc_bytes seen = take_seen(fixture, &next);
        if (seen.size != alone[kind].size ||
            memcmp(seen.bytes, alone[kind].bytes, seen.size) != 0) {
            print_error("kind %d in round %d:\n%.300s\ninstead of\n%.300s\n", (int)kind, round,
                        (char *)seen.bytes, (char *)alone[kind].bytes);
        }
        assert_int_equal(seen.size, alone[kind].size);
        assert_memory_equal(seen.bytes, alone[kind].bytes, seen.size);
        free(seen.bytes);
    }
    afc_session_release(session);
    for (int kind = 0; kind < KINDS; kind++) free(alone[kind].bytes);
    folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(recycled_handle_behaves_like_a_new_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
