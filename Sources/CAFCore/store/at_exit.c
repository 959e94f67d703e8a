#include "store/at_exit.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static afc__list entries; /* Under the lock. */
static pid_t process;     /* The process whose stores these are. */

/**
 * Called in a forked child, which begins with no stores: the parent saves its own. The lock is made anew, as another
 * thread may have held it during the fork.
 */
static void forget_others(void) {
    pthread_mutex_init(&lock, NULL);
    afc__list_init(&entries);
    process = getpid();
}

/**
 * Called by exit(). Keeps the lock meanwhile, so that no store is freed. That can't deadlock: no thread takes it while
 * it holds another lock.
 */
static void save_all(void) {
    afc__node *node;
    /* True in a child that was made without fork handlers, as by clone(). */
    if (getpid() != process) return;
    pthread_mutex_lock(&lock);
    while ((node = afc__list_first(&entries)) != NULL) {
        afc__at_exit *entry = AFC__OWNER(node, afc__at_exit, node);
        afc__list_remove(node);
        entry->save(entry->store);
    }
    pthread_mutex_unlock(&lock);
}

static void begin(void) {
    forget_others();
    (void)pthread_atfork(NULL, NULL, forget_others);
    /* If this fails, stores are saved by their release only. */
    (void)atexit(save_all);
}

void afc__at_exit_add(afc__at_exit *entry, void *store, void (*save)(void *store)) {
    pthread_once(&once, begin);
    if (getpid() != process) return;
    *entry = (afc__at_exit){.store = store, .save = save, .process = process};
    pthread_mutex_lock(&lock);
    afc__list_append(&entries, &entry->node);
    pthread_mutex_unlock(&lock);
}

void afc__at_exit_remove(afc__at_exit *entry) {
    if (entry->store == NULL || entry->process != getpid()) return;
    pthread_mutex_lock(&lock);
    afc__list_remove(&entry->node);
    pthread_mutex_unlock(&lock);
}
