#include "base/alloc.h"
#include "base/freelist.h"
#include "curl/allocator.h"
#include "support/check.h"
#include "support/torture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 4000, MOST = 8, THREADS = 4, TURNS = 20000, HELD = 6 };

static void returns_the_newest_block_first(void **state) {
    (void)state;
    if (!AFC__KEEPS_FREELISTS) skip();
    afc__freelist freelist = AFC__FREELIST_INIT(SIZE, MOST);
    void *a = afc__freelist_take(&freelist), *b = afc__freelist_take(&freelist);
    assert_true(a != NULL && b != NULL && a != b);
    afc__freelist_give(&freelist, a);
    afc__freelist_give(&freelist, b);
    afc__freelist_give(&freelist, NULL);
    assert_ptr_equal(afc__freelist_take(&freelist), b);
    assert_ptr_equal(afc__freelist_take(&freelist), a);
    assert_int_equal(freelist.count, 0);
    afc__freelist_give(&freelist, a);
    afc__freelist_give(&freelist, b);
    afc__freelist_empty(&freelist);
    assert_null(freelist.newest);
}

static void keeps_at_most_the_limit(void **state) {
    (void)state;
    afc__freelist freelist = AFC__FREELIST_INIT(SIZE, MOST);
    void *blocks[MOST * 2];
    for (size_t i = 0; i < MOST * 2; i++) {
        blocks[i] = afc__freelist_take(&freelist);
        assert_non_null(blocks[i]);
        memset(blocks[i], 0xAF, SIZE);
    }
    for (size_t i = 0; i < MOST * 2; i++) afc__freelist_give(&freelist, blocks[i]);
    assert_int_equal(freelist.count, AFC__KEEPS_FREELISTS ? MOST : 0);
    afc__freelist_empty(&freelist);
    assert_int_equal(freelist.count, 0);
}

static void a_list_that_another_thread_uses_is_left_alone(void **state) {
    (void)state;
    if (!AFC__KEEPS_FREELISTS) skip();
    afc__freelist freelist = AFC__FREELIST_INIT(SIZE, MOST);
    void *kept = afc__freelist_take(&freelist);
    afc__freelist_give(&freelist, kept);
    atomic_store(&freelist.is_in_use, true);
    void *other = afc__freelist_take(&freelist);
    assert_non_null(other);
    assert_ptr_not_equal(other, kept);
    memset(other, 0xAF, SIZE);
    afc__freelist_give(&freelist, other);
    afc__freelist_empty(&freelist);
    assert_int_equal(freelist.count, 1);
    assert_ptr_equal(freelist.newest, kept);
    atomic_store(&freelist.is_in_use, false);
    assert_ptr_equal(afc__freelist_take(&freelist), kept);
    afc__freelist_give(&freelist, kept);
    afc__freelist_empty(&freelist);
    assert_int_equal(freelist.count, 0);
}

static void reusing_a_block_counts_as_allocation(void **state) {
    (void)state;
    afc__freelist freelist = AFC__FREELIST_INIT(SIZE, MOST);
    afc__freelist_give(&freelist, afc__freelist_take(&freelist));
    afc__alloc_fail_at(1);
    void *refused = afc__freelist_take(&freelist);
    afc__alloc_fail_at(0);
    assert_null(refused);
    void *block = afc__freelist_take(&freelist);
    assert_non_null(block);
    afc__freelist_give(&freelist, block);
    afc__freelist_empty(&freelist);
}

typedef struct worker {
    pthread_t id;
    afc__freelist *freelist;
    uint64_t random;
    size_t strangers; /**< Blocks that somebody else wrote to while they were ours. */
} worker;

static void *take_and_give(void *context) {
    worker *worker = context;
    uint64_t *held[HELD] = {0};
    for (uint64_t turn = 1; turn <= TURNS; turn++) {
        size_t at = (size_t)(next_random(&worker->random) % HELD);
        uint64_t mark = (uint64_t)(uintptr_t)&held[at];
        if (held[at] != NULL) {
            if (held[at][1] != mark) worker->strangers++;
            afc__freelist_give(worker->freelist, held[at]);
            held[at] = NULL;
        } else if ((held[at] = afc__freelist_take(worker->freelist)) != NULL) {
            held[at][0] = turn;
            held[at][1] = mark;
        }
    }
    for (size_t i = 0; i < HELD; i++) afc__freelist_give(worker->freelist, held[i]);
    return NULL;
}

