/** Closes idle connections when it is time, also if no request follows. */
#ifndef AFC_CURL_CONNECTION_PRUNING_H
#define AFC_CURL_CONNECTION_PRUNING_H

#include "curl/driver.h"

void afc__pruning_init(afc__driver *driver);

/** Ends the alarm. Its connections may still be closed. */
void afc__pruning_clear(afc__driver *driver);

#endif
