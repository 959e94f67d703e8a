/*
 * What the gallery calls of GTK 4, under the library's own names. A binding of GTK, or a module map with <gtk/gtk.h>,
 * does as well; this one needs no flags of pkg-config. Scripts/checks/gtk-shim compiles it with the library's headers.
 */
#ifndef GALLERY_GTK_H
#define GALLERY_GTK_H

#include <stddef.h>
#include <stdint.h>

typedef struct _GClosure GClosure;
typedef struct _GListModel GListModel;
typedef struct _GMainContext GMainContext;
typedef struct _GPollFD GPollFD;
typedef struct _GApplication GApplication;
typedef struct _GtkApplication GtkApplication;
typedef struct _GtkWidget GtkWidget;
typedef struct _GtkWindow GtkWindow;
typedef struct _GtkHeaderBar GtkHeaderBar;
typedef struct _GtkStack GtkStack;
typedef struct _GtkStackPage GtkStackPage;
typedef struct _GtkBox GtkBox;
typedef struct _GtkButton GtkButton;
typedef struct _GtkToggleButton GtkToggleButton;
typedef struct _GtkLabel GtkLabel;
typedef struct _GtkPicture GtkPicture;
typedef struct _GtkRevealer GtkRevealer;
typedef struct _GtkEditable GtkEditable;
typedef struct _GtkScrolledWindow GtkScrolledWindow;
typedef struct _GtkAdjustment GtkAdjustment;
typedef struct _GtkGridView GtkGridView;
typedef struct _GtkStringList GtkStringList;
typedef struct _GtkStringObject GtkStringObject;
typedef struct _GtkExpression GtkExpression;
typedef struct _GtkStringFilter GtkStringFilter;
typedef struct _GtkFilter GtkFilter;
typedef struct _GtkFilterListModel GtkFilterListModel;
typedef struct _GtkSelectionModel GtkSelectionModel;
typedef struct _GtkNoSelection GtkNoSelection;
typedef struct _GtkListItemFactory GtkListItemFactory;
typedef struct _GtkListItem GtkListItem;
typedef struct _GtkNative GtkNative;
typedef struct _GdkSnapshot GtkSnapshot;
typedef struct _GdkSnapshot GdkSnapshot;
typedef struct _GdkPaintable GdkPaintable;
typedef struct _GdkTexture GdkTexture;
typedef struct _GdkFrameClock GdkFrameClock;
typedef struct _GskRenderNode GskRenderNode;
typedef struct _GskRenderer GskRenderer;
typedef struct _graphene_rect_t graphene_rect_t;

unsigned long g_signal_connect_data(void *instance, const char *signal, void (*handler)(void),
                                    void *data, void (*destroy)(void *data, GClosure *closure),
                                    unsigned int flags);
void g_object_unref(void *object);
int64_t g_get_monotonic_time(void);
void *g_list_model_get_item(GListModel *list, unsigned int position);
unsigned int g_list_model_get_n_items(GListModel *list);

GtkApplication *gtk_application_new(const char *id, unsigned int flags);
void gtk_application_add_window(GtkApplication *application, GtkWindow *window);
int g_application_run(GApplication *application, int count, char **arguments);
void g_application_quit(GApplication *application);

GtkWidget *gtk_window_new(void);
void gtk_window_set_title(GtkWindow *window, const char *title);
void gtk_window_set_default_size(GtkWindow *window, int width, int height);
void gtk_window_set_titlebar(GtkWindow *window, GtkWidget *titlebar);
void gtk_window_set_child(GtkWindow *window, GtkWidget *child);
void gtk_window_present(GtkWindow *window);
void gtk_window_destroy(GtkWindow *window);
GtkWidget *gtk_header_bar_new(void);
void gtk_header_bar_set_title_widget(GtkHeaderBar *bar, GtkWidget *widget);
void gtk_header_bar_pack_start(GtkHeaderBar *bar, GtkWidget *child);
void gtk_header_bar_pack_end(GtkHeaderBar *bar, GtkWidget *child);

void gtk_widget_set_size_request(GtkWidget *widget, int width, int height);
void gtk_widget_set_hexpand(GtkWidget *widget, int expand);
void gtk_widget_set_vexpand(GtkWidget *widget, int expand);
void gtk_widget_set_margin_start(GtkWidget *widget, int margin);
void gtk_widget_set_margin_end(GtkWidget *widget, int margin);
void gtk_widget_set_margin_top(GtkWidget *widget, int margin);
void gtk_widget_set_margin_bottom(GtkWidget *widget, int margin);
void gtk_widget_set_visible(GtkWidget *widget, int visible);
void gtk_widget_set_tooltip_text(GtkWidget *widget, const char *text);
int gtk_widget_get_width(GtkWidget *widget);
int gtk_widget_get_height(GtkWidget *widget);
GtkNative *gtk_widget_get_native(GtkWidget *widget);
GdkFrameClock *gtk_widget_get_frame_clock(GtkWidget *widget);

