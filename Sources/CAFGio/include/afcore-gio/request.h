/* Requests. */
#ifndef AFGIO_REQUEST_H
#define AFGIO_REQUEST_H

#include <afcore-gio/base.h>

G_BEGIN_DECLS

/**
 * AfgioCachePolicy:
 * @AFGIO_CACHE_POLICY_PROTOCOL: as the responses say (RFC 9111): the default
 * @AFGIO_CACHE_POLICY_RELOAD: ask the server for the whole response, and store it
 * @AFGIO_CACHE_POLICY_ELSE_LOAD: use a stored response however old it is, else ask the server
 * @AFGIO_CACHE_POLICY_ONLY: as %AFGIO_CACHE_POLICY_ELSE_LOAD, but without one the response is a 504 made here
 * @AFGIO_CACHE_POLICY_REVALIDATE: ask the server whether a stored response is still valid, unless it is fresh and
 * immutable
 * @AFGIO_CACHE_POLICY_BYPASS: neither use nor store responses
 *
 * How a request uses the cache of its session. Without a cache, %AFGIO_CACHE_POLICY_ONLY is
 * %AFGIO_ERROR_INVALID_INPUT.
 */
typedef enum {
    AFGIO_CACHE_POLICY_PROTOCOL = 0,
    AFGIO_CACHE_POLICY_RELOAD = 1,
    AFGIO_CACHE_POLICY_ELSE_LOAD = 2,
    AFGIO_CACHE_POLICY_ONLY = 3,
    AFGIO_CACHE_POLICY_REVALIDATE = 4,
    AFGIO_CACHE_POLICY_BYPASS = 5
} AfgioCachePolicy;

AFGIO_API GType afgio_cache_policy_get_type(void);
#define AFGIO_TYPE_CACHE_POLICY (afgio_cache_policy_get_type())

/**
 * AfgioRequest:
 *
 * A request: a method, a URL, header fields, a body, and where the body of the response goes.
 *
 * afgio_session_send_async() reads it before it returns, so a request may be changed and sent again, also while it is
 * being sent. Nothing is checked before that: invalid values are %AFGIO_ERROR_INVALID_INPUT there. One thread at a time
 * may use a request.
 *
 * The types of its properties in C, for g_object_new() and g_object_set():
 *
 * - char *: #AfgioRequest:method, #AfgioRequest:url
 * - #GBytes *: #AfgioRequest:body
 * - #GFile *: #AfgioRequest:destination
 * - #gboolean: #AfgioRequest:resume
 * - #AfgioCachePolicy: #AfgioRequest:cache-policy
 * - #gint: #AfgioRequest:connect-timeout-ms, #AfgioRequest:idle-timeout-ms, #AfgioRequest:total-timeout-ms
 *
 * A handler of the signal #AfgioRequest::progress has this type in C; a total that isn't known is -1:
 *
 *     void on_progress(AfgioRequest *self, gint64 sent, gint64 sent_total, gint64 received,
 *                      gint64 received_total, gpointer user_data);
 */
#define AFGIO_TYPE_REQUEST (afgio_request_get_type())
AFGIO_API G_DECLARE_FINAL_TYPE(AfgioRequest, afgio_request, AFGIO, REQUEST, GObject)

/**
 * afgio_request_new:
 * @method: the method, any token (RFC 9110, section 9.1), such as "GET"
 * @url: an http or https URL, or a reference relative to #AfgioSession:base-url
 *
 * Makes a request.
 *
 * Thread: any. Owns: the request is yours. Fails: never.
 *
 * Returns: (transfer full): a new request
 */
AFGIO_API AfgioRequest *afgio_request_new(const char *method, const char *url);

/**
 * afgio_request_set_header:
 * @self: a request
 * @name: the name of the field
 * @value: (nullable): its value; %NULL removes the field, also if this library sends it by default
 *
 * Sets a header field and replaces all fields of that name, ignoring ASCII case.
 *
 * Accept, Accept-Encoding and User-Agent are sent by default. Content-Length and Transfer-Encoding are computed from
 * the body: setting a value fails when the request is sent, and %NULL reverts that. Authorization, Cookie, Proxy-…, and
 * fields for keys and tokens such as X-Api-Key, see afc_header_is_credential(), are not sent after a redirect to
 * another origin. For a key in another field, call afgio_request_mark_header_secret(), too.
 *
 * Thread: owner. Owns: copied. Fails: never; an invalid field fails the sending.
 */
