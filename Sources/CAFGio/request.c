#include "internal.h"

#include <string.h>

struct _AfgioRequest {
    GObject parent;
    char *method, *url;
    GArray *fields;           /* Elements: afgio__field. */
    GHashTable *secret_names; /* A set of names in lower case. */
    GBytes *body;
    GFile *destination;
    gboolean resume;
    AfgioCachePolicy cache_policy;
    gint connect_timeout_ms, idle_timeout_ms, total_timeout_ms; /* -1 means the session's. */
    char *user, *password; /* `user` is NULL if there are none. */
};

enum {
    PROP_METHOD = 1,
    PROP_URL,
    PROP_BODY,
    PROP_DESTINATION,
    PROP_RESUME,
    PROP_CACHE_POLICY,
    PROP_CONNECT_TIMEOUT_MS,
    PROP_IDLE_TIMEOUT_MS,
    PROP_TOTAL_TIMEOUT_MS,
    PROP_COUNT
};

static GParamSpec *properties[PROP_COUNT];
static guint progress_signal;

G_DEFINE_ENUM_TYPE(AfgioCachePolicy, afgio_cache_policy,
                   G_DEFINE_ENUM_VALUE(AFGIO_CACHE_POLICY_PROTOCOL, "protocol"),
                   G_DEFINE_ENUM_VALUE(AFGIO_CACHE_POLICY_RELOAD, "reload"),
                   G_DEFINE_ENUM_VALUE(AFGIO_CACHE_POLICY_ELSE_LOAD, "else-load"),
                   G_DEFINE_ENUM_VALUE(AFGIO_CACHE_POLICY_ONLY, "only"),
                   G_DEFINE_ENUM_VALUE(AFGIO_CACHE_POLICY_REVALIDATE, "revalidate"),
                   G_DEFINE_ENUM_VALUE(AFGIO_CACHE_POLICY_BYPASS, "bypass"))

_Static_assert((int)AFGIO_CACHE_POLICY_BYPASS == AFC_HTTP_CACHE_BYPASS,
               "policies are those of the core");

G_DEFINE_TYPE(AfgioRequest, afgio_request, G_TYPE_OBJECT)

/* Overwrites a password before it is freed. NULL is allowed. */
static void password_free(char *password) {
    if (password == NULL) return;
    explicit_bzero(password, strlen(password));
    g_free(password);
}

static void field_clear(gpointer pointer) {
    afgio__field *field = pointer;
    g_free(field->name);
    g_free(field->value);
}

GArray *afgio__fields_new(void) {
    GArray *fields = g_array_new(FALSE, FALSE, sizeof(afgio__field));
    g_array_set_clear_func(fields, field_clear);
    return fields;
}

static gint *limit_of(AfgioRequest *self, guint number) {
    switch (number) {
    case PROP_CONNECT_TIMEOUT_MS:
        return &self->connect_timeout_ms;
    case PROP_IDLE_TIMEOUT_MS:
        return &self->idle_timeout_ms;
    default:
        return &self->total_timeout_ms;
    }
}

static void get_property(GObject *object, guint number, GValue *value, GParamSpec *spec) {
    AfgioRequest *self = AFGIO_REQUEST(object);
    switch (number) {
    case PROP_METHOD:
        g_value_set_string(value, self->method);
        break;
    case PROP_URL:
        g_value_set_string(value, self->url);
        break;
    case PROP_BODY:
        g_value_set_boxed(value, self->body);
        break;
    case PROP_DESTINATION:
        g_value_set_object(value, self->destination);
        break;
    case PROP_RESUME:
        g_value_set_boolean(value, self->resume);
        break;
    case PROP_CACHE_POLICY:
        g_value_set_enum(value, self->cache_policy);
        break;
    case PROP_CONNECT_TIMEOUT_MS:
    case PROP_IDLE_TIMEOUT_MS:
    case PROP_TOTAL_TIMEOUT_MS:
        g_value_set_int(value, *limit_of(self, number));
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, number, spec);
    }
}

static void set_property(GObject *object, guint number, const GValue *value, GParamSpec *spec) {
    AfgioRequest *self = AFGIO_REQUEST(object);
    switch (number) {
    case PROP_METHOD:
        g_free(self->method);
        self->method = g_value_dup_string(value);
        break;
    case PROP_URL:
        g_free(self->url);
        self->url = g_value_dup_string(value);
        break;
    case PROP_BODY:
        if (self->body != NULL) g_bytes_unref(self->body);
        self->body = g_value_dup_boxed(value);
        break;
    case PROP_DESTINATION:
        g_set_object(&self->destination, g_value_get_object(value));
        break;
    case PROP_RESUME:
        self->resume = g_value_get_boolean(value);
        break;
    case PROP_CACHE_POLICY:
        self->cache_policy = g_value_get_enum(value);
        break;
    case PROP_CONNECT_TIMEOUT_MS:
    case PROP_IDLE_TIMEOUT_MS:
    case PROP_TOTAL_TIMEOUT_MS:
        *limit_of(self, number) = g_value_get_int(value);
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, number, spec);
    }
}

