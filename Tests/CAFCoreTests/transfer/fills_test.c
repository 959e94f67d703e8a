/* How a session finds the transfer that already asks for a response: among a few, however many there are. */
#include "http_cache/store.h"
#include "support/check.h"
#include "transfer/caching/fills.h"

#include <stdio.h>

enum { COUNT = 1000, FEW = 30 };

static size_t size_of(const afc__list *list) {
    size_t size = 0;
    for (const afc__node *node = list->head.next; node != &list->head; node = node->next) size++;
    return size;
}

static void thousand_keys_are_not_in_one_list(void **state) {
    (void)state;
    static afc__fills fills;
    static afc__node nodes[COUNT];
    afc_http_cache *cache;
    check_status(afc_http_cache_open(&cache, NULL, NULL), AFC_OK);
    afc__fills_init(&fills);
    for (unsigned i = 0; i < COUNT; i++) {
        char key[64];
        snprintf(key, sizeof key, "\nhttp://a.test/%u", i);
        uint64_t hash = afc__http_cache_hash_key(cache, afc_slice_of(key));
        assert_int_equal(hash, afc__http_cache_hash_key(cache, afc_slice_of(key)));
        afc__list_append(afc__fills_with(&fills, hash), &nodes[i]);
    }
    /* Four on average. */
    size_t sum = 0;
    for (unsigned i = 0; i < AFC__FILL_BUCKETS; i++) {
        size_t size = size_of(&fills.buckets[i]);
        assert_in_range(size, 0, FEW);
        sum += size;
    }
    assert_int_equal(sum, COUNT);
    afc_http_cache_release(cache);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thousand_keys_are_not_in_one_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
