/* The queue by itself: which entry runs next, for tables of hosts, ranks and limits. */
#include "base/alloc.h"
#include "run/queue.h"
#include "support/check.h"
#include "support/torture.h"

#include <stdio.h>
#include <string.h>

enum { MANY = 1000, NORMAL = 16 };

static void make(afc__queue *queue, uint32_t per_host, uint32_t total) {
    afc__queue_limits limits = {per_host, total, 100};
    check_status(afc__queue_init(queue, limits), AFC_OK);
}

static afc__queue_key key_of(const char *host) {
    return (afc__queue_key){afc_slice_of(host), 80, NULL};
}

static void add_to(afc__queue *queue, afc__entry *entry, const char *host, afc__lane lane,
                   unsigned rank) {
    afc__queue_key key = key_of(host);
    check_status(afc__queue_add(queue, entry, &key, lane, rank), AFC_OK);
    assert_int_equal(entry->state, AFC__ENTRY_WAITING);
}

static void add(afc__queue *queue, afc__entry *entry, const char *host) {
    add_to(queue, entry, host, AFC__LANE_ISOLATED, NORMAL);
}

static void check_next(afc__queue *queue, const afc__entry *expected) {
    const afc__entry *entry = afc__queue_next(queue);
    assert_ptr_equal(entry, expected);
    if (entry != NULL) assert_int_equal(entry->state, AFC__ENTRY_RUNNING);
}

/** Runs all that may run; how many those are. */
static size_t run_all(afc__queue *queue) {
    size_t count = 0;
    while (afc__queue_next(queue) != NULL) count++;
    return count;
}

static void clear(afc__queue *queue, afc__entry *entries, size_t count) {
    for (size_t i = 0; i < count; i++) afc__queue_remove(queue, &entries[i]);
    assert_int_equal(queue->waiting, 0);
    assert_int_equal(queue->running, 0);
    assert_int_equal(queue->connections, 0);
    afc__queue_clear(queue);
}

/* ---- Order --------------------------------------------------------------------------------- */

static void runs_entries_of_one_priority_in_order(void **state) {
    (void)state;
    afc__queue queue;
    afc__entry entries[MANY] = {0};
    make(&queue, 1, 0);
    for (size_t i = 0; i < MANY; i++) add(&queue, &entries[i], "a");
    for (size_t i = 0; i < MANY; i++) {
        check_next(&queue, &entries[i]);
        check_next(&queue, NULL);
        afc__queue_remove(&queue, &entries[i]);
    }
    check_next(&queue, NULL);
    clear(&queue, entries, MANY);
}

static void runs_begun_tasks_and_higher_priorities_first(void **state) {
    (void)state;
    static const unsigned ranks[] = {16, 1, 255, 16, AFC__RANK_BEGUN, 1, 255, AFC__RANK_BEGUN, 2};
    static const size_t order[] = {4, 7, 2, 6, 0, 3, 8, 1, 5};
    afc__queue queue;
    afc__entry entries[COUNT_OF(ranks)] = {0};
    make(&queue, 1, 0);
    for (size_t i = 0; i < COUNT_OF(ranks); i++) {
        add_to(&queue, &entries[i], "a", AFC__LANE_ISOLATED, ranks[i]);
    }
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        check_next(&queue, &entries[order[i]]);
        afc__queue_remove(&queue, &entries[order[i]]);
    }
    clear(&queue, entries, COUNT_OF(ranks));
}

static void keeps_the_order_when_waiting_entries_are_removed(void **state) {
    (void)state;
    enum { COUNT = 12 };
    /* Every set of removed entries, the first and the last of a level among them; two levels. */
    for (unsigned removed = 0; removed < 1u << COUNT; removed += 7) {
        afc__queue queue;
        afc__entry entries[COUNT] = {0};
        make(&queue, 0, 0);
        for (size_t i = 0; i < COUNT; i++) {
            add_to(&queue, &entries[i], "a", AFC__LANE_ISOLATED, i % 2 == 0 ? 20 : 10);
        }
        for (size_t i = 0; i < COUNT; i++) {
            if (removed >> i & 1) afc__queue_remove(&queue, &entries[i]);
        }
        for (size_t parity = 0; parity < 2; parity++) {
            for (size_t i = parity; i < COUNT; i += 2) {
                if (!(removed >> i & 1)) check_next(&queue, &entries[i]);
            }
        }
        check_next(&queue, NULL);
        clear(&queue, entries, COUNT);
    }
}

