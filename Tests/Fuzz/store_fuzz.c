/*
 * One octet that says which, then a file of cookies or of hosts that want https. Whatever its bytes are: what is read
 * of it keeps the limits and goes where it belongs, and what is written of that is read again as the same.
 */
#include "base/alloc.h"
#include "input.h"
#include "message/fields.h"
#include "store/cookie_jar.h"
#include "store/hsts.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST = 20, MOST_PER_DOMAIN = 5, PATH_SIZE = 64 };

/* ---- Files --------------------------------------------------------------------------------- */

static char folder[PATH_SIZE];

static void remove_folder(void) {
    rmdir(folder);
}

/** A path in a folder of this process. */
static void make_path(char out[PATH_SIZE + 8]) {
    if (folder[0] == '\0') {
        snprintf(folder, sizeof folder, "%s/afcore-fuzz-XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        require(mkdtemp(folder) != NULL && atexit(remove_folder) == 0);
    }
    snprintf(out, PATH_SIZE + 8, "%s/file", folder);
}

/** A file without a name that holds these bytes, and a path to it. */
static int make_file(input bytes, char path[PATH_SIZE]) {
    int descriptor = memfd_create("input", MFD_CLOEXEC);
    require(descriptor >= 0);
    require(write(descriptor, bytes.at, bytes.size) == (ssize_t)bytes.size);
    snprintf(path, PATH_SIZE, "/proc/self/fd/%d", descriptor);
    return descriptor;
}

/* ---- Cookies ------------------------------------------------------------------------------- */

static afc_cookie_jar *load_jar(const char *path) {
    afc_cookie_jar *jar;
    afc_cookie_jar_options options = AFC_COOKIE_JAR_OPTIONS_INIT;
    options.path = path;
    options.max_cookies = MOST;
    options.max_cookies_per_site = MOST_PER_DOMAIN;
    require(afc_cookie_jar_new(&jar, &options, NULL) == AFC_OK);
    return jar;
}

static void check_cookie(const afc_cookie *cookie) {
    require(afc__may_be_sent(afc_slice_of(cookie->name)) && strpbrk(cookie->name, ";=") == NULL);
    require(afc__may_be_sent(afc_slice_of(cookie->value)) && strchr(cookie->value, ';') == NULL);
    require(strlen(cookie->name) + strlen(cookie->value) <= AFC__COOKIE_MAX);
    require(cookie->path[0] == '/' && strlen(cookie->path) <= AFC__COOKIE_ATTRIBUTE_MAX);
    require(cookie->domain[0] != '\0' && strpbrk(cookie->domain, " /\t") == NULL);
}

static void check_same(const afc_cookie_list *list, const afc_cookie_list *again) {
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        const afc_cookie *cookie = &list->cookies[i];
        if (cookie->expires_s == AFC_COOKIE_SESSION) continue;
        count++;
        bool is_found = false;
        for (size_t k = 0; k < again->count; k++) {
            const afc_cookie *other = &again->cookies[k];
            is_found = is_found || (strcmp(cookie->name, other->name) == 0 &&
                                    strcmp(cookie->value, other->value) == 0 &&
                                    strcmp(cookie->domain, other->domain) == 0 &&
                                    strcmp(cookie->path, other->path) == 0 &&
                                    cookie->expires_s == other->expires_s &&
                                    cookie->is_host_only == other->is_host_only &&
                                    cookie->is_secure == other->is_secure &&
                                    cookie->is_http_only == other->is_http_only &&
                                    cookie->same_site == other->same_site);
        }
        require(is_found);
    }
    require(count == again->count);
}

static void check_jar(const char *path) {
    char target[PATH_SIZE + 8];
    afc_cookie_list *list, *again, *sent;
    afc_cookie_jar *jar = load_jar(path);
    require(afc_cookie_jar_copy(&list, jar, NULL, NULL) == AFC_OK && list->count <= MOST);
    for (size_t i = 0; i < list->count; i++) check_cookie(&list->cookies[i]);
    require(afc_cookie_jar_copy(&sent, jar, "http://www.example.com/a", NULL) == AFC_OK);
    for (size_t i = 0; i < sent->count; i++) require(!sent->cookies[i].is_secure);
    afc_cookie_list_free(sent);
    make_path(target);
    require(afc_cookie_jar_save(jar, target, NULL) == AFC_OK);
    afc_cookie_jar_release(jar);
    jar = load_jar(target);
    unlink(target);
    require(afc_cookie_jar_copy(&again, jar, NULL, NULL) == AFC_OK);
    check_same(list, again);
    afc_cookie_list_free(list);
    afc_cookie_list_free(again);
    afc__free_secret(jar->path, strlen(jar->path));
    jar->path = NULL; /* Nothing is written at the end. */
    afc_cookie_jar_release(jar);
}

/* ---- Hosts that want https ------------------------------------------------------------------- */

static afc_hsts *load_hosts(const char *path) {
    afc_hsts *hsts;
    afc_hsts_options options = AFC_HSTS_OPTIONS_INIT;
    options.path = path;
    options.max_hosts = MOST;
    require(afc_hsts_new(&hsts, &options, NULL) == AFC_OK);
    return hsts;
}

/** Every name in the file must be known, or not, as before after writing and reading. */
static void check_hosts(const char *path, input text) {
    char target[PATH_SIZE + 8];
    afc_hsts *hsts = load_hosts(path);
    make_path(target);
    require(afc_hsts_save(hsts, target, NULL) == AFC_OK);
    afc_hsts *again = load_hosts(target);
    while (text.size > 0) {
        char name[300];
        afc_slice line = take_line(&text);
        const char *space = memchr(line.bytes, ' ', line.size);
        size_t size = space != NULL ? (size_t)(space - line.bytes) : line.size;
        if (size >= sizeof name) continue;
        memcpy(name, line.bytes, size);
        name[size] = '\0';
        const char *host = name[0] == '.' ? name + 1 : name;
        require(afc_hsts_has(hsts, host) == afc_hsts_has(again, host));
    }
    require(afc_hsts_remove(hsts, NULL) == afc_hsts_remove(again, NULL));
    afc_hsts_release(hsts);
    afc_hsts_release(again);
    unlink(target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[PATH_SIZE];
    input input = {data, size};
    bool is_jar = take_octet(&input) % 2 == 0;
    int file = make_file(input, path);
    if (is_jar)
        check_jar(path);
    else
        check_hosts(path, input);
    close(file);
    return 0;
}
