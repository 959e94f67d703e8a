/*
 * Files are written beside the loop, so that a slow disk delays nothing else. The slow disk is a
 * terminal that is not read: a write to it waits until the test wants it to go on.
 */
#include "base/clock.h"
#include "run/writer.h"
#include "support/call.h"
#include "support/download_fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

enum { NEIGHBOURS = 64, FRAMES = 512, FRAME = 16 * 1024, BODY = FRAMES * FRAME };

/* ---- The writer ---------------------------------------------------------------------------- */

typedef struct counted_job {
    afc__job job;
    unsigned left;
    char name;
    char *log;
    atomic_uint *done;
} counted_job;

static bool run_counted(afc__job *job) {
    counted_job *counted = AFC__OWNER(job, counted_job, job);
    size_t size = strlen(counted->log);
    counted->log[size] = counted->name;
    if (--counted->left > 0) return true;
    atomic_fetch_add(counted->done, 1);
    return false;
}

/** Waits until the others are in line behind it. */
static bool run_gate(afc__job *job) {
    counted_job *gate = AFC__OWNER(job, counted_job, job);
    while (atomic_load(gate->done) == 0) sched_yield();
    return false;
}

static void jobs_of_sessions_alternate(void **state) {
    (void)state;
    char log[16] = "";
    atomic_uint done = 0, is_open = 0;
    counted_job gate = {.job.run = run_gate, .done = &is_open};
    counted_job jobs[] = {{{.run = run_counted}, 1, 'a', log, &done},
                          {{.run = run_counted}, 3, 'b', log, &done},
                          {{.run = run_counted}, 2, 'c', log, &done}};
    afc__writer *writer = afc__writer_new(NULL, NULL);
    assert_non_null(writer);
    afc__writer_take(writer, &gate.job);
    for (size_t i = 0; i < COUNT_OF(jobs); i++) afc__writer_take(writer, &jobs[i].job);
    atomic_store(&is_open, 1);
    int64_t end = afc__now_us() + (int64_t)PATIENCE_MS * 1000;
    while (atomic_load(&done) < COUNT_OF(jobs) && afc__now_us() < end) sched_yield();
    assert_int_equal(atomic_load(&done), COUNT_OF(jobs));
    assert_string_equal(log, "abcbcb");
    afc__writer_end(writer);
    afc_join_closed_sessions();
}

/* ---- A disk that waits --------------------------------------------------------------------- */

typedef struct terminal {
    int master, slave;
    char path[64];
    uint64_t taken;
    bool is_right;
} terminal;

static void terminal_open(terminal *terminal) {
    struct termios modes;
    *terminal = (struct terminal){.master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)};
    assert_true(terminal->master >= 0);
    assert_int_equal(grantpt(terminal->master), 0);
    assert_int_equal(unlockpt(terminal->master), 0);
    assert_int_equal(ptsname_r(terminal->master, terminal->path, sizeof terminal->path), 0);
    terminal->slave = open(terminal->path, O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(terminal->slave >= 0);
    assert_int_equal(tcgetattr(terminal->slave, &modes), 0);
    cfmakeraw(&modes);
    assert_int_equal(tcsetattr(terminal->slave, TCSANOW, &modes), 0);
    terminal->is_right = true;
}

static char byte_at(uint64_t position) {
    return (char)('a' + position % FRAME % 23);
}

/**
 * Lets the writer go on until `call` is over and `least` bytes have come, which the kernel passes on in its own time.
 * What was written is compared as it comes.
 */
static void terminal_drain(terminal *terminal, call *call, uint64_t least) {
    char bytes[4096];
    bool was_done = false;
    for (;;) {
        struct pollfd poll_for = {.fd = terminal->master, .events = POLLIN};
        int ready = poll(&poll_for, 1, 1);
        if (ready == 0 && was_done && terminal->taken >= least) return;
        was_done = atomic_load(&call->done_count) > 0;
        if (ready <= 0) continue;
        ssize_t count = read(terminal->master, bytes, sizeof bytes);
        assert_true(count > 0);
        for (ssize_t i = 0; i < count; i++) {
            if (bytes[i] != byte_at(terminal->taken++)) terminal->is_right = false;
        }
    }
}

static void terminal_close(terminal *terminal) {
    close(terminal->slave);
    close(terminal->master);
}

static void serve_body(fixture *fixture) {
    static char block[FRAME];
    for (size_t i = 0; i < sizeof block; i++) block[i] = byte_at(i);
    afts_script *script = afts_script_new();
    afts_respond_repeated(script, 200, NULL, block, sizeof block, FRAMES);
    serve(fixture, "/body", script);
}

