/**
 * Media types by file name extension, and extensions by media type. The data is in Scripts/media-types.txt.
 */
#ifndef AFC_MESSAGE_MEDIA_TYPES_H
#define AFC_MESSAGE_MEDIA_TYPES_H

#include <afcore/base.h>

/** Returns the text after the last slash. */
afc_slice afc__last_component(const char *path);

/** Returns the media type for the extension of a path; "application/octet-stream" if it is unknown or missing. */
const char *afc__media_type_of_path(const char *path);

/**
 * Returns the usual extension of a media type, such as "text/html; charset=utf-8"; NULL if there is none, as for
 * application/octet-stream.
 */
const char *afc__extension_of_media_type(afc_slice type);

#endif
