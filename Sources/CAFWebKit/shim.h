/*
 * What SwiftAF uses of WebKitGTK 6.0, under names of its own: `cafwebkit_…`. CAFGTK's shim.h says why and how; the same
 * check compares this file with the library's headers, with CAFWEBKIT_CHECK defined.
 */
#ifndef CAFWEBKIT_SHIM_H
#define CAFWEBKIT_SHIM_H

#include <stddef.h>

#ifdef CAFWEBKIT_CHECK
typedef GType cafwebkit_type;
typedef GBytes cafwebkit_bytes;
typedef WebKitWebView cafwebkit_view;
#else
typedef unsigned long cafwebkit_type;
typedef struct cafwebkit_bytes cafwebkit_bytes;
typedef struct cafwebkit_view cafwebkit_view;
#endif

/* One line from each name to its symbol, which Scripts/checks/gtk-shim reads. */
/* clang-format off */
cafwebkit_bytes *cafwebkit_bytes_copy(const void *data, size_t size) __asm__("g_bytes_new");
void cafwebkit_bytes_unref(cafwebkit_bytes *bytes) __asm__("g_bytes_unref");
cafwebkit_type cafwebkit_view_type(void) __asm__("webkit_web_view_get_type");
void cafwebkit_load_bytes(cafwebkit_view *view, cafwebkit_bytes *bytes, const char *type, const char *charset, const char *base) __asm__("webkit_web_view_load_bytes");
/* clang-format on */

#endif