/** A download to the terminal that waits in a write. */
static call *block_writer(fixture *fixture, terminal *terminal) {
    serve_body(fixture);
    call *call = call_new(fixture, "/body");
    call->request.sink = (afc_sink){.kind = AFC_SINK_FILE, .path = terminal->path};
    call_start(call);
    struct pollfd poll_for = {.fd = terminal->master, .events = POLLIN};
    assert_int_equal(poll(&poll_for, 1, PATIENCE_MS), 1);
    return call;
}

static void check_neighbours(fixture *fixture) {
    call *calls[NEIGHBOURS];
    for (size_t i = 0; i < NEIGHBOURS; i++) {
        calls[i] = call_new(fixture, "/small");
        call_start(calls[i]);
    }
    for (size_t i = 0; i < NEIGHBOURS; i++) {
        call_wait(calls[i]);
        check_ended(calls[i], AFC_OK);
        call_free(calls[i]);
    }
}

static void waiting_write_stops_no_other_task(void **state) {
    fixture *fixture = *state;
    terminal terminal;
    terminal_open(&terminal);
    call *call = block_writer(fixture, &terminal);
    check_neighbours(fixture);
    assert_int_equal(atomic_load(&call->done_count), 0);
    /* And the server stops: no more is taken than is gathered. */
    assert_true(afts_server_stats(fixture->server).sent <= terminal.taken + buffered_at_most());
    terminal_drain(&terminal, call, BODY);
    call_wait(call);
    check_ended(call, AFC_OK);
    assert_int_equal(terminal.taken, BODY);
    assert_true(terminal.is_right);
    assert_int_equal(afc_result_get_body_size(call->result), BODY);
    call_free(call);
    terminal_close(&terminal);
}

static void task_cancelled_during_a_write_ends_after_it(void **state) {
    fixture *fixture = *state;
    terminal terminal;
    terminal_open(&terminal);
    call *call = block_writer(fixture, &terminal);
    afc_task_cancel(call->task);
    check_neighbours(fixture);
    terminal_drain(&terminal, call, 0);
    call_wait(call);
    check_ended(call, AFC_ECANCELED);
    assert_true(terminal.is_right);
    assert_true(terminal.taken < BODY);
    call_free(call);
    terminal_close(&terminal);
}

static void session_ends_after_its_last_write(void **state) {
    fixture *fixture = *state;
    terminal terminal;
    terminal_open(&terminal);
    call *call = block_writer(fixture, &terminal);
    afc_session_release(fixture->session);
    fixture->session = NULL;
    terminal_drain(&terminal, call, BODY);
    call_wait(call);
    check_ended(call, AFC_OK);
    assert_int_equal(terminal.taken, BODY);
    call_free(call);
    terminal_close(&terminal);
    afc_join_closed_sessions();
}

static void each_task_can_be_cancelled_during_a_write(void **state) {
    fixture *fixture = *state;
    terminal terminal;
    terminal_open(&terminal);
    call *first = block_writer(fixture, &terminal);
    afts_script *script = afts_script_new();
    afts_read_head_only(script);
    afts_stall(script, "never");
    serve(fixture, "/never", script);
    call *second = call_new(fixture, "/never");
    call_start(second);
    assert_true(afts_wait_stalled(fixture->server, "never", 1, PATIENCE_MS));
    afc_session_cancel_all(fixture->session);
    call_wait(second);
    check_ended(second, AFC_ECANCELED);
    terminal_drain(&terminal, first, 0);
    call_wait(first);
    check_ended(first, AFC_ECANCELED);
    call_free(first);
    call_free(second);
    terminal_close(&terminal);
}

/* ---- At the end ---------------------------------------------------------------------------- */

typedef struct ending {
    terminal terminal;
    call *blocking, *call;
    char field[256];
} ending;

