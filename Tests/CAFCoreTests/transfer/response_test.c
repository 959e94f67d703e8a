/* What on_head decides when the final head is there: the body comes, it is unwanted, or it becomes a
   download. Whatever it decides, the task ends once. */
#include "support/download_fixture.h"
#include "support/pieces.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** What on_head answers, and what it saw. */
typedef struct decision {
    afc_status status;
    const char *path;
    unsigned flags;
    bool sets_flags;
    unsigned asked, flags_seen;
    int status_seen;
    char url[128], suggestion[AFC_FILE_NAME_MAX + 1];
} decision;

static afc_status decide(call *call, afc_response *response) {
    decision *decision = call->payload;
    decision->asked++;
    decision->status_seen = response->head->status;
    decision->flags_seen = response->flags;
    snprintf(decision->url, sizeof decision->url, "%s", response->url);
    afc_suggest_file_name(decision->suggestion, response->head, response->url);
    response->path = decision->path;
    if (decision->sets_flags) response->flags = decision->flags;
    return decision->status;
}

static call *prepare_decision(download_fixture *download_fixture, const char *path,
                              decision *decision) {
    call *call = call_new(download_fixture->fixture, path);
    call->at_head = decide;
    call->payload = decision;
    return call;
}

static decision to_file(const char *path, unsigned flags) {
    return (decision){.path = path, .flags = flags, .sets_flags = true};
}

/* ---- Allowing ------------------------------------------------------------------------------ */

static void accepted_response_is_delivered(void **state) {
    download_fixture *download_fixture = *state;
    decision decision = {.status = AFC_OK};
    call *call = prepare_decision(download_fixture, "/file", &decision);
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_int_equal(call->body.size, LARGE);
    assert_int_equal(decision.asked, 1);
    assert_string_equal(decision.url, call->request.url);
    assert_null(afc_result_get_download(call->result));
    call_free(call);
}

static void asks_only_about_the_final_head(void **state) {
    download_fixture *download_fixture = *state;
    afts_script *script = afts_script_new();
    afts_interim(script, 103, "Link: <a>");
    afts_respond(script, 200, NULL, "final", 5);
    serve(download_fixture->fixture, "/final", script);
    serve(download_fixture->fixture, "/hop", answer(302, "Location: /final", "elsewhere"));
    for (int stops = 0; stops <= 1; stops++) {
        decision decision = {.status = AFC_OK};
        call *call = prepare_decision(download_fixture, "/hop", &decision);
        if (stops) call->request.limits.redirects = -1;
        call_perform(call);
        check_ended(call, AFC_OK);
        assert_int_equal(decision.asked, 1);
        assert_int_equal(decision.status_seen, stops ? 302 : 200);
        assert_string_equal(decision.url,
                            url_of(download_fixture->fixture, stops ? "/hop" : "/final"));
        assert_string_equal(call->log, stops ? "hpdx" : "rihpdx");
        call_free(call);
    }
}

/* ---- Declining ----------------------------------------------------------------------------- */

/** A body without an end, which only the client's leaving can stop. */
static void serve_endless(download_fixture *download_fixture, const char *path,
                          const char *framing) {
    static char block[16 * 1024];
    afts_script *script = afts_script_new();
    if (framing != NULL) {
        afts_respond_chunked(script, 200, "X-Kind: endless");
        afts_chunk_repeated(script, block, sizeof block, AFTS_FOREVER);
    } else {
        afts_respond_repeated(script, 200, "X-Kind: endless", block, sizeof block, AFTS_FOREVER);
    }
    serve(download_fixture->fixture, path, script);
}

static void declined_response_ends_with_its_head(void **state) {
    download_fixture *download_fixture = *state;
    static const afc_sink_kind kinds[] = {AFC_SINK_MEMORY, AFC_SINK_CALLBACK, AFC_SINK_FILE};
    serve_endless(download_fixture, "/close", NULL);
    serve_endless(download_fixture, "/chunks", "chunked");
    for (size_t i = 0; i < COUNT_OF(kinds) * 2; i++) {
        decision decision = {.status = AFC_ECANCELED};
        call *call = prepare_decision(download_fixture, i % 2 == 0 ? "/close" : "/chunks",
                                      &decision);
        call->request.sink.kind = kinds[i / 2];
        if (kinds[i / 2] == AFC_SINK_FILE) call->request.sink.path = download_fixture->path;
        call_perform(call);
        check_ended(call, AFC_ECANCELED);
        assert_string_equal(call->log, "hpdx");
        assert_int_equal(status_of(call), 200);
        check_slice(field_of(call, "X-Kind"), "endless");
        assert_int_equal(call->body.size, 0);
        assert_int_equal(afc_result_get_body_size(call->result), 0);
        call_free(call);
        assert_true(afts_wait_closed(download_fixture->fixture->server, i + 1, PATIENCE_MS));
    }
    assert_int_equal(count_files(&download_fixture->folder), 0);
}

