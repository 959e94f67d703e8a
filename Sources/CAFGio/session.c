#include "internal.h"

/* The pins of a host. */
typedef struct host_pins {
    char *host;
    bool include_subdomains;
    char **keys;
} host_pins;

struct _AfgioSession {
    GObject parent;
    /* The settings, which don't change once `core` is set. */
    char *base_url, *user_agent, *ca_file, *proxy, *cache_folder;
    guint64 cache_memory_bytes, cache_disk_bytes;
    guint connect_timeout_ms, idle_timeout_ms, total_timeout_ms;
    GArray *pins; /* Elements: host_pins. */
    GMutex lock;
    afc_session *core;     /* NULL until the session is open. Set once, under `lock`. */
    afc_http_cache *cache; /* NULL if there is none. Set together with `core`. */
};

enum {
    PROP_BASE_URL = 1,
    PROP_USER_AGENT,
    PROP_CA_FILE,
    PROP_PROXY,
    PROP_CACHE_FOLDER,
    PROP_CACHE_MEMORY_BYTES,
    PROP_CACHE_DISK_BYTES,
    PROP_CONNECT_TIMEOUT_MS,
    PROP_IDLE_TIMEOUT_MS,
    PROP_TOTAL_TIMEOUT_MS,
    PROP_COUNT
};

static GParamSpec *properties[PROP_COUNT];

G_DEFINE_TYPE(AfgioSession, afgio_session, G_TYPE_OBJECT)

static void pins_clear(gpointer pointer) {
    host_pins *pins = pointer;
    g_free(pins->host);
    g_strfreev(pins->keys);
}

/* ---- Settings ------------------------------------------------------------------------------ */

/* Returns the member that stores a setting. */
static char **text_of(AfgioSession *self, guint number) {
    switch (number) {
    case PROP_BASE_URL:
        return &self->base_url;
    case PROP_USER_AGENT:
        return &self->user_agent;
    case PROP_CA_FILE:
        return &self->ca_file;
    case PROP_PROXY:
        return &self->proxy;
    case PROP_CACHE_FOLDER:
        return &self->cache_folder;
    default:
        return NULL;
    }
}

static guint64 *bytes_of(AfgioSession *self, guint number) {
    if (number == PROP_CACHE_MEMORY_BYTES) return &self->cache_memory_bytes;
    return number == PROP_CACHE_DISK_BYTES ? &self->cache_disk_bytes : NULL;
}

static guint *limit_of(AfgioSession *self, guint number) {
    switch (number) {
    case PROP_CONNECT_TIMEOUT_MS:
        return &self->connect_timeout_ms;
    case PROP_IDLE_TIMEOUT_MS:
        return &self->idle_timeout_ms;
    case PROP_TOTAL_TIMEOUT_MS:
        return &self->total_timeout_ms;
    default:
        return NULL;
    }
}

static bool is_open(AfgioSession *self) {
    g_mutex_lock(&self->lock);
    bool is_open = self->core != NULL;
    g_mutex_unlock(&self->lock);
    return is_open;
}

static void get_property(GObject *object, guint number, GValue *value, GParamSpec *spec) {
    AfgioSession *self = AFGIO_SESSION(object);
    char **text = text_of(self, number);
    guint64 *bytes = bytes_of(self, number);
    guint *limit = limit_of(self, number);
    if (text != NULL) {
        g_value_set_string(value, *text);
    } else if (bytes != NULL) {
        g_value_set_uint64(value, *bytes);
    } else if (limit != NULL) {
        g_value_set_uint(value, *limit);
    } else {
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, number, spec);
    }
}

static void set_property(GObject *object, guint number, const GValue *value, GParamSpec *spec) {
    AfgioSession *self = AFGIO_SESSION(object);
    char **text = text_of(self, number);
    guint64 *bytes = bytes_of(self, number);
    guint *limit = limit_of(self, number);
    if (is_open(self)) {
        g_critical("the property \"%s\" can't be changed after the session is open", spec->name);
    } else if (text != NULL) {
        g_free(*text);
        *text = g_value_dup_string(value);
    } else if (bytes != NULL) {
        *bytes = g_value_get_uint64(value);
    } else if (limit != NULL) {
        *limit = g_value_get_uint(value);
    } else {
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, number, spec);
    }
}

static void finalize(GObject *object) {
    AfgioSession *self = AFGIO_SESSION(object);
    afc_session_release(self->core);
    afc_http_cache_release(self->cache);
    for (guint number = 1; number < PROP_COUNT; number++) {
        char **text = text_of(self, number);
        if (text != NULL) g_free(*text);
    }
    g_array_unref(self->pins);
    g_mutex_clear(&self->lock);
    G_OBJECT_CLASS(afgio_session_parent_class)->finalize(object);
}

static void afgio_session_init(AfgioSession *self) {
    g_mutex_init(&self->lock);
    self->pins = g_array_new(FALSE, FALSE, sizeof(host_pins));
    g_array_set_clear_func(self->pins, pins_clear);
}

