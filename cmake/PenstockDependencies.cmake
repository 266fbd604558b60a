# The libraries that Penstock is built with. All that are missing are named at
# once, with the Debian packages they come in.
set(missing_libraries "")
set(missing_packages "")
foreach(dependency IN ITEMS
    absl=libabsl-dev ISAL=libisal-dev JPEG=libjpeg62-turbo-dev SPNG=libspng-dev
    WebP=libwebp-dev GIF=libgif-dev hwy=libhwy-dev ZLIB=zlib1g-dev
    Zstd=libzstd-dev simdjson=libsimdjson-dev CURL=libcurl4-openssl-dev)
  string(REPLACE "=" ";" dependency "${dependency}")
  list(GET dependency 0 library)
  list(GET dependency 1 package)
  find_package(${library} QUIET)
  if(NOT ${library}_FOUND)
    list(APPEND missing_libraries ${library})
    list(APPEND missing_packages ${package})
  endif()
endforeach()
find_path(PROTOZERO_INCLUDE_DIR protozero/pbf_reader.hpp)  # headers alone
mark_as_advanced(PROTOZERO_INCLUDE_DIR)
if(NOT PROTOZERO_INCLUDE_DIR)
  list(APPEND missing_libraries protozero)
  list(APPEND missing_packages libprotozero-dev)
endif()

if(missing_libraries)
  list(JOIN missing_libraries ", " libraries)
  list(JOIN missing_packages " " packages)
  message(FATAL_ERROR
    "Penstock needs libraries that were not found: ${libraries}.\n"
    "On Debian and Ubuntu:  apt-get install ${packages}\n"
    "`make build` in the source tree installs them by itself, as root.")
endif()
