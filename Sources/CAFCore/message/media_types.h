/**
 * Media types by file name extension, and extensions by media type. The data is in Scripts/media-types.txt.
 */
#ifndef AF_MESSAGE_MEDIA_TYPES_H
#define AF_MESSAGE_MEDIA_TYPES_H

#include <afcore/base.h>

/** Returns the text after the last slash. */
af_slice af__last_component(const char *path);

/** Returns the media type for a path's extension; "application/octet-stream" if there is none or it is unknown. */
const char *af__media_type_of_path(const char *path);

/**
 * Returns the usual extension of a media type, such as "text/html; charset=utf-8"; NULL if there is none, as for
 * application/octet-stream.
 */
const char *af__extension_of_media_type(af_slice type);

#endif
