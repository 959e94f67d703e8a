/*
 * When automatic pings are sent, and when a pong is overdue: tables of what happens at which time. And how long the
 * closing handshake may take.
 */
#include "support/check.h"
#include "websocket/deadlines.h"

enum { INTERVAL_MS = 30, TIMEOUT_MS = 20, MS = 1000 };

/** What happens at a time. */
typedef enum event {
    CHECK, /**< The alarm rings; `expected` is due. A ping is then the oldest, unless there is one. */
    ANSWER, /**< A pong; `oldest_ms` is when the oldest ping that it leaves was sent. */
    EXCUSE
} event;

typedef struct step {
    int64_t at_ms;
    event event;
    afc__keepalive_action expected;
    int64_t oldest_ms; /**< 0: none. */
    int64_t due_ms;    /**< When it is to be checked next; 0: never. */
} step;

enum { STEPS = 8 };

typedef struct row {
    const char *name;
    step steps[STEPS];
} row;

#define WAIT AFC__KEEPALIVE_WAIT
#define PING AFC__KEEPALIVE_PING
#define GIVE_UP AFC__KEEPALIVE_GIVE_UP

/* It begins at 100 ms. */
static const row rows[] = {
    {"pings again after an answer",
     {{129, CHECK, WAIT, 0, 130},
      {130, CHECK, PING, 0, 150},
      {140, ANSWER, WAIT, 0, 160},
      {160, CHECK, PING, 0, 180}}},
    {"gives up without an answer",
     {{130, CHECK, PING, 0, 150}, {149, CHECK, WAIT, 130, 150}, {150, CHECK, GIVE_UP, 130, 150}}},
    {"the answer to a later ping counts for this one",
     {{130, CHECK, PING, 0, 150}, {135, ANSWER, WAIT, 0, 160}, {150, CHECK, WAIT, 0, 160}}},
    {"the answer to an earlier ping doesn't count for this one",
     {{130, CHECK, PING, 0, 150}, {145, ANSWER, WAIT, 131, 151}, {151, CHECK, GIVE_UP, 131, 151}}},
    {"a ping of the caller is awaited, too, once one is due",
     {{130, CHECK, PING, 120, 140}, {140, CHECK, GIVE_UP, 120, 140}}},
    {"an overdue ping of the caller ends it", {{130, CHECK, GIVE_UP, 105, 125}}},
    {"waits longer behind a frame",
     {{130, CHECK, PING, 0, 150},
      {149, EXCUSE, WAIT, 130, 150},
      {150, CHECK, WAIT, 130, 160},
      {160, CHECK, PING, 130, 169},
      {169, CHECK, GIVE_UP, 130, 169}}},
    {"an answer after a frame leaves time for the next",
     {{130, CHECK, PING, 0, 150},
      {149, EXCUSE, WAIT, 130, 150},
      {155, ANSWER, WAIT, 131, 160},
      {160, CHECK, PING, 131, 169}}},
};

static void follows_every_row(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc__keepalive keepalive;
        afc__keepalive_begin(&keepalive, INTERVAL_MS, TIMEOUT_MS, 100 * MS);
        for (size_t k = 0; k < STEPS && rows[i].steps[k].at_ms != 0; k++) {
            const step *step = &rows[i].steps[k];
            afc__keepalive_action action = AFC__KEEPALIVE_WAIT;
            int64_t now = step->at_ms * MS, oldest = step->oldest_ms * MS;
            if (step->event == CHECK) action = afc__keepalive_check(&keepalive, now, oldest);
            if (step->event == ANSWER) afc__keepalive_update(&keepalive, oldest);
            if (step->event == EXCUSE) afc__keepalive_postpone(&keepalive, now);
            if (action == PING) afc__keepalive_update(&keepalive, oldest != 0 ? oldest : now);
            if (action == step->expected && afc__keepalive_due(&keepalive) == step->due_ms * MS)
                continue;
            fail_msg("%s, step %zu: action %d, due %lld us", rows[i].name, k, (int)action,
                     (long long)afc__keepalive_due(&keepalive));
        }
    }
}

static void does_nothing_without_an_interval(void **state) {
    (void)state;
    afc__keepalive keepalive;
    afc__keepalive_begin(&keepalive, 0, TIMEOUT_MS, 100 * MS);
    assert_int_equal(afc__keepalive_due(&keepalive), 0);
    /* The caller pings by itself. */
    afc__keepalive_update(&keepalive, 101 * MS);
    assert_int_equal(afc__keepalive_check(&keepalive, 1000 * MS, 101 * MS), WAIT);
    assert_int_equal(afc__keepalive_due(&keepalive), 0);
}

static void does_nothing_after_its_end(void **state) {
    (void)state;
    afc__keepalive keepalive;
    afc__keepalive_begin(&keepalive, INTERVAL_MS, TIMEOUT_MS, 100 * MS);
    afc__keepalive_end(&keepalive);
    afc__keepalive_update(&keepalive, 101 * MS);
    assert_int_equal(afc__keepalive_check(&keepalive, 1000 * MS, 101 * MS), WAIT);
    assert_int_equal(afc__keepalive_due(&keepalive), 0);
}

static void close_is_awaited_from_its_close_frame_on(void **state) {
    (void)state;
    afc__closing closing;
    afc__closing_begin(&closing, TIMEOUT_MS, 0, 100 * MS);
    assert_int_equal(closing.due_us, 120 * MS);
    afc__closing_moved(&closing, true, 115 * MS);
    assert_int_equal(closing.due_us, 135 * MS);
}

static void messages_before_the_close_frame_have_a_limited_time(void **state) {
    (void)state;
    afc__closing closing;
    /* Three shares of the time. */
    afc__closing_begin(&closing, TIMEOUT_MS, 150 * 1024, 100 * MS);
    assert_int_equal(closing.due_us, 120 * MS);
    afc__closing_moved(&closing, false, 119 * MS);
    assert_int_equal(closing.due_us, 139 * MS);
    for (int64_t at = 130; at < 160; at += 10) afc__closing_moved(&closing, false, at * MS);
    assert_int_equal(closing.due_us, 160 * MS);
    afc__closing_moved(&closing, true, 159 * MS);
    assert_int_equal(closing.due_us, 179 * MS);
    /* Times stay in range. */
    afc__closing_begin(&closing, UINT32_MAX, UINT64_MAX, 100 * MS);
    assert_true(closing.sent_by_us > closing.due_us);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(close_is_awaited_from_its_close_frame_on),
        cmocka_unit_test(messages_before_the_close_frame_have_a_limited_time),
        cmocka_unit_test(follows_every_row),
        cmocka_unit_test(does_nothing_without_an_interval),
        cmocka_unit_test(does_nothing_after_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
