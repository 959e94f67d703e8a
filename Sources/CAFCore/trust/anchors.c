#include "trust/anchors.h"

#include <dirent.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static X509_STORE *system_store;

/* What a store with the system's directory has of the system's bundle; others have no mark. */
static char bundle_is_left, bundle_is_added;
static pthread_mutex_t bundle_lock = PTHREAD_MUTEX_INITIALIZER;
static int mark_index = -1;

static void make_mark_index(void) {
    mark_index = X509_STORE_get_ex_new_index(0, NULL, NULL, NULL, NULL);
}

/** -1: out of memory. */
static int get_mark_index(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_mark_index);
    return mark_index;
}

/** Returns whether a directory has OpenSSL's hashed names ("1e08bfd1.0"). */
static bool is_hashed(const char *path) {
    DIR *directory = opendir(path);
    if (directory == NULL) return false;
    bool found = false;
    const struct dirent *entry;
    while (!found && (entry = readdir(directory)) != NULL) {
        const char *name = entry->d_name;
        found = strspn(name, "0123456789abcdef") == 8 && name[8] == '.' && name[9] == '0';
    }
    closedir(directory);
    return found;
}

static bool add_directory(X509_STORE *store, const char *path) {
    X509_LOOKUP *lookup = X509_STORE_add_lookup(store, X509_LOOKUP_hash_dir());
    return lookup != NULL && X509_LOOKUP_add_dir(lookup, path, X509_FILETYPE_PEM) == 1;
}

static void add_bundle(X509_STORE *store) {
    const char *const bundles[] = {
        X509_get_default_cert_file(), "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};
    for (size_t i = 0; i < sizeof bundles / sizeof *bundles; i++) {
        if (access(bundles[i], R_OK) == 0 && X509_STORE_load_file(store, bundles[i])) return;
    }
}

/**
 * Adds the system's anchors. From a hashed directory OpenSSL loads only the roots that a chain needs; parsing a
 * whole bundle takes about 30 ms. So the bundle is read at once only if there is no such directory; otherwise when a chain
 * has no anchor in it. Containers often get a bundle of their own, and keep the directory of their image. Users who set
 * SSL_CERT_FILE or SSL_CERT_DIR have chosen.
 */
static void add_system(X509_STORE *store) {
    const char *directory = X509_get_default_cert_dir();
    bool is_chosen = getenv(X509_get_default_cert_file_env()) != NULL ||
                     getenv(X509_get_default_cert_dir_env()) != NULL;
    if (is_chosen) {
        X509_STORE_set_default_paths(store);
    } else if (is_hashed(directory) && add_directory(store, directory)) {
        /* Without memory for the mark it is as if there were no bundle. */
        if (get_mark_index() >= 0) X509_STORE_set_ex_data(store, mark_index, &bundle_is_left);
    } else {
        add_bundle(store);
    }
}

bool afc__anchors_add_bundle(X509_STORE *store) {
    if (store == NULL || get_mark_index() < 0) return false;
    pthread_mutex_lock(&bundle_lock);
    const char *mark = X509_STORE_get_ex_data(store, mark_index);
    if (mark == &bundle_is_left) {
        add_bundle(store);
        X509_STORE_set_ex_data(store, mark_index, &bundle_is_added);
    }
    pthread_mutex_unlock(&bundle_lock);
    ERR_clear_error();
    return mark != NULL;
}

static void load_system_store(void) {
    system_store = X509_STORE_new();
    if (system_store != NULL) add_system(system_store);
    ERR_clear_error();
}

X509_STORE *afc__anchors_system(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_system_store);
    return system_store;
}

X509_STORE *afc__anchors_new(STACK_OF(X509) *certificates, STACK_OF(X509_CRL) *crls,
                             bool has_system) {
    X509_STORE *store = X509_STORE_new();
    if (store == NULL) return NULL;
    bool is_complete = true;
    for (int i = 0; certificates != NULL && i < sk_X509_num(certificates); i++) {
        is_complete = is_complete &&
                      X509_STORE_add_cert(store, sk_X509_value(certificates, i)) == 1;
    }
    for (int i = 0; crls != NULL && i < sk_X509_CRL_num(crls); i++) {
        is_complete = is_complete && X509_STORE_add_crl(store, sk_X509_CRL_value(crls, i)) == 1;
    }
    if (has_system && is_complete) add_system(store);
    ERR_clear_error();
    if (is_complete) return store;
    X509_STORE_free(store);
    return NULL;
}
