# apc_embed_presets(<output> <file>...): writes a .cpp that holds each JSON file as a string, by name. Editing a file,
# adding or removing one configures anew.

function(apc_embed_presets output)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN})
  set(rows "")
  foreach(file ${ARGN})
    get_filename_component(name ${file} NAME_WE)
    file(READ ${file} text)
    string(APPEND rows "    {\"${name}\", R\"preset(${text})preset\"},\n")
  endforeach()
  set(content "// Generated from the files in lib/Cluster/Presets.\n#include \"Presets.h\"\n\nnamespace apc {\n\n")
  string(APPEND content "static constexpr EmbeddedPreset presets[] = {\n${rows}};\n\n")
  string(APPEND content "llvm::ArrayRef<EmbeddedPreset> embeddedPresets() { return presets; }\n\n} // namespace apc\n")
  set(previous "")
  if(EXISTS ${output})
    file(READ ${output} previous)
  endif()
  # An unchanged file keeps its time, so that configuring anew compiles nothing.
  if(NOT "${previous}" STREQUAL "${content}")
    file(WRITE ${output} "${content}")
  endif()
endfunction()
