#include "base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Relaxed order is enough: the counters order no other memory. */
static atomic_size_t fail_at;
static atomic_size_t made;
static atomic_bool fails_on; /* Allocations after that one fail, too. */

static bool must_fail(void) {
    size_t n = atomic_load_explicit(&fail_at, memory_order_relaxed);
    if (__builtin_expect(n == 0, 1)) return false;
    size_t number = atomic_fetch_add_explicit(&made, 1, memory_order_relaxed) + 1;
    return number == n || (number > n && atomic_load_explicit(&fails_on, memory_order_relaxed));
}

bool afc__alloc_succeeds(void) {
    return !must_fail();
}

static size_t at_least_one(size_t size) {
    return size != 0 ? size : 1;
}

void *afc__alloc(size_t size) {
    return must_fail() ? NULL : malloc(at_least_one(size));
}

void *afc__zalloc(size_t size) {
    return must_fail() ? NULL : calloc(1, at_least_one(size));
}

void *afc__realloc(void *memory, size_t size) {
    return must_fail() ? NULL : realloc(memory, at_least_one(size));
}

char *afc__copy_text(afc_slice text) {
    if (text.size == SIZE_MAX) return NULL;
    char *copy = afc__alloc(text.size + 1);
    if (copy == NULL) return NULL;
    if (text.size != 0) memcpy(copy, text.bytes, text.size);
    copy[text.size] = '\0';
    return copy;
}

void afc__free_secret(void *memory, size_t size) {
    if (memory == NULL) return;
    explicit_bzero(memory, size);
    free(memory);
}

static size_t fail(size_t n, bool continues) {
    atomic_store_explicit(&fails_on, continues, memory_order_relaxed);
    atomic_store_explicit(&fail_at, n, memory_order_relaxed);
    return atomic_exchange_explicit(&made, 0, memory_order_relaxed);
}

size_t afc__alloc_fail_at(size_t n) {
    return fail(n, false);
}

size_t afc__alloc_fail_from(size_t n) {
    return fail(n, true);
}

void afc_free(void *memory) {
    free(memory);
}
