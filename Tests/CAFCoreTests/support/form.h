/**
 * Forms of a test: parts in one line each, a reader that does as told, and reading it all.
 */
#ifndef AFC_TESTS_FORM_H
#define AFC_TESTS_FORM_H

#include "support/check.h"

#include <afcore/multipart.h>

/** A form with the boundary "B". */
afc_multipart *form_new(void);

/** A part of copied bytes; no file name or type where they are NULL. */
void form_add(afc_multipart *form, const char *name, const char *file_name, const char *type,
              afc_slice bytes);

/** A part of a whole file, with file name and type by its path. */
void form_add_file(afc_multipart *form, const char *name, const char *path);

/** Gives `bytes` in pieces of at most `piece` bytes. */
typedef struct script_reader {
    afc_slice bytes;
    size_t piece;      /**< 0: as many as fit. */
    size_t again_each; /**< Says AFC_READ_AGAIN before every n-th read; 0: never. */
    size_t fails_at;   /**< Fails once this many bytes were given; 0: never. */
    bool reads_once;   /**< Has no rewind. */
    bool refuses_rewind;
    size_t position, reads, rewinds, releases;
} script_reader;

afc_reader reader_of(script_reader *reader);

/** A part that pulls from `reader`. */
void form_add_reader(afc_multipart *form, const char *name, script_reader *reader, int64_t length);

/** The rest of the form, read in pieces of `size` bytes, as long as `limit` bytes fit. */
typedef struct form_contents {
    char *bytes; /**< free() */
    size_t size;
    ptrdiff_t end; /**< AFC_READ_END, or AFC_READ_FAILED with `failure`. */
    afc_failure failure;
} form_contents;

form_contents read_form(afc_multipart *form, size_t size);

/** The form gives these bytes, for every size of reads, and its length is theirs. */
#define check_form(form, expected) check_form_at(form, expected, __FILE__, __LINE__)
void check_form_at(afc_multipart *form, afc_slice expected, const char *file, int line);

#endif
