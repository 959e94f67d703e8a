/*
 * What we use of gdk-pixbuf 2 and GObject, declared anew: their own headers lie in folders that only pkg-config knows, and
 * its flags for them are more than SwiftPM accepts. Scripts/checks/swift-traits compiles this together with those headers,
 * so that no declaration can differ.
 */
#ifndef CGDKPIXBUF_SHIM_H
#define CGDKPIXBUF_SHIM_H

#include <stdint.h>

#ifndef __G_LIB_H__
typedef void *gpointer;
typedef char gchar;
typedef unsigned char guchar, guint8;
typedef unsigned int guint32;
typedef int gint, gboolean;
typedef unsigned int guint;
typedef long glong;
typedef unsigned long gulong, gsize;
typedef struct _GError GError;
typedef struct _GClosure GClosure;
typedef void (*GCallback)(void);
typedef void (*GClosureNotify)(gpointer data, GClosure *closure);
typedef enum { G_CONNECT_DEFAULT } GConnectFlags;
typedef struct _GTimeVal {
    glong tv_sec;
    glong tv_usec;
} GTimeVal;
typedef struct _GdkPixbuf GdkPixbuf;
typedef struct _GdkPixbufLoader GdkPixbufLoader;
typedef struct _GdkPixbufAnimation GdkPixbufAnimation;
typedef struct _GdkPixbufAnimationIter GdkPixbufAnimationIter;
typedef enum { GDK_COLORSPACE_RGB } GdkColorspace;
typedef void (*GdkPixbufDestroyNotify)(guchar *pixels, gpointer data);
#endif

void g_free(gpointer memory);
void(g_object_unref)(gpointer object);
gulong g_signal_connect_data(gpointer instance, const gchar *signal, GCallback call, gpointer data,
                             GClosureNotify destroy, GConnectFlags flags);

GdkPixbufLoader *gdk_pixbuf_loader_new_with_type(const char *type, GError **error);
void gdk_pixbuf_loader_set_size(GdkPixbufLoader *loader, int width, int height);
gboolean gdk_pixbuf_loader_write(GdkPixbufLoader *loader, const guchar *bytes, gsize count,
                                 GError **error);
gboolean gdk_pixbuf_loader_close(GdkPixbufLoader *loader, GError **error);
GdkPixbuf *gdk_pixbuf_loader_get_pixbuf(GdkPixbufLoader *loader);
GdkPixbufAnimation *gdk_pixbuf_loader_get_animation(GdkPixbufLoader *loader);

gboolean gdk_pixbuf_animation_is_static_image(GdkPixbufAnimation *animation);
GdkPixbufAnimationIter *gdk_pixbuf_animation_get_iter(GdkPixbufAnimation *animation,
                                                      const GTimeVal *start);
int gdk_pixbuf_animation_iter_get_delay_time(GdkPixbufAnimationIter *iter);
GdkPixbuf *gdk_pixbuf_animation_iter_get_pixbuf(GdkPixbufAnimationIter *iter);
gboolean gdk_pixbuf_animation_iter_advance(GdkPixbufAnimationIter *iter, const GTimeVal *now);

GdkPixbuf *gdk_pixbuf_new_from_data(const guchar *pixels, GdkColorspace space, gboolean has_alpha,
                                    int bits, int width, int height, int stride,
                                    GdkPixbufDestroyNotify destroy, gpointer data);
GdkPixbuf *gdk_pixbuf_apply_embedded_orientation(GdkPixbuf *pixbuf);
void gdk_pixbuf_fill(GdkPixbuf *pixbuf, guint32 pixel);
int gdk_pixbuf_get_width(const GdkPixbuf *pixbuf);
int gdk_pixbuf_get_height(const GdkPixbuf *pixbuf);
int gdk_pixbuf_get_n_channels(const GdkPixbuf *pixbuf);
int gdk_pixbuf_get_rowstride(const GdkPixbuf *pixbuf);
const guint8 *gdk_pixbuf_read_pixels(const GdkPixbuf *pixbuf);
gboolean gdk_pixbuf_save_to_bufferv(GdkPixbuf *pixbuf, gchar **bytes, gsize *size, const char *type,
                                    char **keys, char **values, GError **error);

/* Signals take untyped functions, which Swift would have to cast. */
typedef void (*cgdkpixbuf_size_prepared)(GdkPixbufLoader *loader, int width, int height,
                                         void *context);

static inline void cgdkpixbuf_on_size(GdkPixbufLoader *loader, cgdkpixbuf_size_prepared call,
                                      void *context) {
    g_signal_connect_data(loader, "size-prepared", (GCallback)call, context, 0, (GConnectFlags)0);
}

typedef void (*cgdkpixbuf_area_prepared)(GdkPixbufLoader *loader, void *context);

static inline void cgdkpixbuf_on_area(GdkPixbufLoader *loader, cgdkpixbuf_area_prepared call,
                                      void *context) {
    g_signal_connect_data(loader, "area-prepared", (GCallback)call, context, 0, (GConnectFlags)0);
}

/* The quality is that of a JPEG, NULL for another type. */
static inline int cgdkpixbuf_save(GdkPixbuf *pixbuf, const char *type, char *quality, char **bytes,
                                  gsize *size) {
    char name[] = "quality";
    char *keys[] = {quality ? name : 0, 0}, *values[] = {quality, 0};
    return gdk_pixbuf_save_to_bufferv(pixbuf, bytes, size, type, keys, values, 0);
}

#endif
