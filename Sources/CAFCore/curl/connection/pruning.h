/** Closes idle connections that are too old or dead, even if no request follows. Loop thread only. */
#ifndef AFC_CURL_CONNECTION_PRUNING_H
#define AFC_CURL_CONNECTION_PRUNING_H

#include "curl/driver.h"

/** Initialises driver->idle and its alarm. */
void afc__pruning_init(afc__driver *driver);

/** Disarms the alarm, before the driver is freed. Connections may be closed after that. */
void afc__pruning_clear(afc__driver *driver);

#endif