/* ---- Slots --------------------------------------------------------------------------------- */

static void take_slots(afc__entry *entries, const unsigned *slots, size_t count) {
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(afc__queue_take_slot(&entries[i]), slots[i]);
        assert_int_equal(afc__queue_take_slot(&entries[i]), slots[i]);
    }
}

static void gives_each_entry_of_a_host_that_asks_the_lowest_free_slot(void **state) {
    (void)state;
    afc__queue queue;
    afc__entry entries[10] = {0}, others[8] = {0};
    make(&queue, 0, 0);
    for (size_t i = 0; i < 8; i++) add(&queue, &others[i], "a");
    for (size_t i = 0; i < 8; i++) add(&queue, &entries[i], "a");
    for (size_t i = 8; i < 10; i++) add(&queue, &entries[i], "b");
    assert_int_equal(run_all(&queue), 18);
    take_slots(entries, (unsigned[]){1, 2, 3, 4, 5, 6, 0, 0, 1, 2}, 10);
    afc__queue_remove(&queue, &entries[2]);
    afc__queue_remove(&queue, &entries[6]);
    add(&queue, &entries[2], "b");
    add(&queue, &entries[6], "a");
    assert_int_equal(run_all(&queue), 2);
    take_slots(entries, (unsigned[]){1, 2, 3, 4, 5, 6, 3, 0, 1, 2}, 10);
    for (size_t i = 0; i < 8; i++) afc__queue_remove(&queue, &others[i]);
    clear(&queue, entries, 10);
}

/* ---- Limits -------------------------------------------------------------------------------- */

static void runs_as_many_as_a_host_may_have_connections(void **state) {
    (void)state;
    afc__queue queue;
    afc__entry entries[20] = {0};
    make(&queue, 3, 0);
    for (size_t i = 0; i < 10; i++) add(&queue, &entries[i], "a");
    for (size_t i = 10; i < 20; i++) add(&queue, &entries[i], "b");
    assert_int_equal(run_all(&queue), 6);
    assert_int_equal(queue.connections, 6);
    afc__queue_remove(&queue, &entries[0]);
    check_next(&queue, &entries[3]);
    check_next(&queue, NULL);
    clear(&queue, entries, COUNT_OF(entries));
}

static void runs_all_without_limits(void **state) {
    (void)state;
    afc__queue queue;
    afc__entry entries[MANY] = {0};
    make(&queue, 0, 0);
    for (size_t i = 0; i < MANY; i++) add(&queue, &entries[i], "a");
    assert_int_equal(run_all(&queue), MANY);
    clear(&queue, entries, MANY);
}

static void distinguishes_hosts_by_name_port_and_socket(void **state) {
    (void)state;
    const afc__queue_key keys[] = {{S("a"), 80, NULL},     {S("a"), 81, NULL},
                                   {S("b"), 80, NULL},     {S("a"), 80, "/run/x"},
                                   {S("a"), 80, "/run/y"}, {S("aa"), 80, NULL}};
    afc__queue queue;
    afc__entry entries[2 * COUNT_OF(keys)] = {0};
    make(&queue, 1, 0);
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        const afc__queue_key *key = &keys[i % COUNT_OF(keys)];
        check_status(afc__queue_add(&queue, &entries[i], key, AFC__LANE_ISOLATED, NORMAL), AFC_OK);
    }
    assert_int_equal(run_all(&queue), COUNT_OF(keys));
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        for (size_t j = 0; j < COUNT_OF(keys); j++) {
            bool keeps = afc__queue_keeps_connection(&entries[i], &keys[j], AFC__LANE_ISOLATED);
            assert_int_equal(keeps, i == j);
        }
        assert_false(afc__queue_keeps_connection(&entries[i], &keys[i], AFC__LANE_SHARED));
        assert_false(afc__queue_keeps_connection(&entries[i + COUNT_OF(keys)], &keys[i],
                                                 AFC__LANE_ISOLATED));
    }
    clear(&queue, entries, COUNT_OF(entries));
}

