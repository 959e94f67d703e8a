/*
 * The disk's calls fail one after the other: full, broken, or interrupted in the middle of a write. The store forgets
 * then, and serves no wrong byte; the next opening finds a folder that it can use.
 *
 * Other processes keep the folder locked: opening waits, but not for ever.
 *
 * The calls of libc that the store uses for files are defined here and pass on to libc.
 */
#include "base/file.h"
#include "support/files.h"
#include "support/responses.h"

#include <afcore/session.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Faults ---------------------------------------------------------------------------------- */

static atomic_uint calls;      /* Counted since the round began. */
static atomic_uint fails_from; /* The first call that fails; 0: none. */
static atomic_uint fails_until;
static atomic_int fault;

static bool fails(void) {
    unsigned call = atomic_fetch_add(&calls, 1) + 1, from = atomic_load(&fails_from);
    if (from == 0 || call < from || call > atomic_load(&fails_until)) return false;
    errno = atomic_load(&fault);
    return true;
}

/* The address of a function as a pointer to data, as dlsym() has it. */
#define REAL(name, type)                                                                           \
    static type real;                                                                              \
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, name)

ssize_t pread(int descriptor, void *bytes, size_t size, off_t offset) {
    typedef ssize_t (*call)(int, void *, size_t, off_t);
    REAL("pread", call);
    return fails() ? -1 : real(descriptor, bytes, size, offset);
}

ssize_t preadv(int descriptor, const struct iovec *parts, int count, off_t offset) {
    typedef ssize_t (*call)(int, const struct iovec *, int, off_t);
    REAL("preadv", call);
    return fails() ? -1 : real(descriptor, parts, count, offset);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t size, off_t offset) {
    typedef ssize_t (*call)(int, const void *, size_t, off_t);
    REAL("pwrite", call);
    if (!fails()) return real(descriptor, bytes, size, offset);
    if (atomic_load(&fault) == ENOSPC) (void)!real(descriptor, bytes, size / 2, offset);
    errno = atomic_load(&fault);
    return -1;
}

ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t offset) {
    typedef ssize_t (*call)(int, const struct iovec *, int, off_t);
    REAL("pwritev", call);
    if (!fails()) return real(descriptor, parts, count, offset);
    /* What fits is written. */
    return atomic_load(&fault) == ENOSPC ? real(descriptor, parts, 1, offset) : -1;
}

ssize_t write(int descriptor, const void *bytes, size_t size) {
    typedef ssize_t (*call)(int, const void *, size_t);
    REAL("write", call);
    /* Messages of the test. */
    if (descriptor <= STDERR_FILENO || !fails()) return real(descriptor, bytes, size);
    if (atomic_load(&fault) == ENOSPC) (void)!real(descriptor, bytes, size / 2);
    errno = atomic_load(&fault);
    return -1;
}

int ftruncate(int descriptor, off_t size) {
    typedef int (*call)(int, off_t);
    REAL("ftruncate", call);
    return fails() ? -1 : real(descriptor, size);
}

int renameat(int from, const char *name, int to, const char *new_name) {
    typedef int (*call)(int, const char *, int, const char *);
    REAL("renameat", call);
    return fails() ? -1 : real(from, name, to, new_name);
}

int unlinkat(int folder, const char *name, int flags) {
    typedef int (*call)(int, const char *, int);
    REAL("unlinkat", call);
    return fails() ? -1 : real(folder, name, flags);
}

static atomic_uint times_locked; /* So often, another process has the lock. */

int flock(int descriptor, int operation) {
    typedef int (*call)(int, int);
    REAL("flock", call);
    if ((operation & LOCK_NB) != 0 && atomic_load(&times_locked) != 0) {
        atomic_fetch_sub(&times_locked, 1);
        errno = EWOULDBLOCK;
        return -1;
    }
    return fails() ? -1 : real(descriptor, operation);
}

/** The errno with which the folder's key, or entries, can't be opened, and names not be read; 0: they can. */
static atomic_int key_error, entry_error, names_error;

