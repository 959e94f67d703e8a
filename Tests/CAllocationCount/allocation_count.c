#include "allocation_count.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifdef SANITIZED

uint64_t allocation_count(void) {
    return 0;
}

uint64_t allocation_count_of_client(void) {
    return 0;
}

uint64_t allocation_count_of_one(void) {
    return 0;
}

bool allocation_count_works(void) {
    return false;
}

#else

/* In an executable, so the variable needs no allocation of its own when a thread first touches it. */
static _Thread_local uint64_t count;
static _Thread_local enum { UNKNOWN, CLIENT, SERVER } side;
static _Atomic uint64_t client_count;

/* glibc's own names for its allocator. Free stays glibc's: it is one heap. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t number, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

/* The test server names each of its threads before anything else, so the first block is soon enough to ask. */
static void count_one(void) {
    count++;
    if (side == UNKNOWN) {
        char name[16] = {0};
        prctl(PR_GET_NAME, name);
        side = strncmp(name, "aft-", 4) == 0 ? SERVER : CLIENT;
    }
    if (side == CLIENT) atomic_fetch_add_explicit(&client_count, 1, memory_order_relaxed);
}

/* Symbols of the executable come before those of libraries, so these are what everybody calls. */
void *malloc(size_t size) {
    count_one();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count_one();
    return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size) {
    count_one();
    return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count_one();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    count_one();
    void *block = __libc_memalign(alignment, size);
    if (!block) return ENOMEM;
    *memory = block;
    return 0;
}

uint64_t allocation_count(void) {
    return count;
}

uint64_t allocation_count_of_client(void) {
    return atomic_load_explicit(&client_count, memory_order_relaxed);
}

uint64_t allocation_count_of_one(void) {
    /* Called by its address, which the linker chooses. */
    void *(*volatile allocate)(size_t) = malloc;
    uint64_t before = count;
    free(allocate(16));
    return count - before;
}

bool allocation_count_works(void) {
    return true;
}

#endif
