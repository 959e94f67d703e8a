/* The public functions of a jar; the rules are in cookie_jar.c. */
#include "base/alloc.h"
#include "base/domain.h"
#include "base/failure.h"
#include "base/file.h"
#include "base/sized.h"
#include "base/text.h"
#include "message/url.h"
#include "store/cookie_file.h"

#include <time.h>

enum { MAX_COOKIES = 3000, MAX_COOKIES_PER_SITE = 180 };

static int64_t now(void) {
    return (int64_t)time(NULL);
}

static afc_status describe_failure(afc_status status, const char *why, afc_failure *failure) {
    if (status == AFC_OK) return status;
    if (status == AFC_ENOMEM || why == NULL) return afc__fail_memory(failure);
    return afc__fail(failure, status, "%s", why);
}

static void free_jar(afc_cookie_jar *jar) {
    afc_cookie_jar_remove(jar, NULL, NULL, NULL);
    pthread_mutex_destroy(&jar->lock);
    pthread_mutex_destroy(&jar->saving);
    afc_free(jar->buckets);
    afc_free(jar->path);
    afc_free(jar);
}

/** Saves the jar if it has a file and a persistent cookie has changed. */
static void save_changes(void *context) {
    afc_cookie_jar *jar = context;
    pthread_mutex_lock(&jar->lock);
    bool has_changed = jar->has_changed;
    pthread_mutex_unlock(&jar->lock);
    if (jar->path != NULL && has_changed) afc_cookie_jar_save(jar, NULL, NULL);
}

static afc_status begin(afc_cookie_jar *jar, const char *path, afc_failure *failure) {
    if (!afc__hash_seed_make(&jar->seed)) {
        return afc__fail(failure, AFC_EINTERNAL, "the system has no random bytes");
    }
    jar->buckets = afc__zalloc(AFC__COOKIE_FIRST_BUCKETS * sizeof *jar->buckets);
    if (jar->buckets == NULL) return afc__fail_memory(failure);
    jar->bucket_count = AFC__COOKIE_FIRST_BUCKETS;
    if (path == NULL) return AFC_OK;
    jar->path = afc__absolute_path(path);
    if (jar->path == NULL) return afc__fail_memory(failure);
    afc_status status = afc__cookie_file_load(jar, path, now(), failure);
    jar->has_changed = false;
    if (status == AFC_OK) afc__at_exit_add(&jar->at_exit, jar, save_changes);
    return status;
}

afc_status afc_cookie_jar_new(afc_cookie_jar **out, const afc_cookie_jar_options *options,
                              afc_failure *failure) {
    *out = NULL;
    AFC__READ_SIZED(afc_cookie_jar_options, AFC_COOKIE_JAR_OPTIONS_INIT, max_cookies, options,
                    failure);
    afc_cookie_jar *jar = afc__zalloc(sizeof *jar);
    if (jar == NULL) return afc__fail_memory(failure);
    atomic_init(&jar->references, 1);
    pthread_mutex_init(&jar->saving, NULL);
    pthread_mutex_init(&jar->lock, NULL);
    jar->max_cookies = options->max_cookies != 0 ? options->max_cookies : MAX_COOKIES;
    jar->max_cookies_per_site = options->max_cookies_per_site != 0 ? options->max_cookies_per_site
                                                                   : MAX_COOKIES_PER_SITE;
    afc__list_init(&jar->by_use);
    jar->earliest_expiry = INT64_MAX;
    afc_status status = begin(jar, options->path, failure);
    if (status != AFC_OK) {
        free_jar(jar);
        return status;
    }
    *out = jar;
    return AFC_OK;
}

afc_cookie_jar *afc_cookie_jar_retain(afc_cookie_jar *jar) {
    atomic_fetch_add_explicit(&jar->references, 1, memory_order_relaxed);
    return jar;
}

void afc_cookie_jar_release(afc_cookie_jar *jar) {
    if (jar == NULL || atomic_fetch_sub(&jar->references, 1) != 1) return;
    afc__at_exit_remove(&jar->at_exit);
    save_changes(jar);
    free_jar(jar);
}

afc_status afc_cookie_jar_set(afc_cookie_jar *jar, const afc_cookie *cookie, afc_failure *failure) {
    const char *why = NULL;
    afc__clear_failure(failure);
    afc_status status = AFC__CHECK_RESERVED(cookie, "afc_cookie", failure);
    if (status != AFC_OK) return status;
    status = afc__cookie_jar_put(jar, cookie, now(), &why);
    return describe_failure(status, why, failure);
}

