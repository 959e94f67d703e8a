/* The afc_failure of functions that succeed: all its fields are 0, whatever they were before. */
#include "support/files.h"
#include "support/fixture.h"

#include <afcore/afcore.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** A failure of an earlier call. */
static afc_failure failure;

static void begin(void) {
    memset(&failure, 0x5a, sizeof failure);
}

static void check_cleared(const char *function, afc_status status) {
    static const afc_failure nothing;
    check_status(status, AFC_OK);
    if (memcmp(&failure, &nothing, sizeof failure) != 0) print_error("%s leaves it\n", function);
    assert_memory_equal(&failure, &nothing, sizeof failure);
}

/** A call whose argument `failure` is the one above. */
#define CHECK_CLEARED(call)                                                                        \
    do {                                                                                           \
        begin();                                                                                   \
        check_cleared(#call, call);                                                                \
    } while (0)

/** A call that returns a number of bytes, or AFC_READ_…. */
#define CHECK_READ(count, call)                                                                    \
    do {                                                                                           \
        begin();                                                                                   \
        assert_int_equal(call, count);                                                             \
        check_cleared(#call, AFC_OK);                                                              \
    } while (0)

static ptrdiff_t read_nothing(void *context, void *buffer, size_t size) {
    (void)context, (void)buffer, (void)size;
    return AFC_READ_END;
}

static void texts_leave_no_failure(void **state) {
    (void)state;
    char origin[AFC_URL_ORIGIN_SIZE], name[AFC_FILE_NAME_MAX + 1];
    const afc_slice url = AFC_SLICE_INIT("http://example.org/a");
    const afc_header header = {AFC_SLICE_INIT("A"), AFC_SLICE_INIT("b"), 0};
    CHECK_CLEARED(afc_url_check(url, &failure));
    CHECK_CLEARED(afc_url_write_origin(origin, url, &failure));
    CHECK_CLEARED(afc_url_file_name(name, url, &failure));
    CHECK_CLEARED(afc_header_check(&header, &failure));
}

static void forms_leave_no_failure(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    afc_multipart *form;
    char bytes[2];
    const afc_slice text = AFC_SLICE_INIT("text");
    const afc_reader reader = {NULL, read_nothing, NULL, NULL};
    afc_part_file file = AFC_PART_FILE_INIT;
    file.path = path_in(&folder, "file");
    write_file(file.path, text);
    CHECK_CLEARED(afc_multipart_new(&form, NULL, &failure));
    CHECK_CLEARED(afc_multipart_add_bytes(form, NULL, text, NULL, NULL, &failure));
    CHECK_CLEARED(afc_multipart_add_raw(form, NULL, 0, text, NULL, NULL, &failure));
    CHECK_CLEARED(afc_multipart_add_reader(form, NULL, &reader, 0, &failure));
    CHECK_CLEARED(afc_multipart_add_file(form, NULL, &file, &failure));
    CHECK_READ(2, afc_multipart_read(form, bytes, 2, &failure));
    CHECK_CLEARED(afc_multipart_rewind(form, &failure));
    int descriptor = open(path_in(&folder, "form"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK_READ(2, afc_multipart_write(form, descriptor, 2, &failure));
    close(descriptor);
    afc_multipart_throttle(form, 1, 60000);
    CHECK_READ(1, afc_multipart_read(form, bytes, 1, &failure));
    CHECK_READ(AFC_READ_AGAIN, afc_multipart_read(form, bytes, 1, &failure));
    afc_multipart_free(form);
    folder_remove(&folder);
}

static void caches_leave_no_failure(void **state) {
    (void)state;
    static char long_url[20000] = "http://example.org/";
    memset(long_url + strlen(long_url), 'a', sizeof long_url - strlen(long_url) - 1);
    folder folder;
    folder_make(&folder);
    afc_http_cache *cache;
    afc_http_cache_list *list;
    afc_http_cache_verification verification;
    const afc_http_cache_response *found;
    afc_http_cache_options options = AFC_HTTP_CACHE_OPTIONS_INIT;
    options.directory = path_in(&folder, "cache");
    afc_http_cache_request request = AFC_HTTP_CACHE_REQUEST_INIT;
    request.url = "http://example.org/";
    CHECK_CLEARED(afc_http_cache_open(&cache, &options, &failure));
    CHECK_CLEARED(afc_http_cache_lookup(&found, cache, &request, &failure));
    CHECK_CLEARED(afc_http_cache_remove_url(cache, NULL, "http://example.org/", &failure));
    CHECK_CLEARED(afc_http_cache_remove_url(cache, NULL, long_url, &failure));
    CHECK_CLEARED(afc_http_cache_list_begin(&list, cache, &failure));
    CHECK_CLEARED(afc_http_cache_verify(&verification, cache, &failure));
    afc_http_cache_list_free(list);
    afc_http_cache_flush(cache);
    afc_http_cache_release(cache);
    afc_join_closed_sessions(); /* The thread of its folder. */
    char command[160];
    snprintf(command, sizeof command, "rm -rf %s", options.directory);
    assert_int_equal(system(command), 0);
    folder_remove(&folder);
}

static void stores_leave_no_failure(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    afc_cookie_jar *jar;
    afc_cookie_list *list;
    afc_hsts *hsts;
    afc_bytes bytes;
    const char *path = path_in(&folder, "store"), *url = "http://example.org/";
    CHECK_CLEARED(afc_cookie_jar_new(&jar, NULL, &failure));
    CHECK_CLEARED(afc_cookie_jar_receive(jar, url, afc_slice_of("a=b"), &failure));
    CHECK_CLEARED(afc_cookie_jar_copy(&list, jar, url, &failure));
    CHECK_CLEARED(afc_cookie_jar_set(jar, &list->cookies[0], &failure));
    CHECK_CLEARED(afc_cookie_jar_save(jar, path, &failure));
    CHECK_CLEARED(afc_cookie_jar_export(jar, true, &bytes, &failure));
    afc_free(bytes.bytes);
    afc_cookie_list_free(list);
    afc_cookie_jar_release(jar);
    CHECK_CLEARED(afc_hsts_new(&hsts, NULL, &failure));
    CHECK_CLEARED(afc_hsts_add(hsts, "example.org", INT64_MAX, false, &failure));
    CHECK_CLEARED(afc_hsts_save(hsts, path, &failure));
    CHECK_CLEARED(afc_hsts_export(hsts, &bytes, &failure));
    afc_free(bytes.bytes);
    afc_hsts_release(hsts);
    folder_remove(&folder);
}

static void requests_leave_no_failure(void **state) {
    fixture *fixture = *state;
    afc_session *session;
    afc_task *task;
    afc_websocket *socket;
    afc_trust_policy *policy;
    afc_reach_monitor *monitor;
    serve(fixture, "/", answer(200, "", "text"));
    afc_request request = AFC_REQUEST_INIT;
    request.url = url_of(fixture, "/");
    CHECK_CLEARED(afc_trust_policy_new(&policy, NULL, &failure));
    CHECK_CLEARED(afc_session_new(&session, NULL, &failure));
    CHECK_CLEARED(afc_task_new(&task, session, &request, NULL, &failure));
    afc_task_release(task);
    CHECK_CLEARED(afc_task_begin(NULL, session, &request, NULL, &failure));
    CHECK_CLEARED(afc_perform(NULL, session, &request, &failure));
    CHECK_CLEARED(afc_websocket_open(&socket, session, &request, NULL, NULL, &failure));
    afc_websocket_release(socket);
    CHECK_CLEARED(afc_reach_monitor_new(&monitor, NULL, &failure));
    CHECK_CLEARED(afc_reach_monitor_start(monitor, &failure));
    afc_reach_monitor_free(monitor);
    afc_session_release(session);
    afc_trust_policy_release(policy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_leave_no_failure),  cmocka_unit_test(forms_leave_no_failure),
        cmocka_unit_test(caches_leave_no_failure), cmocka_unit_test(stores_leave_no_failure),
        FIXTURE_TEST(requests_leave_no_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
