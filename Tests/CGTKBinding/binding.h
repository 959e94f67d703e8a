/*
 * A binding of GTK as a program may have one of its own: the libraries' own names, for what the tests use. It shows
 * that such a binding can be imported beside SwiftAFGTK. Scripts/checks/gtk-shim compiles it with the libraries'
 * headers.
 */
#ifndef CGTK_BINDING_H
#define CGTK_BINDING_H

#include <stddef.h>

typedef struct _GMainLoop GMainLoop;
typedef struct _GMainContext GMainContext;
typedef struct _GListModel GListModel;
typedef struct _GObject GObject;
typedef struct _GtkWidget GtkWidget;
typedef struct _GtkWindow GtkWindow;
typedef struct _GtkBox GtkBox;
typedef struct _GtkPicture GtkPicture;
typedef struct _GtkImage GtkImage;
typedef struct _GtkButton GtkButton;
typedef struct _GtkToggleButton GtkToggleButton;
typedef struct _GtkProgressBar GtkProgressBar;
typedef struct _GtkSpinner GtkSpinner;
typedef struct _GtkRevealer GtkRevealer;
typedef struct _GtkNative GtkNative;
typedef struct _GdkSnapshot GtkSnapshot;
typedef struct _GdkSnapshot GdkSnapshot;
typedef struct _GdkPaintable GdkPaintable;
typedef struct _GdkTexture GdkTexture;
typedef struct _GskRenderNode GskRenderNode;
typedef struct _GskRenderer GskRenderer;
typedef struct _graphene_rect_t graphene_rect_t;
typedef struct _GtkSettings GtkSettings;

GMainLoop *g_main_loop_new(GMainContext *context, int is_running);
void g_main_loop_run(GMainLoop *loop);
void g_main_loop_quit(GMainLoop *loop);
int g_main_context_iteration(GMainContext *context, int may_block);
unsigned int g_timeout_add(unsigned int interval, int (*function)(void *), void *data);
unsigned int g_idle_add(int (*function)(void *), void *data);
unsigned int g_idle_add_full(int priority, int (*function)(void *), void *data,
                             void (*notify)(void *data));
int g_source_remove(unsigned int tag);
void g_object_unref(void *object);
void g_object_run_dispose(GObject *object);
void *g_object_ref_sink(void *object);
void g_object_set(void *object, const char *property, ...);
void g_signal_emit_by_name(void *instance, const char *signal, ...);

int gtk_init_check(void);
GtkSettings *gtk_settings_get_default(void);
GtkWidget *gtk_window_new(void);
void gtk_window_set_child(GtkWindow *window, GtkWidget *child);
void gtk_window_set_default_size(GtkWindow *window, int width, int height);
void gtk_window_present(GtkWindow *window);
void gtk_window_destroy(GtkWindow *window);
void gtk_widget_set_size_request(GtkWidget *widget, int width, int height);
int gtk_widget_get_width(GtkWidget *widget);
int gtk_widget_get_height(GtkWidget *widget);
int gtk_widget_get_mapped(GtkWidget *widget);
void gtk_widget_set_visible(GtkWidget *widget, int visible);
void gtk_widget_set_sensitive(GtkWidget *widget, int sensitive);
void gtk_widget_set_state_flags(GtkWidget *widget, unsigned int flags, int clear);
void gtk_widget_unset_state_flags(GtkWidget *widget, unsigned int flags);
GtkNative *gtk_widget_get_native(GtkWidget *widget);

typedef struct _WebKitWebView WebKitWebView;
GtkWidget *webkit_web_view_new(void);
const char *webkit_web_view_get_title(WebKitWebView *view);
const char *webkit_web_view_get_uri(WebKitWebView *view);