AFGIO_API void afgio_request_set_header(AfgioRequest *self, const char *name, const char *value);

/**
 * afgio_request_append_header:
 * @self: a request
 * @name: the name of the field
 * @value: its value
 *
 * Adds a header field. Other fields of that name stay.
 *
 * Thread: owner. Owns: copied. Fails: never; an invalid field fails the sending.
 */
AFGIO_API void afgio_request_append_header(AfgioRequest *self, const char *name, const char *value);

/**
 * afgio_request_mark_header_secret:
 * @self: a request
 * @name: the name of a field, whether it is set already or not
 *
 * Marks the values of a header field as secret, as those of Authorization and Cookie always are: they are not sent
 * after a redirect to another origin, and the cache keeps responses to requests with different values apart.
 *
 * Thread: owner. Owns: copied. Fails: never.
 */
AFGIO_API void afgio_request_mark_header_secret(AfgioRequest *self, const char *name);

/**
 * afgio_request_set_body:
 * @self: a request
 * @content_type: (nullable): the Content-Type; %NULL leaves the field as it is
 * @body: (nullable): the body; %NULL: none
 *
 * Sets the body.
 *
 * Thread: owner. Owns: keeps a reference to @body, which isn't copied. Fails: never.
 */
AFGIO_API void afgio_request_set_body(AfgioRequest *self, const char *content_type, GBytes *body);

/**
 * afgio_request_get_body:
 * @self: a request
 *
 * Returns the body.
 *
 * Thread: owner. Owns: borrowed. Fails: never.
 *
 * Returns: (transfer none) (nullable): the body; %NULL: none
 */
AFGIO_API GBytes *afgio_request_get_body(AfgioRequest *self);

/**
 * afgio_request_set_destination:
 * @self: a request
 * @destination: (nullable): a local file; %NULL, the default: the body is collected in memory, at most 64 MiB of it
 * @resume: whether an interrupted download is kept and continued
 *
 * Writes the body of a 2xx response to a file, which atomically replaces an existing one when the request succeeds. A
 * 2xx without a body, such as a 204, creates an empty file; HEAD leaves the file unchanged. The body of any other
 * response is collected in memory, at most 1 MiB of it.
 *
 * With @resume, which applies to GET without a body, the bytes received so far are kept in "PATH.part" if the request
 * fails or is cancelled and the response had a strong validator. The next request with the same URL and file requests
 * the rest, and starts over if the file on the server has changed. Content-MD5 and Repr-Digest of the server are
 * verified.
 *
 * Thread: owner. Owns: keeps a reference. Fails: never; a file that isn't local fails the sending.
 */
AFGIO_API void afgio_request_set_destination(AfgioRequest *self, GFile *destination,
                                             gboolean resume);

/**
 * afgio_request_get_destination:
 * @self: a request
 *
 * Returns the file that the body of the response is written to.
 *
 * Thread: owner. Owns: borrowed. Fails: never.
 *
 * Returns: (transfer none) (nullable): the file; %NULL: none
 */
AFGIO_API GFile *afgio_request_get_destination(AfgioRequest *self);

/**
 * afgio_request_set_credentials:
 * @self: a request
 * @user: (nullable): the user, UTF-8; %NULL, the default: no credentials
 * @password: (nullable): the password, UTF-8; %NULL is the same as ""
 *
 * Sets the credentials that answer a 401 of the URL's origin, and of no other: Digest where the server offers it,
 * otherwise Basic. Without credentials, or if they are refused, the response is the 401. For a token, set the field
 * Authorization: "Bearer TOKEN".
 *
 * Thread: owner. Owns: copied; the copy of the password is overwritten before it is freed. Fails: never; a control
 * character fails the sending.
 */
AFGIO_API void afgio_request_set_credentials(AfgioRequest *self, const char *user,
                                             const char *password);

/**
 * afgio_request_set_cache_policy:
 * @self: a request
 * @policy: how the cache is used
 *
 * Sets how the request uses the cache of its session.
 *
 * Thread: owner. Owns: nothing. Fails: never.
 */
AFGIO_API void afgio_request_set_cache_policy(AfgioRequest *self, AfgioCachePolicy policy);

/**
 * afgio_request_get_cache_policy:
 * @self: a request
 *
 * Returns how the request uses the cache of its session.
 *
 * Thread: owner. Owns: nothing. Fails: never.
 *
 * Returns: the policy
 */
AFGIO_API AfgioCachePolicy afgio_request_get_cache_policy(AfgioRequest *self);

G_END_DECLS

#endif
