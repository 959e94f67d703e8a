#include "support/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void folder_make(folder *folder) {
    *folder = (struct folder){.path = "/tmp/afcore-test-XXXXXX"};
    assert_non_null(mkdtemp(folder->path));
}

static bool is_file(const struct dirent *entry) {
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

void folder_remove(folder *folder) {
    DIR *directory = opendir(folder->path);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (is_file(entry)) unlink(path_in(folder, entry->d_name));
    }
    closedir(directory);
    assert_int_equal(rmdir(folder->path), 0);
}

const char *path_in(folder *folder, const char *name) {
    char *text = folder->text[folder->next_text++ % COUNT_OF(folder->text)];
    size_t size = strlen(folder->path), name_size = strlen(name) + 1;
    assert_true(size + 1 + name_size <= sizeof folder->text[0]);
    memcpy(text, folder->path, size);
    text[size] = '/';
    memcpy(text + size + 1, name, name_size);
    return text;
}

void write_file(const char *path, afc_slice bytes) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes.bytes, 1, bytes.size, file), bytes.size);
    assert_int_equal(fclose(file), 0);
}

void replace_in_file(const char *path, const char *text, const char *replacement) {
    char bytes[4097];
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    bytes[fread(bytes, 1, sizeof bytes - 1, file)] = '\0';
    const char *found = strstr(bytes, text);
    assert_non_null(found);
    rewind(file);
    int size = fprintf(file, "%.*s%s%s", (int)(found - bytes), bytes, replacement,
                       found + strlen(text));
    assert_int_equal(ftruncate(fileno(file), size), 0);
    assert_int_equal(fclose(file), 0);
}

bool file_exists(const char *path) {
    return access(path, F_OK) == 0;
}

void check_file(const char *path, afc_slice expected) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *bytes = malloc(expected.size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, expected.size + 1, file), expected.size);
    assert_memory_equal(bytes, expected.bytes, expected.size);
    free(bytes);
    fclose(file);
}

size_t count_files(const folder *folder) {
    DIR *directory = opendir(folder->path);
    assert_non_null(directory);
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (is_file(entry)) count++;
    }
    closedir(directory);
    return count;
}

bool has_unnamed_files(const folder *folder) {
    int descriptor = open(folder->path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor >= 0) close(descriptor);
    return descriptor >= 0;
}
