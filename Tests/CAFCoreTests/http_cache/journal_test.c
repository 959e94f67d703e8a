/* The journal of a cache folder: when it is complete, when the folder must be scanned, and what is written to it. */
#include "base/alloc.h"
#include "base/checksum.h"
#include "base/little_endian.h"
#include "http_cache/disk/journal.h"
#include "support/files.h"
#include "support/fixture.h"
#include "support/responses.h"
#include "support/torture.h"

#include <afcore/session.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEED = 4711, MANY = 1000, HEAD = 64, CHANGES = 44 };

typedef struct reading {
    folder folder;
    int descriptor;
    size_t count, restarts, gaps;
} reading;

static void take(void *context, const afc__journal_record *record) {
    reading *reading = context;
    assert_int_equal(record->primary, ++reading->count);
}

static void restart(void *context) {
    reading *reading = context;
    reading->count = 0;
    reading->restarts++;
}

static void lack_changes(void *context) {
    reading *reading = context;
    reading->gaps++;
}

static int set_up(void **state) {
    reading *made = calloc(1, sizeof *made);
    assert_non_null(made);
    folder_make(&made->folder);
    made->descriptor = open(made->folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(made->descriptor >= 0);
    *state = made;
    return 0;
}

static int tear_down(void **state) {
    reading *reading = *state;
    close(reading->descriptor);
    unlink(path_in(&reading->folder, "journal"));
    folder_remove(&reading->folder);
    free(reading);
    return 0;
}

static void open_journal(reading *reading, afc__journal *out) {
    afc__journal_reader reader = {take, restart, lack_changes, reading};
    assert_true(afc__journal_open(out, reading->descriptor, SEED, reader));
}

/** Returns whether a process that opens the journal now scans the folder. */
static bool is_scan_due(reading *reading) {
    afc__journal journal;
    open_journal(reading, &journal);
    assert_int_equal(journal.is_incomplete, journal.needs_scan);
    bool is_due = journal.needs_scan;
    afc__journal_close(&journal);
    return is_due;
}

static void replace(afc__journal *journal, const afc__journal_record *records, size_t count) {
    assert_true(afc__journal_lock(journal));
    assert_true(afc__journal_replace(journal, records, count));
    afc__journal_unlock(journal);
}

static void append(afc__journal *journal, const afc__journal_record *record) {
    assert_true(afc__journal_lock(journal));
    assert_true(afc__journal_append(journal, record, 1));
    afc__journal_unlock(journal);
}

/* A process that is killed during its scan leaves the journal as it is then. */
static void scan_is_due_until_it_is_done(void **state) {
    reading *reading = *state;
    afc__journal journal;
    const afc__journal_record records[] = {{.kind = AFC__JOURNAL_PUT, .primary = 1},
                                           {.kind = AFC__JOURNAL_PUT, .primary = 2}};
    write_file(path_in(&reading->folder, "journal"), S("damaged"));
    open_journal(reading, &journal);
    assert_true(journal.needs_scan);
    assert_true(is_scan_due(reading));
    append(&journal, &records[0]);
    assert_true(is_scan_due(reading));
    /* It is made shorter meanwhile. */
    journal.needs_scan = false;
    replace(&journal, records, 1);
    assert_true(journal.is_incomplete);
    assert_true(is_scan_due(reading));
    /* The end of the scan. */
    journal.is_incomplete = false;
    replace(&journal, records, 2);
    assert_false(is_scan_due(reading));
    assert_int_equal(reading->count, 2);
    afc__journal_close(&journal);
}

static void scan_of_another_process_is_seen(void **state) {
    reading *reading = *state;
    afc__journal first, second;
    open_journal(reading, &first);
    open_journal(reading, &second);
    assert_true(first.needs_scan && second.needs_scan);
    first.is_incomplete = first.needs_scan = false;
    replace(&first, NULL, 0);
    assert_true(afc__journal_lock(&second));
    afc__journal_unlock(&second);
    assert_false(second.is_incomplete || second.needs_scan);
    afc__journal_close(&first);
    afc__journal_close(&second);
}

/* Another process may have appended meanwhile. */
static void nothing_is_appended_without_the_lock(void **state) {
    reading *reading = *state;
    afc__journal first, second;
    const afc__journal_record records[] = {{.kind = AFC__JOURNAL_PUT, .primary = 1},
                                           {.kind = AFC__JOURNAL_PUT, .primary = 2}};
    open_journal(reading, &first);
    open_journal(reading, &second);
    append(&first, &records[0]);
    assert_false(afc__journal_append(&second, &records[1], 1));
    reading->count = 0;
    assert_true(afc__journal_lock(&second));
    assert_int_equal(reading->count, 1);
    assert_true(afc__journal_append(&second, &records[1], 1));
    afc__journal_unlock(&second);
    assert_int_equal(afc__journal_count(&second), 2);
    afc__journal_close(&first);
    afc__journal_close(&second);
}

static void journal_is_not_damaged_without_memory(void **state) {
    reading *reading = *state;
    afc__journal journal;
    static afc__journal_record records[MANY];
    for (size_t i = 0; i < MANY; i++) {
        records[i] = (afc__journal_record){.kind = AFC__JOURNAL_PUT, .primary = i + 1};
    }
    open_journal(reading, &journal);
    journal.is_incomplete = false;
    replace(&journal, records, MANY);
    afc__journal_close(&journal);
    TORTURE(round) {
        assert_false(is_scan_due(reading));
        assert_int_equal(reading->count, MANY);
    }
}

static off_t size_of(const char *path) {
    struct stat facts;
    assert_int_equal(stat(path, &facts), 0);
    return facts.st_size;
}

/** Finds the only response, which is on disk: all that was ordered before is done then. */
static void use(afc_http_cache *cache, unsigned times) {
    afc__http_cache_found found;
    response_find(cache, 1, &found);
    assert_int_equal(found.count, 1);
    for (unsigned i = 0; i < times; i++) afc__http_cache_touch(cache, found.stored[0]);
    found_clear(&found);
}

static void uses_are_recorded_once_there_is_memory(void **state) {
    (void)state;
    enum { HALF = 32 };
    folder folder;
    char path[96], command[128];
    folder_make(&folder);
    afc_http_cache *cache;
    afc_http_cache_options options = AFC_HTTP_CACHE_OPTIONS_INIT;
    options.memory_bytes = 0;
    options.directory = path_in(&folder, "cache");
    options.disk_bytes = 1 << 20;
    check_status(afc_http_cache_open(&cache, &options, NULL), AFC_OK);
    response response = {.url = 1, .version = 1, .size = 10, .time = 1000};
    assert_true(response_store(cache, &response, 10));
    afc_http_cache_flush(cache);
    snprintf(path, sizeof path, "%s/1/journal", options.directory);
    off_t before = size_of(path);
    use(cache, HALF - 1);
    afc__http_cache_found found;
    response_find(cache, 1, &found);
    /* The order to record them. */
    afc__alloc_fail_at(1);
    afc__http_cache_touch(cache, found.stored[0]);
    afc__alloc_fail_at(0);
    found_clear(&found);
    use(cache, 1);
    use(cache, 0);
    assert_true(size_of(path) > before);
    afc_http_cache_release(cache);
    afc_join_closed_sessions();
    snprintf(command, sizeof command, "rm -rf %s", options.directory);
    assert_int_equal(system(command), 0);
    folder_remove(&folder);
}

/* The journal that is removed before the next lock is taken. */
static const char *discarded;

int flock(int descriptor, int operation) {
    typedef int (*call)(int, int);
    static call real;
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "flock");
    if (discarded != NULL && (operation & LOCK_EX) != 0) {
        assert_int_equal(unlink(discarded), 0);
        discarded = NULL;
    }
    return real(descriptor, operation);
}