/**
 * Reads a site from a URL. `host` has room for AFC__HOST_MAX bytes and a NUL; the site points to it and into
 * `url`.
 */
static afc_status read_site(afc__cookie_site *out, afc__url *url, char *host, const char *text,
                            afc_failure *failure) {
    if (text == NULL) return afc__fail(failure, AFC_EINVAL, "the URL is missing");
    afc_status status = afc__url_parse(url, afc_slice_of(text), failure);
    if (status != AFC_OK) return status;
    afc_slice name = afc__without_dot(url->host);
    if (!afc__is_ascii(name)) {
        afc__url_clear(url);
        return afc__fail(failure, AFC_EINVAL, "the URL's host isn't ASCII");
    }
    memcpy(host, name.bytes, name.size);
    host[name.size] = '\0';
    *out = (afc__cookie_site){host, url->path, url->is_https};
    return AFC_OK;
}

afc_status afc_cookie_jar_receive(afc_cookie_jar *jar, const char *url, afc_slice set_cookie,
                                  afc_failure *failure) {
    if (afc__lacks_bytes(set_cookie)) {
        return afc__fail(failure, AFC_EINVAL, "set_cookie has a size but no bytes");
    }
    char host[AFC__HOST_MAX + 1];
    afc__cookie_site site;
    afc__url parsed = {0};
    const char *why = NULL;
    afc__clear_failure(failure);
    afc_status status = read_site(&site, &parsed, host, url, failure);
    if (status != AFC_OK) return status;
    status = afc__cookie_jar_keep(jar, &site, set_cookie, now(), &why);
    afc__url_clear(&parsed);
    return describe_failure(status, why, failure);
}

afc_status afc_cookie_jar_copy(afc_cookie_list **out, afc_cookie_jar *jar, const char *url,
                               afc_failure *failure) {
    char host[AFC__HOST_MAX + 1];
    afc__cookie_site site;
    afc__url parsed = {0};
    *out = NULL;
    afc__clear_failure(failure);
    afc_status status = url != NULL ? read_site(&site, &parsed, host, url, failure) : AFC_OK;
    if (status != AFC_OK) return status;
    status = afc__cookie_jar_list(jar, url != NULL ? &site : NULL, now(), out);
    afc__url_clear(&parsed);
    return describe_failure(status, NULL, failure);
}

void afc_cookie_list_free(afc_cookie_list *list) {
    afc_free(list);
}

static void set_changed(afc_cookie_jar *jar, bool has_changed) {
    pthread_mutex_lock(&jar->lock);
    jar->has_changed = has_changed;
    pthread_mutex_unlock(&jar->lock);
}

static afc_status write_to(afc_cookie_jar *jar, const char *path, afc_failure *failure) {
    afc_cookie_list *list;
    afc_status status = afc__cookie_jar_list(jar, NULL, now(), &list);
    if (status != AFC_OK) return describe_failure(status, NULL, failure);
    status = afc__cookie_file_save(list, path, failure);
    afc_cookie_list_free(list);
    return status;
}

afc_status afc_cookie_jar_save(afc_cookie_jar *jar, const char *path, afc_failure *failure) {
    afc__clear_failure(failure);
    const char *target = path != NULL ? path : jar->path;
    if (target == NULL) return afc__fail(failure, AFC_EINVAL, "no path: the jar has no file");
    bool is_own = path == NULL;
    pthread_mutex_lock(&jar->saving);
    /* Reset before the cookies are copied: a later change may not be in the file. */
    if (is_own) set_changed(jar, false);
    afc_status status = write_to(jar, target, failure);
    if (is_own && status != AFC_OK) set_changed(jar, true);
    pthread_mutex_unlock(&jar->saving);
    return status;
}

afc_status afc_cookie_jar_export(afc_cookie_jar *jar, bool includes_session, afc_bytes *out,
                                 afc_failure *failure) {
    afc_cookie_list *list;
    *out = (afc_bytes){NULL, 0};
    afc__clear_failure(failure);
    afc_status status = afc__cookie_jar_list(jar, NULL, now(), &list);
    if (status != AFC_OK) return describe_failure(status, NULL, failure);
    status = afc__cookie_file_write(list, includes_session, out, failure);
    afc_cookie_list_free(list);
    return status;
}
