/** The first thread beside the main one. */
#ifndef FIRST_THREAD_H
#define FIRST_THREAD_H

/** Starts the thread. If that fails, the libraries are initialised by the first session. */
void afp__start_first_thread(void);

#endif