static void alternates_hosts_at_the_total_limit(void **state) {
    (void)state;
    static const char *const hosts[] = {"a", "b", "c"};
    enum { EACH = 50, COUNT = 3 * EACH };
    afc__queue queue;
    afc__entry entries[COUNT] = {0}, *running[4];
    size_t served[3] = {0};
    make(&queue, 3, 4);
    /* All of the first host before the others. */
    for (size_t i = 0; i < COUNT; i++) add(&queue, &entries[i], hosts[i / EACH]);
    for (size_t i = 0; i < 4; i++) running[i] = afc__queue_next(&queue);
    for (size_t round = 0; round < 90; round++) {
        check_next(&queue, NULL);
        afc__entry *ended = running[round % 4];
        served[(size_t)(ended - entries) / EACH]++;
        afc__queue_remove(&queue, ended);
        running[round % 4] = afc__queue_next(&queue);
        assert_non_null(running[round % 4]);
        assert_int_equal(queue.connections, 4);
    }
    for (size_t i = 0; i < 3; i++) assert_true(served[i] >= 28 && served[i] <= 32);
    clear(&queue, entries, COUNT);
}

/* ---- HTTP/2 -------------------------------------------------------------------------------- */

static void starts_few_until_multiplexing_is_known(void **state) {
    (void)state;
    for (unsigned streams = 0; streams < 2; streams++) {
        afc__queue queue;
        static afc__entry entries[MANY];
        memset(entries, 0, sizeof entries);
        make(&queue, 0, 0);
        for (size_t i = 0; i < MANY; i++) {
            add_to(&queue, &entries[i], "a", AFC__LANE_SHARED, NORMAL);
        }
        assert_int_equal(run_all(&queue), 16);
        afc__queue_connected(&queue, &entries[0],
                             streams ? AFC__SHARING_STREAMS : AFC__SHARING_NONE);
        /* One has its stream; or all others get connections of their own. */
        assert_int_equal(run_all(&queue), streams ? 1 : MANY - 16);
        clear(&queue, entries, MANY);
    }
}

/** Gives all that runs a stream, and again to those that this lets run; how many run. */
static size_t connect_all(afc__queue *queue, afc__entry *entries, size_t count) {
    size_t running = queue->running, before;
    do {
        before = running;
        for (size_t i = 0; i < count; i++) {
            afc__queue_connected(queue, &entries[i], AFC__SHARING_STREAMS);
        }
        run_all(queue);
        running = queue->running;
    } while (running > before);
    return running;
}

static void entry_runs_with_and_without_its_connection(void **state) {
    (void)state;
    afc__queue queue;
    afc__entry entry = {0};
    afc__queue_key key = key_of("a");
    make(&queue, 0, 0);
    add_to(&queue, &entry, "a", AFC__LANE_SHARED, NORMAL);
    /* Both are about running entries only. */
    afc__queue_connected(&queue, &entry, AFC__SHARING_UNKNOWN);
    afc__queue_connecting(&queue, &entry);
    assert_int_equal(entry.state, AFC__ENTRY_WAITING);
    assert_false(afc__queue_keeps_connection(&entry, &key, AFC__LANE_SHARED));
    check_next(&queue, &entry);
    for (size_t hop = 0; hop < 2; hop++) {
        assert_true(afc__queue_keeps_connection(&entry, &key, AFC__LANE_SHARED));
        afc__queue_connected(&queue, &entry, AFC__SHARING_UNKNOWN);
        assert_int_equal(entry.state, AFC__ENTRY_CONNECTED);
        assert_true(afc__queue_keeps_connection(&entry, &key, AFC__LANE_SHARED));
        afc__queue_connecting(&queue, &entry);
        assert_int_equal(entry.state, AFC__ENTRY_RUNNING);
    }
    afc__queue_remove(&queue, &entry);
    assert_int_equal(entry.state, AFC__ENTRY_OUT);
    clear(&queue, &entry, 1);
}

static void multiplies_connections_by_streams(void **state) {
    (void)state;
    static const struct {
        uint32_t per_host, total;
        size_t expected;
    } cases[] = {{1, 0, 100}, {2, 0, 200}, {0, 0, MANY}, {0, 1, MANY}, {3, 1, 300}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        afc__queue queue;
        static afc__entry entries[MANY];
        memset(entries, 0, sizeof entries);
        make(&queue, cases[i].per_host, cases[i].total);
        for (size_t j = 0; j < MANY; j++) {
            add_to(&queue, &entries[j], "a", AFC__LANE_SHARED, NORMAL);
        }
        run_all(&queue);
        size_t running = connect_all(&queue, entries, MANY);
        /* Some may look for a stream beyond those. */
        assert_true(running >= cases[i].expected && running <= cases[i].expected + 16);
        assert_int_equal(queue.connections, 1);
        clear(&queue, entries, MANY);
    }
}