static void install_texts(GParamFlags flags) {
    /**
     * AfgioSession:base-url:
     *
     * The base of relative URLs of requests (RFC 3986, section 5.2): an http or https URL. With %NULL, the default,
     * URLs must be absolute.
     */
    properties[PROP_BASE_URL] = g_param_spec_string("base-url", NULL, NULL, NULL, flags);
    /**
     * AfgioSession:user-agent:
     *
     * The default User-Agent; with %NULL, none is sent.
     */
    properties[PROP_USER_AGENT] = g_param_spec_string("user-agent", NULL, NULL, "afcore", flags);
    /**
     * AfgioSession:ca-file:
     *
     * The path of the certificates that are trusted instead of the system's: a file, PEM or DER, or a folder with
     * "*.cer" files. %NULL, the default, means the system's.
     */
    properties[PROP_CA_FILE] = g_param_spec_string("ca-file", NULL, NULL, NULL, flags);
    /**
     * AfgioSession:proxy:
     *
     * The proxy of all requests: `[http|https|socks5|socks5h]://[user[:password]@]host[:port]`. "" means no proxy;
     * %NULL, the default, the proxies of the environment variables http_proxy, https_proxy, all_proxy and no_proxy.
     */
    properties[PROP_PROXY] = g_param_spec_string("proxy", NULL, NULL, NULL, flags);
    /**
     * AfgioSession:cache-folder:
     *
     * The folder of the cache of responses, which several programs may use at the same time. If it is missing, it is
     * created with mode 0700; its parent must exist. With %NULL, the default, responses are stored in memory only, if
     * #AfgioSession:cache-memory-bytes isn't 0.
     */
    properties[PROP_CACHE_FOLDER] = g_param_spec_string("cache-folder", NULL, NULL, NULL, flags);
}

static void install_numbers(GParamFlags flags) {
    /**
     * AfgioSession:cache-memory-bytes:
     *
     * The capacity of the cache in memory, in bytes. With 0, the default, nothing is cached in memory, and without a
     * folder nothing at all.
     */
    properties[PROP_CACHE_MEMORY_BYTES] = g_param_spec_uint64("cache-memory-bytes", NULL, NULL, 0,
                                                              G_MAXUINT64, 0, flags);
    /**
     * AfgioSession:cache-disk-bytes:
     *
     * The capacity of the cache in #AfgioSession:cache-folder, in bytes of files. Default: 150 MiB.
     */
    properties[PROP_CACHE_DISK_BYTES] = g_param_spec_uint64(
        "cache-disk-bytes", NULL, NULL, 0, G_MAXUINT64, G_GUINT64_CONSTANT(150) << 20, flags);
    const afc_timeouts defaults = AFC_TIMEOUTS_INIT;
    /**
     * AfgioSession:connect-timeout-ms:
     *
     * The time limit for establishing a connection, in milliseconds; 0 means no limit. Default: 30000.
     */
    properties[PROP_CONNECT_TIMEOUT_MS] = g_param_spec_uint(
        "connect-timeout-ms", NULL, NULL, 0, G_MAXUINT32, defaults.connect_ms, flags);
    /**
     * AfgioSession:idle-timeout-ms:
     *
     * The time limit without any bytes in either direction, in milliseconds; 0 means no limit. Default: 60000.
     */
    properties[PROP_IDLE_TIMEOUT_MS] = g_param_spec_uint("idle-timeout-ms", NULL, NULL, 0,
                                                         G_MAXUINT32, defaults.idle_ms, flags);
    /**
     * AfgioSession:total-timeout-ms:
     *
     * The time limit for a whole request, including waiting and redirects, in milliseconds; 0, the default, means no
     * limit.
     */
    properties[PROP_TOTAL_TIMEOUT_MS] = g_param_spec_uint("total-timeout-ms", NULL, NULL, 0,
                                                          G_MAXUINT32, defaults.total_ms, flags);
}

static void afgio_session_class_init(AfgioSessionClass *class) {
    GObjectClass *object_class = G_OBJECT_CLASS(class);
    object_class->get_property = get_property;
    object_class->set_property = set_property;
    object_class->finalize = finalize;
    const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT | G_PARAM_STATIC_STRINGS;
    install_texts(flags);
    install_numbers(flags);
    g_object_class_install_properties(object_class, PROP_COUNT, properties);
}

AfgioSession *afgio_session_new(void) {
    return g_object_new(AFGIO_TYPE_SESSION, NULL);
}

void afgio_session_pin_host(AfgioSession *self, const char *host, gboolean include_subdomains,
                            const char *const *keys) {
    g_return_if_fail(AFGIO_IS_SESSION(self));
    g_return_if_fail(host != NULL);
    g_return_if_fail(keys != NULL);
    if (is_open(self)) {
        g_critical("the host \"%s\" can't be pinned after the session is open", host);
        return;
    }
    host_pins new = {g_strdup(host), include_subdomains, g_strdupv((char **)keys)};
    g_array_append_val(self->pins, new);
}

const char *afgio__session_get_base_url(AfgioSession *self) {
    return self->base_url;
}

