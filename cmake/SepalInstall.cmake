# What `cmake --install` puts where. Components: runtime (the shared library), devel (headers, static library, CMake
# package, pkg-config file), tools (the programs).

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(sepal_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/sepal")
install(TARGETS ${SEPAL_LIBRARIES} EXPORT sepalTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT devel
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT devel
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/sepal" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT devel
  FILES_MATCHING PATTERN "*.h")
install(EXPORT sepalTargets NAMESPACE sepal:: DESTINATION "${sepal_cmake_dir}" COMPONENT devel)

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/sepalConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/sepalConfig.cmake" INSTALL_DESTINATION "${sepal_cmake_dir}")
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/sepalConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/sepalConfig.cmake" "${PROJECT_BINARY_DIR}/sepalConfigVersion.cmake"
  DESTINATION "${sepal_cmake_dir}" COMPONENT devel)

configure_file("${CMAKE_CURRENT_LIST_DIR}/sepal.pc.in" "${PROJECT_BINARY_DIR}/sepal.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/sepal.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT devel)

foreach(tool db_bench sst_dump)
  if(TARGET ${tool})
    # RocksDB's tools have the same names.
    install(PROGRAMS $<TARGET_FILE:${tool}> DESTINATION "${CMAKE_INSTALL_BINDIR}" RENAME sepal_${tool} COMPONENT tools)
  endif()
endforeach()
