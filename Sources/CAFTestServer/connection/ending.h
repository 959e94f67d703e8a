/** The ways in which a server ends a connection. */
#ifndef AFTS_CONNECTION_ENDING_H
#define AFTS_CONNECTION_ENDING_H

#include "caftestserver.h"

void afts__close(afts_conn *conn);
void afts__close_abruptly(afts_conn *conn);
void afts__half_close(afts_conn *conn);
void afts__reset(afts_conn *conn);

#endif
