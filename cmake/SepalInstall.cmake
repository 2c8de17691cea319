# What `cmake --install` puts where. Components: runtime (the shared library), devel (headers, static library, CMake
# package, pkg-config file), tools (the programs, their manual page and completion), rados (what Ceph needs), license;
# leveldb and python where their targets are.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(sepal_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/sepal")
install(TARGETS ${SEPAL_LIBRARIES} EXPORT sepalTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT devel
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT devel
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/sepal" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT devel
  FILES_MATCHING PATTERN "*.h" PATTERN "rados.h" EXCLUDE PATTERN "c_rados.h" EXCLUDE)
# Component rados: a package of its own, for those who have Ceph.
if(TARGET sepal_rados)
  install(TARGETS sepal_rados EXPORT sepalRadosTargets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT rados INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  install(FILES "${PROJECT_SOURCE_DIR}/include/sepal/rados.h" "${PROJECT_SOURCE_DIR}/include/sepal/c_rados.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/sepal" COMPONENT rados)
  install(EXPORT sepalRadosTargets NAMESPACE sepal:: DESTINATION "${sepal_cmake_dir}" COMPONENT rados)
endif()
install(EXPORT sepalTargets NAMESPACE sepal:: DESTINATION "${sepal_cmake_dir}" COMPONENT devel)

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/sepalConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/sepalConfig.cmake" INSTALL_DESTINATION "${sepal_cmake_dir}")
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/sepalConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/sepalConfig.cmake" "${PROJECT_BINARY_DIR}/sepalConfigVersion.cmake"
  DESTINATION "${sepal_cmake_dir}" COMPONENT devel)

file(RELATIVE_PATH SEPAL_PC_TO_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
foreach(module sepal sepal-filter)
  configure_file("${CMAKE_CURRENT_LIST_DIR}/${module}.pc.in" "${PROJECT_BINARY_DIR}/${module}.pc" @ONLY)
endforeach()
install(FILES "${PROJECT_BINARY_DIR}/sepal.pc" "${PROJECT_BINARY_DIR}/sepal-filter.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT devel)

if(TARGET sepal_rados)
  configure_file("${CMAKE_CURRENT_LIST_DIR}/sepal-rados.pc.in" "${PROJECT_BINARY_DIR}/sepal-rados.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/sepal-rados.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT rados)
endif()

if(TARGET sepal)
  install(PROGRAMS $<TARGET_FILE:sepal> DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT tools)
endif()
if(TARGET sepal_papers)
  install(FILES "${PROJECT_BINARY_DIR}/tools/sepal.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT tools)
  install(FILES "${PROJECT_BINARY_DIR}/tools/sepal.bash" RENAME sepal COMPONENT tools
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
  install(FILES "${PROJECT_BINARY_DIR}/tools/sepal.zsh" RENAME _sepal COMPONENT tools
    DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions")
  install(FILES "${PROJECT_BINARY_DIR}/tools/sepal.fish" COMPONENT tools
    DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
endif()
foreach(tool db_bench sst_dump)
  if(TARGET ${tool})
    # RocksDB's tools have the same names.
    install(PROGRAMS $<TARGET_FILE:${tool}> DESTINATION "${CMAKE_INSTALL_BINDIR}" RENAME sepal_${tool} COMPONENT tools)
  endif()
  if(TARGET sepal_papers)
    # Shells look for the completion of a program in a file of its name; zsh's names all three.
    install(FILES "${PROJECT_BINARY_DIR}/tools/sepal.bash" RENAME sepal_${tool} COMPONENT tools
      DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
    install(FILES "${PROJECT_BINARY_DIR}/tools/sepal.fish" RENAME sepal_${tool}.fish COMPONENT tools
      DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
    install(FILES "${PROJECT_BINARY_DIR}/tools/${tool}.1" RENAME sepal_${tool}.1 COMPONENT tools
      DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
  endif()
endforeach()

# Debian packages have a file of their own in its place.
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/sepal" COMPONENT license)