static void streams_pass_entries_that_need_a_connection(void **state) {
    (void)state;
    afc__queue queue;
    afc__entry shared[4] = {0}, isolated[4] = {0};
    make(&queue, 3, 0);
    add_to(&queue, &shared[0], "a", AFC__LANE_SHARED, NORMAL);
    check_next(&queue, &shared[0]);
    afc__queue_connected(&queue, &shared[0], AFC__SHARING_STREAMS);
    for (size_t i = 0; i < 4; i++) add(&queue, &isolated[i], "a");
    for (size_t i = 1; i < 4; i++) add_to(&queue, &shared[i], "a", AFC__LANE_SHARED, NORMAL);
    /* Two connections are left for the lane; the others wait for them, and no task waits for those. */
    assert_int_equal(run_all(&queue), 5);
    assert_int_equal(isolated[2].state, AFC__ENTRY_WAITING);
    assert_int_equal(isolated[3].state, AFC__ENTRY_WAITING);
    for (size_t i = 0; i < 4; i++) afc__queue_remove(&queue, &isolated[i]);
    clear(&queue, shared, 4);
}

static void streams_yield_to_entries_that_need_their_connection(void **state) {
    (void)state;
    afc__queue queue;
    afc__entry shared[4] = {0}, isolated = {0};
    make(&queue, 1, 0);
    add_to(&queue, &shared[0], "a", AFC__LANE_SHARED, NORMAL);
    add_to(&queue, &shared[1], "a", AFC__LANE_SHARED, NORMAL);
    check_next(&queue, &shared[0]);
    afc__queue_connected(&queue, &shared[0], AFC__SHARING_STREAMS);
    check_next(&queue, &shared[1]);
    add(&queue, &isolated, "a");
    add_to(&queue, &shared[2], "a", AFC__LANE_SHARED, NORMAL);
    check_next(&queue, NULL);
    afc__queue_remove(&queue, &shared[0]);
    check_next(&queue, NULL);
    afc__queue_remove(&queue, &shared[1]);
    check_next(&queue, &isolated);
    check_next(&queue, NULL);
    afc__queue_remove(&queue, &isolated);
    check_next(&queue, &shared[2]);
    clear(&queue, shared, 4);
}

static void streams_yield_to_entries_that_need_the_last_connection_of_all(void **state) {
    (void)state;
    static const struct {
        uint32_t per_host, total;
        unsigned rank;         /**< Rank of the entry that needs a connection. */
        bool is_other_running; /**< Another host has one of two connections. */
        bool yields;
    } cases[] = {{0, 1, NORMAL, false, true},     {6, 1, NORMAL, false, true},
                 {6, 1, NORMAL + 1, false, true}, {6, 1, NORMAL - 1, false, false},
                 {6, 2, NORMAL, true, true},      {6, 3, NORMAL, true, false}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        afc__queue queue;
        afc__entry shared[3] = {0}, isolated = {0}, other = {0};
        make(&queue, cases[i].per_host, cases[i].total);
        if (cases[i].is_other_running) {
            add(&queue, &other, "b");
            check_next(&queue, &other);
        }
        add_to(&queue, &shared[0], "a", AFC__LANE_SHARED, NORMAL);
        check_next(&queue, &shared[0]);
        afc__queue_connected(&queue, &shared[0], AFC__SHARING_STREAMS);
        add_to(&queue, &isolated, "a", AFC__LANE_ISOLATED, cases[i].rank);
        add_to(&queue, &shared[1], "a", AFC__LANE_SHARED, NORMAL);
        if (cases[i].yields) {
            check_next(&queue, NULL);
            /* Nothing runs until the last stream has ended, and the next one doesn't come first. */
            afc__queue_remove(&queue, &shared[0]);
            check_next(&queue, &isolated);
            assert_int_equal(shared[1].state, AFC__ENTRY_WAITING);
        } else {
            assert_true(run_all(&queue) > 0);
            assert_int_equal(shared[1].state, AFC__ENTRY_RUNNING);
        }
        afc__queue_remove(&queue, &other);
        afc__queue_remove(&queue, &isolated);
        clear(&queue, shared, COUNT_OF(shared));
    }
}

