#include "server/routes.h"

#include "base/bytes.h"
#include "script/script.h"
#include "server/server.h"

#include <stdlib.h>
#include <string.h>

static bool equal_or_both_null(const char *a, const char *b) {
    return a != NULL && b != NULL ? strcmp(a, b) == 0 : a == b;
}

static void free_route(afts__route *route) {
    afts_script_release(route->script);
    free(route->method);
    free(route->path);
    free(route);
}

/** "*" alone is the target of an OPTIONS request for the whole server (RFC 9112 3.2.4). */
static void measure_path(afts__route *route) {
    route->path_size = strlen(route->path);
    route->is_prefix = route->path_size > 1 && route->path[route->path_size - 1] == '*';
    if (route->is_prefix) route->path_size--;
}

static afts__route *make_route(const char *method, const char *path, size_t times,
                               afts_script *script) {
    afts__route *route = calloc(1, sizeof *route);
    if (route == NULL) {
        afts_script_release(script);
        return NULL;
    }
    route->script = script;
    route->times = times;
    route->path = afts__copy_text(path);
    route->method = afts__copy_text(method);
    if (route->path == NULL || (method != NULL && route->method == NULL)) {
        free_route(route);
        return NULL;
    }
    measure_path(route);
    return route;
}

/** Whether a request line can have the method and the path: a test of another route would see the fallback. */
static bool can_match(const char *method, const char *path) {
    if (method != NULL && (*method == '\0' || strpbrk(method, " \t\r\n*:/") != NULL)) return false;
    for (const char *at = path; *at != '\0'; at++) {
        /* Targets are ASCII; an asterisk that isn't the last one would be compared as it is. */
        bool is_inner_asterisk = *at == '*' && at[1] != '\0';
        if (*at <= ' ' || *at >= 0x7F || *at == '?' || is_inner_asterisk) return false;
    }
    if (path[0] == '/' || strcmp(path, "*") == 0) return true;
    /* The target of CONNECT; those of proxies are compared without scheme and host. */
    return strchr(path, ':') != NULL && strpbrk(path, "/*") == NULL;
}

/** Appends `route` and takes out an unlimited one that it replaces. Lock held. */
static afts__route *insert(afts_server *server, afts__route *route) {
    afts__route *replaced = NULL;
    afts__route **end = &server->routes;
    while (*end != NULL) {
        afts__route *other = *end;
        if (replaced == NULL && route->times == SIZE_MAX && other->times == SIZE_MAX &&
            strcmp(other->path, route->path) == 0 &&
            equal_or_both_null(other->method, route->method)) {
            replaced = other;
            *end = other->next;
        } else {
            end = &other->next;
        }
    }
    *end = route;
    return replaced;
}

afts_status afts_route_times(afts_server *server, const char *method, const char *path,
                             size_t times, afts_script *script) {
    bool is_valid = path != NULL && can_match(method, path);
    if (script == NULL || script->is_invalid || !is_valid) {
        afts_script_release(script);
        return is_valid ? AFTS_ENOMEM : AFTS_EINVAL;
    }
    afts__route *route = make_route(method, path, times, script);
    if (route == NULL) return AFTS_ENOMEM;
    pthread_mutex_lock(&server->lock);
    afts__route *replaced = insert(server, route);
    pthread_mutex_unlock(&server->lock);
    if (replaced != NULL) free_route(replaced);
    return AFTS_OK;
}

afts_status afts_route(afts_server *server, const char *method, const char *path,
                       afts_script *script) {
    return afts_route_times(server, method, path, SIZE_MAX, script);
}

afts_status afts_fallback(afts_server *server, afts_script *script) {
    if (script == NULL || script->is_invalid) {
        afts_script_release(script);
        return AFTS_ENOMEM;
    }
    pthread_mutex_lock(&server->lock);
    afts_script *previous = server->fallback;
    server->fallback = script;
    pthread_mutex_unlock(&server->lock);
    afts_script_release(previous);
    return AFTS_OK;
}

