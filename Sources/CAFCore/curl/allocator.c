/*
 * The allocator that libcurl uses on loop threads.
 *
 * libcurl allocates some forty blocks for every request and frees them soon after, a receive buffer of 16 KiB among
 * them. That is more than malloc()'s per-thread cache holds, and threads other than the main one take malloc()'s slower
 * paths. So blocks freed on a loop thread are kept here for the next request, up to a limit, and stay in the CPU's
 * caches. Blocks are allocated with malloc() and may be passed to any free(), so other uses of libcurl in the process
 * aren't affected. If libcurl was initialised before this library, none of this applies.
 *
 * In row small_64 of Benchmarks/run the blocks of a request cost some 3,500 instructions this way; raw libcurl spends
 * some 10,000 in glibc's malloc() and free() (callgrind, libcurl 7.88.1).
 */
#include "curl/allocator.h"

#include "base/alloc.h"
#include "base/freelist.h"

#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Size classes are multiples of this. */
    STEP = 16,
    MAX_BLOCK = 17 * 1024,
    SIZES = MAX_BLOCK / STEP + 1,
    /* The limit of kept bytes: what about sixty simultaneous requests use. Beyond that, other costs dominate. */
    MAX_BYTES = 1024 * 1024
};

typedef struct block {
    struct block *next;
} block;

struct afc__memory {
    block *newest[SIZES]; /**< Freelists by size class: each block has at least that many bytes. */
    size_t bytes;
};

/** The store of the session whose loop runs on this thread; NULL on any other thread. */
static _Thread_local afc__memory *own;

/** libcurl's malloc(). */
static void *take(size_t size) {
    size_t steps = size / STEP + (size % STEP != 0);
    afc__memory *memory = own;
    if (memory == NULL || steps >= SIZES || steps == 0) return malloc(size);
    block *kept = memory->newest[steps];
    if (kept == NULL) return malloc(steps * STEP);
    memory->newest[steps] = kept->next;
    memory->bytes -= steps * STEP;
    return kept;
}

static void *take_zeroed(size_t count, size_t size) {
    if (own == NULL || (size != 0 && count > MAX_BLOCK / size)) return calloc(count, size);
    void *taken = take(count * size);
    return taken != NULL ? memset(taken, 0, count * size) : NULL;
}

static char *take_copy(const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = take(size);
    return copy != NULL ? memcpy(copy, text, size) : NULL;
}

static void keep_or_free(void *freed) {
    afc__memory *memory = own;
    if (memory == NULL) {
        free(freed);
        return;
    }
    size_t steps = malloc_usable_size(freed) / STEP;
    if (steps >= SIZES || steps == 0 || memory->bytes > MAX_BYTES - MAX_BLOCK) {
        free(freed);
        return;
    }
    block *kept = freed;
    kept->next = memory->newest[steps];
    memory->newest[steps] = kept;
    memory->bytes += steps * STEP;
}

/** libcurl's free(). NULL is common: freeing an easy handle frees some 300 members that are NULL. */
static void give(void *freed) {
    if (freed != NULL) keep_or_free(freed);
}

/**
 * Keeps the shared object that contains this code loaded (RTLD_NODELETE): libcurl may stay loaded longer and keeps
 * calling its allocator callbacks. Returns false on failure.
 */
static bool stay_loaded(void) {
    Dl_info info;
    struct link_map *part = NULL;
    void *address = (void *)(uintptr_t)take;
    if (dladdr1(address, &info, (void **)&part, RTLD_DL_LINKMAP) == 0 || part == NULL) return false;
    bool is_program = part->l_name[0] == '\0';
    return is_program || dlopen(part->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) != NULL;
}

/** libcurl's realloc(). Uses the freelists, too: otherwise blocks would move from size classes in demand to others. */
static void *take_again(void *taken, size_t size) {
    if (own == NULL || size == 0 || size > MAX_BLOCK) return realloc(taken, size);
    if (taken == NULL) return take(size);
    size_t capacity = malloc_usable_size(taken);
    if (capacity >= size && capacity / 2 <= size) return taken;
    void *other = take(size);
    if (other == NULL) return NULL;
    memcpy(other, taken, capacity < size ? capacity : size);
    give(taken);
    return other;
}

CURLcode afc__memory_init_libcurl(void) {
    if (!AFC__KEEPS_FREELISTS || !stay_loaded()) return curl_global_init(CURL_GLOBAL_DEFAULT);
    return curl_global_init_mem(CURL_GLOBAL_DEFAULT, take, give, take_again, take_copy,
                                take_zeroed);
}

afc__memory *afc__memory_new(void) {
    return afc__zalloc(sizeof(afc__memory));
}

afc__memory *afc__memory_use(afc__memory *memory) {
    afc__memory *before = own;
    own = memory;
    return before;
}

size_t afc__memory_kept(const afc__memory *memory) {
    return memory->bytes;
}

void afc__memory_free(afc__memory *memory) {
    if (memory == NULL) return;
    if (own == memory) own = NULL;
    for (size_t steps = 0; steps < SIZES; steps++) {
        for (block *kept = memory->newest[steps]; kept != NULL;) {
            block *next = kept->next;
            free(kept);
            kept = next;
        }
    }
    afc_free(memory);
}
