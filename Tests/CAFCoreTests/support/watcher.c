#include "support/watcher.h"

#include "support/world.h"

#include <stdlib.h>
#include <time.h>

static void on_change(void *context, const afc_reachability *state) {
    watcher *watcher = context;
    pthread_mutex_lock(&watcher->lock);
    watcher->state = *state;
    watcher->told++;
    pthread_cond_broadcast(&watcher->changed);
    pthread_mutex_unlock(&watcher->lock);
    if (watcher->then != NULL) watcher->then(watcher);
}

static void on_release(void *context) {
    watcher *watcher = context;
    pthread_mutex_lock(&watcher->lock);
    watcher->dropped++;
    pthread_cond_broadcast(&watcher->changed);
    pthread_mutex_unlock(&watcher->lock);
}

watcher *watcher_new(const char *host) {
    watcher *new = calloc(1, sizeof *new);
    assert_non_null(new);
    pthread_mutex_init(&new->lock, NULL);
    pthread_cond_init(&new->changed, NULL);
    afc_reach_monitor_options options = AFC_REACH_MONITOR_OPTIONS_INIT;
    options.host = host;
    options.on_change = on_change;
    options.release = on_release;
    options.context = new;
    check_status(afc_reach_monitor_new(&new->monitor, &options, NULL), AFC_OK);
    return new;
}

watcher *watcher_start(const char *host) {
    watcher *new = watcher_new(host);
    check_status(afc_reach_monitor_start(new->monitor, NULL), AFC_OK);
    return new;
}

void watcher_free(watcher *watcher) {
    afc_reach_monitor_free(watcher->monitor);
    watcher_expect_dropped(watcher);
    pthread_mutex_destroy(&watcher->lock);
    pthread_cond_destroy(&watcher->changed);
    free(watcher);
}

/** Under the lock: wait for a change; fails the test after a while. */
static void wait_for_change(watcher *watcher, const struct timespec *deadline) {
    int error = pthread_cond_timedwait(&watcher->changed, &watcher->lock, deadline);
    if (error == 0) return;
    print_error("told %zu times, last: %s over \"%s\"\n", watcher->told,
                afc_reach_status_text(watcher->state.status), watcher->state.link_name);
    pthread_mutex_unlock(&watcher->lock);
    fail();
}

static struct timespec end_of_patience(void) {
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += PATIENCE_MS / 1000;
    return deadline;
}

static bool is_as(const watcher *watcher, afc_reach_status status, const char *link) {
    if (watcher->told == 0 || watcher->state.status != status) return false;
    return link == NULL || strcmp(watcher->state.link_name, link) == 0;
}

afc_reachability watcher_expect(watcher *watcher, afc_reach_status status, const char *link) {
    struct timespec deadline = end_of_patience();
    pthread_mutex_lock(&watcher->lock);
    while (!is_as(watcher, status, link)) wait_for_change(watcher, &deadline);
    afc_reachability state = watcher->state;
    pthread_mutex_unlock(&watcher->lock);
    return state;
}

size_t watcher_told(watcher *watcher) {
    pthread_mutex_lock(&watcher->lock);
    size_t told = watcher->told;
    pthread_mutex_unlock(&watcher->lock);
    return told;
}

void watcher_expect_told(watcher *watcher, size_t count) {
    struct timespec deadline = end_of_patience();
    pthread_mutex_lock(&watcher->lock);
    while (watcher->told < count) wait_for_change(watcher, &deadline);
    pthread_mutex_unlock(&watcher->lock);
}

void watcher_expect_dropped(watcher *watcher) {
    struct timespec deadline = end_of_patience();
    pthread_mutex_lock(&watcher->lock);
    while (watcher->dropped == 0) wait_for_change(watcher, &deadline);
    assert_int_equal(watcher->dropped, 1);
    pthread_mutex_unlock(&watcher->lock);
}
