/**
 * Loop threads: started apart from their callers, joined by whoever asks for it.
 */
#ifndef AF_NET_THREADS_H
#define AF_NET_THREADS_H

/**
 * Run `body(context)` on a thread of its own, named af-loop, with every signal blocked (so a write
 * to a closed socket is an error there and not SIGPIPE). 0, or an errno.
 */
int af__thread_start(void (*body)(void *context), void *context);

/** Said once by the owner of a running thread when that thread is bound to end by itself. */
void af__thread_will_end(void);

/** A number that differs in a forked child: threads of the parent do not exist there. */
unsigned af__process_generation(void);

#endif
