#include "base/freelist.h"

#include "base/alloc.h"

#include <stdbool.h>

typedef struct afc__spare {
    struct afc__spare *next;
} afc__spare;

/** Pushes a block. The old head is only compared, never dereferenced. */
static void push(afc__freelist *freelist, afc__spare *spare) {
    spare->next = atomic_load_explicit(&freelist->newest, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&freelist->newest, &spare->next, spare,
                                                  memory_order_release, memory_order_relaxed)) {
        continue;
    }
}

/** Puts the rest of a chain back, behind blocks that were returned meanwhile. */
static void put_back(afc__freelist *freelist, afc__spare *chain) {
    afc__spare *expected = NULL;
    while (!atomic_compare_exchange_strong_explicit(&freelist->newest, &expected, chain,
                                                    memory_order_release, memory_order_relaxed)) {
        afc__spare *given = atomic_exchange_explicit(&freelist->newest, NULL, memory_order_acquire);
        if (given != NULL) {
            afc__spare *last = given;
            while (last->next != NULL) last = last->next;
            last->next = chain;
            chain = given;
        }
        expected = NULL;
    }
}

void *afc__freelist_take(afc__freelist *freelist) {
    if (atomic_load_explicit(&freelist->newest, memory_order_relaxed) == NULL) {
        return afc__alloc(freelist->size);
    }
    if (!afc__alloc_succeeds()) return NULL;
    /*
     * Takes the whole chain at once. Popping a single block has the ABA problem: another thread could pop and
     * return the head between the load of its successor and the exchange.
     */
    afc__spare *chain = atomic_exchange_explicit(&freelist->newest, NULL, memory_order_acquire);
    if (chain == NULL) return afc__alloc(freelist->size);
    atomic_fetch_sub_explicit(&freelist->count, 1, memory_order_relaxed);
    if (chain->next != NULL) put_back(freelist, chain->next);
    return chain;
}

void afc__freelist_give(afc__freelist *freelist, void *block) {
    bool is_welcome = AFC__KEEPS_FREELISTS && block != NULL &&
                      atomic_load_explicit(&freelist->count, memory_order_relaxed) <
                          freelist->limit;
    if (!is_welcome) {
        afc_free(block);
        return;
    }
    afc__spare *spare = block;
    atomic_fetch_add_explicit(&freelist->count, 1, memory_order_relaxed);
    push(freelist, spare);
}

void afc__freelist_empty(afc__freelist *freelist) {
    afc__spare *chain = atomic_exchange_explicit(&freelist->newest, NULL, memory_order_acquire);
    while (chain != NULL) {
        afc__spare *next = chain->next;
        atomic_fetch_sub_explicit(&freelist->count, 1, memory_order_relaxed);
        afc_free(chain);
        chain = next;
    }
}
