/* The value of a Content-Disposition, and the same bytes as a URL. Whatever comes, the name is one
   safe component of a path, and safe names stay as they are. */
#include "message/disposition.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) abort();
}

static void check(const char *name) {
    size_t size = strlen(name);
    require(size >= 1 && size <= AFC_FILE_NAME_MAX);
    require(name[0] != '.' && name[0] != ' ' && name[size - 1] != '.' && name[size - 1] != ' ');
    afc__name_text text = {.size = 0};
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)name[i];
        require(c >= 0x20 && c != 0x7F && c != '/' && c != '\\');
        afc__name_text_add(&text, c);
    }
    require(afc__name_text_is_utf8(&text));
    char again[AFC_FILE_NAME_MAX + 1];
    require(afc__safe_file_name(again, &text) &&
            (size == AFC_FILE_NAME_MAX || !strcmp(name, again)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char name[AFC_FILE_NAME_MAX + 1];
    afc_slice value = {(const char *)data, size};
    afc_header header = {{"Content-Disposition", 19}, value, 0};
    afc_head head = {.status = 200, .headers = &header, .header_count = 1};
    if (afc__disposition_file_name(name, value)) check(name);
    afc_suggest_file_name(name, &head, "https://host/%2e%2e/%00");
    check(name);
    char *url = calloc(size + 10, 1);
    if (url == NULL) return 0;
    memcpy(url, "http://h/", 9);
    if (size != 0) memcpy(url + 9, data, size);
    afc_suggest_file_name(name, NULL, url);
    check(name);
    free(url);
    return 0;
}