/** The connection that comes free is another host's. */
static void entry_that_streams_yielded_to_runs_with_any_free_connection(void **state) {
    (void)state;
    afc__queue queue;
    afc__entry shared[2] = {0}, isolated = {0}, other = {0};
    make(&queue, 0, 2);
    add(&queue, &other, "b");
    check_next(&queue, &other);
    add_to(&queue, &shared[0], "a", AFC__LANE_SHARED, NORMAL);
    check_next(&queue, &shared[0]);
    afc__queue_connected(&queue, &shared[0], AFC__SHARING_STREAMS);
    add(&queue, &isolated, "a");
    add_to(&queue, &shared[1], "a", AFC__LANE_SHARED, NORMAL);
    check_next(&queue, NULL);
    afc__queue_remove(&queue, &other);
    check_next(&queue, &isolated);
    check_next(&queue, &shared[1]);
    afc__queue_remove(&queue, &isolated);
    clear(&queue, shared, COUNT_OF(shared));
}

static void streaming_host_yields_to_others_after_a_while(void **state) {
    (void)state;
    afc__queue queue;
    static afc__entry streams[MANY];
    memset(streams, 0, sizeof streams);
    afc__entry other = {0};
    make(&queue, 0, 1);
    for (size_t i = 0; i < MANY; i++) add_to(&queue, &streams[i], "a", AFC__LANE_SHARED, NORMAL);
    add_to(&queue, &other, "b", AFC__LANE_SHARED, NORMAL);
    size_t begun = 0;
    while (other.state != AFC__ENTRY_CONNECTED) {
        afc__entry *entry;
        while ((entry = afc__queue_next(&queue)) != NULL) {
            afc__queue_connected(&queue, entry, AFC__SHARING_STREAMS);
            begun++;
        }
        /* The oldest one ends. */
        size_t oldest = 0;
        while (oldest < MANY && streams[oldest].state != AFC__ENTRY_CONNECTED) oldest++;
        if (oldest == MANY) break;
        afc__queue_remove(&queue, &streams[oldest]);
    }
    assert_int_equal(other.state, AFC__ENTRY_CONNECTED);
    assert_int_equal(begun, 256 + 1);
    afc__queue_remove(&queue, &other);
    clear(&queue, streams, MANY);
}

static void remembers_the_protocol_of_hosts(void **state) {
    (void)state;
    afc__queue queue;
    afc__entry entries[100] = {0};
    make(&queue, 1, 0);
    add_to(&queue, &entries[0], "a", AFC__LANE_SHARED, NORMAL);
    check_next(&queue, &entries[0]);
    afc__queue_connected(&queue, &entries[0], AFC__SHARING_STREAMS);
    afc__queue_remove(&queue, &entries[0]);
    for (size_t i = 0; i < 100; i++) add_to(&queue, &entries[i], "a", AFC__LANE_SHARED, NORMAL);
    check_next(&queue, &entries[0]);
    check_next(&queue, &entries[1]);
    clear(&queue, entries, 100);
}

/* ---- Memory -------------------------------------------------------------------------------- */

static void keeps_few_hosts_without_entries(void **state) {
    (void)state;
    enum { HOSTS = 3000 };
    afc__queue queue;
    static afc__entry entries[HOSTS];
    memset(entries, 0, sizeof entries);
    make(&queue, 1, 0);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < HOSTS; i++) {
            char host[16];
            snprintf(host, sizeof host, "host%zu", i);
            add(&queue, &entries[i], host);
        }
        assert_int_equal(run_all(&queue), HOSTS);
        assert_true(queue.bucket_count >= HOSTS / 2);
        for (size_t i = 0; i < HOSTS; i++) afc__queue_remove(&queue, &entries[i]);
        assert_int_equal(queue.host_count, 64);
        assert_true(queue.bucket_count <= 1024);
    }
    clear(&queue, entries, HOSTS);
}

static void refuses_entries_without_memory(void **state) {
    (void)state;
    TORTURE(n) {
        afc__queue queue;
        afc__entry entries[40] = {0};
        afc__queue_limits limits = {1, 0, 100};
        afc_status status = afc__queue_init(&queue, limits);
        assert_true(status == AFC_OK || status == AFC_ENOMEM);
        for (size_t i = 0; i < COUNT_OF(entries) && status == AFC_OK; i++) {
            char host[16];
            snprintf(host, sizeof host, "host%zu", i);
            afc__queue_key key = key_of(host);
            afc_status added = afc__queue_add(&queue, &entries[i], &key, AFC__LANE_ISOLATED,
                                              NORMAL);
            assert_true(added == AFC_OK || added == AFC_ENOMEM);
            assert_int_equal(entries[i].state == AFC__ENTRY_WAITING, added == AFC_OK);
        }
        if (status == AFC_OK) run_all(&queue);
        for (size_t i = 0; i < COUNT_OF(entries); i++) afc__queue_remove(&queue, &entries[i]);
        afc__queue_clear(&queue);
    }
}

