/*
 * HTTP requests for programs of GLib, over libafcore: asynchronous functions in the manner of GIO, with introspection
 * for other languages. docs/gio.md is the guide.
 *
 * Each function documents three things. "Thread": the threads that may call it. "Owns": the ownership of arguments and
 * results afterwards, in addition to the annotations. "Fails": the errors. Memory comes from GLib, which ends the
 * program if it runs out.
 */
#ifndef AFGIO_AFCORE_GIO_H
#define AFGIO_AFCORE_GIO_H

#include <afcore-gio/base.h>
#include <afcore-gio/error.h>
#include <afcore-gio/request.h>
#include <afcore-gio/response.h>
#include <afcore-gio/session.h>

#endif
