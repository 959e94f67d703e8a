/**
 * An intrusive doubly linked list: the nodes live in their owners, so linking can't fail.
 */
#ifndef AF_BASE_LIST_H
#define AF_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct af__node {
    struct af__node *next, *previous;
} af__node;

/** A circular list; `head` is not an element. */
typedef struct af__list {
    af__node head;
} af__list;

/** The struct that contains a node. */
#define AF__OWNER(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

static inline void af__list_init(af__list *list) {
    list->head.next = list->head.previous = &list->head;
}

static inline bool af__list_is_empty(const af__list *list) {
    return list->head.next == &list->head;
}

static inline void af__list_append(af__list *list, af__node *node) {
    node->previous = list->head.previous;
    node->next = &list->head;
    list->head.previous->next = node;
    list->head.previous = node;
}

/** Removes a node from its list. A zeroed node, which is in no list, is ignored. */
static inline void af__list_remove(af__node *node) {
    if (node->next == NULL) return;
    node->previous->next = node->next;
    node->next->previous = node->previous;
    node->next = node->previous = NULL;
}

/** Returns the first node; NULL if the list is empty. */
static inline af__node *af__list_first(const af__list *list) {
    return af__list_is_empty(list) ? NULL : list->head.next;
}

#endif
