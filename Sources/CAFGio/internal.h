/* Declarations that the files of this library share. Names that aren't exported begin with afgio__. */
#ifndef AFGIO_INTERNAL_H
#define AFGIO_INTERNAL_H

#include <afcore-gio/afcore-gio.h>
#include <afcore/afcore.h>

/* Makes an error from a failure. Its code may be a newer one that AfgioError doesn't have. */
GError *afgio__error_new(const afc_failure *failure);

/* Returns a text for GLib: `text` itself if it is UTF-8, otherwise read as ISO 8859-1. The caller frees it with
 * g_free(). */
char *afgio__utf8_of(afc_slice text);

/* A field of a request or a response. `value` is NULL for a field that isn't sent, not even by default. */
typedef struct afgio__field {
    char *name, *value;
} afgio__field;

/* Returns an array that frees its fields. */
GArray *afgio__fields_new(void);

/* The data of a request that is being sent. Has its own references, because the request may be changed meanwhile. */
typedef struct afgio__request_spec {
    afc_request core; /**< Points to the members below. */
    char *method, *url, *path;
    char *user, *password; /**< `user` is NULL if there are none. */
    afc_credentials credentials;
    GArray *headers;    /**< Elements: afc_header, which point to `texts`. */
    GPtrArray *texts;   /**< The texts of `headers`. */
    GBytes *body;       /**< NULL: none. */
    GFile *destination; /**< NULL: none. */
} afgio__request_spec;

/* Reads a request into `spec`. Returns false with AFGIO_ERROR_INVALID_INPUT; `spec` then needs no clearing. */
bool afgio__request_spec_read(afgio__request_spec *spec, AfgioRequest *request,
                              const char *base_url, GError **error);
void afgio__request_spec_clear(afgio__request_spec *spec);

/* Returns the time limits of a request: its own, or those of its session. */
afc_timeouts afgio__request_get_timeouts(AfgioRequest *request, afc_timeouts of_session);

/* Returns whether a handler is connected to the request's signal `progress`. */
bool afgio__request_has_listener(AfgioRequest *request);
void afgio__request_emit_progress(AfgioRequest *request, const afc_progress *progress);

/* Makes a response, and takes the body out of `result`. `destination` may be NULL. Returns NULL if `result` has no
 * response. */
AfgioResponse *afgio__response_new(afc_result *result, GFile *destination);

/* Opens the session if necessary. Returns a reference, which the caller gives up with afc_session_release(); NULL with
 * an error. */
afc_session *afgio__session_copy_core(AfgioSession *session, GError **error);

/* Returns the base URL; NULL if there is none. Call this and the next function on an open session only, whose settings
 * don't change. */
const char *afgio__session_get_base_url(AfgioSession *session);
afc_timeouts afgio__session_get_timeouts(AfgioSession *session);

#endif
