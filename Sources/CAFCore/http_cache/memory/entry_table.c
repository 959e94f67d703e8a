#include "http_cache/memory/entry_table.h"

#include "base/alloc.h"

enum { FIRST_CAPACITY = 64 };

/* More entries than any disk holds; keeps the sizes below in range. */
static const size_t MAX_RECORDS = (size_t)1 << 26;

void afc__entry_table_clear(afc__entry_table *table) {
    afc_free(table->slots);
    *table = (afc__entry_table){0};
}

/** Returns the slot where a search for the key begins. The hashes are keyed, so their low bits are as good as any. */
static size_t home(const afc__entry_table *table, uint64_t primary) {
    return (size_t)primary & (table->capacity - 1);
}

static size_t after(const afc__entry_table *table, size_t index) {
    return (index + 1) & (table->capacity - 1);
}

static void insert(afc__entry_table *table, const afc__entry_record *record) {
    size_t at = home(table, record->primary);
    while (table->slots[at].places != 0) at = after(table, at);
    table->slots[at] = *record;
}

/** Makes room for `count` records at a load of at most three quarters. Returns false if out of memory. */
static bool reserve(afc__entry_table *table, size_t count) {
    if (count > MAX_RECORDS) return false;
    size_t capacity = table->capacity != 0 ? table->capacity : FIRST_CAPACITY;
    while (capacity / 4 * 3 < count) capacity *= 2;
    if (capacity == table->capacity) return true;
    afc__entry_record *slots = afc__zalloc(capacity * sizeof *slots);
    if (slots == NULL) return false;
    afc__entry_table old = *table;
    table->slots = slots;
    table->capacity = capacity;
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.slots[i].places != 0) insert(table, &old.slots[i]);
    }
    afc_free(old.slots);
    return true;
}

afc__entry_record *afc__entry_table_find(const afc__entry_table *table, uint64_t primary,
                                         uint64_t variant) {
    if (table->capacity == 0) return NULL;
    for (size_t at = home(table, primary); table->slots[at].places != 0; at = after(table, at)) {
        afc__entry_record *record = &table->slots[at];
        if (record->primary == primary && record->variant == variant) return record;
    }
    return NULL;
}

size_t afc__entry_table_variants(const afc__entry_table *table, uint64_t primary,
                                 afc__entry_record *out, size_t most) {
    size_t count = 0;
    if (table->capacity == 0) return 0;
    for (size_t at = home(table, primary); table->slots[at].places != 0; at = after(table, at)) {
        if (table->slots[at].primary != primary) continue;
        if (count == most) break;
        out[count++] = table->slots[at];
    }
    return count;
}

void afc__entry_table_set_units(afc__entry_table *table, afc__entry_record *record,
                                uint32_t units) {
    table->units += (uint64_t)units - record->units;
    record->units = units;
}

bool afc__entry_table_put(afc__entry_table *table, const afc__entry_record *record) {
    afc__entry_record *old = afc__entry_table_find(table, record->primary, record->variant);
    if (old != NULL) {
        table->units += (uint64_t)record->units - old->units;
        *old = *record;
        return true;
    }
    if (!reserve(table, table->count + 1)) return false;
    insert(table, record);
    table->count++;
    table->units += record->units;
    return true;
}

void afc__entry_table_remove(afc__entry_table *table, afc__entry_record *record) {
    size_t hole = (size_t)(record - table->slots);
    table->count--;
    table->units -= record->units;
    /* Moves records back into the hole if a search from their home slot would stop at it. */
    for (size_t at = after(table, hole); table->slots[at].places != 0; at = after(table, at)) {
        size_t from_home = (at - home(table, table->slots[at].primary)) & (table->capacity - 1);
        size_t from_hole = (at - hole) & (table->capacity - 1);
        if (from_home < from_hole) continue;
        table->slots[hole] = table->slots[at];
        hole = at;
    }
    table->slots[hole] = (afc__entry_record){0};
}
