/* Sessions: they have the connections and the settings, and send requests. */
#ifndef AFGIO_SESSION_H
#define AFGIO_SESSION_H

#include <afcore-gio/base.h>
#include <afcore-gio/request.h>
#include <afcore-gio/response.h>

G_BEGIN_DECLS

/**
 * AfgioSession:
 *
 * A pool of connections with its settings, which are the properties: trust, proxy, cache, time limits. For
 * g_object_new() and g_object_set() their types in C are:
 *
 * - char *: #AfgioSession:base-url, #AfgioSession:user-agent, #AfgioSession:ca-file, #AfgioSession:proxy,
 *   #AfgioSession:cache-folder
 * - #guint64: #AfgioSession:cache-memory-bytes, #AfgioSession:cache-disk-bytes
 * - #guint: #AfgioSession:connect-timeout-ms, #AfgioSession:idle-timeout-ms, #AfgioSession:total-timeout-ms
 *
 * An argument of another type, such as an int for a #guint64, isn't converted: the behaviour is undefined.
 *
 * The first request, or afgio_session_open(), opens the session. From then on the settings can't be changed: an attempt
 * is reported by g_critical() and has no effect. A session has one thread, which only moves data. Several threads may
 * send requests with the same session; before it is open, one thread at a time may set its properties.
 *
 * The last reference may be dropped at any time. A request under way keeps the session.
 */
#define AFGIO_TYPE_SESSION (afgio_session_get_type())
AFGIO_API G_DECLARE_FINAL_TYPE(AfgioSession, afgio_session, AFGIO, SESSION, GObject)

/**
 * afgio_session_new:
 *
 * Makes a session with the default settings.
 *
 * Thread: any. Owns: the session is yours. Fails: never.
 *
 * Returns: (transfer full): a new session
 */
AFGIO_API AfgioSession *afgio_session_new(void);

/**
 * afgio_session_pin_host:
 * @self: a session that isn't open
 * @host: "example.com", "*.example.com" (one label), or an address
 * @include_subdomains: whether the pins are for subdomains of @host too, at any depth
 * @pins: (array zero-terminated=1): "sha256//" and the Base64 of the SHA-256 of a public key, each; include backup pins
 *
 * Accepts the certificate chains of a host only if the public key of one of its certificates is pinned. The chain is
 * verified as without pins, too.
 *
 * Thread: owner. Owns: copied. Fails: never; invalid hosts and pins fail afgio_session_open().
 */
AFGIO_API void afgio_session_pin_host(AfgioSession *self, const char *host,
                                      gboolean include_subdomains, const char *const *pins);

/**
 * afgio_session_open:
 * @self: a session
 * @error: return location for an error
 *
 * Opens the session, as the first request does: reads the file of certificates, checks the settings, opens the cache.
 *
 * Thread: any; reads files. Owns: nothing.
 * Fails: %AFGIO_ERROR_INVALID_INPUT (invalid base URL, pins, hosts, certificates or proxy), %AFGIO_ERROR_FILE (a file
 * or folder can't be used), %AFGIO_ERROR_INTERNAL (no thread). The next call tries again.
 *
 * Returns: whether it is open now, or was already
 */
AFGIO_API gboolean afgio_session_open(AfgioSession *self, GError **error);

/**
 * afgio_session_send_async:
 * @self: a session
 * @request: the request, which is read before this function returns
 * @cancellable: (nullable): cancels the request
 * @callback: (scope async) (nullable): called once, when the request has ended
 * @user_data: passed to @callback
 *
 * Sends a request. @callback, and the signal #AfgioRequest::progress before it, are called in the thread-default main
 * context of the caller, which must be running for that. The request doesn't keep that context: if it is freed before
 * @callback was called, the request is cancelled, and @callback is never called.
 *
 * Thread: any. Owns: keeps references until @callback has returned, or can't be called any more. Fails: never; errors
 * come from afgio_session_send_finish().
 */
AFGIO_API void afgio_session_send_async(AfgioSession *self, AfgioRequest *request,
                                        GCancellable *cancellable, GAsyncReadyCallback callback,
                                        gpointer user_data);

/**
 * afgio_session_send_finish:
 * @self: a session
 * @result: the result that the callback was given
 * @error: return location for an error
 *
 * Returns the response to a request, or its error.
 *
 * Thread: any. Owns: the response is yours.
 * Fails: %AFGIO_ERROR; %G_IO_ERROR_CANCELLED if @cancellable or afgio_session_cancel_all() ended it; errors of
 * afgio_session_open().
 *
 * Returns: (transfer full): the response, whatever its status
 */
AFGIO_API AfgioResponse *afgio_session_send_finish(AfgioSession *self, GAsyncResult *result,
                                                   GError **error);

/**
 * afgio_session_send:
 * @self: a session
 * @request: the request
 * @cancellable: (nullable): cancels the request
 * @error: return location for an error
 *
 * Sends a request and waits for its response. #AfgioRequest::progress is emitted on the calling thread meanwhile. No
 * main loop is needed, and none runs.
 *
 * Thread: any. Owns: the response is yours. Fails: as afgio_session_send_finish().
 *
 * Returns: (transfer full): the response, whatever its status
 */
AFGIO_API AfgioResponse *afgio_session_send(AfgioSession *self, AfgioRequest *request,
                                            GCancellable *cancellable, GError **error);

/**
 * afgio_session_cancel_all:
 * @self: a session
 *
 * Cancels every request that was sent before this call.
 *
 * Thread: any. Owns: nothing. Fails: never.
 */
AFGIO_API void afgio_session_cancel_all(AfgioSession *self);

/**
 * afgio_session_clear_cache:
 * @self: a session
 *
 * Removes every stored response. Has no effect before the session is open.
 *
 * Thread: any. Owns: nothing. Fails: never.
 */
AFGIO_API void afgio_session_clear_cache(AfgioSession *self);

/**
 * afgio_session_flush_cache:
 * @self: a session
 *
 * Waits until all stored responses are on disk. Call it at the end of a program. Responses that aren't on disk by then
 * are requested again by the next run.
 *
 * Thread: any; waits for the disk. Owns: nothing. Fails: never.
 */
AFGIO_API void afgio_session_flush_cache(AfgioSession *self);

G_END_DECLS

#endif
