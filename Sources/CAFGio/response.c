#include "internal.h"

struct _AfgioResponse {
    GObject parent;
    guint status;
    char *reason, *url;
    GArray *fields; /* Elements: afgio__field. */
    GBytes *body;
    GFile *file;
    AfgioResumption resumption;
    AfgioCacheUse cache_use;
};

enum {
    PROP_STATUS = 1,
    PROP_REASON,
    PROP_URL,
    PROP_BODY,
    PROP_FILE,
    PROP_RESUMPTION,
    PROP_CACHE_USE,
    PROP_COUNT
};

static GParamSpec *properties[PROP_COUNT];

G_DEFINE_ENUM_TYPE(AfgioCacheUse, afgio_cache_use,
                   G_DEFINE_ENUM_VALUE(AFGIO_CACHE_USE_UNUSED, "unused"),
                   G_DEFINE_ENUM_VALUE(AFGIO_CACHE_USE_HIT, "hit"),
                   G_DEFINE_ENUM_VALUE(AFGIO_CACHE_USE_STALE, "stale"),
                   G_DEFINE_ENUM_VALUE(AFGIO_CACHE_USE_VALIDATED, "validated"),
                   G_DEFINE_ENUM_VALUE(AFGIO_CACHE_USE_MISSING, "missing"))

G_DEFINE_ENUM_TYPE(AfgioResumption, afgio_resumption,
                   G_DEFINE_ENUM_VALUE(AFGIO_RESUMPTION_NONE, "none"),
                   G_DEFINE_ENUM_VALUE(AFGIO_RESUMPTION_RESUMED, "resumed"),
                   G_DEFINE_ENUM_VALUE(AFGIO_RESUMPTION_RESTARTED, "restarted"),
                   G_DEFINE_ENUM_VALUE(AFGIO_RESUMPTION_COMPLETE, "complete"))

_Static_assert((int)AFGIO_CACHE_USE_MISSING == AFC_CACHE_USE_MISSING, "uses are those of the core");
_Static_assert((int)AFGIO_RESUMPTION_COMPLETE == AFC_RESUMPTION_COMPLETE,
               "resumptions are those of the core");

G_DEFINE_TYPE(AfgioResponse, afgio_response, G_TYPE_OBJECT)

static void get_property(GObject *object, guint number, GValue *value, GParamSpec *spec) {
    AfgioResponse *self = AFGIO_RESPONSE(object);
    switch (number) {
    case PROP_STATUS:
        g_value_set_uint(value, self->status);
        break;
    case PROP_REASON:
        g_value_set_string(value, self->reason);
        break;
    case PROP_URL:
        g_value_set_string(value, self->url);
        break;
    case PROP_BODY:
        g_value_set_boxed(value, self->body);
        break;
    case PROP_FILE:
        g_value_set_object(value, self->file);
        break;
    case PROP_RESUMPTION:
        g_value_set_enum(value, self->resumption);
        break;
    case PROP_CACHE_USE:
        g_value_set_enum(value, self->cache_use);
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, number, spec);
    }
}

static void finalize(GObject *object) {
    AfgioResponse *self = AFGIO_RESPONSE(object);
    g_free(self->reason);
    g_free(self->url);
    g_array_unref(self->fields);
    g_bytes_unref(self->body);
    g_clear_object(&self->file);
    G_OBJECT_CLASS(afgio_response_parent_class)->finalize(object);
}

static void afgio_response_init(AfgioResponse *self) {
    self->reason = g_strdup("");
    self->url = g_strdup("");
    self->body = g_bytes_new(NULL, 0);
    self->fields = afgio__fields_new();
}

static void afgio_response_class_init(AfgioResponseClass *class) {
    GObjectClass *object_class = G_OBJECT_CLASS(class);
    const GParamFlags flags = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;
    object_class->get_property = get_property;
    object_class->finalize = finalize;
    /**
     * AfgioResponse:status:
     *
     * The status code.
     */
    properties[PROP_STATUS] = g_param_spec_uint("status", NULL, NULL, 0, 999, 0, flags);
    /**
     * AfgioResponse:reason:
     *
     * The reason phrase; "" over HTTP/2.
     */
    properties[PROP_REASON] = g_param_spec_string("reason", NULL, NULL, "", flags);
    /**
     * AfgioResponse:url:
     *
     * The URL of the response, after redirects.
     */
    properties[PROP_URL] = g_param_spec_string("url", NULL, NULL, "", flags);
    /**
     * AfgioResponse:body:
     *
     * The body that was collected in memory. Never %NULL.
     */
    properties[PROP_BODY] = g_param_spec_boxed("body", NULL, NULL, G_TYPE_BYTES, flags);
    /**
     * AfgioResponse:file:
     *
     * The file that the body was written to; %NULL if there is none.
     */
    properties[PROP_FILE] = g_param_spec_object("file", NULL, NULL, G_TYPE_FILE, flags);
    /**
     * AfgioResponse:resumption:
     *
     * What happened to the partial file of an earlier download.
     */
    properties[PROP_RESUMPTION] = g_param_spec_enum("resumption", NULL, NULL, AFGIO_TYPE_RESUMPTION,
                                                    AFGIO_RESUMPTION_NONE, flags);
    /**
     * AfgioResponse:cache-use:
     *
     * How the cache took part in the response.
     */
    properties[PROP_CACHE_USE] = g_param_spec_enum("cache-use", NULL, NULL, AFGIO_TYPE_CACHE_USE,
                                                   AFGIO_CACHE_USE_UNUSED, flags);
    g_object_class_install_properties(object_class, PROP_COUNT, properties);
}

