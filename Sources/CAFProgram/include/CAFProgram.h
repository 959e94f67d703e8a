/**
 * What the program does before the Swift runtime is set up, so that its first request is sent sooner. See
 * Benchmarks/first-byte, which measures it.
 */
#ifndef CAFPROGRAM_H
#define CAFPROGRAM_H

#include <stdbool.h>

/**
 * Calls `work` on the thread that was started before `main`, once it has initialised the libraries. It blocks all
 * signals. May be called once. Returns false if there is no such thread; nothing is called then.
 */
bool afp_call_on_first_thread(void (*work)(void *context), void *context);

#endif