/** Appends to what broke off what it lacks, as a process that was killed before it noticed the end. */
static void complete_part(const download_fixture *download_fixture) {
    FILE *file = fopen(download_fixture->part, "ab");
    assert_non_null(file);
    size_t size = LARGE - BROKEN_AT;
    assert_int_equal(fwrite(download_fixture->content + BROKEN_AT, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    replace_in_file(download_fixture->token_path, "received 1200000\n", "received 0\n");
}

/** The last of a file, or nothing of it, comes, and its digest is to be computed: both must wait. */
static void begin_ending(ending *ending, download_fixture *download_fixture, bool is_all_there,
                         uint32_t total_ms) {
    const char *field = digest_field(download_fixture, EVP_sha256(),
                                     "Repr-Digest: sha-256=:%s:\r\n", false);
    snprintf(ending->field, sizeof ending->field, "%s", field);
    download_fixture->range_server.fields = ending->field;
    interrupt_download(download_fixture);
    if (is_all_there) complete_part(download_fixture);
    terminal_open(&ending->terminal);
    ending->blocking = block_writer(download_fixture->fixture, &ending->terminal);
    ending->call = prepare(download_fixture, "/file", KEEP_AND_RESUME);
    ending->call->request.timeouts.total_ms = total_ms;
    call_start(ending->call);
    call_wait_for(ending->call, &ending->call->head_count, 1);
    check_neighbours(download_fixture->fixture);
    assert_int_equal(atomic_load(&ending->call->done_count), 0);
}

static void finish_ending(ending *ending) {
    terminal_drain(&ending->terminal, ending->blocking, BODY);
    call_wait(ending->blocking);
    check_ended(ending->blocking, AFC_OK);
    call_free(ending->blocking);
    terminal_close(&ending->terminal);
    call_wait(ending->call);
}

static void part_is_kept_if_cancelled_while_hashing(void **state) {
    download_fixture *download_fixture = *state;
    for (int is_all_there = 0; is_all_there <= 1; is_all_there++) {
        ending ending;
        begin_ending(&ending, download_fixture, is_all_there, 0);
        afc_task_cancel(ending.call->task);
        check_neighbours(download_fixture->fixture);
        assert_int_equal(atomic_load(&ending.call->done_count), 0);
        finish_ending(&ending);
        check_ended(ending.call, AFC_ECANCELED);
        assert_false(file_exists(download_fixture->path));
        assert_string_not_equal(afc_result_get_resume_token(ending.call->result), "");
        call_free(ending.call);
        check_done(download_fixture, download(download_fixture, KEEP_AND_RESUME),
                   AFC_RESUMPTION_COMPLETE);
    }
}

static void timeout_while_hashing_is_reported(void **state) {
    download_fixture *download_fixture = *state;
    enum { TOTAL_MS = 5000 };
    for (int is_all_there = 0; is_all_there <= 1; is_all_there++) {
        ending ending;
        begin_ending(&ending, download_fixture, is_all_there, TOTAL_MS);
        int64_t end = afc__now_us() + INT64_C(1000) * TOTAL_MS;
        while (afc__now_us() < end) check_fetch(download_fixture->fixture, "/small", AFC_OK);
        /* A turn of the loop that began after that. */
        check_fetch(download_fixture->fixture, "/small", AFC_OK);
        finish_ending(&ending);
        check_ended(ending.call, AFC_ETIMEOUT);
        assert_int_equal(ending.call->failure.timeout, AFC_TIMEOUT_TOTAL);
        check_contains(ending.call->failure.text, "5000 ms");
        assert_false(file_exists(download_fixture->path));
        call_free(ending.call);
        check_done(download_fixture, download(download_fixture, KEEP_AND_RESUME),
                   AFC_RESUMPTION_COMPLETE);
    }
}

static void digest_is_checked_after_a_long_hash(void **state) {
    download_fixture *download_fixture = *state;
    for (int is_all_there = 0; is_all_there <= 1; is_all_there++) {
        ending ending;
        begin_ending(&ending, download_fixture, is_all_there, 0);
        finish_ending(&ending);
        check_done(download_fixture, ending.call,
                   is_all_there ? AFC_RESUMPTION_COMPLETE : AFC_RESUMPTION_RESUMED);
    }
}

static void synced_file_is_complete(void **state) {
    download_fixture *download_fixture = *state;
    for (unsigned flags = AFC_FILE_SYNC; flags <= (AFC_FILE_SYNC | KEEP_AND_RESUME);
         flags += KEEP_AND_RESUME) {
        call *call = download(download_fixture, flags);
        check_done(download_fixture, call, AFC_RESUMPTION_NONE);
    }
    download_fixture->range_server.content.size = 1000;
    call *call = download(download_fixture, AFC_FILE_SYNC);
    check_ended(call, AFC_OK);
    call_free(call);
    check_file(download_fixture->path, (afc_slice){download_fixture->content, 1000});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_of_sessions_alternate),
        FIXTURE_TEST(waiting_write_stops_no_other_task),
        FIXTURE_TEST(task_cancelled_during_a_write_ends_after_it),
        FIXTURE_TEST(session_ends_after_its_last_write),
        FIXTURE_TEST(each_task_can_be_cancelled_during_a_write),
        DOWNLOAD_TEST(part_is_kept_if_cancelled_while_hashing),
        DOWNLOAD_TEST(digest_is_checked_after_a_long_hash),
        DOWNLOAD_TEST(timeout_while_hashing_is_reported),
        DOWNLOAD_TEST(synced_file_is_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
