/* A program's own module of GLib, as bindings of GTK have one. */
#include <glib-object.h>
