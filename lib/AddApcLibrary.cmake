# apc_add_library(<room> SOURCES ... LINK_LIBS ...): one static library for a room, named APC<room>.
# apc_add_unit_test(<room> SOURCES ... LINK_LIBS ...): one Catch2 program for a room, named APC<room>Tests.
# Plain add_library is used, because MLIR's own helpers switch exceptions off for the whole target.

# Warnings as errors, and the sanitizers that the build asks for. `vptr` is left out: it wants type information of every
# class of LLVM's that ours derive from.
function(apc_set_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Werror -Wno-unused-parameter)
  # libstdc++ 12 uses std::get_temporary_buffer, deprecated by itself, in std::stable_sort; clang tells every caller.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
  # g++ 12 sees overlaps and overflows in "x" + std::to_string(n) that are not there (GCC bug 105651).
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
                         $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>
                         $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>)
  if(APC_SANITIZE)
    set(sanitize -fsanitize=${APC_SANITIZE} -fno-sanitize=vptr)
    target_compile_options(${target} PRIVATE ${sanitize} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC ${sanitize})
  endif()
  if(APC_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

function(apc_add_library room)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK_LIBS" ${ARGN})
  add_library(APC${room} STATIC ${ARG_SOURCES})
  target_include_directories(APC${room} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
  target_link_libraries(APC${room} PUBLIC apc_llvm ${ARG_LINK_LIBS})
  apc_set_options(APC${room})
endfunction()

function(apc_add_unit_test room)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK_LIBS" ${ARGN})
  add_executable(APC${room}Tests ${ARG_SOURCES})
  target_link_libraries(APC${room}Tests PRIVATE APC${room} APCTestMain ${ARG_LINK_LIBS})
  target_include_directories(APC${room}Tests PRIVATE ${PROJECT_SOURCE_DIR}/test)
  apc_set_options(APC${room}Tests)
  add_test(NAME ${room} COMMAND APC${room}Tests)
endfunction()
