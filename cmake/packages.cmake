# `cpack` in a build folder makes a .deb for Debian 12 and a tarball of the same files.
set(CPACK_PACKAGE_NAME lockstep)
set(CPACK_PACKAGE_VENDOR "The Lockstep authors")
set(CPACK_PACKAGE_CONTACT "The Lockstep authors <lockstep@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "an AMD RDNA 3 GPU in software")
set(CPACK_PACKAGE_DESCRIPTION
    "Runs gfx11 machine code, the code of Radeon RX 7900 XTX and its family, on any x86-64-v3 processor: from HIP and\n\
OpenCL source, assembly, code objects and whole ROCm programs; with checkers for races and other mistakes.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
# The libraries that the programs are linked with, by what dpkg knows of them.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/api)
# What only some of it calls: compilers for source, Python's arrays.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "clang-19, lld-19, rocm-device-libs, python3, python3-numpy")
include(CPack)
