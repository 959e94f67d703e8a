#include "trust/anchors.h"

#include "base/failure.h"
#include "trust/x509_parse.h"

#include <dirent.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* NULL until it was read. */
static X509_STORE *system_store;
static pthread_mutex_t system_lock = PTHREAD_MUTEX_INITIALIZER;

/*
 * Marks, in ex_data, of stores that have the system's directory: whether the system's bundle was added, too. Other
 * stores have no mark.
 */
static char bundle_is_left, bundle_is_added;
static pthread_mutex_t bundle_lock = PTHREAD_MUTEX_INITIALIZER;
static int mark_index = -1;

/** Returns the index of the marks; -1 if out of memory. Requires bundle_lock. */
static int get_mark_index(void) {
    if (mark_index < 0) mark_index = X509_STORE_get_ex_new_index(0, NULL, NULL, NULL, NULL);
    return mark_index;
}

static bool leave_bundle(X509_STORE *store) {
    pthread_mutex_lock(&bundle_lock);
    bool is_left = get_mark_index() >= 0 &&
                   X509_STORE_set_ex_data(store, mark_index, &bundle_is_left) == 1;
    pthread_mutex_unlock(&bundle_lock);
    return is_left;
}

/**
 * Returns whether an errno means that a file doesn't exist for this process. After any other error it may be readable
 * later.
 */
static bool is_absent(int error) {
    return error == ENOENT || error == ENOTDIR || error == EACCES || error == EPERM ||
           error == ELOOP || error == ENAMETOOLONG;
}

static afc_status fail_reading(afc_failure *failure, const char *path, int error) {
    afc_status status = afc__is_shortage(error) ? AFC_ENOMEM : AFC_EFILE;
    afc__fail(failure, status, "cannot read the system's certificates: %s: %s", path,
              strerror(error));
    if (failure != NULL) failure->system_error = error;
    return status;
}

/** Looks for OpenSSL's hashed names ("1e08bfd1.0") in a directory. */
static afc_status find_hashed(const char *path, bool *is_found, afc_failure *failure) {
    *is_found = false;
    DIR *directory = opendir(path);
    if (directory == NULL) return is_absent(errno) ? AFC_OK : fail_reading(failure, path, errno);
    const struct dirent *entry;
    errno = 0;
    while (!*is_found && (entry = readdir(directory)) != NULL) {
        const char *name = entry->d_name;
        *is_found = strspn(name, "0123456789abcdef") == 8 && name[8] == '.' && name[9] == '0';
    }
    int error = *is_found ? 0 : errno;
    closedir(directory);
    return error == 0 ? AFC_OK : fail_reading(failure, path, error);
}

static afc_status add_directory(X509_STORE *store, const char *path, afc_failure *failure) {
    X509_LOOKUP *lookup = X509_STORE_add_lookup(store, X509_LOOKUP_hash_dir());
    bool is_added = lookup != NULL &&
                    (path[0] == '\0' || X509_LOOKUP_add_dir(lookup, path, X509_FILETYPE_PEM) == 1);
    return is_added ? AFC_OK : afc__fail_memory(failure);
}

/**
 * Adds the certificates of a file. Returns AFC_OK, and `*is_added` is false, if the file doesn't exist or has no
 * certificates.
 */
static afc_status add_file(X509_STORE *store, const char *path, bool *is_added,
                           afc_failure *failure) {
    ERR_clear_error();
    *is_added = X509_STORE_load_file(store, path) == 1;
    int error = afc__take_system_error();
    /* OpenSSL also reports a file as read if memory ran out in the middle of it. */
    if (error == 0 || (*is_added && error != ENOMEM) || is_absent(error)) return AFC_OK;
    return fail_reading(failure, path, error);
}