static void declined_response_keeps_connections_of_others(void **state) {
    download_fixture *download_fixture = *state;
    serve_endless(download_fixture, "/endless", NULL);
    check_fetch(download_fixture->fixture, "/file", AFC_OK);
    decision decision = {.status = AFC_ECANCELED};
    call *call = prepare_decision(download_fixture, "/endless", &decision);
    call_perform(call);
    check_ended(call, AFC_ECANCELED);
    call_free(call);
    check_fetch(download_fixture->fixture, "/file", AFC_OK);
}

/* ---- Becoming a download ------------------------------------------------------------------- */

static void response_can_become_a_download(void **state) {
    download_fixture *download_fixture = *state;
    static const afc_sink_kind kinds[] = {AFC_SINK_FILE, AFC_SINK_MEMORY, AFC_SINK_CALLBACK};
    static const unsigned flags[] = {0, KEEP_AND_RESUME, AFC_FILE_SYNC};
    download_fixture->range_server.fields =
        "Content-Disposition: attachment; filename=\"../n a.bin\"\r\n";
    for (size_t i = 0; i < COUNT_OF(kinds) * COUNT_OF(flags); i++) {
        decision decision = to_file(download_fixture->path, flags[i % COUNT_OF(flags)]);
        call *call = prepare_decision(download_fixture, "/file", &decision);
        call->request.sink.kind = kinds[i / COUNT_OF(flags)];
        call_perform(call);
        assert_int_equal(decision.asked, 1);
        assert_string_equal(decision.suggestion, "n a.bin");
        assert_string_equal(afc_result_get_download(call->result)->path, download_fixture->path);
        assert_int_equal(afc_result_get_download(call->result)->size, LARGE);
        assert_int_equal(atomic_load(&call->body_count), 0);
        assert_int_equal(call->body.size, 0);
        check_done(download_fixture, call, AFC_RESUMPTION_NONE);
    }
}