static void finalize(GObject *object) {
    AfgioRequest *self = AFGIO_REQUEST(object);
    g_free(self->method);
    g_free(self->url);
    g_array_unref(self->fields);
    g_hash_table_unref(self->secret_names);
    if (self->body != NULL) g_bytes_unref(self->body);
    g_clear_object(&self->destination);
    g_free(self->user);
    password_free(self->password);
    G_OBJECT_CLASS(afgio_request_parent_class)->finalize(object);
}

static void afgio_request_init(AfgioRequest *self) {
    self->fields = afgio__fields_new();
    self->secret_names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

static void install_limits(GParamFlags flags) {
    /**
     * AfgioRequest:connect-timeout-ms:
     *
     * The time limit for establishing a connection, in milliseconds; 0 means no limit, -1, the default, the session's.
     */
    properties[PROP_CONNECT_TIMEOUT_MS] = g_param_spec_int("connect-timeout-ms", NULL, NULL, -1,
                                                           G_MAXINT, -1, flags);
    /**
     * AfgioRequest:idle-timeout-ms:
     *
     * The time limit without any bytes in either direction, in milliseconds; 0 means no limit, -1, the default, the
     * session's.
     */
    properties[PROP_IDLE_TIMEOUT_MS] = g_param_spec_int("idle-timeout-ms", NULL, NULL, -1, G_MAXINT,
                                                        -1, flags);
    /**
     * AfgioRequest:total-timeout-ms:
     *
     * The time limit for the whole request, including waiting and redirects, in milliseconds; 0 means no limit, -1, the
     * default, the session's.
     */
    properties[PROP_TOTAL_TIMEOUT_MS] = g_param_spec_int("total-timeout-ms", NULL, NULL, -1,
                                                         G_MAXINT, -1, flags);
}

static void afgio_request_class_init(AfgioRequestClass *class) {
    GObjectClass *object_class = G_OBJECT_CLASS(class);
    const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS;
    object_class->get_property = get_property;
    object_class->set_property = set_property;
    object_class->finalize = finalize;
    /**
     * AfgioRequest:method:
     *
     * The method, any token (RFC 9110, section 9.1).
     */
    properties[PROP_METHOD] = g_param_spec_string("method", NULL, NULL, "GET",
                                                  flags | G_PARAM_CONSTRUCT);
    /**
     * AfgioRequest:url:
     *
     * An http or https URL, or a reference relative to #AfgioSession:base-url.
     */
    properties[PROP_URL] = g_param_spec_string("url", NULL, NULL, "", flags | G_PARAM_CONSTRUCT);
    /**
     * AfgioRequest:body:
     *
     * The body; %NULL if there is none. See afgio_request_set_body().
     */
    properties[PROP_BODY] = g_param_spec_boxed("body", NULL, NULL, G_TYPE_BYTES, flags);
    /**
     * AfgioRequest:destination:
     *
     * The local file that the body of the response is written to; %NULL if there is none. See
     * afgio_request_set_destination().
     */
    properties[PROP_DESTINATION] = g_param_spec_object("destination", NULL, NULL, G_TYPE_FILE,
                                                       flags);
    /**
     * AfgioRequest:resume:
     *
     * Whether an interrupted download to #AfgioRequest:destination is kept and resumed.
     */
    properties[PROP_RESUME] = g_param_spec_boolean("resume", NULL, NULL, FALSE, flags);
    /**
     * AfgioRequest:cache-policy:
     *
     * How the cache of the session is used.
     */
    properties[PROP_CACHE_POLICY] = g_param_spec_enum(
        "cache-policy", NULL, NULL, AFGIO_TYPE_CACHE_POLICY, AFGIO_CACHE_POLICY_PROTOCOL, flags);
    install_limits(flags | G_PARAM_CONSTRUCT);
    g_object_class_install_properties(object_class, PROP_COUNT, properties);
    /**
     * AfgioRequest::progress:
     * @self: the request
     * @sent: bytes of the request body that were sent
     * @sent_total: its size; -1 if unknown
     * @received: bytes of the response body so far, before decoding, with those of a resumed file
     * @received_total: its size; -1 if unknown
     *
     * Reports progress about every 100 ms, and once with the final numbers before the request ends. Connect before the
     * request is sent. Emitted in the main context in which afgio_session_send_async() calls its callback, or inside
     * afgio_session_send().
     */
    progress_signal = g_signal_new("progress", G_TYPE_FROM_CLASS(class), G_SIGNAL_RUN_LAST, 0, NULL,
                                   NULL, NULL, G_TYPE_NONE, 4, G_TYPE_INT64, G_TYPE_INT64,
                                   G_TYPE_INT64, G_TYPE_INT64);
}

AfgioRequest *afgio_request_new(const char *method, const char *url) {
    g_return_val_if_fail(method != NULL, NULL);
    g_return_val_if_fail(url != NULL, NULL);
    return g_object_new(AFGIO_TYPE_REQUEST, "method", method, "url", url, NULL);
}

static void append(AfgioRequest *self, const char *name, const char *value) {
    afgio__field new = {g_strdup(name), g_strdup(value)};
    g_array_append_val(self->fields, new);
}

/* Removes the fields with a name: all of them, or only those without a value, which suppress a default field. */
static void remove_fields(AfgioRequest *self, const char *name, bool all) {
    for (guint i = self->fields->len; i > 0; i--) {
        const afgio__field *field = &g_array_index(self->fields, afgio__field, i - 1);
        if ((all || field->value == NULL) && g_ascii_strcasecmp(field->name, name) == 0)
            g_array_remove_index(self->fields, i - 1);
    }
}

/* Returns whether the core computes a field from the body. It never sends another value, so there is no default to
 * suppress. */
static bool is_computed(const char *name) {
    return g_ascii_strcasecmp(name, "Content-Length") == 0 ||
           g_ascii_strcasecmp(name, "Transfer-Encoding") == 0;
}

void afgio_request_set_header(AfgioRequest *self, const char *name, const char *value) {
    g_return_if_fail(AFGIO_IS_REQUEST(self));
    g_return_if_fail(name != NULL);
    remove_fields(self, name, true);
    if (value != NULL || !is_computed(name)) append(self, name, value);
}

void afgio_request_append_header(AfgioRequest *self, const char *name, const char *value) {
    g_return_if_fail(AFGIO_IS_REQUEST(self));
    g_return_if_fail(name != NULL);
    g_return_if_fail(value != NULL);
    remove_fields(self, name, false);
    append(self, name, value);
}

void afgio_request_mark_header_secret(AfgioRequest *self, const char *name) {
    g_return_if_fail(AFGIO_IS_REQUEST(self));
    g_return_if_fail(name != NULL);
    g_hash_table_add(self->secret_names, g_ascii_strdown(name, -1));
}

void afgio_request_set_body(AfgioRequest *self, const char *content_type, GBytes *body) {
    g_return_if_fail(AFGIO_IS_REQUEST(self));
    if (content_type != NULL) afgio_request_set_header(self, "Content-Type", content_type);
    g_object_set(self, "body", body, NULL);
}

GBytes *afgio_request_get_body(AfgioRequest *self) {
    g_return_val_if_fail(AFGIO_IS_REQUEST(self), NULL);
    return self->body;
}

void afgio_request_set_destination(AfgioRequest *self, GFile *destination, gboolean resume) {
    g_return_if_fail(AFGIO_IS_REQUEST(self));
    g_object_set(self, "destination", destination, "resume", resume, NULL);
}

GFile *afgio_request_get_destination(AfgioRequest *self) {
    g_return_val_if_fail(AFGIO_IS_REQUEST(self), NULL);
    return self->destination;
}

void afgio_request_set_cache_policy(AfgioRequest *self, AfgioCachePolicy policy) {
    g_return_if_fail(AFGIO_IS_REQUEST(self));
    g_object_set(self, "cache-policy", policy, NULL);
}

AfgioCachePolicy afgio_request_get_cache_policy(AfgioRequest *self) {
    g_return_val_if_fail(AFGIO_IS_REQUEST(self), AFGIO_CACHE_POLICY_PROTOCOL);
    return self->cache_policy;
}

void afgio_request_set_credentials(AfgioRequest *self, const char *user, const char *password) {
    g_return_if_fail(AFGIO_IS_REQUEST(self));
    char *user_copy = g_strdup(user);
    char *password_copy = user != NULL ? g_strdup(password) : NULL;
    g_free(self->user);
    password_free(self->password);
    self->user = user_copy;
    self->password = password_copy;
}

/* ---- Specs --------------------------------------------------------------------------------- */

/* Returns `reference` as an absolute URL. The caller frees it with g_free(). */
static char *resolve(const char *base, const char *reference) {
    if (base == NULL) return g_strdup(reference);
    size_t capacity = strlen(base) + strlen(reference) + 2;
    char *url = g_malloc(capacity + 1);
    url[afc_url_resolve(url, capacity, afc_slice_of(base), afc_slice_of(reference))] = 0;
    return url;
}

static bool is_secret(const AfgioRequest *request, const char *name) {
    char *lower = g_ascii_strdown(name, -1);
    bool is_secret = g_hash_table_contains(request->secret_names, lower);
    g_free(lower);
    return is_secret;
}

static void read_fields(afgio__request_spec *spec, const AfgioRequest *request) {
    const GArray *fields = request->fields;
    spec->headers = g_array_sized_new(FALSE, TRUE, sizeof(afc_header), fields->len);
    spec->texts = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < fields->len; i++) {
        const afgio__field *field = &g_array_index(fields, afgio__field, i);
        char *name = g_strdup(field->name);
        char *value = g_strdup(field->value);
        afc_header header = {afc_slice_of(name), afc_slice_of(value), 0};
        if (value == NULL)
            header.flags = AFC_HEADER_REMOVE;
        else if (is_secret(request, name))
            header.flags = AFC_HEADER_SECRET;
        g_ptr_array_add(spec->texts, name);
        g_ptr_array_add(spec->texts, value);
        g_array_append_val(spec->headers, header);
    }
}

