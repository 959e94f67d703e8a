/*
 * The store against a model, by random operations. A response that is found is one that was stored under this key and
 * neither replaced nor removed since; the body is the one that belongs to its head. What the store may forget, it may
 * forget at any time.
 */
#include "support/files.h"
#include "support/responses.h"

#include <afcore/session.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { URLS = 24, VARIANTS = 4, HELD = 6, STEPS = 4000, FEW_STEPS = 1000 };

typedef struct model {
    afc_http_cache *cache;
    afc_http_cache_options options;
    uint64_t random;
    response now[URLS][VARIANTS]; /* Version 0: none. */
    /** Some responses are held for a while, whatever happens to them. */
    afc__http_cache_stored *held[HELD];
    response held_as[HELD];
    unsigned version;
    unsigned found, missed;
} model;

static unsigned pick(model *model, unsigned count) {
    return (unsigned)(next_random(&model->random) % count);
}

static void open_model(model *model) {
    check_status(afc_http_cache_open(&model->cache, &model->options, NULL), AFC_OK);
}

static void store_one(model *model) {
    static const size_t sizes[] = {0, 10, 3000, 60000, 65536, 200000, 262144, 262145, 700000};
    static const size_t pieces[] = {1000, 65536, 100000, 1000000};
    response response = {.url = pick(model, URLS),
                         .variant = pick(model, VARIANTS),
                         .version = ++model->version,
                         .size = sizes[pick(model, COUNT_OF(sizes))],
                         .time = 1000 + model->version};
    bool is_stored = response_store(model->cache, &response, pieces[pick(model, 4)]);
    /* Given up on the way: the old one may stay. */
    if (is_stored) model->now[response.url][response.variant] = response;
}

static void look_up(model *model, unsigned url) {
    afc__http_cache_found found;
    response_find(model->cache, url, &found);
    assert_true(found.count <= VARIANTS);
    for (unsigned v = 0; v < VARIANTS; v++) {
        afc__http_cache_stored *stored = found_variant(&found, v);
        response *now = &model->now[url][v];
        if (stored == NULL) {
            model->missed += now->version != 0;
            continue;
        }
        assert_true(now->version != 0);
        check_response(model->cache, stored, now, pick(model, 2) * pick(model, 300000));
        model->found++;
        unsigned action = pick(model, 8), slot = pick(model, HELD);
        if (action == 0) {
            afc__http_cache_touch(model->cache, stored);
        } else if (action == 1) {
            afc__http_cache_stored_release(model->held[slot]);
            model->held[slot] = afc__http_cache_stored_retain(stored);
            model->held_as[slot] = *now;
        } else if (action == 2) {
            now->time = 1000 + ++model->version;
            afc__http_cache_update(model->cache, stored, response_meta(now));
        } else if (action == 3) {
            afc__http_cache_drop(model->cache, stored);
            now->version = 0;
        }
    }
    found_clear(&found);
}

static void use_held(model *model) {
    unsigned slot = pick(model, HELD);
    if (model->held[slot] == NULL) return;
    response *was = &model->held_as[slot], *now = &model->now[was->url][was->variant];
    check_response(model->cache, model->held[slot], was, 0);
    bool is_current = now->version == was->version;
    if (pick(model, 4) == 0) {
        afc__http_cache_drop(model->cache, model->held[slot]);
        if (is_current) now->version = 0;
    }
}

static void remove_some(model *model) {
    char key[64];
    unsigned url = pick(model, URLS);
    switch (pick(model, 8)) {
    case 0:
        afc_http_cache_remove_all(model->cache);
        memset(model->now, 0, sizeof model->now);
        break;
    case 1:
        snprintf(key, sizeof key, "h%u.test", url % 4);
        afc_http_cache_remove_host(model->cache, key);
        for (unsigned u = url % 4; u < URLS; u += 4) memset(model->now[u], 0, sizeof model->now[u]);
        break;
    default:
        afc__http_cache_remove_key(model->cache, response_key(key, url));
        memset(model->now[url], 0, sizeof model->now[url]);
    }
}

static void release_held(model *model) {
    for (unsigned i = 0; i < HELD; i++) {
        afc__http_cache_stored_release(model->held[i]);
        model->held[i] = NULL;
    }
}

static void reopen_model(model *model) {
    /* Else the new one might read before the old one has written. */
    afc_http_cache_flush(model->cache);
    release_held(model);
    afc_http_cache_release(model->cache);
    open_model(model);
}

