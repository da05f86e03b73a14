# add_step(IDEA "one line" [FROM 01 …] ARCH 75 CHAPTER "A. …" OPERATION matmul|softmax|attention VARIANTS name …
#          [SPILLS arch:bytes …])
#
# SPILLS: so many bytes of register spills, stores and loads, at most, for an architecture; its README says why. Others spill none.
# Called once, in the CMakeLists.txt of a step's directory NN_name, whose program is name.cu. Adds the step to
# steps.json, and for the backend at hand the programs:
#   cpu    NN_name (all checks on) and plain/NN_name
#   cuda   NN_name and libNN_name.so, which exports nothing but `launch`
function(add_step)
  cmake_parse_arguments(PARSE_ARGV 0 step "" "IDEA;ARCH;CHAPTER;OPERATION" "FROM;VARIANTS;SPILLS")
  foreach(needed IDEA ARCH CHAPTER OPERATION VARIANTS)
    if(NOT step_${needed})
      message(FATAL_ERROR "add_step: ${needed} is missing")
    endif()
  endforeach()
  if(step_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "add_step: what is '${step_UNPARSED_ARGUMENTS}'?")
  endif()
  get_filename_component(name ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  string(REGEX MATCH "^[0-9]+" number ${name})
  string(REGEX REPLACE "^[0-9]+_" "" short ${name})
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${short}.cu)

  set_property(GLOBAL PROPERTY ${name}_OPERATION ${step_OPERATION})
  set_property(GLOBAL PROPERTY ${name}_ARCH ${step_ARCH})
  step_matches_source()
  step_to_json()
  if(FLASH_STEPS_BACKEND STREQUAL cuda)
    step_for_cuda()
  else()
    step_for_emulator()
  endif()
endfunction()

# The program says some of the same to its user: that it says the same is checked here.
function(step_matches_source)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(READ ${source} text)
  foreach(said "\.name = \"${name}\"" "\.arch = \"${step_ARCH}\"")
    string(FIND "${text}" "${said}" found)
    if(found LESS 0)
      message(FATAL_ERROR "${name}: its CMakeLists.txt and its program differ: no ${said} in ${short}.cu")
    endif()
  endforeach()
  set(variants "${step_VARIANTS}")
  string(REGEX MATCHALL "\n +{\"[a-z0-9_]+\", \"" in_source "${text}")
  string(REGEX REPLACE "\n +{\"([a-z0-9_]+)\", \"" "\\1" in_source "${in_source}")
  if(NOT in_source STREQUAL variants)
    message(FATAL_ERROR "${name}: VARIANTS are '${variants}', in ${short}.cu '${in_source}'")
  endif()
endfunction()

function(step_for_emulator)
  simt_add_executable(${name} ${source} LIBRARIES common INCLUDES ${CMAKE_SOURCE_DIR}/common)
  simt_add_executable(${name}_plain ${source} PLAIN LIBRARIES common INCLUDES ${CMAKE_SOURCE_DIR}/common
    OUTPUT_NAME ${name} OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/plain)
endfunction()

# Those of the architectures asked for that can run code for `least`; where it ends in `a`, exactly that one.
function(archs_from least result)
  string(REGEX MATCH "^[0-9]+" least_number ${least})
  set(chosen)
  foreach(arch IN LISTS CMAKE_CUDA_ARCHITECTURES)
    string(REGEX MATCH "^[0-9]+" number ${arch})
    if(least MATCHES "a$")
      string(REGEX MATCH "^${least}(-real)?$" good "${arch}")
    else()
      set(good FALSE)
      if(number GREATER_EQUAL least_number)
        set(good TRUE)
      endif()
    endif()
    if(good)
      list(APPEND chosen ${arch})
    endif()
  endforeach()
  set(${result} "${chosen}" PARENT_SCOPE)
endfunction()

function(step_for_cuda)
  archs_from(${step_ARCH} archs)
  if(NOT archs)
    message(STATUS "${name} is left out: it needs compute capability ${step_ARCH}, and the build is for "
      "${CMAKE_CUDA_ARCHITECTURES}")
    return()
  endif()
  # Hidden, and no symbol unique in the process: identical kernels of two steps must never merge.
  add_library(${name}_kernel OBJECT ${source})
  set_target_properties(${name}_kernel PROPERTIES CUDA_ARCHITECTURES "${archs}" CUDA_VISIBILITY_PRESET hidden
    POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${name}_kernel PRIVATE -lineinfo -Xcompiler=-Wall,-Wextra
    $<$<CXX_COMPILER_ID:GNU>:-Xcompiler=-fno-gnu-unique>)
  # Not by CUDA_STANDARD: for CMake before 3.26, nvcc has no C++20.
  set_property(TARGET ${name}_kernel PROPERTY CUDA_STANDARD)
  target_compile_options(${name}_kernel PRIVATE -std=c++20)
  target_link_libraries(${name}_kernel PRIVATE common)

  add_executable(${name} $<TARGET_OBJECTS:${name}_kernel>)
  add_library(${name}_shared SHARED $<TARGET_OBJECTS:${name}_kernel>)
  set_target_properties(${name}_shared PROPERTIES OUTPUT_NAME ${name} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  target_link_options(${name}_shared PRIVATE LINKER:--exclude-libs,ALL)
  foreach(target ${name} ${name}_shared)
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
    target_link_libraries(${target} PRIVATE common)
  endforeach()
  # A program built means a library built: bench/peers.py loads the one, and asks the other.
  add_dependencies(${name} ${name}_shared)
endfunction()

# ---- steps.json ----

function(json_string text result)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  set(${result} "\"${text}\"" PARENT_SCOPE)
endfunction()

function(json_list result)
  set(items)
  foreach(item IN LISTS ARGN)
    json_string("${item}" item)
    list(APPEND items "${item}")
  endforeach()
  list(JOIN items ", " items)
  set(${result} "[${items}]" PARENT_SCOPE)
endfunction()

function(step_to_json)
  json_string("${step_IDEA}" idea)
  json_string("${step_CHAPTER}" chapter)
  json_list(from ${step_FROM})
  json_list(variants ${step_VARIANTS})
  json_list(spills ${step_SPILLS})
  file(READ ${source} text)
  set(row_bytes 0)
  if(text MATCHES "\\.row_bytes = ([0-9]+)")
    set(row_bytes ${CMAKE_MATCH_1})
  endif()
  string(REGEX MATCH "\\.dtypes? = [^\n]+" dtypes "${text}")
  string(REGEX MATCHALL "[A-Z]+[0-9]+" dtypes "${dtypes}")
  string(TOLOWER "${dtypes}" dtypes)
  json_list(dtypes ${dtypes})
  string(CONCAT entry
    "  {\"name\": \"${name}\", \"number\": \"${number}\", \"dir\": \"steps/${name}\",\n"
    "   \"idea\": ${idea},\n"
    "   \"from\": ${from}, \"arch\": \"${step_ARCH}\", \"chapter\": ${chapter},\n"
    "   \"operation\": \"${step_OPERATION}\", \"dtypes\": ${dtypes}, \"row_bytes\": ${row_bytes}, \"variants\": ${variants},\n"
    "   \"spills\": ${spills}},\n")
  set_property(GLOBAL APPEND_STRING PROPERTY STEPS_JSON "${entry}")  # a string: a list would split at an idea's `;`
endfunction()

function(write_steps_json path)
  get_property(steps GLOBAL PROPERTY STEPS_JSON)
  string(REGEX REPLACE ",\n$" "\n" steps "${steps}")
  file(GENERATE OUTPUT ${path} CONTENT "{\"steps\": [\n${steps}]}\n")
endfunction()
