# What CPack runs before it makes the packages: Debian wants programs stripped, and manual pages and changelogs compressed.
# The time of a file is left out, so that the same build makes the same packages.
file(GLOB programs "${CPACK_TEMPORARY_DIRECTORY}/*${CPACK_PACKAGING_INSTALL_PREFIX}/bin/*")
if(programs)
  execute_process(COMMAND strip --strip-unneeded --remove-section=.comment --remove-section=.note ${programs}
    COMMAND_ERROR_IS_FATAL ANY)
endif()
file(GLOB papers "${CPACK_TEMPORARY_DIRECTORY}/*${CPACK_PACKAGING_INSTALL_PREFIX}/share/man/man1/*"
  "${CPACK_TEMPORARY_DIRECTORY}/*${CPACK_PACKAGING_INSTALL_PREFIX}/share/doc/*/changelog")
execute_process(COMMAND gzip -9nf ${papers} COMMAND_ERROR_IS_FATAL ANY)