static void one_thread_at_a_time_owns_a_block(void **state) {
    (void)state;
    afc__freelist freelist = AFC__FREELIST_INIT(SIZE, MOST);
    worker workers[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        workers[i] = (worker){.freelist = &freelist, .random = i + 1};
        assert_int_equal(pthread_create(&workers[i].id, NULL, take_and_give, &workers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(workers[i].id, NULL);
        assert_int_equal(workers[i].strangers, 0);
    }
    assert_true(freelist.count <= MOST);
    afc__freelist_empty(&freelist);
    assert_int_equal(freelist.count, 0);
}

/* ---- libcurl's heap ------------------------------------------------------------------------ */

/** A copy of so many bytes in memory of libcurl's. */
static struct curl_slist *copied(size_t size) {
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, 'a', size - 1);
    text[size - 1] = '\0';
    struct curl_slist *copy = curl_slist_append(NULL, text);
    free(text);
    assert_non_null(copy);
    assert_int_equal(strlen(copy->data), size - 1);
    return copy;
}

static void reuses_blocks_that_libcurl_frees_on_a_loop_thread(void **state) {
    (void)state;
    if (!AFC__KEEPS_FREELISTS) skip();
    enum { MANY = 200, FEW = 32, EACH = 16 * 1024, MOST_BYTES = 1024 * 1024 };
    static struct curl_slist *many[MANY];
    struct curl_slist *elsewhere = copied(3000);
    afc__memory *memory = afc__memory_new();
    assert_non_null(memory);
    afc__memory_use(memory);
    for (size_t i = 0; i < MANY; i++) many[i] = copied(EACH);
    assert_int_equal(afc__memory_kept(memory), 0);
    for (size_t i = 0; i < MANY; i++) curl_slist_free_all(many[i]);
    size_t kept = afc__memory_kept(memory);
    assert_in_range(kept, MOST_BYTES - 2 * EACH, MOST_BYTES);
    for (size_t i = 0; i < FEW; i++) many[i] = copied(EACH);
    assert_true(afc__memory_kept(memory) <= kept - (size_t)FEW * EACH);
    for (size_t i = 0; i < FEW; i++) curl_slist_free_all(many[i]);
    assert_in_range(afc__memory_kept(memory), MOST_BYTES - 2 * EACH, MOST_BYTES);
    /* A block from elsewhere is as good, and so is any size. */
    curl_slist_free_all(elsewhere);
    curl_slist_free_all(copied(1));
    curl_slist_free_all(copied(100 * 1024));
    assert_in_range(afc__memory_kept(memory), MOST_BYTES - 2 * EACH, MOST_BYTES);
    afc__memory_free(memory);
    curl_slist_free_all(copied(EACH));
}

/** A text that libcurl makes longer bit by bit. */
static void escape(void) {
    enum { LENGTH = 900 };
    char text[LENGTH];
    memset(text, ' ', LENGTH);
    char *escaped = curl_easy_escape(NULL, text, LENGTH);
    assert_non_null(escaped);
    assert_int_equal(strlen(escaped), 3 * LENGTH);
    assert_int_equal(strspn(escaped, "%20"), 3 * LENGTH);
    curl_free(escaped);
}

static void growing_leaves_its_old_blocks_for_reuse(void **state) {
    (void)state;
    if (!AFC__KEEPS_FREELISTS) skip();
    enum { TIMES = 100 };
    escape();
    afc__memory *memory = afc__memory_new();
    assert_non_null(memory);
    afc__memory_use(memory);
    escape();
    size_t kept = afc__memory_kept(memory);
    assert_true(kept > 0);
    for (size_t i = 0; i < TIMES; i++) escape();
    assert_int_equal(afc__memory_kept(memory), kept);
    afc__memory_free(memory);
}

static int init_libcurl(void **state) {
    (void)state;
    return afc__memory_init_libcurl() == CURLE_OK ? 0 : -1;
}

static int clean_up_libcurl(void **state) {
    (void)state;
    curl_global_cleanup();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(returns_the_newest_block_first),
        cmocka_unit_test(keeps_at_most_the_limit),
        cmocka_unit_test(a_list_that_another_thread_uses_is_left_alone),
        cmocka_unit_test(reusing_a_block_counts_as_allocation),
        cmocka_unit_test(one_thread_at_a_time_owns_a_block),
        cmocka_unit_test(reuses_blocks_that_libcurl_frees_on_a_loop_thread),
        cmocka_unit_test(growing_leaves_its_old_blocks_for_reuse),
    };
    return cmocka_run_group_tests(tests, init_libcurl, clean_up_libcurl);
}
