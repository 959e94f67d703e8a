/* The table of texts by itself. */
#include "base/text_table.h"
#include "support/check.h"

#include <stdio.h>

enum { BUCKETS = 8, COUNT = 100 };

typedef struct word {
    afc__text_entry entry;
    char text[16];
} word;

static void finds_entries_until_they_are_removed(void **state) {
    (void)state;
    static word words[COUNT];
    afc__text_entry *buckets[BUCKETS] = {NULL};
    afc__text_table table;
    assert_true(afc__text_table_init(&table, buckets, BUCKETS));
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(words[i].text, sizeof words[i].text, "word%zu", i);
        words[i].entry.key = afc_slice_of(words[i].text);
        assert_null(afc__text_table_find(&table, words[i].entry.key));
        afc__text_table_add(&table, &words[i].entry);
    }
    for (size_t i = 0; i < COUNT; i += 2) afc__text_table_remove(&table, &words[i].entry);
    for (size_t i = 0; i < COUNT; i++) {
        char copy[16];
        snprintf(copy, sizeof copy, "word%zu", i);
        afc__text_entry *found = afc__text_table_find(&table, afc_slice_of(copy));
        assert_ptr_equal(found, i % 2 == 0 ? NULL : &words[i].entry);
    }
    assert_null(afc__text_table_find(&table, S("word")));
    assert_null(afc__text_table_find(&table, S("")));
}

static void draining_returns_each_entry_once(void **state) {
    (void)state;
    static word words[COUNT];
    afc__text_entry *buckets[BUCKETS] = {NULL};
    afc__text_table table;
    assert_true(afc__text_table_init(&table, buckets, BUCKETS));
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(words[i].text, sizeof words[i].text, "%zu", i);
        words[i].entry.key = afc_slice_of(words[i].text);
        afc__text_table_add(&table, &words[i].entry);
    }
    size_t place = 0, count = 0;
    afc__text_entry *entry;
    while ((entry = afc__text_table_drain(&table, &place)) != NULL) {
        afc__text_table_remove(&table, entry);
        count++;
    }
    assert_int_equal(count, COUNT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_entries_until_they_are_removed),
        cmocka_unit_test(draining_returns_each_entry_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