static void download_is_complete_in_any_framing(void **state) {
    download_fixture *download_fixture = *state;
    char text[2048];
    char body[1024];
    memset(body, 'x', sizeof body - 1);
    body[sizeof body - 1] = '\0';
    int size = snprintf(text, sizeof text,
                        "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n"
                        "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                        strlen(body), body);
    FOR_EACH_PIECE_SIZE(piece) {
        afts_script *script = afts_script_new();
        afts_send_crumbs(script, text, (size_t)size, piece, 0);
        afts_close(script);
        serve(download_fixture->fixture, "/crumbs", script);
        decision decision = to_file(download_fixture->path, 0);
        call *call = prepare_decision(download_fixture, "/crumbs", &decision);
        call_perform(call);
        check_ended(call, AFC_OK);
        assert_string_equal(call->log, "ihpdx");
        call_free(call);
        check_file(download_fixture->path, afc_slice_of(body));
        assert_int_equal(unlink(download_fixture->path), 0);
        decision = (struct decision){.status = AFC_ECANCELED};
        call = prepare_decision(download_fixture, "/crumbs", &decision);
        call_perform(call);
        check_ended(call, AFC_ECANCELED);
        assert_int_equal(status_of(call), 200);
        call_free(call);
    }
}

static void download_uses_flags_of_the_request_or_its_own(void **state) {
    download_fixture *download_fixture = *state;
    write_file(download_fixture->path, S("there before"));
    decision decision = {.path = download_fixture->path};
    call *call = prepare_decision(download_fixture, "/file", &decision);
    call->request.sink.flags = AFC_FILE_NO_REPLACE;
    call_perform(call);
    check_ended(call, AFC_EFILE);
    assert_int_equal(call->failure.system_error, EEXIST);
    assert_int_equal(decision.flags_seen, AFC_FILE_NO_REPLACE);
    call_free(call);
    check_file(download_fixture->path, S("there before"));
    decision = to_file(download_fixture->path, 0);
    call = prepare_decision(download_fixture, "/file", &decision);
    call->request.sink.flags = AFC_FILE_NO_REPLACE;
    call_perform(call);
    check_done(download_fixture, call, AFC_RESUMPTION_NONE);
    decision = to_file(download_fixture->path, 1u << 20);
    call = prepare_decision(download_fixture, "/file", &decision);
    call_perform(call);
    check_ended(call, AFC_EINVAL);
    check_contains(call->failure.text, "unknown flags");
    call_free(call);
    assert_int_equal(count_files(&download_fixture->folder), 0);
}

static void broken_download_can_be_resumed(void **state) {
    download_fixture *download_fixture = *state;
    download_fixture->range_server.stops_after = BROKEN_AT;
    decision decision = to_file(download_fixture->path, AFC_FILE_KEEP_PARTIAL);
    call *call = prepare_decision(download_fixture, "/file", &decision);
    call_perform(call);
    check_ended(call, AFC_ETRUNCATED);
    assert_string_not_equal(afc_result_get_resume_token(call->result), "");
    call_free(call);
    assert_int_equal(count_files(&download_fixture->folder), 2);
    download_fixture->range_server.stops_after = WHOLE;
    check_done(download_fixture, download(download_fixture, KEEP_AND_RESUME),
               AFC_RESUMPTION_RESUMED);
}

/** The server chooses the name, so it could choose the one of another download. */
static void name_of_the_response_spares_partial_files_of_others(void **state) {
    download_fixture *download_fixture = *state;
    const unsigned flags = AFC_FILE_KEEP_PARTIAL | AFC_FILE_NO_REPLACE;
    decision decision = to_file(download_fixture->path, flags);
    write_file(download_fixture->part, S("of another download"));
    call *call = prepare_decision(download_fixture, "/file", &decision);
    call_perform(call);
    check_ended(call, AFC_EFILE);
    assert_int_equal(call->failure.system_error, EEXIST);
    check_contains(call->failure.text, ".part");
    call_free(call);
    check_file(download_fixture->part, S("of another download"));
    assert_int_equal(unlink(download_fixture->part), 0);
    /* What an earlier task has left of the same URL is replaced. */
    download_fixture->range_server.stops_after = BROKEN_AT;
    for (int i = 0; i < 2; i++) {
        decision = to_file(download_fixture->path, flags);
        call = prepare_decision(download_fixture, "/file", &decision);
        call_perform(call);
        check_ended(call, AFC_ETRUNCATED);
        call_free(call);
        assert_int_equal(count_files(&download_fixture->folder), 2);
    }
    /* What it has left of another URL is kept. */
    decision = to_file(download_fixture->path, flags);
    call = prepare_decision(download_fixture, "/file?2", &decision);
    call_perform(call);
    check_ended(call, AFC_EFILE);
    assert_int_equal(call->failure.system_error, EEXIST);
    call_free(call);
    download_fixture->range_server.stops_after = WHOLE;
    check_done(download_fixture, download(download_fixture, KEEP_AND_RESUME),
               AFC_RESUMPTION_RESUMED);
}

/** A part that the request itself asked for is not the beginning of a file. */
static void own_range_is_not_resumed(void **state) {
    download_fixture *download_fixture = *state;
    afc_header range = {S("Range"), S("bytes=10-"), 0};
    decision decision = to_file(download_fixture->path, KEEP_AND_RESUME);
    call *call = prepare_decision(download_fixture, "/file", &decision);
    call->request.headers = &range;
    call->request.header_count = 1;
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_int_equal(status_of(call), 206);
    call_free(call);
    check_file(download_fixture->path, (afc_slice){download_fixture->content + 10, LARGE - 10});
}

static void other_status_than_2xx_is_not_saved(void **state) {
    download_fixture *download_fixture = *state;
    serve(download_fixture->fixture, "/missing", answer(404, NULL, "no such thing"));
    for (int is_file = 0; is_file <= 1; is_file++) {
        decision decision = to_file(download_fixture->path, 0);
        call *call = prepare_decision(download_fixture, "/missing", &decision);
        if (is_file) call->request.sink.kind = AFC_SINK_FILE;
        call_perform(call);
        check_ended(call, AFC_OK);
        assert_int_equal(decision.asked, 1);
        check_slice(call->body, "no such thing");
        call_free(call);
    }
    decision decision = to_file(download_fixture->path, 0);
    call *call = prepare_decision(download_fixture, "/missing", &decision);
    call->request.sink.kind = AFC_SINK_CALLBACK;
    call->keeps_body = true;
    call_perform(call);
    check_ended(call, AFC_OK);
    check_slice(call->body, "no such thing");
    call_free(call);
    assert_int_equal(count_files(&download_fixture->folder), 0);
}

static void refuses_unusable_paths(void **state) {
    download_fixture *download_fixture = *state;
    char inside[160];
    snprintf(inside, sizeof inside, "%s/inside", download_fixture->path);
    write_file(download_fixture->path, S("no folder"));
    const struct {
        const char *path;
        afc_status status;
    } cases[] = {
        {"", AFC_EINVAL}, {"folder/", AFC_EINVAL}, {inside, AFC_EFILE}, {"/proc/none", AFC_EFILE}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        decision decision = to_file(cases[i].path, AFC_FILE_MAKE_FOLDERS);
        call *call = prepare_decision(download_fixture, "/file", &decision);
        call_perform(call);
        check_ended(call, cases[i].status);
        assert_int_equal(status_of(call), 200);
        call_free(call);
    }
    decision decision = {.path = NULL};
    call *call = prepare_decision(download_fixture, "/file", &decision);
    call->request.sink.kind = AFC_SINK_FILE;
    call_perform(call);
    check_ended(call, AFC_EINVAL);
    check_contains(call->failure.text, "no path");
    call_free(call);
    assert_int_equal(count_files(&download_fixture->folder), 1);
}

static void resumed_download_stays_at_its_path(void **state) {
    download_fixture *download_fixture = *state;
    interrupt_download(download_fixture);
    decision decision = to_file("/nowhere/else", 0);
    call *call = prepare_decision(download_fixture, "/file", &decision);
    call->request.sink = (afc_sink){
        .kind = AFC_SINK_FILE, .path = download_fixture->path, .flags = KEEP_AND_RESUME};
    call_perform(call);
    assert_int_equal(decision.asked, 1);
    check_done(download_fixture, call, AFC_RESUMPTION_RESUMED);
}

static afc_status cancel_and_name(call *call, afc_response *response) {
    afc_task_cancel(call->task);
    return decide(call, response);
}

static void task_cancelled_meanwhile_ends_once(void **state) {
    download_fixture *download_fixture = *state;
    download_fixture->range_server.stops_after = BROKEN_AT;
    download_fixture->range_server.waits = true;
    for (unsigned i = 0; i < 20; i++) {
        decision decision = to_file(download_fixture->path, i % 2 == 0 ? KEEP_AND_RESUME : 0);
        call *call = prepare_decision(download_fixture, "/file", &decision);
        call->at_head = cancel_and_name;
        /* on_head may come before call_start() has returned: cancelled from there it needs the task. */
        afc_failure failure;
        check_status(
            afc_task_new(&call->task, call->session, &call->request, &call->events, &failure),
            AFC_OK);
        afc_task_start(call->task);
        call_wait(call);
        check_ended(call, AFC_ECANCELED);
        assert_int_equal(status_of(call), 200);
        call_free(call);
        assert_false(file_exists(download_fixture->path));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DOWNLOAD_TEST(accepted_response_is_delivered),
        DOWNLOAD_TEST(asks_only_about_the_final_head),
        DOWNLOAD_TEST(declined_response_ends_with_its_head),
        DOWNLOAD_TEST(declined_response_keeps_connections_of_others),
        DOWNLOAD_TEST(response_can_become_a_download),
        DOWNLOAD_TEST(download_is_complete_in_any_framing),
        DOWNLOAD_TEST(download_uses_flags_of_the_request_or_its_own),
        DOWNLOAD_TEST(name_of_the_response_spares_partial_files_of_others),
        DOWNLOAD_TEST(broken_download_can_be_resumed),
        DOWNLOAD_TEST(own_range_is_not_resumed),
        DOWNLOAD_TEST(other_status_than_2xx_is_not_saved),
        DOWNLOAD_TEST(refuses_unusable_paths),
        DOWNLOAD_TEST(resumed_download_stays_at_its_path),
        DOWNLOAD_TEST(task_cancelled_meanwhile_ends_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
