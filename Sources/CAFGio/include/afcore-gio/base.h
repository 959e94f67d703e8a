/* Includes and macros that every other header uses: GIO, and the export macro. */
#ifndef AFGIO_BASE_H
#define AFGIO_BASE_H

#include <gio/gio.h>

#if defined(__GNUC__)
#define AFGIO_API __attribute__((visibility("default")))
#else
#define AFGIO_API
#endif

#endif
