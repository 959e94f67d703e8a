#include "support/torture.h"

#include "base/alloc.h"
#include "support/check.h"

enum { MOST_ROUNDS = 100000 };

static size_t (*refuse)(size_t n);

static size_t begin(size_t (*how)(size_t n)) {
    refuse = how;
    refuse(1);
    return 1;
}

size_t torture_begin(void) {
    return begin(afc__alloc_fail_at);
}

size_t torture_begin_from(void) {
    return begin(afc__alloc_fail_from);
}

size_t torture_next(size_t round) {
    size_t made = afc__alloc_fail_at(0);
    if (made < round) return 0;
    assert_true(round < MOST_ROUNDS);
    refuse(round + 1);
    return round + 1;
}
