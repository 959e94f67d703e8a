#include "bench_cache.h"

#include <glib.h>

/** What one writes with GLib: a table of links, a queue in the order of use, a mutex around both. */
typedef struct glib_cache {
    GMutex lock;
    GHashTable *table;
    GQueue order;
    uint64_t cost, capacity, purge_to;
} glib_cache;

typedef struct entry {
    GList link;
    char *key;
    bench_value *value;
    uint64_t cost;
} entry;

static void *make(const bench_load *load) {
    glib_cache *made = g_new0(glib_cache, 1);
    g_mutex_init(&made->lock);
    made->table = g_hash_table_new(g_str_hash, g_str_equal);
    g_queue_init(&made->order);
    made->capacity = load->capacity;
    made->purge_to = load->purge_to;
    return made;
}

static void purge(glib_cache *cache, uint64_t down_to) {
    while (cache->cost > down_to) {
        entry *oldest = g_queue_pop_tail_link(&cache->order)->data;
        g_hash_table_remove(cache->table, oldest->key);
        cache->cost -= oldest->cost;
        bench_value_release(oldest->value);
        g_free(oldest->key);
        g_free(oldest);
    }
}

static void free_cache(void *context) {
    glib_cache *cache = context;
    purge(cache, 0);
    g_hash_table_unref(cache->table);
    g_mutex_clear(&cache->lock);
    g_free(cache);
}

static bench_value *copy(glib_cache *cache, const char *key) {
    g_mutex_lock(&cache->lock);
    entry *found = g_hash_table_lookup(cache->table, key);
    bench_value *value = NULL;
    if (found != NULL) {
        g_queue_unlink(&cache->order, &found->link);
        g_queue_push_head_link(&cache->order, &found->link);
        value = found->value;
        bench_value_retain(value);
    }
    g_mutex_unlock(&cache->lock);
    return value;
}

static void put(glib_cache *cache, const char *key, bench_value *value, uint64_t cost) {
    entry *made = g_new0(entry, 1);
    made->link.data = made;
    made->key = g_strdup(key);
    made->value = value;
    made->cost = cost;
    g_mutex_lock(&cache->lock);
    entry *old = g_hash_table_lookup(cache->table, key);
    if (old != NULL) {
        g_queue_unlink(&cache->order, &old->link);
        g_hash_table_remove(cache->table, old->key);
        cache->cost -= old->cost;
        bench_value_release(old->value);
        g_free(old->key);
        g_free(old);
    }
    g_hash_table_insert(cache->table, made->key, made);
    g_queue_push_head_link(&cache->order, &made->link);
    cache->cost += cost;
    if (cache->cost > cache->capacity) purge(cache, cache->purge_to);
    g_mutex_unlock(&cache->lock);
}

static uint32_t run(void *context, const bench_load *load, const uint32_t *lookups) {
    glib_cache *cache = context;
    uint32_t hits = 0;
    for (uint32_t i = 0; i < load->lookup_count; i++) {
        const char *key = bench_load_key(load, lookups, i);
        bench_value *value = copy(cache, key);
        if (value != NULL) {
            hits++;
            bench_value_release(value);
        } else {
            put(cache, key, bench_value_new(), load->cost);
        }
    }
    return hits;
}

const bench_cache bench_glib_cache = {"GLib: GHashTable, GQueue, GMutex", make, free_cache, run};
