# apc_embed_texts(<output> <function> <file>...): writes a .cpp with the function apc::<function>, which gives the text of
# each file by its name without the ending (apc/Support/EmbeddedText.h). Editing a file, adding or removing one configures
# anew.

function(apc_embed_texts output function)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN})
  set(rows "")
  foreach(file ${ARGN})
    get_filename_component(name ${file} NAME_WE)
    file(READ ${file} text)
    string(APPEND rows "    {\"${name}\", R\"text(${text})text\"},\n")
  endforeach()
  set(content "// Generated from files of text.\n#include \"apc/Support/EmbeddedText.h\"\n\nnamespace apc {\n\n")
  string(APPEND content "static constexpr EmbeddedText ${function}Texts[] = {\n${rows}};\n\n")
  string(APPEND content "llvm::ArrayRef<EmbeddedText> ${function}();\n")
  string(APPEND content "llvm::ArrayRef<EmbeddedText> ${function}() { return ${function}Texts; }\n\n} // namespace apc\n")
  set(previous "")
  if(EXISTS ${output})
    file(READ ${output} previous)
  endif()
  # An unchanged file keeps its time, so that configuring anew compiles nothing.
  if(NOT "${previous}" STREQUAL "${content}")
    file(WRITE ${output} "${content}")
  endif()
endfunction()
