# apc_add_library(<room> SOURCES ... LINK_LIBS ...): one static library for a room, named APC<room>.
# apc_add_unit_test(<room> SOURCES ... LINK_LIBS ...): one Catch2 program for a room, named APC<room>Tests.
# apc_set_options(<target> [LIGHT]): warnings and sanitizers; g++ compiles LIGHT code, where no time is spent, at -O1.
# apc_use_headers(<target> <list>): the precompiled headers of a list below.
# Plain add_library is used, because MLIR's own helpers switch exceptions off for the whole target.

# Warnings as errors, and the sanitizers that the build asks for. `vptr` is left out: it wants type information of every
# class of LLVM's that ours derive from.
function(apc_set_options target)
  cmake_parse_arguments(ARG "LIGHT" "" "" ${ARGN})
  target_compile_options(${target} PRIVATE -Wall -Wextra -Werror -Wno-unused-parameter)
  # libstdc++ 12 uses std::get_temporary_buffer, deprecated by itself, in std::stable_sort; clang tells every caller.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
  # g++ 12 sees overlaps and overflows in "x" + std::to_string(n) that are not there (GCC bug 105651).
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
                         $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>
                         $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>)
  # ccache can follow a precompiled header of g++ with this; it also wants `sloppiness = pch_defines,time_macros` of its user.
  if(APC_CCACHE)
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  endif()
  if(ARG_LIGHT)
    target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:-O1>)
  endif()
  if(APC_SANITIZE)
    # Checks of pointers are AddressSanitizer's too; each of those that are left out here makes a third more to compile.
    set(sanitize -fsanitize=${APC_SANITIZE}
        -fno-sanitize=vptr,null,alignment,object-size,nonnull-attribute,returns-nonnull-attribute,pointer-overflow)
    target_compile_options(${target} PRIVATE ${sanitize} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC ${sanitize})
  endif()
  if(APC_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# Precompiled headers: a list belongs to an object library without code, and many targets share what is compiled there.
# g++ shares a list between -O1, -O2 and -O3; clang does not. Only headers of others stand here: an edit of ours must not rebuild the house.
set(core <algorithm> <cmath> <functional> <map> <optional> <string> <vector> <llvm/ADT/SmallVector.h> <llvm/ADT/STLExtras.h>
    <llvm/ADT/StringExtras.h> <llvm/Support/Error.h> <llvm/Support/FormatVariadic.h> <llvm/Support/raw_ostream.h>)
set(mlir ${core} <mlir/Dialect/Func/IR/FuncOps.h> <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h> <mlir/IR/ImplicitLocOpBuilder.h>
    <mlir/IR/OpImplementation.h> <mlir/Interfaces/SideEffectInterfaces.h>)

# Levels of optimisation of lists in whose code little time is spent. clang compiles a list and what uses it at one level.
if(APC_FUZZ)
  set(level_Mlir -O0)
elseif(CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(level_Cli -O1)
  set(level_Test -O1)
  set(level_MlirTest -O1)
endif()

# apc_compile_together(<target> <number>): that many of its files in one go. Files of a target share no names of their own;
# those that must leave it with SKIP_UNITY_BUILD_INCLUSION.
function(apc_compile_together target number)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${APC_UNITY} UNITY_BUILD_BATCH_SIZE ${number})
endfunction()

function(apc_set_level target list)
  if(level_${list})
    target_compile_options(${target} PRIVATE ${level_${list}})
  endif()
endfunction()

# apc_add_headers(<list> <library that brings the headers> <header>...)
function(apc_add_headers list library)
  set(source ${PROJECT_BINARY_DIR}/headers/${list}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "// The home of the precompiled headers ${list}.\n")
  add_library(APC${list}Headers OBJECT ${source})
  target_link_libraries(APC${list}Headers PRIVATE apc_llvm ${library})
  target_precompile_headers(APC${list}Headers PRIVATE ${ARGN})
  apc_set_options(APC${list}Headers)
  apc_set_level(APC${list}Headers ${list})
endfunction()

apc_add_headers(Core apc_llvm ${core})
apc_add_headers(Mlir apc_mlir ${mlir})
apc_add_headers(Cli CLI11::CLI11 <CLI/CLI.hpp> ${core})
apc_add_headers(Test Catch2::Catch2 <catch2/catch.hpp> ${core})
apc_add_headers(MlirTest "apc_mlir;Catch2::Catch2" <catch2/catch.hpp> ${mlir} <mlir/IR/Verifier.h> <mlir/Parser/Parser.h>)

function(apc_use_headers target list)
  target_precompile_headers(${target} REUSE_FROM APC${list}Headers)
  apc_set_level(${target} ${list})
endfunction()

# Sets <result> to the first of two lists of headers when one of the libraries brings MLIR, else to the second.
function(apc_choose_headers result with_mlir without)
  set(${result} ${without} PARENT_SCOPE)
  foreach(library ${ARGN})
    if(library STREQUAL apc_mlir)
      set(${result} ${with_mlir} PARENT_SCOPE)
    elseif(TARGET ${library})
      get_target_property(brings_mlir ${library} APC_MLIR)
      if(brings_mlir)
        set(${result} ${with_mlir} PARENT_SCOPE)
      endif()
    endif()
  endforeach()
endfunction()

function(apc_add_library room)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK_LIBS" ${ARGN})
  add_library(APC${room} STATIC ${ARG_SOURCES})
  target_include_directories(APC${room} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
  target_link_libraries(APC${room} PUBLIC apc_llvm ${ARG_LINK_LIBS})
  apc_set_options(APC${room})
  apc_compile_together(APC${room} 16)
  apc_choose_headers(list Mlir Core ${ARG_LINK_LIBS})
  apc_use_headers(APC${room} ${list})
  if(list STREQUAL "Mlir")
    set_target_properties(APC${room} PROPERTIES APC_MLIR ON)
  endif()
endfunction()

function(apc_add_unit_test room)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK_LIBS" ${ARGN})
  add_executable(APC${room}Tests ${ARG_SOURCES})
  target_link_libraries(APC${room}Tests PRIVATE APC${room} APCTestMain ${ARG_LINK_LIBS})
  target_include_directories(APC${room}Tests PRIVATE ${PROJECT_SOURCE_DIR}/test)
  apc_set_options(APC${room}Tests LIGHT)
  apc_compile_together(APC${room}Tests 12)
  apc_choose_headers(list MlirTest Test APC${room} ${ARG_LINK_LIBS})
  apc_use_headers(APC${room}Tests ${list})
  add_test(NAME ${room} COMMAND APC${room}Tests)
endfunction()