/* Called by the core when it no longer needs the body. Does nothing, because the spec holds the reference to the body.
 */
static void keep_body(void *context) {
    (void)context;
}

bool afgio__request_spec_read(afgio__request_spec *spec, AfgioRequest *request,
                              const char *base_url, GError **error) {
    char *path = NULL;
    if (request->destination != NULL) {
        path = g_file_get_path(request->destination);
        if (path == NULL) {
            char *uri = g_file_get_uri(request->destination);
            g_set_error(error, AFGIO_ERROR, AFGIO_ERROR_INVALID_INPUT,
                        "the destination \"%s\" isn't a local file", uri);
            g_free(uri);
            return false;
        }
    }
    *spec = (afgio__request_spec){
        .core = AFC_REQUEST_INIT,
        .method = g_strdup(request->method != NULL ? request->method : ""),
        .url = resolve(base_url, request->url != NULL ? request->url : ""),
        .path = path,
    };
    read_fields(spec, request);
    if (request->body != NULL) spec->body = g_bytes_ref(request->body);
    if (request->destination != NULL) spec->destination = g_object_ref(request->destination);
    afc_request *core = &spec->core;
    core->method = spec->method;
    core->url = spec->url;
    core->headers = (const afc_header *)(void *)spec->headers->data;
    core->header_count = spec->headers->len;
    core->cache_policy = (afc_http_cache_policy)request->cache_policy;
    if (request->user != NULL) {
        spec->user = g_strdup(request->user);
        spec->password = g_strdup(request->password);
        spec->credentials = (afc_credentials)AFC_CREDENTIALS_INIT;
        spec->credentials.user = spec->user;
        spec->credentials.password = spec->password;
        core->credentials = &spec->credentials;
    }
    if (spec->body != NULL) {
        core->body.kind = AFC_BODY_BYTES;
        core->body.bytes.bytes = g_bytes_get_data(spec->body, &core->body.bytes.size);
        core->body.release = keep_body;
    }
    if (spec->path != NULL) {
        core->sink.kind = AFC_SINK_FILE;
        core->sink.path = spec->path;
        if (request->resume) core->sink.flags = AFC_FILE_KEEP_PARTIAL | AFC_FILE_RESUME;
    }
    return true;
}