/* ---- Anything ------------------------------------------------------------------------------ */

static uint32_t random_number(uint32_t *seed, uint32_t below) {
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 8) % below;
}

/** Whatever happens, limits hold, and nothing that may run is left waiting. */
static void limits_hold_for_any_sequence(void **state) {
    (void)state;
    static const char *const hosts[] = {"a", "b", "c", "d"};
    enum { ENTRIES = 60, STEPS = 4000 };
    for (uint32_t seed = 1; seed <= 20; seed++) {
        afc__queue queue;
        afc__entry entries[ENTRIES] = {0};
        uint32_t random = seed, per_host = seed % 3, total = seed % 4 == 0 ? 0 : 1 + seed % 5;
        make(&queue, per_host, total);
        for (size_t step = 0; step < STEPS; step++) {
            afc__entry *entry = &entries[random_number(&random, ENTRIES)];
            if (entry->state == AFC__ENTRY_OUT) {
                add_to(&queue, entry, hosts[random_number(&random, 4)], AFC__LANE_ISOLATED,
                       1 + random_number(&random, 3));
            } else {
                afc__queue_remove(&queue, entry);
            }
            while (random_number(&random, 4) != 0 && afc__queue_next(&queue) != NULL) continue;
            assert_true(total == 0 || queue.connections <= total);
        }
        run_all(&queue);
        size_t of_host[4] = {0}, waiting[4] = {0}, running = 0;
        for (size_t i = 0; i < ENTRIES; i++) {
            if (entries[i].state == AFC__ENTRY_OUT) continue;
            size_t host = 0;
            while (host < 3) {
                afc__queue_key key = key_of(hosts[host]);
                afc__entry like = {.state = AFC__ENTRY_RUNNING,
                                   .lane = AFC__LANE_ISOLATED,
                                   .host = entries[i].host};
                if (afc__queue_keeps_connection(&like, &key, AFC__LANE_ISOLATED)) break;
                host++;
            }
            bool runs = entries[i].state == AFC__ENTRY_RUNNING;
            of_host[host] += runs;
            waiting[host] += !runs;
            running += runs;
        }
        assert_int_equal(running, queue.connections);
        for (size_t host = 0; host < 4; host++) {
            assert_true(per_host == 0 || of_host[host] <= per_host);
            bool is_full = (per_host != 0 && of_host[host] == per_host) ||
                           (total != 0 && running == total);
            assert_true(waiting[host] == 0 || is_full);
        }
        clear(&queue, entries, ENTRIES);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_entries_of_one_priority_in_order),
        cmocka_unit_test(runs_begun_tasks_and_higher_priorities_first),
        cmocka_unit_test(keeps_the_order_when_waiting_entries_are_removed),
        cmocka_unit_test(gives_each_entry_of_a_host_that_asks_the_lowest_free_slot),
        cmocka_unit_test(runs_as_many_as_a_host_may_have_connections),
        cmocka_unit_test(runs_all_without_limits),
        cmocka_unit_test(distinguishes_hosts_by_name_port_and_socket),
        cmocka_unit_test(alternates_hosts_at_the_total_limit),
        cmocka_unit_test(starts_few_until_multiplexing_is_known),
        cmocka_unit_test(entry_runs_with_and_without_its_connection),
        cmocka_unit_test(multiplies_connections_by_streams),
        cmocka_unit_test(streams_pass_entries_that_need_a_connection),
        cmocka_unit_test(streams_yield_to_entries_that_need_their_connection),
        cmocka_unit_test(streams_yield_to_entries_that_need_the_last_connection_of_all),
        cmocka_unit_test(entry_that_streams_yielded_to_runs_with_any_free_connection),
        cmocka_unit_test(streaming_host_yields_to_others_after_a_while),
        cmocka_unit_test(remembers_the_protocol_of_hosts),
        cmocka_unit_test(keeps_few_hosts_without_entries),
        cmocka_unit_test(refuses_entries_without_memory),
        cmocka_unit_test(limits_hold_for_any_sequence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