GtkWidget *gtk_box_new(unsigned int orientation, int spacing);
void gtk_box_append(GtkBox *box, GtkWidget *child);
GtkWidget *gtk_stack_new(void);
void gtk_stack_set_transition_type(GtkStack *stack, unsigned int transition);
GtkStackPage *gtk_stack_add_named(GtkStack *stack, GtkWidget *child, const char *name);
void gtk_stack_set_visible_child_name(GtkStack *stack, const char *name);
GtkWidget *gtk_button_new_from_icon_name(const char *icon);
GtkWidget *gtk_button_new_with_label(const char *label);
GtkWidget *gtk_toggle_button_new(void);
void gtk_button_set_icon_name(GtkButton *button, const char *icon);
int gtk_toggle_button_get_active(GtkToggleButton *button);
void gtk_toggle_button_set_active(GtkToggleButton *button, int active);
GtkWidget *gtk_label_new(const char *text);
void gtk_label_set_text(GtkLabel *label, const char *text);
void gtk_label_set_ellipsize(GtkLabel *label, unsigned int mode);
GtkWidget *gtk_picture_new(void);
GdkPaintable *gtk_picture_get_paintable(GtkPicture *picture);
GtkWidget *gtk_progress_bar_new(void);
GtkWidget *gtk_spinner_new(void);
GtkWidget *gtk_revealer_new(void);
void gtk_revealer_set_child(GtkRevealer *revealer, GtkWidget *child);
void gtk_revealer_set_reveal_child(GtkRevealer *revealer, int reveals);
int gtk_revealer_get_reveal_child(GtkRevealer *revealer);
GtkWidget *gtk_search_entry_new(void);
const char *gtk_editable_get_text(GtkEditable *editable);
void gtk_editable_set_text(GtkEditable *editable, const char *text);
GtkWidget *gtk_scrolled_window_new(void);
void gtk_scrolled_window_set_child(GtkScrolledWindow *window, GtkWidget *child);
GtkAdjustment *gtk_scrolled_window_get_vadjustment(GtkScrolledWindow *window);
double gtk_adjustment_get_value(GtkAdjustment *adjustment);
void gtk_adjustment_set_value(GtkAdjustment *adjustment, double value);
double gtk_adjustment_get_upper(GtkAdjustment *adjustment);
double gtk_adjustment_get_page_size(GtkAdjustment *adjustment);

GtkStringList *gtk_string_list_new(const char *const *strings);
void gtk_string_list_splice(GtkStringList *list, unsigned int position, unsigned int removals,
                            const char *const *additions);
unsigned long gtk_string_object_get_type(void);
const char *gtk_string_object_get_string(GtkStringObject *object);
GtkExpression *gtk_property_expression_new(unsigned long type, GtkExpression *expression,
                                           const char *property);
GtkStringFilter *gtk_string_filter_new(GtkExpression *expression);
void gtk_string_filter_set_search(GtkStringFilter *filter, const char *text);
GtkFilterListModel *gtk_filter_list_model_new(GListModel *model, GtkFilter *filter);
GtkNoSelection *gtk_no_selection_new(GListModel *model);
GtkListItemFactory *gtk_signal_list_item_factory_new(void);
GtkWidget *gtk_grid_view_new(GtkSelectionModel *model, GtkListItemFactory *factory);
void gtk_grid_view_set_min_columns(GtkGridView *view, unsigned int columns);
void gtk_grid_view_set_max_columns(GtkGridView *view, unsigned int columns);
void gtk_grid_view_set_single_click_activate(GtkGridView *view, int activates);
void gtk_list_item_set_child(GtkListItem *item, GtkWidget *child);
GtkWidget *gtk_list_item_get_child(GtkListItem *item);
void *gtk_list_item_get_item(GtkListItem *item);
unsigned int gtk_list_item_get_position(GtkListItem *item);

typedef struct _WebKitWebView WebKitWebView;
GtkWidget *webkit_web_view_new(void);
const char *webkit_web_view_get_title(WebKitWebView *view);

/* The tour looks at what is drawn, and how long it takes. */
void g_main_context_set_poll_func(GMainContext *context,
                                  int (*poll)(GPollFD *descriptors, unsigned int count,
                                              int timeout));
int g_poll(GPollFD *descriptors, unsigned int count, int timeout);
GdkPaintable *gtk_widget_paintable_new(GtkWidget *widget);
void gdk_paintable_snapshot(GdkPaintable *paintable, GdkSnapshot *snapshot, double width,
                            double height);
GtkSnapshot *gtk_snapshot_new(void);
GskRenderNode *gtk_snapshot_free_to_node(GtkSnapshot *snapshot);
void gsk_render_node_unref(GskRenderNode *node);
GskRenderer *gtk_native_get_renderer(GtkNative *native);
GdkTexture *gsk_renderer_render_texture(GskRenderer *renderer, GskRenderNode *node,
                                        const graphene_rect_t *viewport);
int gdk_texture_get_width(GdkTexture *texture);
int gdk_texture_get_height(GdkTexture *texture);
void gdk_texture_download(GdkTexture *texture, unsigned char *data, size_t stride);
int gdk_texture_save_to_png(GdkTexture *texture, const char *path);

/* Signals take untyped functions, which Swift would have to cast. */
typedef void (*cgtk_destroy)(void *data, GClosure *closure);
typedef void (*cgtk_plain_call)(void *instance, void *data);
typedef void (*cgtk_number_call)(void *instance, unsigned int number, void *data);
typedef void (*cgtk_item_call)(void *factory, GtkListItem *item, void *data);

static inline void cgtk_connect(void *instance, const char *signal, cgtk_plain_call call,
                                void *data, cgtk_destroy destroy) {
    g_signal_connect_data(instance, signal, (void (*)(void))call, data, destroy, 0);
}

static inline void cgtk_connect_number(void *instance, const char *signal, cgtk_number_call call,
                                       void *data, cgtk_destroy destroy) {
    g_signal_connect_data(instance, signal, (void (*)(void))call, data, destroy, 0);
}

static inline void cgtk_connect_item(void *instance, const char *signal, cgtk_item_call call,
                                     void *data, cgtk_destroy destroy) {
    g_signal_connect_data(instance, signal, (void (*)(void))call, data, destroy, 0);
}

#endif