static void run_model(model *model) {
    size_t steps = test_amount(STEPS, FEW_STEPS);
    open_model(model);
    for (size_t step = 0; step < steps; step++) {
        unsigned action = pick(model, 100);
        if (action < 35) {
            store_one(model);
        } else if (action < 90) {
            look_up(model, pick(model, URLS));
        } else if (action < 96) {
            use_held(model);
        } else if (action < 98) {
            remove_some(model);
        } else if (model->options.directory != NULL) {
            reopen_model(model);
        }
        afc_http_cache_statistics statistics;
        afc_http_cache_get_statistics(model->cache, &statistics);
        assert_true(statistics.memory_used <= model->options.memory_bytes);
        assert_true(statistics.disk_used <= model->options.disk_bytes);
    }
    release_held(model);
    afc_http_cache_release(model->cache);
    afc_join_closed_sessions();
    /* It is a cache, after all. */
    assert_true(model->found > steps / 10);
}

static void run_with(uint64_t memory, uint64_t disk, uint64_t random) {
    folder folder;
    char path[96], command[128];
    folder_make(&folder);
    snprintf(path, sizeof path, "%s", path_in(&folder, "cache"));
    model *model = calloc(1, sizeof *model);
    assert_non_null(model);
    model->options = (afc_http_cache_options)AFC_HTTP_CACHE_OPTIONS_INIT;
    model->options.memory_bytes = memory;
    model->options.max_entry_bytes = 1 << 20;
    model->options.disk_bytes = disk;
    if (disk != 0) model->options.directory = path;
    model->random = random;
    run_model(model);
    free(model);
    snprintf(command, sizeof command, "rm -rf %s", path);
    assert_int_equal(system(command), 0);
    folder_remove(&folder);
}

static void memory_matches_the_model(void **state) {
    (void)state;
    run_with(8 << 20, 0, 1);
    run_with(1 << 20, 0, 2);
}

static void disk_matches_the_model(void **state) {
    (void)state;
    run_with(0, 64 << 20, 3);
    run_with(0, 4 << 20, 4);
}

static void memory_over_disk_matches_the_model(void **state) {
    (void)state;
    run_with(1 << 20, 64 << 20, 5);
    run_with(8 << 20, 4 << 20, 6);
}

/** The heads of a full disk grow, as those of validated responses may. */
static void updates_with_larger_heads_stay_within_the_disk(void **state) {
    (void)state;
    enum { CAPACITY = 1 << 20, COUNT = 60, MORE = 12000 };
    static char value[MORE];
    folder folder;
    char command[128];
    folder_make(&folder);
    afc_http_cache_options options = AFC_HTTP_CACHE_OPTIONS_INIT;
    options.directory = path_in(&folder, "cache");
    options.memory_bytes = 0;
    options.disk_bytes = CAPACITY;
    snprintf(command, sizeof command, "rm -rf %s", options.directory);
    afc_http_cache *cache;
    check_status(afc_http_cache_open(&cache, &options, NULL), AFC_OK);
    for (unsigned url = 0; url < COUNT; url++) {
        response response = {.url = url, .version = 1, .size = 15000, .time = 1000};
        assert_true(response_store(cache, &response, 15000));
    }
    afc_http_cache_flush(cache);
    memset(value, 'v', sizeof value);
    for (unsigned url = 0; url < COUNT; url++) {
        afc__http_cache_found found;
        response_find(cache, url, &found);
        if (found.count == 1) {
            afc_header field = {.name = S("X-More"), .value = {value, sizeof value}};
            afc__http_cache_meta meta = *afc__http_cache_stored_meta(found.stored[0]);
            meta.head.headers = &field;
            meta.head.header_count = 1;
            afc__http_cache_update(cache, found.stored[0], &meta);
        }
        found_clear(&found);
        afc_http_cache_flush(cache);
        afc_http_cache_statistics statistics;
        afc_http_cache_get_statistics(cache, &statistics);
        assert_true(statistics.disk_used <= CAPACITY);
        assert_true(statistics.disk_used > CAPACITY / 2);
    }
    /* The last one was updated, and is whole. */
    afc__http_cache_found found;
    response_find(cache, COUNT - 1, &found);
    assert_int_equal(found.count, 1);
    assert_int_equal(afc__http_cache_stored_meta(found.stored[0])->head.headers[0].value.size,
                     MORE);
    response last = {.url = COUNT - 1, .version = 1, .size = 15000, .time = 1000};
    assert_true(response_read(cache, found.stored[0], &last, 0));
    found_clear(&found);
    afc_http_cache_release(cache);
    afc_join_closed_sessions();
    assert_int_equal(system(command), 0);
    folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_matches_the_model),
        cmocka_unit_test(disk_matches_the_model),
        cmocka_unit_test(memory_over_disk_matches_the_model),
        cmocka_unit_test(updates_with_larger_heads_stay_within_the_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