static int add_hook(afts_server *server, size_t index, bool before_tls, afts_script *script) {
    afts__hook *hook = script != NULL && !script->is_invalid ? calloc(1, sizeof *hook) : NULL;
    if (hook == NULL) {
        afts_script_release(script);
        return AFTS_ENOMEM;
    }
    hook->index = index;
    hook->before_tls = before_tls;
    hook->script = script;
    pthread_mutex_lock(&server->lock);
    hook->next = server->hooks;
    server->hooks = hook;
    pthread_mutex_unlock(&server->lock);
    return AFTS_OK;
}

afts_status afts_on_accept(afts_server *server, size_t index, afts_script *script) {
    return add_hook(server, index, true, script);
}

afts_status afts_on_connection(afts_server *server, size_t index, afts_script *script) {
    return add_hook(server, index, false, script);
}

/** The target without scheme, authority and query. */
static const char *path_of(const char *target, size_t *size) {
    const char *scheme = strstr(target, "://");
    const char *path = target;
    if (target[0] != '/' && scheme != NULL) path = scheme + 3 + strcspn(scheme + 3, "/?");
    *size = strcspn(path, "?");
    return path;
}

static bool matches(const afts__route *route, const char *method, const char *path, size_t size) {
    if (route->times == 0 || (route->method != NULL && strcmp(route->method, method) != 0)) {
        return false;
    }
    bool fits = route->is_prefix ? size >= route->path_size : size == route->path_size;
    return fits && memcmp(route->path, path, route->path_size) == 0;
}

afts_status afts_request_matches(const afts_request *request, const char *method, const char *path,
                                 bool *matches_out) {
    size_t size;
    *matches_out = false;
    if (path == NULL || !can_match(method, path)) return AFTS_EINVAL;
    const char *target = path_of(request->target, &size);
    afts__route pattern = {.method = (char *)method, .path = (char *)path, .times = 1};
    measure_path(&pattern);
    *matches_out = matches(&pattern, request->method, target, size);
    return AFTS_OK;
}

/** Whether `a` says more than `b`; of two that say the same the earlier one is kept. */
static bool more_specific(const afts__route *a, const afts__route *b) {
    if (a->is_prefix != b->is_prefix) return b->is_prefix;
    if (a->path_size != b->path_size) return a->path_size > b->path_size;
    if ((a->method == NULL) != (b->method == NULL)) return a->method != NULL;
    return a->times != SIZE_MAX && b->times == SIZE_MAX;
}

afts_script *afts__script_for_request(afts_server *server, afts__request_record *record) {
    afts_request *request = &record->seen;
    size_t size;
    const char *path = path_of(request->target, &size);
    pthread_mutex_lock(&server->lock);
    afts__route *best = NULL;
    for (afts__route *route = server->routes; route != NULL; route = route->next) {
        if (matches(route, request->method, path, size) &&
            (best == NULL || more_specific(route, best))) {
            best = route;
        }
    }
    if (best != NULL && best->times != SIZE_MAX) best->times--;
    request->unrouted = best == NULL;
    afts_script *script = afts_script_retain(best != NULL ? best->script : server->fallback);
    pthread_mutex_unlock(&server->lock);
    return script;
}

afts_script *afts__script_for_connection(afts_server *server, size_t index, bool before_tls) {
    pthread_mutex_lock(&server->lock);
    afts__hook *best = NULL;
    for (afts__hook *hook = server->hooks; hook != NULL; hook = hook->next) {
        bool fits = hook->index == index || hook->index == AFTS_EVERY_CONNECTION;
        if (hook->before_tls == before_tls && fits && (best == NULL || best->index > hook->index)) {
            best = hook;
        }
    }
    afts_script *script = afts_script_retain(best != NULL ? best->script : NULL);
    pthread_mutex_unlock(&server->lock);
    return script;
}

void afts__routes_clear(afts_server *server) {
    while (server->routes != NULL) {
        afts__route *route = server->routes;
        server->routes = route->next;
        free_route(route);
    }
    while (server->hooks != NULL) {
        afts__hook *hook = server->hooks;
        server->hooks = hook->next;
        afts_script_release(hook->script);
        free(hook);
    }
    afts_script_release(server->fallback);
}
