#include "trust/anchors.h"

#include "base/failure.h"

#include <dirent.h>
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static X509_STORE *system_store;

/** Does a directory hold certificates under the hashes of their subjects ("1e08bfd1.0")? */
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
 * A hashed directory lets OpenSSL look up just the root that a chain needs; parsing a whole bundle
 * costs some 30 ms. So the bundle is for systems without such a directory, and for users who name
 * their own by OpenSSL's environment variables.
 */
static void load_system_store(void) {
    system_store = X509_STORE_new();
    if (system_store == NULL) return;
    const char *directory = X509_get_default_cert_dir();
    bool is_chosen = getenv(X509_get_default_cert_file_env()) != NULL ||
                     getenv(X509_get_default_cert_dir_env()) != NULL;
    if (is_chosen) {
        X509_STORE_set_default_paths(system_store);
    } else if (!is_hashed(directory) || !add_directory(system_store, directory)) {
        add_bundle(system_store);
    }
    ERR_clear_error();
}

static X509_STORE *copy_system_store(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_system_store);
    if (system_store != NULL) X509_STORE_up_ref(system_store);
    return system_store;
}

/** The number of certificates added, or -1 for text that is none. */
static int add_certificates(X509_STORE *store, BIO *pem) {
    int count = 0;
    for (;;) {
        X509 *certificate = PEM_read_bio_X509(pem, NULL, NULL, NULL);
        if (certificate == NULL) break;
        int added = X509_STORE_add_cert(store, certificate);
        X509_free(certificate);
        if (!added) return -1;
        count++;
    }
    unsigned long error = ERR_peek_last_error();
    ERR_clear_error();
    bool is_end = ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
    return is_end ? count : -1;
}

static af_status load_anchors(af__trust *trust, af_slice pem, af_failure *failure) {
    BIO *bio = pem.size <= INT_MAX ? BIO_new_mem_buf(pem.bytes, (int)pem.size) : NULL;
    trust->store = X509_STORE_new();
    if (bio == NULL || trust->store == NULL) {
        BIO_free(bio);
        return af__fail(failure, AF_ENOMEM, "no memory for the anchors");
    }
    int count = add_certificates(trust->store, bio);
    BIO_free(bio);
    if (count > 0) return AF_OK;
    return af__fail(failure, AF_EINVAL,
                    count == 0 ? "the anchors hold no certificate in PEM form"
                               : "a certificate of the anchors can't be read");
}

af_status af__trust_init(af__trust *trust, const af_trust_policy *policy, af_failure *failure) {
    *trust = (af__trust){
        .has_own_anchors = policy->anchors.size > 0,
        .allow_invalid_certificates = policy->allow_invalid_certificates,
        .skip_host_check = policy->skip_host_check,
    };
    if (!trust->has_own_anchors) return AF_OK;
    af_status status = load_anchors(trust, policy->anchors, failure);
    if (status != AF_OK) af__trust_clear(trust);
    return status;
}

X509_STORE *af__trust_get_store(af__trust *trust) {
    if (trust->store == NULL) trust->store = copy_system_store();
    return trust->store;
}

void af__trust_clear(af__trust *trust) {
    X509_STORE_free(trust->store);
    trust->store = NULL;
}
