# simt_add_executable(TARGET SOURCE.cu [PLAIN] [OUTPUT_NAME name] [OUTPUT_DIRECTORY dir] [LIBRARIES lib…])
#
# An emulated program from one .cu file: simtcc makes the object (checked, or PLAIN without checks), CMake links it.
set(SIMTCC ${CMAKE_CURRENT_LIST_DIR}/simtcc CACHE INTERNAL "")
set(SIMT_HOOKS ${CMAKE_CURRENT_LIST_DIR}/hooks.syms CACHE INTERNAL "")

function(simt_add_executable target source)
  cmake_parse_arguments(arg "PLAIN" "OUTPUT_NAME;OUTPUT_DIRECTORY" "LIBRARIES;INCLUDES" ${ARGN})
  get_filename_component(source ${source} ABSOLUTE)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${target}.o)
  set(flags)
  if(arg_PLAIN)
    list(APPEND flags --plain)
  endif()
  foreach(directory IN LISTS arg_INCLUDES)
    list(APPEND flags -I ${directory})
  endforeach()
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${CMAKE_COMMAND} -E env CXX=${CMAKE_CXX_COMPILER}${CMAKE_CXX_COMPILER_ARG1} ${SIMTCC} --simt-build ${CMAKE_BINARY_DIR} ${flags} -c
            -MF ${object}.d -MT ${object} -o ${object} ${source}
    DEPENDS ${source} simt-translate ${SIMTCC} ${SIMT_HOOKS}
    DEPFILE ${object}.d
    COMMENT "simtcc ${target}"
    VERBATIM)
  add_executable(${target} ${object})
  set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${target} PRIVATE ${arg_LIBRARIES} simt)
  if(arg_OUTPUT_NAME)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${arg_OUTPUT_NAME})
  endif()
  if(arg_OUTPUT_DIRECTORY)
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${arg_OUTPUT_DIRECTORY})
  endif()
endfunction()