struct dirent *readdir(DIR *names) {
    typedef struct dirent *(*call)(DIR *);
    REAL("readdir", call);
    int error = atomic_load(&names_error);
    if (error == 0) return real(names);
    errno = error;
    return NULL;
}

int openat(int folder, const char *name, int flags, ...) {
    typedef int (*call)(int, const char *, int, mode_t);
    REAL("openat", call);
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    int error = strcmp(name, "key") == 0 ? atomic_load(&key_error)
                : strlen(name) == 32     ? atomic_load(&entry_error)
                                         : 0;
    if (error == 0) return real(folder, name, flags, mode);
    errno = error;
    return -1;
}

/* ---- The scenario ---------------------------------------------------------------------------- */

enum { URLS = 6, LONGEST_RUN = 4, MOST_ROUNDS = 2000 };

static afc_http_cache *open_cache(const char *path) {
    afc_http_cache *cache = NULL;
    afc_http_cache_options options = AFC_HTTP_CACHE_OPTIONS_INIT;
    options.memory_bytes = 0;
    options.disk_bytes = 900000;
    options.max_entry_bytes = 500000;
    options.directory = path;
    afc_status status = afc_http_cache_open(&cache, &options, NULL);
    assert_true(status == AFC_OK || status == AFC_EFILE);
    return cache;
}

static response response_of(unsigned url, unsigned version) {
    static const size_t sizes[URLS] = {100, 70000, 300000, 5000, 400000, 5001};
    return (response){.url = url, .version = version, .size = sizes[url], .time = 1000};
}

/** Returns whether the response is served; whatever is served is one of those that were stored. */
static bool look_up(afc_http_cache *cache, unsigned url) {
    afc__http_cache_found found;
    bool is_whole = false;
    response_find(cache, url, &found);
    if (found.count != 0) {
        response expected = response_of(url, response_version(found.stored[0]));
        assert_int_equal(afc__http_cache_stored_body_size(found.stored[0]), expected.size);
        is_whole = response_read(cache, found.stored[0], &expected, 0);
        if (is_whole) {
            afc__http_cache_touch(cache, found.stored[0]);
            afc__http_cache_update(cache, found.stored[0], response_meta(&expected));
        }
    }
    found_clear(&found);
    return is_whole;
}

static void run_scenario(const char *path, unsigned round) {
    char key[64];
    afc_http_cache *cache = open_cache(path);
    if (cache == NULL) return;
    for (unsigned url = 0; url < URLS; url++) {
        response response = response_of(url, 2 * round);
        response_store(cache, &response, 50000);
        look_up(cache, url);
        response = response_of(url, 2 * round + 1);
        if (url % 2 == 0) response_store(cache, &response, 50000);
        look_up(cache, url);
        look_up(cache, 0);
    }
    afc__http_cache_remove_key(cache, response_key(key, 1));
    afc_http_cache_flush(cache);
    afc_http_cache_release(cache);
}

static void check_recovery(const char *path, unsigned round) {
    char key[64];
    afc_http_cache *cache = open_cache(path);
    assert_non_null(cache);
    for (unsigned url = 0; url < URLS; url++) look_up(cache, url);
    response response = response_of(3, 5 * round);
    assert_true(response_store(cache, &response, 50000));
    assert_true(look_up(cache, 3));
    afc__http_cache_remove_key(cache, response_key(key, 3));
    assert_false(look_up(cache, 3));
    afc_http_cache_statistics statistics;
    afc_http_cache_get_statistics(cache, &statistics);
    assert_true(statistics.disk_used <= 900000);
    afc_http_cache_flush(cache);
    afc_http_cache_release(cache);
}

/** The n-th call fails, and `run - 1` behind it, for every n. */
static void fail_everywhere(int error, unsigned run) {
    folder folder;
    char path[96], command[128];
    folder_make(&folder);
    snprintf(path, sizeof path, "%s", path_in(&folder, "cache"));
    snprintf(command, sizeof command, "rm -rf %s", path);
    atomic_store(&fault, error);
    bool is_reached = true;
    unsigned round = 1, stride = (unsigned)test_amount(40, 4);
    for (; is_reached; round += 1 + round / stride) {
        assert_true(round < MOST_ROUNDS);
        atomic_store(&calls, 0);
        atomic_store(&fails_until, round + run - 1);
        atomic_store(&fails_from, round);
        run_scenario(path, round);
        is_reached = atomic_load(&calls) >= round;
        atomic_store(&fails_from, 0);
        check_recovery(path, round);
    }
    assert_true(round > 100);
    assert_int_equal(system(command), 0);
    folder_remove(&folder);
}

