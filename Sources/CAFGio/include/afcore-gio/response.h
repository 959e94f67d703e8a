/* Responses. */
#ifndef AFGIO_RESPONSE_H
#define AFGIO_RESPONSE_H

#include <afcore-gio/base.h>

G_BEGIN_DECLS

/**
 * AfgioCacheUse:
 * @AFGIO_CACHE_USE_UNUSED: the response came from the server
 * @AFGIO_CACHE_USE_HIT: a stored response that was fresh
 * @AFGIO_CACHE_USE_STALE: a stored response that was stale, as it, or the request, allows
 * @AFGIO_CACHE_USE_VALIDATED: a stored response that the server confirmed
 * @AFGIO_CACHE_USE_MISSING: a 504 made here: nothing is stored, and the server isn't asked
 *
 * How the cache took part in a response.
 */
typedef enum {
    AFGIO_CACHE_USE_UNUSED = 0,
    AFGIO_CACHE_USE_HIT = 1,
    AFGIO_CACHE_USE_STALE = 2,
    AFGIO_CACHE_USE_VALIDATED = 3,
    AFGIO_CACHE_USE_MISSING = 4
} AfgioCacheUse;

AFGIO_API GType afgio_cache_use_get_type(void);
#define AFGIO_TYPE_CACHE_USE (afgio_cache_use_get_type())

/**
 * AfgioResumption:
 * @AFGIO_RESUMPTION_NONE: there was no partial file, or it wasn't used
 * @AFGIO_RESUMPTION_RESUMED: the body was appended to it
 * @AFGIO_RESUMPTION_RESTARTED: it was invalid, and the download started over
 * @AFGIO_RESUMPTION_COMPLETE: it was already complete, and the status is 416
 *
 * What happened to the partial file of an earlier download.
 */
typedef enum {
    AFGIO_RESUMPTION_NONE = 0,
    AFGIO_RESUMPTION_RESUMED = 1,
    AFGIO_RESUMPTION_RESTARTED = 2,
    AFGIO_RESUMPTION_COMPLETE = 3
} AfgioResumption;

AFGIO_API GType afgio_resumption_get_type(void);
#define AFGIO_TYPE_RESUMPTION (afgio_resumption_get_type())

/**
 * AfgioResponse:
 *
 * The final response to a request. It never changes, so several threads may use it at the same time.
 *
 * Texts of the server that aren't UTF-8 are read as ISO 8859-1.
 */
#define AFGIO_TYPE_RESPONSE (afgio_response_get_type())
AFGIO_API G_DECLARE_FINAL_TYPE(AfgioResponse, afgio_response, AFGIO, RESPONSE, GObject)

/**
 * afgio_response_get_status:
 * @self: a response
 *
 * Returns the status code.
 *
 * Thread: any. Owns: nothing. Fails: never.
 *
 * Returns: 200 to 999
 */
AFGIO_API guint afgio_response_get_status(AfgioResponse *self);

/**
 * afgio_response_get_reason:
 * @self: a response
 *
 * Returns the reason phrase.
 *
 * Thread: any. Owns: borrowed. Fails: never.
 *
 * Returns: the reason phrase; "" over HTTP/2
 */
AFGIO_API const char *afgio_response_get_reason(AfgioResponse *self);

/**
 * afgio_response_get_url:
 * @self: a response
 *
 * Returns the URL of the response, after redirects, without user information and fragment.
 *
 * Thread: any. Owns: borrowed. Fails: never.
 *
 * Returns: the URL
 */
AFGIO_API const char *afgio_response_get_url(AfgioResponse *self);

/**
 * afgio_response_get_body:
 * @self: a response
 *
 * Returns the body, decoded, that was collected in memory.
 *
 * Thread: any. Owns: borrowed. Fails: never.
 *
 * Returns: (transfer none): the body; empty without a body, and if it was written to a file
 */
AFGIO_API GBytes *afgio_response_get_body(AfgioResponse *self);

/**
 * afgio_response_get_file:
 * @self: a response
 *
 * Returns the file that the body was written to: the destination of the request.
 *
 * Thread: any. Owns: borrowed. Fails: never.
 *
 * Returns: (transfer none) (nullable): the file; %NULL if the request had no destination, or nothing was saved: the
 * status isn't 2xx, and afgio_response_get_resumption() isn't %AFGIO_RESUMPTION_COMPLETE (416)
 */
AFGIO_API GFile *afgio_response_get_file(AfgioResponse *self);

/**
 * afgio_response_get_resumption:
 * @self: a response
 *
 * Returns what happened to the partial file of an earlier download.
 *
 * Thread: any. Owns: nothing. Fails: never.
 *
 * Returns: what happened to it
 */
AFGIO_API AfgioResumption afgio_response_get_resumption(AfgioResponse *self);

/**
 * afgio_response_get_cache_use:
 * @self: a response
 *
 * Returns how the cache took part.
 *
 * Thread: any. Owns: nothing. Fails: never.
 *
 * Returns: how the cache took part
 */
AFGIO_API AfgioCacheUse afgio_response_get_cache_use(AfgioResponse *self);

/**
 * afgio_response_get_header:
 * @self: a response
 * @name: the name of a field
 *
 * Returns the value of the first field of that name, ignoring ASCII case.
 *
 * Thread: any. Owns: borrowed. Fails: never.
 *
 * Returns: (nullable): the value; %NULL: there is no such field
 */
AFGIO_API const char *afgio_response_get_header(AfgioResponse *self, const char *name);

/**
 * afgio_response_get_n_headers:
 * @self: a response
 *
 * Returns the number of header fields.
 *
 * Thread: any. Owns: nothing. Fails: never.
 *
 * Returns: the number of fields; those that are repeated count each time
 */
AFGIO_API guint afgio_response_get_n_headers(AfgioResponse *self);

/**
 * afgio_response_get_nth_header:
 * @self: a response
 * @index: 0 for the first field
 * @name: (out) (optional) (transfer none) (nullable): its name
 * @value: (out) (optional) (transfer none) (nullable): its value
 *
 * Returns a header field, in the order in which they were received.
 *
 * Thread: any. Owns: borrowed. Fails: returns %FALSE if there are fewer fields; both are then %NULL.
 *
 * Returns: whether there is such a field
 */
AFGIO_API gboolean afgio_response_get_nth_header(AfgioResponse *self, guint index,
                                                 const char **name, const char **value);

G_END_DECLS

#endif
