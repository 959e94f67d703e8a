/**
 * Tables in Tests/Fixtures, which the tests of Swift read, too: a row on each line, its fields with tabs between them.
 * "\xHH" is an octet. Lines that are empty or begin with "#" are left out.
 */
#ifndef AFC_TESTS_ROWS_H
#define AFC_TESTS_ROWS_H

#include "support/check.h"

#include <stdbool.h>

typedef struct rows rows;

/** A file of the folder that is there. */
rows *rows_open(const char *name);

/** The next row, which must have `count` fields; they live until the next call. False: no more rows. */
bool rows_next(rows *rows, char **fields, size_t count);

/** The number of rows that were read. */
size_t rows_close(rows *rows);

#endif
