/**
 * Which media type a file's name stands for, and which extension a type. The facts are in Scripts/media-types.txt.
 */
#ifndef AF_MESSAGE_MEDIA_TYPES_H
#define AF_MESSAGE_MEDIA_TYPES_H

#include <afcore/base.h>

/** What stands after the last slash. */
af_slice af__last_component(const char *path);

/** The type of a path's extension; "application/octet-stream" if there is none or it is unknown. */
const char *af__media_type_of_path(const char *path);

/**
 * The usual extension of a type, "text/html; charset=utf-8" and the like; NULL if it has none, as
 * application/octet-stream, which says nothing.
 */
const char *af__extension_of_media_type(af_slice type);

#endif
