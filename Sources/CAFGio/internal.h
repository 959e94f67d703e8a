/* What the files of this library use of each other. Names that aren't exported begin with afgio__. */
#ifndef AFGIO_INTERNAL_H
#define AFGIO_INTERNAL_H

#include <afcore-gio/afcore-gio.h>
#include <afcore/afcore.h>

/* Makes an error of a failure. Its code may be newer than AfgioError. */
GError *afgio__error_new(const afc_failure *failure);

/* A text for GLib: `text` if it is UTF-8, otherwise read as ISO 8859-1. g_free(). */
char *afgio__utf8_of(afc_slice text);

/* A field of a request or a response. `value` NULL: not sent, not even by default. */
typedef struct afgio__field {
    char *name, *value;
} afgio__field;

/* Returns an array that frees its fields. */
GArray *afgio__fields_new(void);

/* What is sent of a request, with references of its own: the request may change meanwhile. */
typedef struct afgio__request_spec {
    afc_request core; /**< Points to the members below. */
    char *method, *url, *path;
    char *user, *password; /**< `user` NULL: none. */
    afc_credentials credentials;
    GArray *headers;    /**< Elements: afc_header. */
    GPtrArray *texts;   /**< What they point to. */
    GBytes *body;       /**< NULL: none. */
    GFile *destination; /**< NULL: none. */
} afgio__request_spec;

/* Reads a request. Fails with AFGIO_ERROR_INVALID_INPUT; `spec` then needs no clearing. */
bool afgio__request_spec_read(afgio__request_spec *spec, AfgioRequest *request,
                              const char *base_url, GError **error);
void afgio__request_spec_clear(afgio__request_spec *spec);

/* Returns the time limits of a request: its own, or those of its session. */
afc_timeouts afgio__request_get_timeouts(AfgioRequest *request, afc_timeouts of_session);

/* Is a handler connected to the request's progress? */
bool afgio__request_has_listener(AfgioRequest *request);
void afgio__request_emit_progress(AfgioRequest *request, const afc_progress *progress);

/* Makes a response, and takes the body out of `result`. `destination` may be NULL. NULL: there is no response. */
AfgioResponse *afgio__response_new(afc_result *result, GFile *destination);

/* Opens the session if necessary. Returns a reference; NULL with an error. afc_session_release() */
afc_session *afgio__session_copy_core(AfgioSession *session, GError **error);

/* Returns the base URL; NULL: none. Call it, and the next one, on an open session only: it doesn't change then. */
const char *afgio__session_get_base_url(AfgioSession *session);
afc_timeouts afgio__session_get_timeouts(AfgioSession *session);

#endif