afc_timeouts afgio__session_get_timeouts(AfgioSession *self) {
    afc_timeouts timeouts = AFC_TIMEOUTS_INIT;
    timeouts.connect_ms = self->connect_timeout_ms;
    timeouts.idle_ms = self->idle_timeout_ms;
    timeouts.total_ms = self->total_timeout_ms;
    return timeouts;
}

/* ---- Opening ------------------------------------------------------------------------------- */

static afc_status open_trust(AfgioSession *self, afc_trust_policy **out, afc_failure *failure) {
    afc_trust_options options = AFC_TRUST_OPTIONS_INIT;
    afc_bytes anchors = {NULL, 0};
    if (self->ca_file != NULL) {
        afc_status status = afc_certificates_read(&anchors, self->ca_file, failure);
        if (status != AFC_OK) return status;
        /*
         * An empty slice, unlike NULL, is refused by the core: a file without certificates must not mean the system's.
         */
        options.anchors = (afc_slice){anchors.size > 0 ? anchors.bytes : "", anchors.size};
    }
    GArray *rules = g_array_sized_new(FALSE, TRUE, sizeof(afc_trust_rule), self->pins->len);
    for (guint i = 0; i < self->pins->len; i++) {
        const host_pins *pins = &g_array_index(self->pins, host_pins, i);
        afc_trust_rule rule = {
            .host = pins->host,
            .include_subdomains = pins->include_subdomains,
            .mode = AFC_PINNING_PUBLIC_KEY,
            .pins = (const char *const *)pins->keys,
            .pin_count = g_strv_length(pins->keys),
        };
        g_array_append_val(rules, rule);
    }
    options.rules = (const afc_trust_rule *)(void *)rules->data;
    options.rule_count = rules->len;
    afc_status status = afc_trust_policy_new(out, &options, failure);
    g_array_unref(rules);
    afc_free(anchors.bytes);
    return status;
}

static afc_status open_cache(AfgioSession *self, afc_http_cache **out, afc_failure *failure) {
    if (self->cache_folder == NULL && self->cache_memory_bytes == 0) return AFC_OK;
    afc_http_cache_options options = AFC_HTTP_CACHE_OPTIONS_INIT;
    options.directory = self->cache_folder;
    options.memory_bytes = self->cache_memory_bytes;
    options.disk_bytes = self->cache_disk_bytes;
    return afc_http_cache_open(out, &options, failure);
}

static afc_status check_base_url(const AfgioSession *self, afc_failure *failure) {
    if (self->base_url == NULL) return AFC_OK;
    afc_status status = afc_url_check(afc_slice_of(self->base_url), failure);
    if (status == AFC_OK) return AFC_OK;
    char *text = g_strconcat("base-url: ", failure->text, NULL);
    g_strlcpy(failure->text, text, sizeof failure->text);
    g_free(text);
    return status;
}

/* Opens the session with `lock` held. */
static afc_status open_core(AfgioSession *self, afc_failure *failure) {
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.user_agent = self->user_agent;
    if (self->proxy != NULL) {
        options.proxies.source = self->proxy[0] == 0 ? AFC_PROXIES_NONE : AFC_PROXIES_GIVEN;
        options.proxies.all = self->proxy[0] == 0 ? NULL : self->proxy;
    }
    afc_status status = check_base_url(self, failure);
    if (status == AFC_OK) status = open_trust(self, &options.trust, failure);
    if (status == AFC_OK) status = open_cache(self, &options.http_cache, failure);
    if (status == AFC_OK) status = afc_session_new(&self->core, &options, failure);
    afc_trust_policy_release(options.trust);
    if (status == AFC_OK) {
        self->cache = options.http_cache;
    } else {
        afc_http_cache_release(options.http_cache);
    }
    return status;
}

afc_session *afgio__session_copy_core(AfgioSession *self, GError **error) {
    afc_failure failure = {.status = AFC_OK};
    afc_session *core = NULL;
    g_mutex_lock(&self->lock);
    if (self->core == NULL) open_core(self, &failure);
    if (self->core != NULL) core = afc_session_retain(self->core);
    g_mutex_unlock(&self->lock);
    if (core == NULL) g_propagate_error(error, afgio__error_new(&failure));
    return core;
}

gboolean afgio_session_open(AfgioSession *self, GError **error) {
    g_return_val_if_fail(AFGIO_IS_SESSION(self), FALSE);
    afc_session *core = afgio__session_copy_core(self, error);
    afc_session_release(core);
    return core != NULL;
}

/* ---- All requests, and the cache ----------------------------------------------------------- */

void afgio_session_cancel_all(AfgioSession *self) {
    g_return_if_fail(AFGIO_IS_SESSION(self));
    if (is_open(self)) afc_session_cancel_all(self->core);
}

void afgio_session_clear_cache(AfgioSession *self) {
    g_return_if_fail(AFGIO_IS_SESSION(self));
    if (is_open(self) && self->cache != NULL) afc_http_cache_remove_all(self->cache);
}

void afgio_session_flush_cache(AfgioSession *self) {
    g_return_if_fail(AFGIO_IS_SESSION(self));
    if (is_open(self) && self->cache != NULL) afc_http_cache_flush(self->cache);
}
