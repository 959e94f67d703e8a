# Install rules: headers, libraries, the CMake package and the files of pkg-config. The component `runtime` is what
# programs need to run, `development` what it takes to build them. Those of libafcore-gio are `gio`, `gio_introspection`
# and `gio_development`.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(AFCORE_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/afcore")

install(FILES ${AFCORE_PUBLIC_HEADERS} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/afcore"
    COMPONENT development)

# One export set for each library: only users of the static one need to find libcurl and OpenSSL.
foreach(library IN LISTS AFCORE_LIBRARIES)
    install(TARGETS ${library}
        EXPORT ${library}
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT development
        INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
    install(EXPORT ${library} NAMESPACE afcore:: DESTINATION "${AFCORE_PACKAGE_DIR}" COMPONENT development)
endforeach()

# Stripped as shared libraries are, by `cmake --install --strip` and by cpack.
if(AFCORE_BUILD_STATIC AND CMAKE_STRIP)
    set(archive "${CMAKE_INSTALL_LIBDIR}/libafcore.a")
    if(NOT IS_ABSOLUTE "${archive}")
        set(archive "\${CMAKE_INSTALL_PREFIX}/${archive}")
    endif()
    install(CODE "if(CMAKE_INSTALL_DO_STRIP)
        execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-debug \"\$ENV{DESTDIR}${archive}\" COMMAND_ERROR_IS_FATAL ANY)
    endif()" COMPONENT development)
endif()

configure_package_config_file(
    "${CMAKE_CURRENT_LIST_DIR}/afcoreConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/afcoreConfig.cmake"
    INSTALL_DESTINATION "${AFCORE_PACKAGE_DIR}")

# The same promise as the soname: before 1.0 minor versions are not compatible.
set(AFCORE_COMPATIBILITY SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(AFCORE_COMPATIBILITY SameMinorVersion)
endif()
write_basic_package_version_file(
    "${PROJECT_BINARY_DIR}/afcoreConfigVersion.cmake"
    COMPATIBILITY ${AFCORE_COMPATIBILITY})
install(FILES
    "${PROJECT_BINARY_DIR}/afcoreConfig.cmake"
    "${PROJECT_BINARY_DIR}/afcoreConfigVersion.cmake"
    DESTINATION "${AFCORE_PACKAGE_DIR}"
    COMPONENT development)

# pkg-config finds the prefix from where the file lies, so an installed tree can be moved and
# `cmake --install --prefix` is right. A directory given as an absolute path is kept as it is; pkg-config reads flags as
# a shell does.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
    set(AFCORE_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
    set(AFCORE_PC_LIBDIR "${CMAKE_INSTALL_FULL_LIBDIR}")
    set(AFCORE_PC_INCLUDEDIR "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
    foreach(variable IN ITEMS AFCORE_PC_PREFIX AFCORE_PC_LIBDIR AFCORE_PC_INCLUDEDIR)
        string(REPLACE " " "\\ " ${variable} "${${variable}}")
    endforeach()
else()
    file(RELATIVE_PATH AFCORE_PC_UP "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
    string(REGEX REPLACE "/$" "" AFCORE_PC_UP "${AFCORE_PC_UP}")
    set(AFCORE_PC_PREFIX "\${pcfiledir}/${AFCORE_PC_UP}")
    set(AFCORE_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
    set(AFCORE_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
set(modules "")
# Users of the static library link what it needs.
set(AFCORE_PC_REQUIRES Requires)
if(AFCORE_BUILD_STATIC)
    list(APPEND modules afcore-static)
endif()
if(AFCORE_BUILD_SHARED)
    set(AFCORE_PC_REQUIRES Requires.private)
endif()
list(APPEND modules afcore)
# Pages of section 3, one for each function.
find_package(Python3 QUIET COMPONENTS Interpreter)
if(Python3_FOUND)
    set(AFCORE_MAN3 "${PROJECT_BINARY_DIR}/man3")
    set(AFCORE_MAN3_SCRIPT "${PROJECT_SOURCE_DIR}/Scripts/make-manual-pages")
    add_custom_command(OUTPUT "${AFCORE_MAN3}/afc_task_begin.3"
        COMMAND "${Python3_EXECUTABLE}" "${AFCORE_MAN3_SCRIPT}" "${AFCORE_MAN3}"
        DEPENDS "${AFCORE_MAN3_SCRIPT}" ${AFCORE_PUBLIC_HEADERS}
        VERBATIM)
    add_custom_target(afcore_manual_pages ALL DEPENDS "${AFCORE_MAN3}/afc_task_begin.3")
    install(DIRECTORY "${AFCORE_MAN3}/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man3" COMPONENT development)
endif()

foreach(module IN LISTS modules)
    configure_file("${CMAKE_CURRENT_LIST_DIR}/${module}.pc.in" "${PROJECT_BINARY_DIR}/${module}.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/${module}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
        COMPONENT development)
endforeach()

if(AFCORE_BUILD_GIO)
    install(FILES ${AFCORE_GIO_PUBLIC_HEADERS} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/afcore-gio"
        COMPONENT gio_development)
    install(TARGETS afcore-gio
        EXPORT afcore_gio
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT gio NAMELINK_COMPONENT gio_development
        INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
    install(EXPORT afcore_gio NAMESPACE afcore:: DESTINATION "${AFCORE_PACKAGE_DIR}" COMPONENT gio_development)
    configure_file("${CMAKE_CURRENT_LIST_DIR}/afcore-gio.pc.in" "${PROJECT_BINARY_DIR}/afcore-gio.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/afcore-gio.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
        COMPONENT gio_development)
    if(TARGET afcore_gio_introspection)
        install(FILES "${AFCORE_TYPELIB}" DESTINATION "${CMAKE_INSTALL_LIBDIR}/girepository-1.0"
            COMPONENT gio_introspection)
        install(FILES "${AFCORE_GIR}" DESTINATION "${CMAKE_INSTALL_DATADIR}/gir-1.0" COMPONENT gio_development)
    endif()
    if(AFCORE_VAPI)
        install(FILES "${AFCORE_VAPI}" "${PROJECT_BINARY_DIR}/afcore-gio.deps"
            DESTINATION "${CMAKE_INSTALL_DATADIR}/vala/vapi" COMPONENT gio_development)
    endif()
endif()
