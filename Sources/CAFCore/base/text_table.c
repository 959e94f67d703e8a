#include "base/text_table.h"

#include <string.h>

bool af__text_table_init(af__text_table *table, af__text_entry **buckets, size_t count) {
    table->buckets = buckets;
    table->mask = count - 1;
    return af__hash_seed_make(&table->seed);
}

af__text_entry *af__text_table_find(const af__text_table *table, af_slice key) {
    uint64_t hash = af__keyed_hash(&table->seed, key);
    af__text_entry *entry = table->buckets[hash & table->mask];
    for (; entry != NULL; entry = entry->next) {
        bool is_same = entry->hash == hash && entry->key.size == key.size &&
                       memcmp(entry->key.bytes, key.bytes, key.size) == 0;
        if (is_same) return entry;
    }
    return NULL;
}

void af__text_table_add(af__text_table *table, af__text_entry *entry) {
    entry->hash = af__keyed_hash(&table->seed, entry->key);
    af__text_entry **bucket = &table->buckets[entry->hash & table->mask];
    entry->next = *bucket;
    *bucket = entry;
}

void af__text_table_remove(af__text_table *table, af__text_entry *entry) {
    af__text_entry **link = &table->buckets[entry->hash & table->mask];
    while (*link != entry) link = &(*link)->next;
    *link = entry->next;
}

af__text_entry *af__text_table_drain(const af__text_table *table, size_t *place) {
    for (; *place <= table->mask; ++*place) {
        if (table->buckets[*place] != NULL) return table->buckets[*place];
    }
    return NULL;
}
