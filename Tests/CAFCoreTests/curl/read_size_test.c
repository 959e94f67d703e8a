/* How much libcurl reads at once: little of small responses and slow ones, much of the rest. */
#include "support/call.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

enum { KIB = 1024, SIZE = 1024 * KIB };

/* ---- Watching ------------------------------------------------------------------------------- */

static atomic_size_t largest; /**< The largest size that a loop thread asked a socket for. */

static bool is_loop_thread(void) {
    char name[16] = "";
    return prctl(PR_GET_NAME, name) == 0 && strcmp(name, "af-loop") == 0;
}

static ssize_t (*real_recv)(int, void *, size_t, int);

static __attribute__((constructor)) void find_real_recv(void) {
    *(void **)&real_recv = dlsym(RTLD_NEXT, "recv");
}

/** Takes the place of the C library's for libcurl, too. */
ssize_t recv(int descriptor, void *bytes, size_t size, int flags) {
    if (is_loop_thread() && size > atomic_load(&largest)) atomic_store(&largest, size);
    return real_recv(descriptor, bytes, size, flags);
}

/** Performs a call, and returns the size of its largest read. */
static size_t largest_read(fixture *fixture, const char *path, afc_sink_kind sink) {
    call *call = call_new(fixture, path);
    call->request.sink.kind = sink;
    atomic_store(&largest, 0);
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    return atomic_load(&largest);
}

/* ---- Bodies --------------------------------------------------------------------------------- */

static void serve_plain(fixture *fixture, const char *path) {
    char *bytes = calloc(1, SIZE);
    assert_non_null(bytes);
    afts_script *script = afts_script_new();
    afts_respond(script, 200, "", bytes, SIZE);
    serve(fixture, path, script);
    free(bytes);
}

/** A zlib stream (RFC 1950) of many stored blocks without bytes, and an empty last one. */
static void serve_encoded(fixture *fixture, const char *path) {
    static const char block[] = {0, 0, 0, '\xFF', '\xFF'};
    static const char end[] = {1, 0, 0, '\xFF', '\xFF', 0, 0, 0, 1};
    char *bytes = malloc(SIZE);
    assert_non_null(bytes);
    size_t size = 2;
    memcpy(bytes, "\x78\x01", size);
    for (; size + sizeof block + sizeof end <= SIZE; size += sizeof block) {
        memcpy(bytes + size, block, sizeof block);
    }
    memcpy(bytes + size, end, sizeof end);
    size += sizeof end;
    afts_script *script = afts_script_new();
    afts_respond(script, 200, "Content-Encoding: deflate", bytes, size);
    serve(fixture, path, script);
    free(bytes);
}

/* ---- Tests ---------------------------------------------------------------------------------- */

static void reads_much_of_what_may_be_large(void **state) {
    fixture *fixture = *state;
    serve_plain(fixture, "/plain");
    serve_encoded(fixture, "/encoded");
    assert_int_equal(largest_read(fixture, "/plain", AFC_SINK_CALLBACK), 256 * KIB);
    assert_int_equal(largest_read(fixture, "/encoded", AFC_SINK_CALLBACK), 256 * KIB);
}

static void reads_little_of_a_small_response(void **state) {
    fixture *fixture = *state;
    serve_plain(fixture, "/plain");
    assert_int_equal(largest_read(fixture, "/plain", AFC_SINK_MEMORY), 16 * KIB);
    largest_read(fixture, "/plain", AFC_SINK_CALLBACK);
    assert_int_equal(largest_read(fixture, "/plain", AFC_SINK_MEMORY), 16 * KIB);
}

static void reads_small_pieces_under_a_rate_limit(void **state) {
    fixture *fixture = *state;
    serve_plain(fixture, "/plain");
    call *call = call_new(fixture, "/plain");
    call->request.sink.kind = AFC_SINK_CALLBACK;
    call->request.max_receive_bytes_per_s = 64 * SIZE;
    atomic_store(&largest, 0);
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    assert_in_range(atomic_load(&largest), 1, 16 * KIB);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(reads_much_of_what_may_be_large),
        FIXTURE_TEST(reads_little_of_a_small_response),
        FIXTURE_TEST(reads_small_pieces_under_a_rate_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