static void full_disk_is_a_miss(void **state) {
    (void)state;
    fail_everywhere(ENOSPC, 1);
    fail_everywhere(ENOSPC, LONGEST_RUN);
}

static void broken_disk_is_a_miss(void **state) {
    (void)state;
    fail_everywhere(EIO, 1);
    fail_everywhere(EIO, LONGEST_RUN);
}

static void read_only_disk_is_a_miss(void **state) {
    (void)state;
    fail_everywhere(EROFS, LONGEST_RUN);
}

/* ---- Locks ------------------------------------------------------------------------------------ */

/** Opens a cache while another process has the lock for so many attempts, which are 0.2 ms apart or more. */
static void open_locked(unsigned attempts, afc_status expected, const char *reason) {
    folder folder;
    char command[128];
    folder_make(&folder);
    afc_http_cache *cache;
    afc_failure failure;
    afc_http_cache_options options = AFC_HTTP_CACHE_OPTIONS_INIT;
    options.directory = path_in(&folder, "cache");
    snprintf(command, sizeof command, "rm -rf %s", options.directory);
    atomic_store(&times_locked, attempts);
    check_status(afc_http_cache_open(&cache, &options, &failure), expected);
    atomic_store(&times_locked, 0);
    check_contains(failure.text, reason);
    assert_int_equal(failure.system_error, expected == AFC_OK ? 0 : EWOULDBLOCK);
    if (cache != NULL) afc_http_cache_release(cache);
    afc_join_closed_sessions();
    assert_int_equal(system(command), 0);
    folder_remove(&folder);
}

static void opening_waits_for_the_lock(void **state) {
    (void)state;
    open_locked(200, AFC_OK, "");
}

static void lock_that_stays_is_an_error(void **state) {
    (void)state;
    open_locked(UINT_MAX, AFC_EFILE, "another process keeps it locked");
}

static size_t count_unpublished(const char *cache) {
    size_t count = 0;
    char path[128];
    snprintf(path, sizeof path, "%s/1/new", cache);
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] != '.') count++;
    }
    closedir(folder);
    return count;
}

static void body_is_discarded_while_the_journal_is_locked(void **state) {
    (void)state;
    folder folder;
    char path[96], journal[128], command[128];
    folder_make(&folder);
    snprintf(path, sizeof path, "%s", path_in(&folder, "cache"));
    snprintf(journal, sizeof journal, "%s/1/journal", path);
    snprintf(command, sizeof command, "rm -rf %s", path);
    afc_http_cache *cache = open_cache(path);
    int lock = open(journal, O_RDWR | O_CLOEXEC);
    assert_true(lock >= 0);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    /* Larger than what is written at once. */
    response response = response_of(4, 1);
    response_store(cache, &response, 50000);
    afc_http_cache_flush(cache);
    assert_int_equal(count_unpublished(path), 0);
    close(lock);
    assert_false(look_up(cache, 4));
    assert_true(response_store(cache, &response, 50000));
    assert_true(look_up(cache, 4));
    afc_http_cache_release(cache);
    afc_join_closed_sessions();
    assert_int_equal(system(command), 0);
    folder_remove(&folder);
}