static afc_status add_bundle(X509_STORE *store, afc_failure *failure) {
    const char *const bundles[] = {
        X509_get_default_cert_file(), "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};
    for (size_t i = 0; i < sizeof bundles / sizeof *bundles; i++) {
        bool is_added;
        afc_status status = add_file(store, bundles[i], &is_added, failure);
        if (status != AFC_OK || is_added) return status;
    }
    return AFC_OK;
}

/** Does the work of X509_STORE_set_default_paths(), which doesn't report whether the file could be read. */
static afc_status add_chosen(X509_STORE *store, const char *file, const char *directory,
                             afc_failure *failure) {
    bool is_added;
    if (file == NULL) file = X509_get_default_cert_file();
    if (directory == NULL) directory = X509_get_default_cert_dir();
    afc_status status = add_file(store, file, &is_added, failure);
    return status == AFC_OK ? add_directory(store, directory, failure) : status;
}

/**
 * Adds the system's anchors. From a hashed directory OpenSSL loads only the roots that a chain needs, while parsing a
 * whole bundle takes about 30 ms. So the bundle is read at once only if there is no such directory; otherwise it is
 * read for the first chain that has no anchor in the directory. Containers often have a bundle of their own, and the
 * directory of their image. SSL_CERT_FILE or SSL_CERT_DIR replace all of this.
 */
static afc_status add_system(X509_STORE *store, afc_failure *failure) {
    const char *file = secure_getenv(X509_get_default_cert_file_env());
    const char *directory = secure_getenv(X509_get_default_cert_dir_env());
    if (file != NULL || directory != NULL) return add_chosen(store, file, directory, failure);
    directory = X509_get_default_cert_dir();
    bool has_hashed;
    afc_status status = find_hashed(directory, &has_hashed, failure);
    if (status != AFC_OK) return status;
    if (!has_hashed) return add_bundle(store, failure);
    status = add_directory(store, directory, failure);
    if (status == AFC_OK && !leave_bundle(store)) status = afc__fail_memory(failure);
    return status;
}

afc_status afc__anchors_add_bundle(X509_STORE *store, bool *may_help, afc_failure *failure) {
    pthread_mutex_lock(&bundle_lock);
    const char *mark = mark_index >= 0 ? X509_STORE_get_ex_data(store, mark_index) : NULL;
    afc_status status = mark == &bundle_is_left ? add_bundle(store, failure) : AFC_OK;
    if (mark != NULL && status == AFC_OK) {
        X509_STORE_set_ex_data(store, mark_index, &bundle_is_added);
    }
    pthread_mutex_unlock(&bundle_lock);
    ERR_clear_error();
    *may_help = mark != NULL && status == AFC_OK;
    return status;
}

afc_status afc__anchors_system(X509_STORE **out, afc_failure *failure) {
    afc_status status = AFC_OK;
    pthread_mutex_lock(&system_lock);
    /* Only a store that was read is kept: what is missing now, such as a descriptor, may be available next time. */
    if (system_store == NULL) status = afc__anchors_new(&system_store, NULL, NULL, true, failure);
    *out = system_store;
    pthread_mutex_unlock(&system_lock);
    return status;
}

afc_status afc__anchors_new(X509_STORE **out, STACK_OF(X509) *certificates,
                            STACK_OF(X509_CRL) *crls, bool has_system, afc_failure *failure) {
    *out = NULL;
    X509_STORE *store = X509_STORE_new();
    if (store == NULL) return afc__fail_memory(failure);
    bool is_complete = true;
    for (int i = 0; certificates != NULL && i < sk_X509_num(certificates); i++) {
        is_complete = is_complete &&
                      X509_STORE_add_cert(store, sk_X509_value(certificates, i)) == 1;
    }
    for (int i = 0; crls != NULL && i < sk_X509_CRL_num(crls); i++) {
        is_complete = is_complete && X509_STORE_add_crl(store, sk_X509_CRL_value(crls, i)) == 1;
    }
    afc_status status = is_complete ? AFC_OK : afc__fail_memory(failure);
    if (status == AFC_OK && has_system) status = add_system(store, failure);
    ERR_clear_error();
    if (status == AFC_OK)
        *out = store;
    else
        X509_STORE_free(store);
    return status;
}
