#include "base/freelist.h"

#include "base/alloc.h"

#include <stdbool.h>

typedef struct afc__free_block {
    struct afc__free_block *next;
} afc__free_block;

/** Begins to use the list, if no other thread does. One exchange for each block is all that the list costs. */
static bool enter(afc__freelist *freelist) {
    return !atomic_exchange_explicit(&freelist->is_in_use, true, memory_order_acquire);
}

static void leave(afc__freelist *freelist) {
    atomic_store_explicit(&freelist->is_in_use, false, memory_order_release);
}

void *afc__freelist_take(afc__freelist *freelist) {
    if (!AFC__KEEPS_FREELISTS || !enter(freelist)) return afc__alloc(freelist->size);
    afc__free_block *spare = freelist->newest;
    bool is_taken = spare != NULL && afc__alloc_succeeds();
    if (is_taken) {
        freelist->newest = spare->next;
        freelist->count--;
    }
    leave(freelist);
    if (spare == NULL) return afc__alloc(freelist->size);
    return is_taken ? spare : NULL;
}

void afc__freelist_give(afc__freelist *freelist, void *block) {
    afc__free_block *spare = block;
    if (AFC__KEEPS_FREELISTS && spare != NULL && enter(freelist)) {
        bool is_welcome = freelist->count < freelist->limit;
        if (is_welcome) {
            spare->next = freelist->newest;
            freelist->newest = spare;
            freelist->count++;
        }
        leave(freelist);
        if (is_welcome) return;
    }
    afc_free(block);
}

void afc__freelist_empty(afc__freelist *freelist) {
    if (!enter(freelist)) return;
    afc__free_block *chain = freelist->newest;
    freelist->newest = NULL;
    freelist->count = 0;
    leave(freelist);
    while (chain != NULL) {
        afc__free_block *next = chain->next;
        afc_free(chain);
        chain = next;
    }
}