/** What is recorded there would be lost. */
static void journal_that_is_discarded_while_its_lock_is_awaited_is_not_used(void **state) {
    reading *reading = *state;
    afc__journal journal;
    open_journal(reading, &journal);
    discarded = path_in(&reading->folder, "journal");
    assert_true(afc__journal_lock(&journal));
    assert_null(discarded);
    assert_true(afc__journal_is_in_place(&journal));
    afc__journal_unlock(&journal);
    afc__journal_close(&journal);
}

/** Another process may discard it at any time. */
static void discarded_journal_leaves_no_descriptor(void **state) {
    reading *reading = *state;
    afc__journal journal;
    open_journal(reading, &journal);
    size_t before = count_descriptors();
    for (unsigned i = 1; i <= 3; i++) {
        afc__journal_discard(&journal);
        assert_true(afc__journal_has_changed(&journal));
        assert_true(afc__journal_lock(&journal));
        assert_int_equal(reading->restarts, 1 + i);
        afc__journal_unlock(&journal);
        assert_false(afc__journal_has_changed(&journal));
    }
    assert_int_equal(count_descriptors(), before);
    afc__journal_close(&journal);
}

/** Other processes must not take a response for outdated because the journal has become shorter. */
static void replaced_journal_lacks_no_changes_unless_some_were_missed(void **state) {
    reading *reading = *state;
    afc__journal first, second;
    const afc__journal_record change = {.kind = AFC__JOURNAL_CHANGE, .primary = 1};
    open_journal(reading, &first);
    open_journal(reading, &second);
    reading->gaps = reading->count = 0;
    for (unsigned i = 0; i < 3; i++) {
        replace(&first, NULL, 0);
        assert_true(afc__journal_lock(&second));
        afc__journal_unlock(&second);
        assert_int_equal(reading->gaps, 0);
    }
    /* Read before the journal is replaced, and not read. */
    for (unsigned is_read = 0; is_read < 2; is_read++) {
        append(&first, &change);
        if (is_read) {
            assert_true(afc__journal_lock(&second));
            afc__journal_unlock(&second);
        }
        replace(&first, NULL, 0);
        assert_true(afc__journal_lock(&second));
        afc__journal_unlock(&second);
        assert_int_equal(reading->gaps, 1);
    }
    afc__journal_discard(&first);
    assert_true(afc__journal_lock(&first));
    afc__journal_unlock(&first);
    assert_int_equal(reading->gaps, 2);
    assert_true(afc__journal_lock(&second));
    afc__journal_unlock(&second);
    assert_int_equal(reading->gaps, 3);
    afc__journal_close(&first);
    afc__journal_close(&second);
}