/** A program that stores a response isn't told that it is too large when the disk is full. */
static void full_disk_is_a_miss_for_a_program(void **state) {
    (void)state;
    /* More than may wait for the disk, so that the failure is known before the end. */
    enum { HUGE = 20 << 20 };
    folder folder;
    char path[96], command[128];
    folder_make(&folder);
    snprintf(path, sizeof path, "%s", path_in(&folder, "cache"));
    snprintf(command, sizeof command, "rm -rf %s", path);
    afc_http_cache *cache;
    afc_http_cache_options options = AFC_HTTP_CACHE_OPTIONS_INIT;
    options.max_entry_bytes = HUGE;
    options.directory = path;
    check_status(afc_http_cache_open(&cache, &options, NULL), AFC_OK);
    char *body = calloc(1, HUGE);
    assert_non_null(body);
    afc_header field = {.name = S("Cache-Control"), .value = S("max-age=60")};
    afc_http_cache_request request = AFC_HTTP_CACHE_REQUEST_INIT;
    afc_http_cache_response response = AFC_HTTP_CACHE_RESPONSE_INIT;
    request.url = "http://a.test/";
    response.head.headers = &field;
    response.head.header_count = 1;
    response.body = (afc_slice){body, HUGE};
    for (unsigned is_full = 0; is_full < 2; is_full++) {
        atomic_store(&fault, ENOSPC);
        atomic_store(&calls, 0);
        atomic_store(&fails_until, UINT_MAX);
        atomic_store(&fails_from, is_full);
        check_status(afc_http_cache_store(cache, &request, &response, NULL), AFC_OK);
        atomic_store(&fails_from, 0);
        afc_http_cache_flush(cache);
        afc_http_cache_statistics statistics;
        afc_http_cache_get_statistics(cache, &statistics);
        assert_int_equal(statistics.stored, 1);
        assert_int_equal(statistics.refused, is_full);
    }
    free(body);
    afc_http_cache_release(cache);
    afc_join_closed_sessions();
    assert_int_equal(system(command), 0);
    folder_remove(&folder);
}

/** A child that lives until `*end` is closed, with all descriptors of this process. */
static pid_t fork_idle(int *end) {
    int pipe_ends[2];
    assert_int_equal(pipe(pipe_ends), 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        close(pipe_ends[1]);
        (void)!read(pipe_ends[0], &byte, 1);
        _exit(0);
    }
    assert_true(child > 0);
    close(pipe_ends[0]);
    *end = pipe_ends[1];
    return child;
}

static void forked_process_keeps_no_response_locked(void **state) {
    (void)state;
    int end;
    folder folder;
    char path[96], command[128];
    static char body[400000];
    folder_make(&folder);
    snprintf(path, sizeof path, "%s", path_in(&folder, "cache"));
    snprintf(command, sizeof command, "rm -rf %s", path);
    afc_http_cache *cache = open_cache(path);
    response response = response_of(4, 1);
    response_fill(&response, 0, body, sizeof body);
    afc__http_cache_writing *writing = response_begin(cache, &response, sizeof body);
    check_status(
        afc__http_cache_append(writing, (afc_slice){body, sizeof body}, AFC__HTTP_CACHE_WAIT),
        AFC_OK);
    /* The first piece was written, so the file is open. */
    afc_http_cache_flush(cache);
    assert_int_equal(count_unpublished(path), 1);
    pid_t child = fork_idle(&end);
    assert_int_equal(afc__http_cache_commit(writing, AFC__HTTP_CACHE_WAIT),
                     AFC__HTTP_CACHE_COMMITTED);
    afc_http_cache_flush(cache);
    assert_true(look_up(cache, 4));
    close(end);
    assert_int_equal(waitpid(child, NULL, 0), child);
    afc_http_cache_release(cache);
    afc_join_closed_sessions();
    assert_int_equal(system(command), 0);
    folder_remove(&folder);
}