char *afgio__utf8_of(afc_slice text) {
    if (text.size == 0) return g_strdup("");
    if (g_utf8_validate(text.bytes, (gssize)text.size, NULL))
        return g_strndup(text.bytes, text.size);
    /* In ISO 8859-1 each octet is a character, which has one or two bytes in UTF-8. */
    char *new = g_malloc(2 * text.size + 1);
    size_t size = 0;
    for (size_t i = 0; i < text.size; i++)
        size += (size_t)g_unichar_to_utf8((guchar)text.bytes[i], new + size);
    new[size] = 0;
    return new;
}

static void read_head(AfgioResponse *self, const afc_head *head) {
    self->status = (guint)head->status;
    g_free(self->reason);
    self->reason = afgio__utf8_of(head->reason);
    for (size_t i = 0; i < head->header_count; i++) {
        afgio__field new = {afgio__utf8_of(head->headers[i].name),
                            afgio__utf8_of(head->headers[i].value)};
        g_array_append_val(self->fields, new);
    }
}

AfgioResponse *afgio__response_new(afc_result *result, GFile *destination) {
    const afc_head *head = afc_result_get_head(result);
    if (head == NULL) return NULL;
    AfgioResponse *self = g_object_new(AFGIO_TYPE_RESPONSE, NULL);
    read_head(self, head);
    g_free(self->url);
    self->url = afgio__utf8_of(afc_slice_of(afc_result_get_url(result)));
    size_t count = 0;
    const afc_hop *hops = afc_result_get_hops(result, &count);
    if (count > 0) self->cache_use = (AfgioCacheUse)hops[count - 1].cache;
    const afc_download *download = afc_result_get_download(result);
    if (download != NULL) {
        self->resumption = (AfgioResumption)download->resumption;
        bool is_written = self->status / 100 == 2 ||
                          download->resumption == AFC_RESUMPTION_COMPLETE;
        if (is_written && destination != NULL) self->file = g_object_ref(destination);
    }
    afc_bytes body = afc_result_take_body(result);
    if (body.bytes != NULL) {
        g_bytes_unref(self->body);
        self->body = g_bytes_new_with_free_func(body.bytes, body.size, afc_free, body.bytes);
    }
    return self;
}

guint afgio_response_get_status(AfgioResponse *self) {
    g_return_val_if_fail(AFGIO_IS_RESPONSE(self), 0);
    return self->status;
}

const char *afgio_response_get_reason(AfgioResponse *self) {
    g_return_val_if_fail(AFGIO_IS_RESPONSE(self), NULL);
    return self->reason;
}

const char *afgio_response_get_url(AfgioResponse *self) {
    g_return_val_if_fail(AFGIO_IS_RESPONSE(self), NULL);
    return self->url;
}

GBytes *afgio_response_get_body(AfgioResponse *self) {
    g_return_val_if_fail(AFGIO_IS_RESPONSE(self), NULL);
    return self->body;
}

GFile *afgio_response_get_file(AfgioResponse *self) {
    g_return_val_if_fail(AFGIO_IS_RESPONSE(self), NULL);
    return self->file;
}

AfgioResumption afgio_response_get_resumption(AfgioResponse *self) {
    g_return_val_if_fail(AFGIO_IS_RESPONSE(self), AFGIO_RESUMPTION_NONE);
    return self->resumption;
}

AfgioCacheUse afgio_response_get_cache_use(AfgioResponse *self) {
    g_return_val_if_fail(AFGIO_IS_RESPONSE(self), AFGIO_CACHE_USE_UNUSED);
    return self->cache_use;
}

const char *afgio_response_get_header(AfgioResponse *self, const char *name) {
    g_return_val_if_fail(AFGIO_IS_RESPONSE(self), NULL);
    g_return_val_if_fail(name != NULL, NULL);
    for (guint i = 0; i < self->fields->len; i++) {
        const afgio__field *field = &g_array_index(self->fields, afgio__field, i);
        if (g_ascii_strcasecmp(field->name, name) == 0) return field->value;
    }
    return NULL;
}

guint afgio_response_get_n_headers(AfgioResponse *self) {
    g_return_val_if_fail(AFGIO_IS_RESPONSE(self), 0);
    return self->fields->len;
}

gboolean afgio_response_get_nth_header(AfgioResponse *self, guint index, const char **name,
                                       const char **value) {
    if (name != NULL) *name = NULL;
    if (value != NULL) *value = NULL;
    g_return_val_if_fail(AFGIO_IS_RESPONSE(self), FALSE);
    if (index >= self->fields->len) return FALSE;
    const afgio__field *field = &g_array_index(self->fields, afgio__field, index);
    if (name != NULL) *name = field->name;
    if (value != NULL) *value = field->value;
    return TRUE;
}
