// Gives CMake a source to build the precompiled header with.
