#include "base/text_table.h"

#include <string.h>

bool afc__text_table_init(afc__text_table *table, afc__text_entry **buckets, size_t count) {
    table->buckets = buckets;
    table->mask = count - 1;
    return afc__hash_seed_make(&table->seed);
}

afc__text_entry *afc__text_table_find(const afc__text_table *table, afc_slice key) {
    uint64_t hash = afc__keyed_hash(&table->seed, key);
    afc__text_entry *entry = table->buckets[hash & table->mask];
    for (; entry != NULL; entry = entry->next) {
        bool is_same = entry->hash == hash && entry->key.size == key.size &&
                       memcmp(entry->key.bytes, key.bytes, key.size) == 0;
        if (is_same) return entry;
    }
    return NULL;
}

void afc__text_table_add(afc__text_table *table, afc__text_entry *entry) {
    entry->hash = afc__keyed_hash(&table->seed, entry->key);
    afc__text_entry **bucket = &table->buckets[entry->hash & table->mask];
    entry->next = *bucket;
    *bucket = entry;
}

void afc__text_table_remove(afc__text_table *table, afc__text_entry *entry) {
    afc__text_entry **link = &table->buckets[entry->hash & table->mask];
    while (*link != entry) link = &(*link)->next;
    *link = entry->next;
}

afc__text_entry *afc__text_table_drain(const afc__text_table *table, size_t *place) {
    for (; *place <= table->mask; ++*place) {
        if (table->buckets[*place] != NULL) return table->buckets[*place];
    }
    return NULL;
}