/** Replaces the journal by an empty one, as an older program does: it has no number of changes. */
static void replace_as_older_program(reading *reading) {
    const char *path = path_in(&reading->folder, "journal");
    char head[HEAD];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(file, head, HEAD), HEAD);
    close(file);
    afc__save_64(head + CHANGES, 0);
    afc__save_64(head + HEAD - 8, afc__checksum(SEED, head, HEAD - 8));
    assert_int_equal(unlink(path), 0);
    write_file(path, (afc_slice){head, HEAD});
}

/** Such journals are different ones, although the same number of changes was recorded in each. */
static void changes_in_journals_of_older_programs_are_missed(void **state) {
    reading *reading = *state;
    afc__journal first, second;
    const afc__journal_record change = {.kind = AFC__JOURNAL_CHANGE, .primary = 1};
    open_journal(reading, &first);
    open_journal(reading, &second);
    replace_as_older_program(reading);
    append(&first, &change);
    assert_true(afc__journal_lock(&second));
    afc__journal_unlock(&second);
    assert_int_equal(reading->count, 1);
    replace_as_older_program(reading);
    append(&first, &change);
    replace(&first, NULL, 0);
    reading->gaps = 0;
    assert_true(afc__journal_lock(&second));
    afc__journal_unlock(&second);
    assert_int_equal(reading->gaps, 1);
    afc__journal_close(&first);
    afc__journal_close(&second);
}

/* The journal that is opened again before the next state of a file is read, although another one has it locked. */
static afc__journal *reopened;

int fstat(int descriptor, struct stat *facts) {
    typedef int (*call)(int, struct stat *);
    static call real;
    afc__journal *journal = reopened;
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "fstat");
    if (journal != NULL) {
        reopened = NULL;
        assert_false(afc__journal_lock(journal));
    }
    return real(descriptor, facts);
}

/** Another thread may look at it at any time: what it has in memory may have been removed. */
static void journal_that_is_opened_but_not_read_has_changed(void **state) {
    reading *reading = *state;
    afc__journal first, second;
    const afc__journal_record put = {.kind = AFC__JOURNAL_PUT, .primary = 1};
    open_journal(reading, &first);
    open_journal(reading, &second);
    replace(&first, &put, 1);
    assert_true(afc__journal_lock(&first));
    reopened = &second;
    assert_true(afc__journal_has_changed(&second));
    assert_null(reopened);
    assert_true(afc__journal_has_changed(&second));
    afc__journal_unlock(&first);
    assert_true(afc__journal_lock(&second));
    afc__journal_unlock(&second);
    assert_false(afc__journal_has_changed(&second));
    afc__journal_close(&first);
    afc__journal_close(&second);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(scan_is_due_until_it_is_done, set_up, tear_down),
        cmocka_unit_test_setup_teardown(scan_of_another_process_is_seen, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_appended_without_the_lock, set_up, tear_down),
        cmocka_unit_test_setup_teardown(replaced_journal_lacks_no_changes_unless_some_were_missed,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            journal_that_is_discarded_while_its_lock_is_awaited_is_not_used, set_up, tear_down),
        cmocka_unit_test_setup_teardown(changes_in_journals_of_older_programs_are_missed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(journal_that_is_opened_but_not_read_has_changed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(discarded_journal_leaves_no_descriptor, set_up, tear_down),
        cmocka_unit_test_setup_teardown(journal_is_not_damaged_without_memory, set_up, tear_down),
        cmocka_unit_test(uses_are_recorded_once_there_is_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
