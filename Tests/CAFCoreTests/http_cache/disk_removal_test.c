/*
 * Removing responses from the disk: what is recorded, how much is done under one lock, and what other work that comes
 * between sees.
 */
#include "http_cache/disk_state.h"
#include "support/files.h"
#include "support/responses.h"

#include <afcore/session.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MEMORY = 1 << 20, DISK = 64 << 20, SIZE = 100 };

typedef struct box {
    folder folder;
    char path[96], entries[128], journal[128];
    afc_http_cache *cache;
} box;

static afc_http_cache *open_cache(const box *box, uint64_t memory) {
    afc_http_cache *cache;
    afc_http_cache_options options = AFC_HTTP_CACHE_OPTIONS_INIT;
    options.memory_bytes = memory;
    options.disk_bytes = DISK;
    options.directory = box->path;
    check_status(afc_http_cache_open(&cache, &options, NULL), AFC_OK);
    return cache;
}

static void close_cache(afc_http_cache *cache) {
    afc_http_cache_flush(cache);
    afc_http_cache_release(cache);
    afc_join_closed_sessions();
}

static int set_up(void **state) {
    box *made = calloc(1, sizeof *made);
    assert_non_null(made);
    folder_make(&made->folder);
    snprintf(made->path, sizeof made->path, "%s", path_in(&made->folder, "cache"));
    snprintf(made->entries, sizeof made->entries, "%s/1/entries", made->path);
    snprintf(made->journal, sizeof made->journal, "%s/1/journal", made->path);
    made->cache = open_cache(made, MEMORY);
    *state = made;
    return 0;
}

static int tear_down(void **state) {
    box *box = *state;
    char command[160];
    close_cache(box->cache);
    snprintf(command, sizeof command, "rm -rf %s", box->path);
    assert_int_equal(system(command), 0);
    folder_remove(&box->folder);
    free(box);
    return 0;
}

static response response_of(unsigned url, unsigned version) {
    return (response){.url = url, .version = version, .size = SIZE, .time = 1000};
}

/** Stores responses with the URLs 0 to `count` - 1. */
static void store(afc_http_cache *cache, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        response response = response_of(i, 1);
        assert_true(response_store(cache, &response, SIZE));
    }
    afc_http_cache_flush(cache);
}

static size_t files_of(const box *box) {
    size_t count = 0;
    DIR *names = opendir(box->entries);
    assert_non_null(names);
    for (const struct dirent *entry; (entry = readdir(names)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    closedir(names);
    return count;
}

static off_t journal_size(const box *box) {
    struct stat facts;
    assert_int_equal(stat(box->journal, &facts), 0);
    return facts.st_size;
}

/* ---- Locks of other processes ------------------------------------------------------------------ */

static void removals_are_not_recorded_while_the_journal_is_locked(void **state) {
    enum { COUNT = 200 };
    box *box = *state;
    store(box->cache, COUNT);
    int lock = open(box->journal, O_RDWR | O_CLOEXEC);
    assert_true(lock >= 0);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    off_t before = journal_size(box);
    afc_http_cache_remove_all(box->cache);
    afc_http_cache_flush(box->cache);
    /* What was appended without the lock could overwrite, or be cut off by, what the owner of the lock appends. */
    assert_int_equal(journal_size(box), before);
    assert_int_equal(files_of(box), 0);
    close(lock);
    store(box->cache, COUNT);
    afc_http_cache *other = open_cache(box, 0);
    for (unsigned i = 0; i < COUNT; i++) {
        afc__http_cache_found found;
        response_find(other, i, &found);
        assert_int_equal(found.count, 1);
        found_clear(&found);
    }
    close_cache(other);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(removals_are_not_recorded_while_the_journal_is_locked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
