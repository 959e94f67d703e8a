#include "base/timers.h"

#include "base/alloc.h"

#include <assert.h>

enum { SMALLEST_CAPACITY = 16 };

void afc__timers_init(afc__timers *timers) {
    *timers = (afc__timers){0};
}

void afc__timers_clear(afc__timers *timers) {
    for (size_t i = 0; i < timers->count; i++) timers->heap[i]->heap_slot = 0;
    afc_free(timers->heap);
    afc__timers_init(timers);
}

afc_status afc__timers_reserve(afc__timers *timers, size_t count) {
    if (count <= timers->capacity) return AFC_OK;
    size_t capacity = timers->capacity + timers->capacity / 2;
    if (capacity < SMALLEST_CAPACITY) capacity = SMALLEST_CAPACITY;
    if (capacity < count) capacity = count;
    if (capacity > SIZE_MAX / sizeof *timers->heap) return AFC_ENOMEM;
    afc__timer **heap = afc__realloc(timers->heap, capacity * sizeof *heap);
    if (heap == NULL) return AFC_ENOMEM;
    timers->heap = heap;
    timers->capacity = capacity;
    return AFC_OK;
}

void afc__timers_shrink(afc__timers *timers, size_t count) {
    if (count < timers->count) count = timers->count;
    if (count < SMALLEST_CAPACITY) count = SMALLEST_CAPACITY;
    if (count >= timers->capacity) return;
    afc__timer **heap = afc__realloc(timers->heap, count * sizeof *heap);
    if (heap == NULL) return;
    timers->heap = heap;
    timers->capacity = count;
}

static void put(afc__timers *timers, size_t index, afc__timer *timer) {
    timers->heap[index] = timer;
    timer->heap_slot = index + 1;
}

/** Moves `timer` up from the free slot `index` until its parent is not later. */
static void sift_up(afc__timers *timers, size_t index, afc__timer *timer) {
    while (index > 0) {
        size_t parent = (index - 1) / 2;
        if (timers->heap[parent]->deadline <= timer->deadline) break;
        put(timers, index, timers->heap[parent]);
        index = parent;
    }
    put(timers, index, timer);
}

/** Moves `timer` down from the free slot `index` until no child is earlier. */
static void sift_down(afc__timers *timers, size_t index, afc__timer *timer) {
    for (;;) {
        size_t child = 2 * index + 1;
        if (child >= timers->count) break;
        if (child + 1 < timers->count &&
            timers->heap[child + 1]->deadline < timers->heap[child]->deadline) {
            child++;
        }
        if (timer->deadline <= timers->heap[child]->deadline) break;
        put(timers, index, timers->heap[child]);
        index = child;
    }
    put(timers, index, timer);
}

/** Puts `timer` where it belongs, starting from the free slot `index`. */
static void place_timer(afc__timers *timers, size_t index, afc__timer *timer) {
    bool is_early = index > 0 && timer->deadline < timers->heap[(index - 1) / 2]->deadline;
    if (is_early) {
        sift_up(timers, index, timer);
    } else {
        sift_down(timers, index, timer);
    }
}

void afc__timers_arm(afc__timers *timers, afc__timer *timer, int64_t deadline) {
    timer->deadline = deadline;
    if (timer->heap_slot != 0) {
        place_timer(timers, timer->heap_slot - 1, timer);
        return;
    }
    assert(timers->count < timers->capacity);
    timers->count++;
    sift_up(timers, timers->count - 1, timer);
}

void afc__timers_disarm(afc__timers *timers, afc__timer *timer) {
    if (timer->heap_slot == 0) return;
    size_t index = timer->heap_slot - 1;
    timer->heap_slot = 0;
    timers->count--;
    if (index < timers->count) place_timer(timers, index, timers->heap[timers->count]);
}

afc__timer *afc__timers_first(const afc__timers *timers) {
    return timers->count != 0 ? timers->heap[0] : NULL;
}
