/**
 * An intrusive doubly linked list: the nodes live in their owners, so linking can't fail.
 */
#ifndef AFC_BASE_LIST_H
#define AFC_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct afc__node {
    struct afc__node *next, *previous;
} afc__node;

/** A circular list; `head` is not an element. */
typedef struct afc__list {
    afc__node head;
} afc__list;

/** Returns the struct that contains a node as `member`. */
#define AFC__OWNER(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

static inline void afc__list_init(afc__list *list) {
    list->head.next = list->head.previous = &list->head;
}

static inline bool afc__list_is_empty(const afc__list *list) {
    return list->head.next == &list->head;
}

static inline void afc__list_append(afc__list *list, afc__node *node) {
    node->previous = list->head.previous;
    node->next = &list->head;
    list->head.previous->next = node;
    list->head.previous = node;
}

/** Removes a node from its list. A zeroed node, which is in no list, is ignored. */
static inline void afc__list_remove(afc__node *node) {
    if (node->next == NULL) return;
    node->previous->next = node->next;
    node->next->previous = node->previous;
    node->next = node->previous = NULL;
}

/** Returns the first node; NULL if the list is empty. */
static inline afc__node *afc__list_first(const afc__list *list) {
    return afc__list_is_empty(list) ? NULL : list->head.next;
}

#endif
