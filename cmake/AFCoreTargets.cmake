# Settings that our own targets share. Nothing here reaches a parent project or a user of the library.

# Language, warnings and sanitizers of a target that is compiled from our sources.
function(afcore_common_settings target)
    set_target_properties(${target} PROPERTIES
        C_STANDARD 11
        C_STANDARD_REQUIRED ON
        C_EXTENSIONS OFF)
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
    # Tests name variables after their types, which gcc's -Wshadow reports and clang's doesn't.
    set(shadow -Wshadow)
    if(AFCORE_IS_TEST AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
        set(shadow -Wshadow=local)
    endif()
    target_compile_options(${target} PRIVATE -Wall -Wextra ${shadow} -pedantic)
    if(AFCORE_WERROR)
        target_compile_options(${target} PRIVATE -Werror)
    endif()
    if(AFCORE_HARDEN)
        # Distributions' compilers may define it already, with another value. It also makes glibc warn of ignored
        # results.
        target_compile_options(${target} PRIVATE -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
            -Wno-unused-result)
    endif()
    if(AFCORE_REPRODUCIBLE)
        # The last one that matches counts: the build folder is often inside the sources.
        target_compile_options(${target} PRIVATE "-ffile-prefix-map=${PROJECT_SOURCE_DIR}=."
            "-ffile-prefix-map=${PROJECT_BINARY_DIR}=./build")
    endif()
    afcore_sanitize(${target})
endfunction()

# AFCORE_SANITIZE takes one name or several with commas: "address,undefined".
function(afcore_sanitize target)
    if(NOT AFCORE_SANITIZE)
        return()
    endif()
    set(flags "-fsanitize=${AFCORE_SANITIZE}" -fno-omit-frame-pointer)
    if(AFCORE_SANITIZE MATCHES "undefined")
        list(APPEND flags -fno-sanitize-recover=undefined)
    endif()
    target_compile_options(${target} PRIVATE ${flags})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE" OR type STREQUAL "SHARED_LIBRARY")
        target_link_options(${target} PRIVATE ${flags})
    elseif(type STREQUAL "STATIC_LIBRARY")
        target_link_options(${target} INTERFACE ${flags})
    endif()
endfunction()

# How a shared library is linked: it exports what begins with PREFIX, in a version named after the soname, so that two
# libraries can be in one process.
function(afcore_finish_shared target version prefix)
    if(AFCORE_HARDEN)
        target_link_options(${target} PRIVATE LINKER:-z,relro LINKER:-z,now)
    endif()
    # The sanitizers' own symbols come with the program.
    if(NOT AFCORE_SANITIZE)
        set(script "${PROJECT_BINARY_DIR}/${target}.map")
        file(CONFIGURE OUTPUT "${script}" CONTENT
            "${version}_${AFCORE_SOVERSION} {\n    global:\n        ${prefix}*;\n    local:\n        *;\n};\n")
        target_link_options(${target} PRIVATE LINKER:--no-undefined "LINKER:--version-script=${script}")
        set_target_properties(${target} PROPERTIES LINK_DEPENDS "${script}")
    endif()
endfunction()

# One of the two libraries, made of the objects compiled once.
function(afcore_add_library target kind)
    add_library(${target} ${kind} $<TARGET_OBJECTS:afcore_objects>)
    add_library(afcore::${target} ALIAS ${target})
    target_include_directories(${target} PUBLIC "$<BUILD_INTERFACE:${AFCORE_ROOT}/include>")
    target_link_libraries(${target} PRIVATE CURL::libcurl OpenSSL::SSL OpenSSL::Crypto Threads::Threads)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME afcore)
    afcore_sanitize(${target})
    list(APPEND AFCORE_LIBRARIES ${target})
    set(AFCORE_LIBRARIES "${AFCORE_LIBRARIES}" PARENT_SCOPE)
endfunction()