/** A new key would lose every entry. */
static void key_that_cannot_be_read_now_stays(void **state) {
    (void)state;
    folder folder;
    char command[128];
    folder_make(&folder);
    const char *path = path_in(&folder, "cache"), *key = path_in(&folder, "cache/1/key");
    snprintf(command, sizeof command, "rm -rf %s", path);
    afc_http_cache *cache = open_cache(path);
    assert_non_null(cache);
    afc_http_cache_release(cache);
    afc__buffer before, after;
    afc__buffer_init(&before, 100);
    afc__buffer_init(&after, 100);
    check_status(afc__read_file(&before, key, AFC__FILE_REGULAR, NULL), AFC_OK);
    static const int errors[] = {EMFILE, EIO};
    for (size_t i = 0; i < COUNT_OF(errors); i++) {
        atomic_store(&key_error, errors[i]);
        assert_null(open_cache(path));
    }
    atomic_store(&key_error, 0);
    cache = open_cache(path);
    assert_non_null(cache);
    afc_http_cache_release(cache);
    check_status(afc__read_file(&after, key, AFC__FILE_REGULAR, NULL), AFC_OK);
    assert_int_equal(after.size, before.size);
    assert_memory_equal(after.bytes, before.bytes, before.size);
    afc__buffer_clear(&before);
    afc__buffer_clear(&after);
    afc_join_closed_sessions();
    assert_int_equal(system(command), 0);
    folder_remove(&folder);
}

/** Opens a cache whose journal is gone, while a scan can't read everything. */
static afc_http_cache *open_without_journal(const char *path, int entries, int names) {
    char journal[160];
    snprintf(journal, sizeof journal, "%s/1/journal", path);
    assert_int_equal(unlink(journal), 0);
    atomic_store(&entry_error, entries);
    atomic_store(&names_error, names);
    afc_http_cache *cache = open_cache(path);
    assert_non_null(cache);
    afc_http_cache_flush(cache);
    atomic_store(&entry_error, 0);
    atomic_store(&names_error, 0);
    return cache;
}

static void close_cache(afc_http_cache *cache) {
    afc_http_cache_flush(cache);
    afc_http_cache_release(cache);
    afc_join_closed_sessions();
}

static size_t count_entries(afc_http_cache *cache) {
    afc_http_cache_statistics statistics;
    afc_http_cache_get_statistics(cache, &statistics);
    return statistics.entries;
}

/** What a journal that is called complete lacks would stay beside the capacity. */
static void scan_that_reads_only_a_part_completes_no_journal(void **state) {
    (void)state;
    static const int errors[][2] = {{EMFILE, 0}, {ENFILE, 0}, {EIO, 0}, {0, EIO}, {0, ENOMEM}};
    folder folder;
    char path[96], command[160];
    folder_make(&folder);
    snprintf(path, sizeof path, "%s", path_in(&folder, "cache"));
    snprintf(command, sizeof command, "rm -rf %s", path);
    afc_http_cache *cache = open_cache(path);
    for (unsigned url = 0; url < 2; url++) {
        response response = response_of(url, 1);
        assert_true(response_store(cache, &response, 10000));
    }
    close_cache(cache);
    for (size_t i = 0; i < COUNT_OF(errors); i++) {
        cache = open_without_journal(path, errors[i][0], errors[i][1]);
        assert_int_equal(count_entries(cache), 0);
        close_cache(cache);
        cache = open_cache(path);
        afc_http_cache_flush(cache);
        assert_int_equal(count_entries(cache), 2);
        close_cache(cache);
    }
    /* When descriptors are free again, the next change begins another scan. */
    cache = open_without_journal(path, EMFILE, 0);
    response third = response_of(3, 1);
    assert_true(response_store(cache, &third, 10000));
    afc_http_cache_flush(cache);
    afc_http_cache_flush(cache);
    assert_int_equal(count_entries(cache), 3);
    close_cache(cache);
    assert_int_equal(system(command), 0);
    folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_disk_is_a_miss),
        cmocka_unit_test(broken_disk_is_a_miss),
        cmocka_unit_test(read_only_disk_is_a_miss),
        cmocka_unit_test(opening_waits_for_the_lock),
        cmocka_unit_test(lock_that_stays_is_an_error),
        cmocka_unit_test(key_that_cannot_be_read_now_stays),
        cmocka_unit_test(scan_that_reads_only_a_part_completes_no_journal),
        cmocka_unit_test(body_is_discarded_while_the_journal_is_locked),
        cmocka_unit_test(full_disk_is_a_miss_for_a_program),
        cmocka_unit_test(forked_process_keeps_no_response_locked),
    };
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    afc_join_closed_sessions();
    return failures;
}
