# How our own targets are compiled. None of this reaches a user's build.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

option(PENSTOCK_WERROR "Treat warnings as errors" OFF)
option(PENSTOCK_PCH "Precompile the headers of std, absl and gtest" ON)
option(PENSTOCK_UNITY "Compile several files as one" ON)
set(PENSTOCK_SANITIZE "" CACHE STRING "Value for -fsanitize=, or empty")

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without this sloppiness ccache refuses every file that uses a precompiled
  # header. Paths are relative to the tree: another clone finds what this built.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      "${CCACHE_PROGRAM}")
endif()

# Sanitizers change the ABI of what they instrument (and -fsanitize=fuzzer the
# link), so they are global rather than per target.
if(PENSTOCK_SANITIZE)
  add_compile_options(-fsanitize=${PENSTOCK_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PENSTOCK_SANITIZE})
  add_compile_definitions(PENSTOCK_SANITIZED)
endif()

function(penstock_compile_options target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wnon-virtual-dtor -Woverloaded-virtual
    -Wimplicit-fallthrough -Wundef -Wvla
    -fno-omit-frame-pointer
    # The library is the same wherever the tree lies.
    "-ffile-prefix-map=${PROJECT_SOURCE_DIR}=."
    # -g1 is enough for a stack trace and a profile, and halves the objects.
    $<$<CONFIG:RelWithDebInfo>:-O3;-g1>)
  if(PENSTOCK_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ means by plain -Wshadow also a constructor's parameter that is named
    # like the member it fills; the others raise false alarms inside libstdc++
    # and absl once it inlines.
    target_compile_options(${target} PRIVATE
      -Wshadow=local -Wno-maybe-uninitialized -Wno-uninitialized
      -Wno-stringop-overflow -Wno-restrict)
  else()
    target_compile_options(${target} PRIVATE -Wshadow)
  endif()
  if(NOT CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo"
     AND NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_definitions(${target} PRIVATE _GLIBCXX_ASSERTIONS)
  endif()
endfunction()

# A third of the compile time is the same few headers of others. The clang preset
# does without, so a missing #include is found there.
function(penstock_precompile target)
  if(NOT PENSTOCK_PCH)
    return()
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Without it ccache cannot reuse what was built on a precompiled header.
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
  target_precompile_headers(${target} ${ARGN})
endfunction()

# A file is mostly headers: eight operators cost 43 s alone and 6 together. Files
# of one folder are put together, by a hash of their names: what a file is
# compiled with changes only when one joins or leaves its group. The names in
# their anonymous namespaces must differ. The presets dev and clang do without,
# so a file that leans on its neighbours is found there.
function(penstock_unity target)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    if(source MATCHES "([^/]+)/ops/([^/]+)")
      set(groups 8)
    elseif(source MATCHES "([^/]+)/([^/]+)$")
      set(groups 2)
    else()
      continue()
    endif()
    set(folder ${CMAKE_MATCH_1})
    string(MD5 hash ${CMAKE_MATCH_2})
    string(SUBSTRING ${hash} 0 2 hash)
    math(EXPR group "0x${hash} % ${groups}")
    set_source_files_properties(${source} PROPERTIES
      UNITY_GROUP ${folder}_${groups}_${group})
  endforeach()
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${PENSTOCK_UNITY} UNITY_BUILD_MODE GROUP)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # What is inlined in a file alone is inlined among others, too. Without it
    # Example and CSV took a sixth longer.
    target_compile_options(${target} PRIVATE --param=large-unit-insns=1000000)
  endif()
endfunction()
