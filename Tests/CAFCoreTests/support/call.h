/**
 * A task of a test. Records everything that its callbacks receive; fields and hooks choose what
 * they return.
 */
#ifndef AFC_TESTS_CALL_H
#define AFC_TESTS_CALL_H

#include "support/fixture.h"

#include <afcore/task.h>
#include <pthread.h>
#include <stdatomic.h>

typedef struct call call;

struct call {
    /* Set these before call_start(). */
    afc_request request;
    afc_task_events events;
    bool keeps_body; /**< CALLBACK sink: collect what on_body takes in `body`. */
    /** Each may be NULL. They run on the loop thread: no assertions there. */
    afc_status (*at_head)(call *call, afc_response *response);
    afc_status (*at_body)(call *call, afc_slice chunk);
    afc_redirect_decision (*at_redirect)(call *call, afc_redirect *redirect);
    void (*at_done)(call *call);
    void *payload; /**< For the hooks. */

    afc_session *session;
    afc_task *task;

    /* Results; stable after call_wait(). */
    afc_result *result;
    afc_failure failure;
    const afc_head *head;
    afc_slice body; /**< The result's body, or what on_body took. */
    const afc_hop *hops;
    size_t hop_count;
    afc_progress progress; /**< The last one reported. */
    /**
     * The events in their order: i(nformational) r(edirect) h(ead) b(ody) p(rogress) d(one)
     * (release) x. Repeats of b and of p are written once.
     */
    char log[256];
    int informational[64];       /**< Statuses of the 1xx responses. */
    afc_http_cache_use head_use; /**< What on_head was told. */
    atomic_uint informational_count, redirect_count, head_count, body_count, refused_count;
    atomic_uint done_count, release_count;
    atomic_uint_fast64_t taken; /**< Bytes consumed by on_body. */

    char *collected;
    size_t collected_size;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/** Makes a GET of the fixture's server, not started. */
call *call_new(fixture *fixture, const char *path);

/** Starts the task; it must not be refused. */
void call_start(call *call);

/** Waits until the task is released; fails the test on a timeout. */
void call_wait(call *call);

/** call_start() and call_wait(). */
void call_perform(call *call);

/** call_new() and call_perform(). */
call *call_fetch(fixture *fixture, const char *path);

/** Waits until a counter of `call` is at least `count`. false: the call ended before. */
bool call_wait_or_end(call *call, atomic_uint *counter, unsigned count);

/** Does the same, and fails the test if the call ends before. */
void call_wait_for(call *call, atomic_uint *counter, unsigned count);

/** Checks that the call ended exactly once, and frees everything. */
void call_free(call *call);

/** Sets a body of copied bytes. */
void call_send(call *call, const char *method, afc_slice body);

/** For `at_body`: consumes nothing. */
afc_status call_hold(call *call, afc_slice chunk);

/** For `at_body`: consumes one piece per permit in `payload`, an atomic_uint. */
afc_status call_take_one(call *call, afc_slice chunk);

/** Performs a call whose reader takes a piece after each refusal; keeps the body. */
void call_perform_with_refusals(call *call);

/**
 * Performs a call while the n-th allocation fails: it succeeds, or ends with AFC_ENOMEM. Returns the allocations that
 * were made; `*status` is that of the call.
 */
size_t call_perform_failing(call *call, size_t n, afc_status *status);

/** Performs a call, compares the final status, frees it. */
void check_fetch_at(fixture *fixture, const char *path, afc_status expected, const char *file,
                    int line);
#define check_fetch(fixture, path, expected)                                                       \
    check_fetch_at(fixture, path, expected, __FILE__, __LINE__)

/**
 * Fetch any URL with "Authorization: Bearer token", which is for its server alone, and compare the status of
 * the end.
 */
call *call_fetch_url_at(fixture *fixture, const char *url, afc_status expected, const char *file,
                        int line);
#define call_fetch_url(fixture, url, expected)                                                     \
    call_fetch_url_at(fixture, url, expected, __FILE__, __LINE__)

/** The same, freed. */
#define check_fetch_url(fixture, url, expected) call_free(call_fetch_url(fixture, url, expected))

/** Checks that the call ended with `expected`; a failure shows both and the text. */
void check_ended_at(const call *call, afc_status expected, const char *file, int line);
#define check_ended(call, expected) check_ended_at(call, expected, __FILE__, __LINE__)

/** Returns the response's status; 0 if there is no head. */
int status_of(const call *call);

/** Returns the value of a response field; empty without one. */
afc_slice field_of(const call *call, const char *name);

#endif
