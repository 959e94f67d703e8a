#include "support/fake_names.h"

#include "run/resolver.h"

#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_SEEN = 4096 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    afc__resolver_settings system;
    bool hangs;
    unsigned hanging, running, peak, total;
    int family;
    char seen[MOST_SEEN][64];
} names = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static bool begins_with(const char *text, const char *head) {
    return strncmp(text, head, strlen(head)) == 0;
}

/** Under the lock. */
static void note(const char *host, int family) {
    if (names.total < MOST_SEEN) snprintf(names.seen[names.total], 64, "%s", host);
    names.total++;
    names.family = family;
    if (++names.running > names.peak) names.peak = names.running;
}

static void hang(void) {
    names.hanging++;
    pthread_cond_broadcast(&names.changed);
    while (names.hangs) pthread_cond_wait(&names.changed, &names.lock);
    names.hanging--;
}

static int look_up(const char *host, const char *service, const struct addrinfo *hints,
                   struct addrinfo **out) {
    pthread_mutex_lock(&names.lock);
    note(host, hints->ai_family);
    if (begins_with(host, "hung") && names.hangs) hang();
    pthread_mutex_unlock(&names.lock);
    struct addrinfo numeric = *hints;
    numeric.ai_flags |= AI_NUMERICHOST;
    const char *address = hints->ai_family == AF_INET6 ? "::1" : "127.0.0.1";
    int error = begins_with(host, "gone")    ? EAI_NONAME
                : begins_with(host, "later") ? EAI_AGAIN
                                             : getaddrinfo(address, service, &numeric, out);
    pthread_mutex_lock(&names.lock);
    names.running--;
    pthread_cond_broadcast(&names.changed);
    pthread_mutex_unlock(&names.lock);
    return error;
}

void fake_names_install(void) {
    names.system = afc__resolver_configure(NULL);
    names.hangs = true;
    names.hanging = names.running = names.peak = names.total = 0;
    afc__resolver_settings scripted = names.system;
    scripted.look_up = look_up;
    afc__resolver_configure(&scripted);
}

void fake_names_remove(void) {
    fake_names_release();
    pthread_mutex_lock(&names.lock);
    while (names.running > 0) pthread_cond_wait(&names.changed, &names.lock);
    pthread_mutex_unlock(&names.lock);
    afc__resolver_configure(&names.system);
}

void fake_names_live_for(int64_t lifetime_us) {
    afc__resolver_settings settings = afc__resolver_configure(NULL);
    settings.lifetime_us = lifetime_us;
    afc__resolver_configure(&settings);
}

void fake_names_let_threads_idle_for(int64_t idle_us) {
    afc__resolver_settings settings = afc__resolver_configure(NULL);
    settings.idle_us = idle_us;
    afc__resolver_configure(&settings);
}

static void set_hangs(bool hangs) {
    pthread_mutex_lock(&names.lock);
    names.hangs = hangs;
    pthread_cond_broadcast(&names.changed);
    pthread_mutex_unlock(&names.lock);
}

void fake_names_release(void) {
    set_hangs(false);
}

void fake_names_hang(void) {
    set_hangs(true);
}

void fake_names_wait_hanging(unsigned count) {
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += PATIENCE_MS / 1000;
    int error = 0;
    pthread_mutex_lock(&names.lock);
    while (names.hanging < count && error == 0) {
        error = pthread_cond_timedwait(&names.changed, &names.lock, &deadline);
    }
    pthread_mutex_unlock(&names.lock);
    assert_int_equal(error, 0);
}

unsigned fake_names_count(const char *host) {
    unsigned count = 0;
    pthread_mutex_lock(&names.lock);
    for (unsigned i = 0; i < names.total && i < MOST_SEEN; i++) {
        if (host == NULL || strcmp(names.seen[i], host) == 0) count++;
    }
    pthread_mutex_unlock(&names.lock);
    return count;
}

unsigned fake_names_peak(void) {
    pthread_mutex_lock(&names.lock);
    unsigned peak = names.peak;
    pthread_mutex_unlock(&names.lock);
    return peak;
}

int fake_names_family(void) {
    pthread_mutex_lock(&names.lock);
    int family = names.family;
    pthread_mutex_unlock(&names.lock);
    return family;
}

int fake_names_setup(void **state) {
    fake_names_install();
    *state = fixture_new(NULL, NULL);
    return 0;
}

int fake_names_teardown(void **state) {
    fixture_free(*state);
    fake_names_remove();
    return 0;
}

const char *named_url(fixture *fixture, const char *host, const char *path) {
    const char *port = strrchr(url_of(fixture, ""), ':');
    return text_of(fixture, "http://%s%s%s", host, port, path);
}
