#include "support/recording_monitor.h"

#include "support/fixture.h"

#include <stdlib.h>
#include <time.h>

static void on_change(void *context, const afc_reachability *state) {
    recording_monitor *recording = context;
    pthread_mutex_lock(&recording->lock);
    recording->state = *state;
    recording->report_count++;
    pthread_cond_broadcast(&recording->changed);
    pthread_mutex_unlock(&recording->lock);
    if (recording->on_change != NULL) recording->on_change(recording);
}

static void on_release(void *context) {
    recording_monitor *recording = context;
    pthread_mutex_lock(&recording->lock);
    recording->release_count++;
    pthread_cond_broadcast(&recording->changed);
    pthread_mutex_unlock(&recording->lock);
}

recording_monitor *recording_monitor_new(const char *host) {
    recording_monitor *new = calloc(1, sizeof *new);
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

recording_monitor *recording_monitor_start(const char *host) {
    recording_monitor *new = recording_monitor_new(host);
    check_status(afc_reach_monitor_start(new->monitor, NULL), AFC_OK);
    return new;
}

void recording_monitor_free(recording_monitor *recording) {
    afc_reach_monitor_free(recording->monitor);
    recording_monitor_expect_release(recording);
    pthread_mutex_destroy(&recording->lock);
    pthread_cond_destroy(&recording->changed);
    free(recording);
}

/** Under the lock: wait for a change; fails the test after a while. */
static void wait_for_change(recording_monitor *recording, const struct timespec *deadline) {
    int error = pthread_cond_timedwait(&recording->changed, &recording->lock, deadline);
    if (error == 0) return;
    print_error("told %zu times, last: %s over \"%s\"\n", recording->report_count,
                afc_reach_status_text(recording->state.status), recording->state.link_name);
    pthread_mutex_unlock(&recording->lock);
    fail();
}

static struct timespec end_of_patience(void) {
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += PATIENCE_MS / 1000;
    return deadline;
}

static bool is_as(const recording_monitor *recording, afc_reach_status status, const char *link) {
    if (recording->report_count == 0 || recording->state.status != status) return false;
    return link == NULL || strcmp(recording->state.link_name, link) == 0;
}

afc_reachability recording_monitor_expect(recording_monitor *recording, afc_reach_status status,
                                          const char *link) {
    struct timespec deadline = end_of_patience();
    pthread_mutex_lock(&recording->lock);
    while (!is_as(recording, status, link)) wait_for_change(recording, &deadline);
    afc_reachability state = recording->state;
    pthread_mutex_unlock(&recording->lock);
    return state;
}

size_t recording_monitor_report_count(recording_monitor *recording) {
    pthread_mutex_lock(&recording->lock);
    size_t report_count = recording->report_count;
    pthread_mutex_unlock(&recording->lock);
    return report_count;
}

void recording_monitor_expect_reports(recording_monitor *recording, size_t count) {
    struct timespec deadline = end_of_patience();
    pthread_mutex_lock(&recording->lock);
    while (recording->report_count < count) wait_for_change(recording, &deadline);
    pthread_mutex_unlock(&recording->lock);
}

void recording_monitor_expect_release(recording_monitor *recording) {
    struct timespec deadline = end_of_patience();
    pthread_mutex_lock(&recording->lock);
    while (recording->release_count == 0) wait_for_change(recording, &deadline);
    assert_int_equal(recording->release_count, 1);
    pthread_mutex_unlock(&recording->lock);
}
