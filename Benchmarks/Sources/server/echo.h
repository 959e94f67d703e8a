/** A WebSocket that sends every message back. */
#ifndef ECHO_H
#define ECHO_H

#include <stdbool.h>

typedef struct echo echo;

/** Answers the handshake in `head`, which the client sends nothing behind. NULL: it can't. */
echo *echo_new(int socket, const char *head);

/** Reads what there is and answers it. false: the client has gone away. */
bool echo_read(echo *self);

/** NULL is allowed. */
void echo_free(echo *self);

#endif
