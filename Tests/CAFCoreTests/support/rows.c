#include "support/rows.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rows {
    FILE *file;
    char *line;
    size_t room, count;
};

rows *rows_open(const char *name) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", AF_FIXTURES, name);
    rows *rows = calloc(1, sizeof *rows);
    assert_non_null(rows);
    rows->file = fopen(path, "re");
    if (rows->file == NULL) fail_msg("%s is not there", path);
    return rows;
}

static void decode(char *text) {
    char *out = text;
    for (const char *at = text; *at != '\0';) {
        if (at[0] == '\\' && at[1] == 'x') {
            int high = afc__hex_value(at[2]), low = high >= 0 ? afc__hex_value(at[3]) : -1;
            if (low < 0) fail_msg("no octet: %s", at);
            *out++ = (char)(high << 4 | low);
            at += 4;
        } else {
            *out++ = *at++;
        }
    }
    *out = '\0';
}

bool rows_next(rows *rows, char **fields, size_t count) {
    do {
        if (getline(&rows->line, &rows->room, rows->file) < 0) return false;
        rows->line[strcspn(rows->line, "\n")] = '\0';
    } while (rows->line[0] == '\0' || rows->line[0] == '#');
    char *rest = rows->line;
    for (size_t i = 0; i < count; i++) {
        fields[i] = strsep(&rest, "\t");
        if (fields[i] == NULL) fail_msg("too few fields: %s", rows->line);
    }
    if (rest != NULL) fail_msg("too many fields: %s", rest);
    for (size_t i = 0; i < count; i++) decode(fields[i]);
    rows->count++;
    return true;
}

size_t rows_close(rows *rows) {
    size_t count = rows->count;
    fclose(rows->file);
    free(rows->line);
    free(rows);
    return count;
}
