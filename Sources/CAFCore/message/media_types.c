#include "message/media_types.h"

#include "message/fields.h"
#include "message/media_types_table.h"

#include <afcore/multipart.h>
#include <stdlib.h>

enum { MAX_EXTENSION = 15, MAX_TYPE = 127 };

static int compare(const void *key, const void *entry) {
    return strcmp(key, ((const afc__media_type *)entry)->extension);
}

static int compare_types(const void *key, const void *entry) {
    return strcmp(key, ((const afc__media_type *)entry)->type);
}

/** Converts to lower case and adds a NUL. Returns false if the text is empty, too long or contains a NUL. */
static bool make_key(char *key, size_t capacity, afc_slice text) {
    if (text.size == 0 || text.size >= capacity) return false;
    for (size_t i = 0; i < text.size; i++) {
        key[i] = afc__lower(text.bytes[i]);
    }
    key[text.size] = '\0';
    return strlen(key) == text.size;
}

const char *afc_media_type_of_extension(afc_slice extension) {
    char key[MAX_EXTENSION + 1];
    if (!make_key(key, sizeof key, extension)) return NULL;
    const afc__media_type *found = bsearch(
        key, media_types, sizeof media_types / sizeof *media_types, sizeof *media_types, compare);
    return found != NULL ? found->type : NULL;
}

afc_slice afc__last_component(const char *path) {
    const char *slash = strrchr(path, '/');
    return afc_slice_of(slash != NULL ? slash + 1 : path);
}

const char *afc__media_type_of_path(const char *path) {
    afc_slice name = afc__last_component(path);
    const char *dot = name.size > 1 ? strrchr(name.bytes + 1, '.') : NULL;
    const char *type = dot != NULL ? afc_media_type_of_extension(afc_slice_of(dot + 1)) : NULL;
    return type != NULL ? type : "application/octet-stream";
}

const char *afc__extension_of_media_type(afc_slice type) {
    char key[MAX_TYPE + 1];
    const char *parameters = type.size != 0 ? memchr(type.bytes, ';', type.size) : NULL;
    if (parameters != NULL) type.size = (size_t)(parameters - type.bytes);
    if (!make_key(key, sizeof key, afc__trim(type))) return NULL;
    if (strcmp(key, "application/octet-stream") == 0) return NULL;
    const afc__media_type *found = bsearch(key, usual_extensions,
                                           sizeof usual_extensions / sizeof *usual_extensions,
                                           sizeof *usual_extensions, compare_types);
    return found != NULL ? found->extension : NULL;
}
