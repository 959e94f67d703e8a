#include "support/cache_box.h"

#include <afcore/session.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

afc_http_cache *cache_box_open(const cache_box *box, uint64_t memory) {
    afc_http_cache *cache;
    afc_http_cache_options options = AFC_HTTP_CACHE_OPTIONS_INIT;
    options.memory_bytes = memory;
    options.disk_bytes = CACHE_BOX_DISK;
    options.directory = box->path;
    check_status(afc_http_cache_open(&cache, &options, NULL), AFC_OK);
    return cache;
}

void cache_box_close(afc_http_cache *cache) {
    afc_http_cache_flush(cache);
    afc_http_cache_release(cache);
    afc_join_closed_sessions();
}

cache_box *cache_box_make(void) {
    cache_box *made = calloc(1, sizeof *made);
    assert_non_null(made);
    folder_make(&made->folder);
    snprintf(made->path, sizeof made->path, "%s", path_in(&made->folder, "cache"));
    snprintf(made->entries, sizeof made->entries, "%s/1/entries", made->path);
    snprintf(made->journal, sizeof made->journal, "%s/1/journal", made->path);
    return made;
}

cache_box *cache_box_new(void) {
    cache_box *made = cache_box_make();
    made->cache = cache_box_open(made, CACHE_BOX_MEMORY);
    /* Its scan would keep the journal locked for others, at any time on a busy machine. */
    afc_http_cache_flush(made->cache);
    return made;
}

void cache_box_free(cache_box *box) {
    char command[160];
    if (box->cache != NULL) cache_box_close(box->cache);
    snprintf(command, sizeof command, "rm -rf %s", box->path);
    assert_int_equal(system(command), 0);
    folder_remove(&box->folder);
    free(box);
}

size_t cache_box_count_files(const cache_box *box) {
    size_t count = 0;
    DIR *names = opendir(box->entries);
    assert_non_null(names);
    for (const struct dirent *entry; (entry = readdir(names)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    closedir(names);
    return count;
}

response small_response(unsigned url, unsigned version) {
    return (response){.url = url, .version = version, .size = CACHE_BOX_RESPONSE, .time = 1000};
}

void store_small(afc_http_cache *cache, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        response response = small_response(i, 1);
        assert_true(response_store(cache, &response, CACHE_BOX_RESPONSE));
    }
    afc_http_cache_flush(cache);
}

size_t count_responses(afc_http_cache *cache, unsigned url) {
    afc__http_cache_found found;
    response_find(cache, url, &found);
    size_t count = found.count;
    found_clear(&found);
    return count;
}
