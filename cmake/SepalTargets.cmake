# How the library's targets are made.

find_package(absl REQUIRED)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(SEPAL_LZ4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(SEPAL_ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(SEPAL_XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(SEPAL_URING REQUIRED IMPORTED_TARGET liburing)
find_package(Snappy REQUIRED)

# Compiler settings for all of Sepal's own code. Paths of sources in messages and debug information are relative to the
# source directory: a debugger or a coverage tool that is run there finds them, and builds in two places give the same
# bytes.
add_library(sepal_settings INTERFACE)
target_compile_options(sepal_settings INTERFACE "-ffile-prefix-map=${CMAKE_CURRENT_SOURCE_DIR}/=")
target_compile_features(sepal_settings INTERFACE cxx_std_20)
target_compile_options(sepal_settings INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>)
if(SEPAL_WERROR)
  target_compile_options(sepal_settings INTERFACE -Werror)
endif()
# GCC 12 sees overlaps in std::string's own code where there are none (its bug 105651).
target_compile_options(sepal_settings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
# Virtual overloads beside inline ones are the public interface's way; hidden ones are reached through the base.
target_compile_options(sepal_settings INTERFACE -Wno-overloaded-virtual)
if(SEPAL_SANITIZE)
  target_compile_options(sepal_settings INTERFACE -fsanitize=${SEPAL_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer -g1)
  target_link_options(sepal_settings INTERFACE -fsanitize=${SEPAL_SANITIZE})
endif()

# What nearly every file includes, compiled once: half of the compiler's time. Every file still includes what it uses:
# tools/lint.sh and CMAKE_DISABLE_PRECOMPILE_HEADERS=ON build without.
target_compile_options(sepal_settings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
  "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")  # for ccache
set(SEPAL_COMMON_HEADERS <algorithm> <array> <atomic> <cstdint> <cstring> <deque> <functional> <map> <memory> <optional>
  <span> <string> <string_view> <utility> <vector> <absl/container/flat_hash_map.h> <absl/status/status.h>
  <absl/status/statusor.h> <absl/strings/str_cat.h> <absl/strings/str_format.h>)

# sepal_precompile(TARGET OWNER): `target` shares the precompiled headers of `owner`, which is compiled with the same flags.
function(sepal_precompile target owner)
  if(target STREQUAL owner)
    target_precompile_headers(${target} PRIVATE ${SEPAL_COMMON_HEADERS})
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()

# sepal_compile_together(TARGET): several sources of a target are one translation unit, so that the headers and templates
# of GoogleTest, CLI11 and JSON are compiled once for all of them. SEPAL_COMPILE_APART=ON for editing them one by one.
option(SEPAL_COMPILE_APART "Compile every source by itself" OFF)
function(sepal_compile_together target)
  if(NOT SEPAL_COMPILE_APART)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  endif()
endfunction()

set(SEPAL_ABSL_LIBRARIES absl::status absl::statusor absl::strings absl::str_format absl::flat_hash_map
  absl::inlined_vector absl::core_headers absl::span)
set(SEPAL_PRIVATE_LIBRARIES Snappy::snappy PkgConfig::SEPAL_LZ4 PkgConfig::SEPAL_ZSTD PkgConfig::SEPAL_XXHASH
  PkgConfig::SEPAL_URING Threads::Threads)

set(SEPAL_FLOORS "")

# sepal_floor(DIRECTORY [EXCEPT DIRECTORY] [TOGETHER "file file ..." ...]): an object library of all sources in the
# directory and its rooms, but for one room that is a floor of its own. The files of one string, none of them on the way of
# a read or write, are compiled as one; CMAKE_UNITY_BUILD=ON of the project that builds takes its place.
macro(sepal_floor directory)
  cmake_parse_arguments(FLOOR "" "EXCEPT" "TOGETHER" ${ARGN})
  string(REPLACE "/" "_" floor_name "sepal_${directory}")
  file(GLOB_RECURSE floor_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${directory}/*.cc")
  if(FLOOR_EXCEPT)
    list(FILTER floor_sources EXCLUDE REGEX "/${FLOOR_EXCEPT}/")
  endif()
  add_library(${floor_name} OBJECT ${floor_sources})
  set_target_properties(${floor_name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  target_include_directories(${floor_name} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}/include")
  target_link_libraries(${floor_name} PRIVATE sepal_settings ${SEPAL_ABSL_LIBRARIES} ${SEPAL_PRIVATE_LIBRARIES})
  sepal_precompile(${floor_name} sepal_util)
  if(FLOOR_TOGETHER AND NOT SEPAL_COMPILE_APART AND NOT CMAKE_UNITY_BUILD)
    set_target_properties(${floor_name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    foreach(together ${FLOOR_TOGETHER})
      string(MD5 group "${together}")
      string(REGEX REPLACE "[ \n]+" ";" stems "${together}")
      foreach(stem ${stems})
        set(file ${floor_sources})
        list(FILTER file INCLUDE REGEX "/${stem}\\.cc$")
        if(NOT file)
          message(FATAL_ERROR "${directory}: TOGETHER names ${stem}, which is no source of this floor")
        endif()
        set_source_files_properties(${file} PROPERTIES UNITY_GROUP ${group})
      endforeach()
    endforeach()
  endif()
  list(APPEND SEPAL_FLOORS ${floor_name})
endmacro()

# The library proper, static and shared, from the same objects; `sepal::sepal` is the static one.
macro(sepal_library)
  set(sepal_objects "")
  foreach(floor ${SEPAL_FLOORS})
    list(APPEND sepal_objects $<TARGET_OBJECTS:${floor}>)
  endforeach()
  set(SEPAL_LIBRARIES sepal_static)
  add_library(sepal_static STATIC ${sepal_objects})
  if(SEPAL_BUILD_SHARED)
    add_library(sepal_shared SHARED ${sepal_objects})
    list(APPEND SEPAL_LIBRARIES sepal_shared)
  endif()
  foreach(library ${SEPAL_LIBRARIES})
    target_compile_features(${library} PUBLIC cxx_std_20)
    target_include_directories(${library} PUBLIC
      $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
    target_link_libraries(${library} PUBLIC absl::status absl::statusor PRIVATE ${SEPAL_ABSL_LIBRARIES}
      ${SEPAL_PRIVATE_LIBRARIES})
    string(REPLACE "_" "-" export_name ${library})
    set_target_properties(${library} PROPERTIES OUTPUT_NAME sepal VERSION ${PROJECT_VERSION} SOVERSION 0
      LINKER_LANGUAGE CXX EXPORT_NAME ${export_name})
    if(SEPAL_SANITIZE)
      target_link_options(${library} PUBLIC -fsanitize=${SEPAL_SANITIZE})
    endif()
  endforeach()
  add_library(sepal::sepal-static ALIAS sepal_static)
  if(SEPAL_BUILD_SHARED)
    add_library(sepal::sepal-shared ALIAS sepal_shared)
  endif()
  add_library(sepal::sepal ALIAS sepal_static)
endmacro()

# sepal::filter, the filters without the engine. Its objects are those of the library proper, so that a program may link
# both.
macro(sepal_filter_library)
  add_library(sepal_filter STATIC $<TARGET_OBJECTS:sepal_util_base> $<TARGET_OBJECTS:sepal_filters>)
  list(APPEND SEPAL_LIBRARIES sepal_filter)
  target_compile_features(sepal_filter PUBLIC cxx_std_20)
  target_include_directories(sepal_filter PUBLIC
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
  target_link_libraries(sepal_filter PUBLIC absl::status absl::statusor
    PRIVATE absl::strings absl::str_format PkgConfig::SEPAL_XXHASH)
  set_target_properties(sepal_filter PROPERTIES LINKER_LANGUAGE CXX EXPORT_NAME filter)
  if(SEPAL_SANITIZE)
    target_link_options(sepal_filter PUBLIC -fsanitize=${SEPAL_SANITIZE})
  endif()
  add_library(sepal::filter ALIAS sepal_filter)
endmacro()

# A library of its own over the static one, sepal::NAME, of the sources in a directory.
#   sepal_library_beside(NAME DIRECTORY)
macro(sepal_library_beside name directory)
  file(GLOB beside_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${directory}/*.cc")
  add_library(sepal_${name} STATIC ${beside_sources})
  list(APPEND SEPAL_LIBRARIES sepal_${name})
  target_include_directories(sepal_${name} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
  target_link_libraries(sepal_${name} PUBLIC sepal_static
    PRIVATE $<BUILD_INTERFACE:sepal_settings> ${SEPAL_ABSL_LIBRARIES})
  set_target_properties(sepal_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON EXPORT_NAME ${name})
  sepal_precompile(sepal_${name} sepal_${name})
  add_library(sepal::${name} ALIAS sepal_${name})
endmacro()

# sepal::rados, over the static library and sepal::file_cache.
macro(sepal_rados_library)
  if(NOT SEPAL_HAS_LIBRADOS)
    message(FATAL_ERROR "SEPAL_RADOS needs librados (Debian: librados-dev)")
  endif()
  file(GLOB rados_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/rados/*.cc")
  add_library(sepal_rados STATIC ${rados_sources})
  target_include_directories(sepal_rados PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
  target_link_libraries(sepal_rados PUBLIC sepal_static sepal_file_cache
    PRIVATE $<BUILD_INTERFACE:sepal_settings> $<BUILD_INTERFACE:nlohmann_json::nlohmann_json> ${SEPAL_ABSL_LIBRARIES} rados)
  set_target_properties(sepal_rados PROPERTIES POSITION_INDEPENDENT_CODE ON EXPORT_NAME rados)
  sepal_precompile(sepal_rados sepal_rados)
  add_library(sepal::rados ALIAS sepal_rados)
endmacro()

# sepal_internal_user(TARGET): lets a test, tool or benchmark of this tree see the internal headers.
function(sepal_internal_user target)
  target_link_libraries(${target} PRIVATE sepal_static sepal_settings ${SEPAL_ABSL_LIBRARIES})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
endfunction()
