# Compiles with the wheel `ziglang`, for an old glibc and any architecture (tests/release.py):
#     ZIG=.../ziglang/zig ZIG_TARGET=aarch64-linux-gnu.2.17 cmake --toolchain packaging/zig.cmake ...
set(CMAKE_SYSTEM_NAME Linux)
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR "$ENV{ZIG_TARGET}")
set(CMAKE_CXX_COMPILER "$ENV{ZIG}" c++ -target "$ENV{ZIG_TARGET}")
# GNU's ar makes no index of another architecture's objects.
set(CMAKE_CXX_ARCHIVE_CREATE "\"$ENV{ZIG}\" ar qc <TARGET> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_APPEND "\"$ENV{ZIG}\" ar q <TARGET> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_FINISH "\"$ENV{ZIG}\" ranlib <TARGET>")