void afgio__request_spec_clear(afgio__request_spec *spec) {
    g_free(spec->method);
    g_free(spec->url);
    g_free(spec->path);
    g_free(spec->user);
    password_free(spec->password);
    g_array_unref(spec->headers);
    g_ptr_array_unref(spec->texts);
    if (spec->body != NULL) g_bytes_unref(spec->body);
    g_clear_object(&spec->destination);
}

/* ---- Time limits --------------------------------------------------------------------------- */

afc_timeouts afgio__request_get_timeouts(AfgioRequest *request, afc_timeouts of_session) {
    afc_timeouts timeouts = of_session;
    if (request->connect_timeout_ms >= 0)
        timeouts.connect_ms = (uint32_t)request->connect_timeout_ms;
    if (request->idle_timeout_ms >= 0) timeouts.idle_ms = (uint32_t)request->idle_timeout_ms;
    if (request->total_timeout_ms >= 0) timeouts.total_ms = (uint32_t)request->total_timeout_ms;
    return timeouts;
}

/* ---- Progress ------------------------------------------------------------------------------ */

bool afgio__request_has_listener(AfgioRequest *request) {
    return g_signal_has_handler_pending(request, progress_signal, 0, FALSE);
}

void afgio__request_emit_progress(AfgioRequest *request, const afc_progress *progress) {
    gint64 total = progress->received_total;
    if (total != AFC_LENGTH_UNKNOWN) total += progress->offset;
    g_signal_emit(request, progress_signal, 0, (gint64)progress->sent, (gint64)progress->sent_total,
                  (gint64)(progress->received + progress->offset), total);
}
