#include "message/media_types.h"

#include "message/media_types_table.h"

#include <afcore/multipart.h>
#include <stdlib.h>

enum { LONGEST_EXTENSION = 15 };

static int compare(const void *key, const void *entry) {
    return strcmp(key, ((const af__media_type *)entry)->extension);
}

const char *af_media_type_of_extension(af_slice extension) {
    char key[LONGEST_EXTENSION + 1] = "";
    if (extension.size == 0 || extension.size > LONGEST_EXTENSION) return NULL;
    for (size_t i = 0; i < extension.size; i++) {
        char letter = extension.bytes[i];
        key[i] = letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
    }
    if (strlen(key) != extension.size) return NULL;
    const af__media_type *found = bsearch(
        key, media_types, sizeof media_types / sizeof *media_types, sizeof *media_types, compare);
    return found != NULL ? found->type : NULL;
}

af_slice af__last_component(const char *path) {
    const char *slash = strrchr(path, '/');
    return af_slice_of(slash != NULL ? slash + 1 : path);
}

const char *af__media_type_of_path(const char *path) {
    af_slice name = af__last_component(path);
    const char *dot = name.size > 1 ? strrchr(name.bytes + 1, '.') : NULL;
    const char *type = dot != NULL ? af_media_type_of_extension(af_slice_of(dot + 1)) : NULL;
    return type != NULL ? type : "application/octet-stream";
}