GtkWidget *gtk_box_new(unsigned int orientation, int spacing);
void gtk_box_append(GtkBox *box, GtkWidget *child);
GtkWidget *gtk_picture_new(void);
GdkPaintable *gtk_picture_get_paintable(GtkPicture *self);
GtkWidget *gtk_image_new(void);
GdkPaintable *gtk_image_get_paintable(GtkImage *image);
void gtk_image_set_pixel_size(GtkImage *image, int size);
GtkWidget *gtk_label_new(const char *text);
GtkWidget *gtk_button_new(void);
void gtk_button_set_label(GtkButton *button, const char *label);
void gtk_button_set_child(GtkButton *button, GtkWidget *child);
GtkWidget *gtk_toggle_button_new(void);
void gtk_toggle_button_set_active(GtkToggleButton *button, int is_active);
GtkWidget *gtk_progress_bar_new(void);
double gtk_progress_bar_get_fraction(GtkProgressBar *bar);
GtkWidget *gtk_spinner_new(void);
int gtk_spinner_get_spinning(GtkSpinner *spinner);
GtkWidget *gtk_scrolled_window_new(void);
int gtk_revealer_get_reveal_child(GtkRevealer *revealer);

typedef struct _GClosure GClosure;
typedef struct _GtkStringList GtkStringList;
typedef struct _GtkSelectionModel GtkSelectionModel;
typedef struct _GtkNoSelection GtkNoSelection;
typedef struct _GtkListItemFactory GtkListItemFactory;
typedef struct _GtkListItem GtkListItem;
typedef struct _GtkGridView GtkGridView;
typedef struct _GtkScrolledWindow GtkScrolledWindow;
typedef struct _GtkAdjustment GtkAdjustment;
unsigned long g_signal_connect_data(void *instance, const char *signal, void (*handler)(void),
                                    void *data, void (*destroy)(void *data, GClosure *closure),
                                    unsigned int flags);
GtkStringList *gtk_string_list_new(const char *const *strings);
void gtk_string_list_append(GtkStringList *self, const char *string);
GtkNoSelection *gtk_no_selection_new(GListModel *model);
GtkListItemFactory *gtk_signal_list_item_factory_new(void);
GtkWidget *gtk_grid_view_new(GtkSelectionModel *model, GtkListItemFactory *factory);
void gtk_grid_view_set_max_columns(GtkGridView *self, unsigned int columns);
void gtk_grid_view_set_min_columns(GtkGridView *self, unsigned int columns);
void gtk_list_item_set_child(GtkListItem *self, GtkWidget *child);
GtkWidget *gtk_list_item_get_child(GtkListItem *self);
unsigned int gtk_list_item_get_position(GtkListItem *self);
void gtk_scrolled_window_set_child(GtkScrolledWindow *window, GtkWidget *child);
GtkAdjustment *gtk_scrolled_window_get_vadjustment(GtkScrolledWindow *window);
double gtk_adjustment_get_value(GtkAdjustment *adjustment);
double gtk_adjustment_get_upper(GtkAdjustment *adjustment);
double gtk_adjustment_get_page_size(GtkAdjustment *adjustment);
void gtk_adjustment_set_value(GtkAdjustment *adjustment, double value);

typedef void (*cgtk_item_call)(void *factory, GtkListItem *item, void *data);

static inline void cgtk_connect_item(void *factory, const char *signal, cgtk_item_call call,
                                     void *data) {
    g_signal_connect_data(factory, signal, (void (*)(void))call, data, 0, 0);
}

GdkPaintable *gtk_widget_paintable_new(GtkWidget *widget);
void gdk_paintable_snapshot(GdkPaintable *paintable, GdkSnapshot *snapshot, double width,
                            double height);
int gdk_paintable_get_intrinsic_width(GdkPaintable *paintable);
int gdk_texture_get_width(GdkTexture *texture);
int gdk_texture_get_height(GdkTexture *texture);
void gdk_texture_download(GdkTexture *texture, unsigned char *data, size_t stride);
GtkSnapshot *gtk_snapshot_new(void);
GskRenderNode *gtk_snapshot_free_to_node(GtkSnapshot *snapshot);
void gsk_render_node_unref(GskRenderNode *node);
GskRenderer *gtk_native_get_renderer(GtkNative *self);
GdkTexture *gsk_renderer_render_texture(GskRenderer *renderer, GskRenderNode *root,
                                        const graphene_rect_t *viewport);

/* Swift calls no functions with a variable number of arguments. */
static inline void cgtk_emit_number(void *instance, const char *signal, unsigned int number) {
    g_signal_emit_by_name(instance, signal, number);
}

static inline void cgtk_enable_animations(int enable) {
    g_object_set(gtk_settings_get_default(), "gtk-enable-animations", enable, (void *)0);
}

#endif
