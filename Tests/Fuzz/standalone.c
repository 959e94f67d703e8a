/* Runs a fuzz target over files and folders of files, where there is no libFuzzer: the seeds as a
   plain test, a crash again. Each input is also cut short at every byte and has octets flipped. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Targets that go through sockets take too long for a cut at every byte. */
#ifndef AF_FUZZ_STRIDE
#define AF_FUZZ_STRIDE 1
#endif

enum { LARGEST_INPUT = 1 << 20, PATH_SIZE = 4096, MOST_CUTS = 2048 };

static size_t inputs;

/** The target gets a block of exactly its size, so that a sanitizer sees one byte too far. */
static void run_copy(const uint8_t *data, size_t size, size_t flipped) {
    uint8_t *copy = malloc(size != 0 ? size : 1);
    if (copy == NULL) abort();
    if (size != 0) memcpy(copy, data, size);
    if (flipped < size) copy[flipped] ^= (uint8_t)(1u << (flipped % 8));
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    inputs++;
}

static void run_variants(const uint8_t *data, size_t size) {
    run_copy(data, size, size);
    for (size_t i = 0; i < size && i < MOST_CUTS; i += AF_FUZZ_STRIDE) {
        run_copy(data, i, size);
        run_copy(data, size, i);
    }
}

static int run_file(const char *path) {
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(LARGEST_INPUT);
    if (file == NULL || data == NULL) {
        perror(path);
        if (file != NULL) fclose(file);
        free(data);
        return 1;
    }
    size_t size = fread(data, 1, LARGEST_INPUT, file);
    int failed = ferror(file) != 0;
    fclose(file);
    if (!failed) run_variants(data, size);
    free(data);
    return failed;
}

static int run_path(const char *path);

static int run_folder(const char *path) {
    DIR *folder = opendir(path);
    if (folder == NULL) {
        perror(path);
        return 1;
    }
    int failed = 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.') continue;
        char inner[PATH_SIZE];
        int length = snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        failed |= length < 0 || length >= PATH_SIZE || run_path(inner);
    }
    closedir(folder);
    return failed;
}

static int run_path(const char *path) {
    struct stat info;
    if (stat(path, &info) != 0) {
        perror(path);
        return 1;
    }
    return S_ISDIR(info.st_mode) ? run_folder(path) : run_file(path);
}

int main(int count, char **arguments) {
    int failed = count < 2;
    if (failed) fprintf(stderr, "usage: %s FILE-OR-FOLDER...\n", arguments[0]);
    for (int i = 1; i < count; i++) failed |= run_path(arguments[i]);
    printf("%zu inputs\n", inputs);
    return failed || inputs == 0;
}
