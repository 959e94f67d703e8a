/* The public functions of a jar; the rules are in cookie_jar.c. */
#include "base/alloc.h"
#include "base/failure.h"
#include "message/url.h"
#include "store/cookie_jar.h"

#include <time.h>

enum { MOST = 3000, MOST_PER_DOMAIN = 180 };

static int64_t now(void) {
    return (int64_t)time(NULL);
}

static af_status say(af_status status, const char *why, af_failure *failure) {
    if (status == AF_OK) return status;
    return af__fail(failure, status, "%s", status == AF_ENOMEM ? "out of memory" : why);
}

static void free_jar(af_cookie_jar *jar) {
    af_cookie_jar_remove(jar, NULL, NULL, NULL);
    pthread_mutex_destroy(&jar->lock);
    af_free(jar->path);
    af_free(jar);
}

static af_status begin(af_cookie_jar *jar, const char *path, af_failure *failure) {
    if (!af__hash_seed_make(&jar->seed)) {
        return af__fail(failure, AF_EINTERNAL, "the system has no random bytes");
    }
    if (path == NULL) return AF_OK;
    jar->path = af__copy_text(af_slice_of(path));
    if (jar->path == NULL) return af__fail_memory(failure);
    af_status status = af__cookie_file_load(jar, path, now(), failure);
    jar->has_changed = false;
    return status;
}

af_status af_cookie_jar_new(af_cookie_jar **out, const af_cookie_jar_options *options,
                            af_failure *failure) {
    af_cookie_jar_options defaults = AF_COOKIE_JAR_OPTIONS_INIT;
    if (failure != NULL) memset(failure, 0, sizeof *failure);
    if (options == NULL) options = &defaults;
    *out = NULL;
    if (options->size != sizeof *options) {
        return af__fail(failure, AF_EINVAL,
                        "the options must be initialised with AF_COOKIE_JAR_OPTIONS_INIT");
    }
    af_cookie_jar *jar = af__zalloc(sizeof *jar);
    if (jar == NULL) return af__fail_memory(failure);
    atomic_init(&jar->references, 1);
    pthread_mutex_init(&jar->lock, NULL);
    jar->max_cookies = options->max_cookies != 0 ? options->max_cookies : MOST;
    jar->max_cookies_per_site = options->max_cookies_per_site != 0 ? options->max_cookies_per_site
                                                                   : MOST_PER_DOMAIN;
    af__list_init(&jar->by_use);
    jar->earliest_expiry = INT64_MAX;
    af_status status = begin(jar, options->path, failure);
    if (status != AF_OK) {
        free_jar(jar);
        return status;
    }
    *out = jar;
    return AF_OK;
}

af_cookie_jar *af_cookie_jar_retain(af_cookie_jar *jar) {
    atomic_fetch_add_explicit(&jar->references, 1, memory_order_relaxed);
    return jar;
}

void af_cookie_jar_release(af_cookie_jar *jar) {
    if (jar == NULL || atomic_fetch_sub(&jar->references, 1) != 1) return;
    if (jar->path != NULL && jar->has_changed) af_cookie_jar_save(jar, NULL, NULL);
    free_jar(jar);
}

af_status af_cookie_jar_set(af_cookie_jar *jar, const af_cookie *cookie, af_failure *failure) {
    const char *why = NULL;
    if (failure != NULL) memset(failure, 0, sizeof *failure);
    if (cookie->size != sizeof *cookie) {
        return af__fail(failure, AF_EINVAL, "the cookie must be initialised with AF_COOKIE_INIT");
    }
    af_status status = af__cookie_jar_put(jar, cookie, now(), &why);
    return say(status, why, failure);
}

/**
 * Reads a site from a URL. `host` has room for AF__HOST_LONGEST bytes and a NUL; the site points to it and into
 * `url`.
 */
static af_status read_site(af__cookie_site *out, af__url *url, char *host, const char *text,
                           af_failure *failure) {
    if (text == NULL) return af__fail(failure, AF_EINVAL, "the URL is missing");
    af_status status = af__url_parse(url, af_slice_of(text), failure);
    if (status != AF_OK) return status;
    size_t size = url->host.size;
    if (size > 1 && url->host.bytes[size - 1] == '.') size--;
    memcpy(host, url->host.bytes, size);
    host[size] = '\0';
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)host[i] < 128) continue;
        af__url_clear(url);
        return af__fail(failure, AF_EINVAL, "the URL's host isn't ASCII");
    }
    *out = (af__cookie_site){host, url->path, url->is_https};
    return AF_OK;
}

af_status af_cookie_jar_receive(af_cookie_jar *jar, const char *url, af_slice set_cookie,
                                af_failure *failure) {
    char host[AF__HOST_LONGEST + 1];
    af__cookie_site site;
    af__url parsed = {0};
    const char *why = NULL;
    if (failure != NULL) memset(failure, 0, sizeof *failure);
    af_status status = read_site(&site, &parsed, host, url, failure);
    if (status != AF_OK) return status;
    status = af__cookie_jar_keep(jar, &site, set_cookie, now(), &why);
    af__url_clear(&parsed);
    return say(status, why, failure);
}

af_status af_cookie_jar_copy(af_cookie_jar *jar, const char *url, af_cookie_list **out,
                             af_failure *failure) {
    char host[AF__HOST_LONGEST + 1];
    af__cookie_site site;
    af__url parsed = {0};
    *out = NULL;
    if (failure != NULL) memset(failure, 0, sizeof *failure);
    af_status status = url != NULL ? read_site(&site, &parsed, host, url, failure) : AF_OK;
    if (status != AF_OK) return status;
    status = af__cookie_jar_list(jar, url != NULL ? &site : NULL, now(), out);
    af__url_clear(&parsed);
    return say(status, NULL, failure);
}

void af_cookie_list_free(af_cookie_list *list) {
    af_free(list);
}

af_status af_cookie_jar_save(af_cookie_jar *jar, const char *path, af_failure *failure) {
    af_cookie_list *list;
    if (failure != NULL) memset(failure, 0, sizeof *failure);
    const char *target = path != NULL ? path : jar->path;
    if (target == NULL) return af__fail(failure, AF_EINVAL, "no path: the jar has no file");
    pthread_mutex_lock(&jar->lock);
    if (path == NULL) jar->has_changed = false;
    pthread_mutex_unlock(&jar->lock);
    af_status status = af__cookie_jar_list(jar, NULL, now(), &list);
    if (status != AF_OK) return say(status, NULL, failure);
    status = af__cookie_file_save(list, target, failure);
    af_cookie_list_free(list);
    if (status == AF_OK || path != NULL) return status;
    pthread_mutex_lock(&jar->lock);
    jar->has_changed = true;
    pthread_mutex_unlock(&jar->lock);
    return status;
}
