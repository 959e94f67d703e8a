/* Reads certificates from files and folders. */
#include "base/alloc.h"
#include "base/failure.h"
#include "base/file.h"
#include "base/fork_gate.h"
#include "base/text.h"
#include "trust/policy.h"
#include "trust/x509_parse.h"

#include <afcore/trust.h>
#include <dirent.h>
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Several times the size of all public root certificates. */
static const uint64_t MAX_FILE = UINT64_C(16) * 1024 * 1024;

/** Appends the certificates of a file to `pem`. */
static afc_status add_file(BIO *pem, const char *path, afc__file_kind kind, afc_failure *failure) {
    STACK_OF(X509) *certificates = NULL;
    afc__buffer text;
    afc__buffer_init(&text, MAX_FILE);
    /* A single path may be a pipe. */
    afc_status status = afc__read_file(&text, path, kind, failure);
    if (status == AFC_ETOOBIG) {
        status = afc__fail(failure, AFC_EINVAL, "%s: too large for a file of certificates", path);
    }
    if (status == AFC_OK && text.size == 0) {
        status = afc__fail(failure, AFC_EINVAL, "%s: empty file", path);
    }
    if (status == AFC_OK) {
        status = afc__certificates_parse(&certificates, afc__buffer_slice(&text), path, failure);
    }
    for (int i = 0; status == AFC_OK && i < sk_X509_num(certificates); i++) {
        if (PEM_write_bio_X509(pem, sk_X509_value(certificates, i)) != 1) {
            status = afc__fail_memory(failure);
        }
    }
    sk_X509_pop_free(certificates, X509_free);
    afc__buffer_clear(&text);
    return status;
}

static bool is_certificate_file(const char *name) {
    return name[0] != '\0' && afc__ends_with(afc_slice_of(name + 1), ".cer");
}

/** The paths of a folder's files. */
typedef struct path_list {
    char **paths;
    size_t count;
} path_list;

static bool add_path(path_list *list, const char *folder, const char *name) {
    size_t size = strlen(folder) + strlen(name) + 2;
    char **paths = afc__realloc(list->paths, (list->count + 1) * sizeof *paths);
    if (paths == NULL) return false;
    list->paths = paths;
    paths[list->count] = afc__alloc(size);
    if (paths[list->count] == NULL) return false;
    snprintf(paths[list->count++], size, "%s/%s", folder, name);
    return true;
}

static int compare_paths(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static afc_status list_folder(path_list *list, const char *folder, afc_failure *failure) {
    DIR *directory = opendir(folder);
    if (directory == NULL) return afc__fail_file(failure, "cannot read", folder, errno);
    bool has_memory = true;
    const struct dirent *entry;
    errno = 0;
    while (has_memory && (entry = readdir(directory)) != NULL) {
        if (is_certificate_file(entry->d_name)) has_memory = add_path(list, folder, entry->d_name);
        errno = 0;
    }
    int error = errno;
    closedir(directory);
    if (!has_memory) return afc__fail_memory(failure);
    if (error != 0) return afc__fail_file(failure, "cannot read", folder, error);
    /* Sorted, so that the result doesn't depend on the order of readdir(). */
    if (list->count > 1) qsort(list->paths, list->count, sizeof *list->paths, compare_paths);
    return AFC_OK;
}

static afc_status add_folder(BIO *pem, const char *path, afc_failure *failure) {
    path_list list = {NULL, 0};
    afc_status status = list_folder(&list, path, failure);
    for (size_t i = 0; i < list.count; i++) {
        if (status == AFC_OK) status = add_file(pem, list.paths[i], AFC__FILE_REGULAR, failure);
        afc_free(list.paths[i]);
    }
    afc_free(list.paths);
    return status;
}

static afc_status read_certificates(afc_bytes *out, const char *path, afc_failure *failure) {
    struct stat info;
    afc__openssl_begin();
    if (stat(path, &info) != 0) return afc__fail_file(failure, "cannot read", path, errno);
    BIO *pem = BIO_new(BIO_s_mem());
    if (pem == NULL) return afc__fail_memory(failure);
    afc_status status = S_ISDIR(info.st_mode) ? add_folder(pem, path, failure)
                                              : add_file(pem, path, AFC__FILE_ANY, failure);
    if (status == AFC_OK) {
        char *bytes = NULL;
        long size = BIO_get_mem_data(pem, &bytes);
        out->bytes = afc__copy_text((afc_slice){bytes, (size_t)size});
        if (out->bytes != NULL)
            out->size = (size_t)size;
        else
            status = afc__fail_memory(failure);
    }
    BIO_free(pem);
    ERR_clear_error();
    return status;
}

afc_status afc_certificates_read(afc_bytes *out, const char *path, afc_failure *failure) {
    *out = (afc_bytes){NULL, 0};
    afc__clear_failure(failure);
    afc_status status = afc__fork_gate_check(failure);
    if (status != AFC_OK) return status;
    afc__fork_gate_enter(NULL);
    status = read_certificates(out, path, failure);
    afc__fork_gate_leave(NULL);
    return status;
}
