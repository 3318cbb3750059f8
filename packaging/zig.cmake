# Links the wheels for an old glibc, with the wheel `ziglang` (tests/release):
#     ZIG=.../ziglang/zig ZIG_TARGET=aarch64-linux-gnu.2.17 cmake --toolchain packaging/zig.cmake ...
set(CMAKE_SYSTEM_NAME Linux)
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR "$ENV{ZIG_TARGET}")
if(CMAKE_SYSTEM_PROCESSOR STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
  # Compiled by GCC, because AVX-512 by zig's clang needs 1.2 to 1.5 times as long.
  set(CMAKE_CXX_COMPILER g++)
  foreach(library libstdc++.a libgcc_eh.a libgcc.a)
    execute_process(COMMAND g++ -print-file-name=${library} OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(APPEND libraries " ${path}")
  endforeach()
  set(CMAKE_CXX_CREATE_SHARED_MODULE
      "\"$ENV{ZIG}\" cc -target $ENV{ZIG_TARGET} -shared <LINK_FLAGS> -o <TARGET> <OBJECTS> <LINK_LIBRARIES>${libraries} \
-Wl,--version-script=\"${CMAKE_CURRENT_LIST_DIR}/exported.map\" -lpthread -lm")
else()
  set(CMAKE_CXX_COMPILER "$ENV{ZIG}" c++ -target "$ENV{ZIG_TARGET}")
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)  # not tried with zig
  # GNU's ar makes no index of another architecture's objects.
  set(CMAKE_CXX_ARCHIVE_CREATE "\"$ENV{ZIG}\" ar qc <TARGET> <OBJECTS>")
  set(CMAKE_CXX_ARCHIVE_APPEND "\"$ENV{ZIG}\" ar q <TARGET> <OBJECTS>")
  set(CMAKE_CXX_ARCHIVE_FINISH "\"$ENV{ZIG}\" ranlib <TARGET>")
endif()
