# libafcore-gio: the asynchronous functions for programs of GLib, over the shared library. The introspection data and
# the bindings of Vala are made where their tools are.
set(AFCORE_GIO_ROOT "${PROJECT_SOURCE_DIR}/Sources/CAFGio")

set(AFCORE_GIO_PUBLIC_HEADERS
    include/afcore-gio/afcore-gio.h
    include/afcore-gio/base.h
    include/afcore-gio/error.h
    include/afcore-gio/request.h
    include/afcore-gio/response.h
    include/afcore-gio/session.h)

set(AFCORE_GIO_SOURCES
    error.c
    request.c
    response.c
    send.c
    session.c)

list(TRANSFORM AFCORE_GIO_PUBLIC_HEADERS PREPEND "${AFCORE_GIO_ROOT}/")
list(TRANSFORM AFCORE_GIO_SOURCES PREPEND "${AFCORE_GIO_ROOT}/")

# Compiled once, for the library and for its tests, which link the objects of the core.
add_library(afcore_gio_objects OBJECT ${AFCORE_GIO_SOURCES})
afcore_common_settings(afcore_gio_objects)
target_compile_definitions(afcore_gio_objects PRIVATE G_LOG_DOMAIN="Afgio")
target_include_directories(afcore_gio_objects PUBLIC "${AFCORE_GIO_ROOT}/include" PRIVATE "${AFCORE_ROOT}/include")
target_link_libraries(afcore_gio_objects PUBLIC PkgConfig::AFCORE_GIO)
set_target_properties(afcore_gio_objects PROPERTIES
    POSITION_INDEPENDENT_CODE ON
    C_VISIBILITY_PRESET hidden)

add_library(afcore-gio SHARED $<TARGET_OBJECTS:afcore_gio_objects>)
add_library(afcore::afcore-gio ALIAS afcore-gio)
target_include_directories(afcore-gio PUBLIC "$<BUILD_INTERFACE:${AFCORE_GIO_ROOT}/include>")
target_link_libraries(afcore-gio PUBLIC PkgConfig::AFCORE_GIO PRIVATE afcore_shared)
set_target_properties(afcore-gio PROPERTIES
    VERSION "${PROJECT_VERSION}"
    SOVERSION "${AFCORE_SOVERSION}")
afcore_finish_shared(afcore-gio AFCORE_GIO afgio_)
# Installed, it finds libafcore.so beside it, and so does the linker of a program that names libafcore-gio only.
# Before that, too: the path of the build folder would stay in the linker's identifier of the build.
set_target_properties(afcore-gio PROPERTIES INSTALL_RPATH "$ORIGIN" BUILD_RPATH_USE_ORIGIN ON)

# ---- Introspection ---------------------------------------------------------------------------------

# g-ir-scanner runs a program that it links with the library, which fails with sanitizers.
set(AFCORE_GIO_MISSING "")
pkg_check_modules(AFCORE_INTROSPECTION QUIET gobject-introspection-1.0)
if(AFCORE_SANITIZE)
    set(AFCORE_GIO_MISSING "sanitizers are on")
elseif(NOT AFCORE_INTROSPECTION_FOUND)
    set(AFCORE_GIO_MISSING "pkg-config doesn't find gobject-introspection-1.0")
else()
    foreach(tool IN ITEMS scanner compiler)
        pkg_get_variable(path gobject-introspection-1.0 "g_ir_${tool}")
        find_program(AFCORE_G_IR_${tool} NAMES "${path}" "g-ir-${tool}")
        mark_as_advanced(AFCORE_G_IR_${tool})
        if(NOT AFCORE_G_IR_${tool})
            set(AFCORE_GIO_MISSING "there is no g-ir-${tool}")
        endif()
    endforeach()
endif()
if(AFCORE_GIO_MISSING)
    message(STATUS "libafcore-gio: without introspection, so not for Python and Vala: ${AFCORE_GIO_MISSING}")
    return()
endif()

set(AFCORE_GIR "${PROJECT_BINARY_DIR}/Afgio-1.0.gir")
set(AFCORE_TYPELIB "${PROJECT_BINARY_DIR}/Afgio-1.0.typelib")
set(AFCORE_GIO_FILES "${AFCORE_TYPELIB}")
add_custom_command(OUTPUT "${AFCORE_GIR}"
    COMMAND "${AFCORE_G_IR_scanner}" --quiet --warn-all --warn-error --no-libtool
        --namespace=Afgio --nsversion=1.0 --identifier-prefix=Afgio --symbol-prefix=afgio
        --include=Gio-2.0 --pkg=gio-2.0 --pkg-export=afcore-gio --c-include=afcore-gio/afcore-gio.h
        --cflags-begin "-I${AFCORE_GIO_ROOT}/include" --cflags-end
        --library=afcore-gio "--library-path=${PROJECT_BINARY_DIR}" "-L${PROJECT_BINARY_DIR}"
        "--output=${AFCORE_GIR}" ${AFCORE_GIO_PUBLIC_HEADERS} ${AFCORE_GIO_SOURCES}
    DEPENDS afcore-gio ${AFCORE_GIO_PUBLIC_HEADERS} ${AFCORE_GIO_SOURCES}
    VERBATIM)
add_custom_command(OUTPUT "${AFCORE_TYPELIB}"
    COMMAND "${AFCORE_G_IR_compiler}" "--output=${AFCORE_TYPELIB}" "${AFCORE_GIR}"
    DEPENDS "${AFCORE_GIR}"
    VERBATIM)

find_program(AFCORE_VAPIGEN vapigen)
mark_as_advanced(AFCORE_VAPIGEN)
if(AFCORE_VAPIGEN)
    set(AFCORE_VAPI "${PROJECT_BINARY_DIR}/afcore-gio.vapi")
    list(APPEND AFCORE_GIO_FILES "${AFCORE_VAPI}")
    add_custom_command(OUTPUT "${AFCORE_VAPI}"
        COMMAND "${AFCORE_VAPIGEN}" --quiet --library=afcore-gio --pkg=gio-2.0 "--directory=${PROJECT_BINARY_DIR}" "${AFCORE_GIR}"
        DEPENDS "${AFCORE_GIR}"
        VERBATIM)
    # Which other bindings valac reads.
    file(WRITE "${PROJECT_BINARY_DIR}/afcore-gio.deps" "gio-2.0\n")
else()
    message(STATUS "libafcore-gio: without bindings for Vala: there is no vapigen")
endif()
add_custom_target(afcore_gio_introspection ALL DEPENDS ${AFCORE_GIO_FILES})
