# Debian packages: `cpack` in the folder of the preset `package`. The runtime package is named after the soname, so that
# two of them can be installed together: libafcore0.1 now, libafcore1 from 1.0 on. The package swiftaf is made of what
# Scripts/install has installed, if AFCORE_SWIFTAF_PREFIX names its prefix.
set(AFCORE_SWIFTAF_PREFIX "" CACHE PATH "Prefix of Scripts/install: also installs and packages the program swiftaf")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME afcore)
set(CPACK_PACKAGE_VENDOR "SwiftAF")
set(CPACK_PACKAGE_CONTACT "SwiftAF maintainers <maintainers@swiftaf.invalid>")
# Each component has a description of its own, whose first line is the synopsis.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
# The Debian revision; the packages depend on each other's whole version.
set(AFCORE_DEBIAN_REVISION 1 CACHE STRING "Debian revision of the packages")
set(CPACK_DEBIAN_PACKAGE_RELEASE "${AFCORE_DEBIAN_REVISION}")
set(AFCORE_PACKAGE_VERSION "${PROJECT_VERSION}-${AFCORE_DEBIAN_REVISION}")

# dpkg-shlibdeps finds the oldest libcurl that has all functions; the core refuses those before 7.88.
set(AFCORE_RUNTIME_DEPENDS "libcurl4 (>= 7.88)")

set(CPACK_COMPONENTS_ALL runtime development)
if(AFCORE_SWIFTAF_PREFIX)
    install(PROGRAMS "${AFCORE_SWIFTAF_PREFIX}/bin/swiftaf" DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT program)
    # By name: the prefix may be one where others install, too.
    foreach(file IN ITEMS man/man1/swiftaf.1 bash-completion/completions/swiftaf zsh/site-functions/_swiftaf
        fish/vendor_completions.d/swiftaf.fish)
        get_filename_component(folder "${file}" DIRECTORY)
        # Debian's zsh looks for those of packages elsewhere, and only there.
        if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
            string(REPLACE zsh/site-functions zsh/vendor-completions folder "${folder}")
        endif()
        install(FILES "${AFCORE_SWIFTAF_PREFIX}/share/${file}" DESTINATION "${CMAKE_INSTALL_DATADIR}/${folder}"
            COMPONENT program)
    endforeach()
    list(APPEND CPACK_COMPONENTS_ALL program)
    set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME swiftaf)
    set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION web)
    set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "${AFCORE_RUNTIME_DEPENDS}")
    set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "An HTTP client for the command line")
endif()
if(AFCORE_BUILD_GIO)
    list(APPEND CPACK_COMPONENTS_ALL gio gio_development)
    if(TARGET afcore_gio_introspection)
        list(APPEND CPACK_COMPONENTS_ALL gio_introspection)
    endif()
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_HOMEPAGE "${PROJECT_HOMEPAGE_URL}")

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME "libafcore${AFCORE_SOVERSION}")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "${AFCORE_RUNTIME_DEPENDS}")
# Libraries of two architectures can be installed together. CMake knows the field from 3.31 on, and ignores it before.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_MULTIARCH same)
set(CPACK_DEBIAN_GIO_PACKAGE_MULTIARCH same)
set(CPACK_DEBIAN_GIO_INTROSPECTION_PACKAGE_MULTIARCH same)
# Programs that link the library depend on this version or a later one: symbols may be new in each.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "An HTTP client library: the shared library")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libafcore-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "${CPACK_DEBIAN_RUNTIME_PACKAGE_NAME} (= ${AFCORE_PACKAGE_VERSION}), libcurl4-openssl-dev (>= 7.88), libssl-dev (>= 3.0)")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "An HTTP client library: headers, static library, CMake and pkg-config files")

set(CPACK_DEBIAN_GIO_PACKAGE_NAME "libafcore-gio${AFCORE_SOVERSION}")
set(CPACK_DEBIAN_GIO_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_GIO_PACKAGE_SHLIBDEPS ON)
# Finds libafcore.so, which no installed package has; the dependency on its package is given here.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}")
set(CPACK_DEBIAN_GIO_PACKAGE_DEPENDS "${CPACK_DEBIAN_RUNTIME_PACKAGE_NAME} (= ${AFCORE_PACKAGE_VERSION})")
set(CPACK_COMPONENT_GIO_DESCRIPTION "An HTTP client library for programs of GLib: the shared library")

# Not named after the soname: its file has the version of the namespace.
set(CPACK_DEBIAN_GIO_INTROSPECTION_PACKAGE_NAME gir1.2-afgio-1.0)
set(CPACK_DEBIAN_GIO_INTROSPECTION_PACKAGE_SECTION introspection)
set(CPACK_DEBIAN_GIO_INTROSPECTION_PACKAGE_DEPENDS
    "${CPACK_DEBIAN_GIO_PACKAGE_NAME} (= ${AFCORE_PACKAGE_VERSION}), gir1.2-glib-2.0")
set(CPACK_COMPONENT_GIO_INTROSPECTION_DESCRIPTION "An HTTP client library for Python and other languages, by introspection")

set(CPACK_DEBIAN_GIO_DEVELOPMENT_PACKAGE_NAME libafcore-gio-dev)
set(CPACK_DEBIAN_GIO_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_GIO_DEVELOPMENT_PACKAGE_DEPENDS
    "${CPACK_DEBIAN_GIO_PACKAGE_NAME} (= ${AFCORE_PACKAGE_VERSION}), libafcore-dev (= ${AFCORE_PACKAGE_VERSION}), libglib2.0-dev (>= 2.74)")
set(CPACK_COMPONENT_GIO_DEVELOPMENT_DESCRIPTION "An HTTP client library for programs of GLib: headers and pkg-config file")

# The licence asks for its text beside each copy.
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
    string(TOUPPER "${component}" name)
    install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" RENAME copyright
        DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${name}_PACKAGE_NAME}" COMPONENT ${component})
endforeach()

include(CPack)
