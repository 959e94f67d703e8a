#include "body/resume_file.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/temporary_file.h"

#include <afcore/resume.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Loading ------------------------------------------------------------------------------- */

/** Returns whether only the user can write to the file. */
static bool is_private(const struct stat *facts) {
    return facts->st_uid == geteuid() && (facts->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static afc_status read_token(int descriptor, afc__resume_token *out, afc__token_kind *kind) {
    struct stat facts;
    *kind = AFC__TOKEN_FOREIGN;
    if (fstat(descriptor, &facts) != 0) return AFC_EFILE;
    if (!S_ISREG(facts.st_mode) || facts.st_size > AFC__RESUME_MAX) return AFC_OK;
    afc__buffer text;
    afc__buffer_init(&text, AFC__RESUME_MAX);
    afc_status status = afc__read_all(&text, descriptor);
    int error = errno;
    afc_slice read = afc__buffer_slice(&text);
    /* A crash of the system may leave an empty token. */
    bool is_token = status == AFC_OK && (read.size == 0 || afc_resume_is_token(read));
    if (is_token && is_private(&facts)) {
        status = afc__resume_read(out, read, NULL);
        *kind = status == AFC_OK ? AFC__TOKEN_READ : AFC__TOKEN_DAMAGED;
    } else if (is_token) {
        *kind = AFC__TOKEN_NONE;
    }
    afc__buffer_clear(&text);
    errno = error;
    return status == AFC_EFILE || status == AFC_ENOMEM ? status : AFC_OK;
}

afc_status afc__token_load(const char *path, afc__resume_token *out, afc__token_kind *kind) {
    *out = (afc__resume_token){0};
    *kind = AFC__TOKEN_NONE;
    int descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0) {
        if (errno == ENOENT) return AFC_OK;
        *kind = AFC__TOKEN_FOREIGN;
        /* A symbolic link, a file of another user, a socket or a device. */
        bool is_other = errno == ELOOP || errno == EACCES || errno == ENXIO || errno == ENODEV;
        return is_other ? AFC_OK : AFC_EFILE;
    }
    afc_status status = read_token(descriptor, out, kind);
    int error = errno;
    close(descriptor);
    errno = error;
    return status;
}

bool afc__token_is_foreign(const char *path) {
    afc__resume_token token;
    afc__token_kind kind;
    bool is_read = afc__token_load(path, &token, &kind) == AFC_OK;
    afc__resume_clear(&token);
    return !is_read || kind == AFC__TOKEN_FOREIGN;
}

/* ---- Saving -------------------------------------------------------------------------------- */

/** Creates PATH.new. Two tasks never use the same name: the writer of a token holds the lock of its download. */
static int create(const char *path, int *descriptor, mode_t *mode) {
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int error = afc__new_file_mode(path, mode);
    if (error != 0) return error;
    *descriptor = open(path, flags, 0600);
    if (*descriptor >= 0) return 0;
    if (errno != EEXIST) return errno;
    /* Only what a killed process has left is replaced. */
    if (afc__token_is_foreign(path)) return EEXIST;
    if (unlink(path) != 0) return errno;
    *descriptor = open(path, flags, 0600);
    return *descriptor >= 0 ? 0 : errno;
}

static int fill(int descriptor, const afc__buffer *text, bool syncs) {
    int error = afc__write_all(descriptor, text->bytes, text->size);
    if (error == 0 && syncs && fsync(descriptor) != 0) error = errno;
    return error;
}

static int replace(const char *path, const char *new_path, const afc__buffer *text, bool syncs,
                   mode_t *mode) {
    int descriptor;
    int error = create(new_path, &descriptor, mode);
    if (error != 0) return error;
    error = fill(descriptor, text, syncs);
    if (close(descriptor) != 0 && error == 0) error = errno;
    if (error == 0 && rename(new_path, path) != 0) error = errno;
    if (error != 0) unlink(new_path);
    return error;
}

afc_status afc__token_save(const char *path, const afc__resume_token *token, bool syncs,
                           mode_t *mode, int *error) {
    static const char suffix[] = ".new";
    size_t size = strlen(path);
    afc__buffer text;
    afc__buffer_init(&text, AFC__RESUME_MAX);
    char *new_path = afc__alloc(size + sizeof suffix);
    afc_status status = new_path != NULL ? afc__resume_write(token, &text) : AFC_ENOMEM;
    if (status == AFC_OK) {
        memcpy(new_path, path, size);
        memcpy(new_path + size, suffix, sizeof suffix);
        *error = replace(path, new_path, &text, syncs, mode);
        if (*error != 0) status = AFC_EFILE;
    }
    afc_free(new_path);
    afc__buffer_clear(&text);
    return status;
}
