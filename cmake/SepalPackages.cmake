# Debian packages: `cpack` in the build directory makes one of each component (SepalInstall.cmake).
#
#   runtime   libsepal0         the shared library
#   devel     libsepal-dev      what programs are compiled and linked with
#   tools     sepal-tools       sepal, sepal_db_bench, sepal_sst_dump
#   leveldb   libsepal-leveldb  libleveldb.so.1d, in a directory of its own
#   python    python3-sepal     the Python package
#
# The last two are made where their targets are built.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME sepal)
set(CPACK_PACKAGE_VENDOR "Sepal")
# Packages that are given to others have the address of those who made them: cpack -D CPACK_PACKAGE_CONTACT="Name <address>".
set(CPACK_PACKAGE_CONTACT "The Sepal authors <sepal@sepal.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_PACKAGING_INSTALL_PREFIX "/usr")
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL "")
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SOURCE sepal)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_CURRENT_LIST_DIR}/debian/finish.cmake")

set(sepal_debian "${CMAKE_CURRENT_LIST_DIR}/debian")
set(sepal_debian_made "${PROJECT_BINARY_DIR}/debian")
string(TIMESTAMP SEPAL_DEBIAN_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file("${sepal_debian}/changelog.in" "${sepal_debian_made}/changelog" @ONLY)
configure_file("${sepal_debian}/shlibs.in" "${sepal_debian_made}/shlibs" @ONLY)

#   sepal_package(COMPONENT NAME SECTION DESCRIPTION [DEPENDS text] [RECOMMENDS text] [CONTROL file...])
# The first line of the description is the summary.
macro(sepal_package component name section description)
  cmake_parse_arguments(PACKAGE "" "DEPENDS;RECOMMENDS" "CONTROL" ${ARGN})
  string(TOUPPER ${component} upper)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${description}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${PACKAGE_DEPENDS}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_RECOMMENDS "${PACKAGE_RECOMMENDS}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA "${PACKAGE_CONTROL}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_STRICT_PERMISSION ON)
  install(FILES "${sepal_debian}/copyright" "${sepal_debian_made}/changelog" COMPONENT ${component}
    DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${name}" EXCLUDE_FROM_ALL)
endmacro()

# shlibs: so that dpkg-shlibdeps of other packages knows libsepal0.
sepal_package(runtime libsepal0 libs "embedded ordered key-value store (shared library)
Sepal is a log-structured merge-tree in a library: keys and values of any
bytes, in the order of the keys, with transactions, column families,
snapshots, checkpoints and expiry, for programs in C++ and C.
This package has the shared library that programs are run with."
  CONTROL "${sepal_debian}/triggers" "${sepal_debian_made}/shlibs")
# pkg-config is what the CMake package finds the codecs with.
sepal_package(devel libsepal-dev libdevel "embedded ordered key-value store (development files)
Sepal is a log-structured merge-tree in a library.
This package has the headers for C++ and C, the static libraries, a CMake
package and a pkg-config file."
  DEPENDS "libsepal0 (= ${PROJECT_VERSION}), libabsl-dev, libsnappy-dev, liblz4-dev, libzstd-dev, libxxhash-dev, liburing-dev, pkg-config")
sepal_package(tools sepal-tools database "tools for databases of the key-value store Sepal
The command sepal reads, writes, inspects, verifies, repairs, copies,
imports and exports databases, and runs programs that use LevelDB on Sepal.
sepal_sst_dump prints table files, and sepal_db_bench measures."
  RECOMMENDS "libsepal-leveldb (= ${PROJECT_VERSION})")
if(TARGET sepal_leveldb)
  sepal_package(leveldb libsepal-leveldb libs "LevelDB's interface on the key-value store Sepal
A libleveldb.so.1d with a Sepal database behind it, for programs that load
LevelDB as a shared library and are not compiled again.
It lies in a directory of its own and takes the place of no other library:
the command 'sepal run', of the package sepal-tools, starts a program with it.")
endif()
if(TARGET sepal_python)
  find_package(Python3 COMPONENTS Interpreter Development.Module)
  math(EXPR next_python "${Python3_VERSION_MINOR} + 1")
  sepal_package(python python3-sepal python "embedded ordered key-value store for Python
A Sepal database for Python, with the interface of plyvel and more: column
families, reads of many keys at once, checkpoints, and a dictionary's face."
    DEPENDS "python3 (>= 3.${Python3_VERSION_MINOR}~), python3 (<< 3.${next_python})"
    CONTROL "${sepal_debian}/python/postinst" "${sepal_debian}/python/prerm")
endif()
include(CPack)
