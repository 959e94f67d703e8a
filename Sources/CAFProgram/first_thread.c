/*
 * The first thread of the program beside the main one. It initialises libcurl and OpenSSL while the main thread sets up
 * the Swift runtime, reads the command line and prepares the request; each takes about 0.7 ms. Then it does what
 * Swift asks for: it waits for signals.
 */
#include "first_thread.h"

#include "CAFProgram.h"

#include <afcore/session.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

static struct {
    bool has_begun;
    sem_t is_set; /* Posted when the two below are. */
    void (*work)(void *context);
    void *context;
} first_thread;

static void *run(void *unused) {
    (void)unused;
    afc_prepare();
    while (sem_wait(&first_thread.is_set) != 0) {}
    first_thread.work(first_thread.context);
    return NULL;
}

void afp__start_first_thread(void) {
    if (sem_init(&first_thread.is_set, 0, 0) != 0) return;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t id;
    first_thread.has_begun = pthread_create(&id, NULL, run, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (first_thread.has_begun) pthread_detach(id);
}

bool afp_call_on_first_thread(void (*work)(void *context), void *context) {
    if (!first_thread.has_begun) return false;
    first_thread.work = work;
    first_thread.context = context;
    sem_post(&first_thread.is_set);
    return true;
}
