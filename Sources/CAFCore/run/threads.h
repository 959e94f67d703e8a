/**
 * The library's threads: started apart from their callers, joined by whoever asks for it.
 */
#ifndef AF_RUN_THREADS_H
#define AF_RUN_THREADS_H

/**
 * Run `body(context)` on a thread of its own with every signal blocked (so a write to a closed
 * socket is an error there and not SIGPIPE). 0, or an errno.
 */
int af__thread_start(const char *name, void (*body)(void *context), void *context);

/**
 * Said once by the owner of a thread, running or about to be started, when that thread is bound to
 * end by itself.
 */
void af__thread_will_end(void);

/** Takes that back: it was given more to do, or could not be started. */
void af__thread_will_stay(void);

/**
 * Makes this file's fork handlers the first ones: who registers handlers of his own afterwards may
 * start threads while he holds the lock that those take.
 */
void af__threads_watch_forks(void);

/** A number that differs in a forked child: threads of the parent do not exist there. */
unsigned af__process_generation(void);

#endif
