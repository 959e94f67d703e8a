#include "support/torture.h"

#include "base/alloc.h"
#include "support/check.h"

enum { MOST_ROUNDS = 100000 };

size_t torture_begin(void) {
    afc__alloc_fail_at(1);
    return 1;
}

size_t torture_next(size_t round) {
    size_t made = afc__alloc_fail_at(0);
    if (made < round) return 0;
    assert_true(round < MOST_ROUNDS);
    afc__alloc_fail_at(round + 1);
    return round + 1;
}
