# Which architectures to build for: those of the GPUs in this machine; where there is none, every one the steps speak
# of (Turing, Ampere, Hopper) and PTX of compute capability 8.0 for what came later. 9.0 means sm_90a: wgmma exists
# there and nowhere else.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                  OUTPUT_VARIABLE capabilities ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed AND capabilities MATCHES "[0-9]")
    string(REGEX MATCHALL "[0-9]+\\.[0-9]" capabilities "${capabilities}")
    foreach(capability IN LISTS capabilities)
      string(REPLACE "." "" architecture "${capability}")
      if(architecture STREQUAL 90)
        set(architecture 90a)
      endif()
      list(APPEND architectures "${architecture}-real")
    endforeach()
    list(REMOVE_DUPLICATES architectures)
  else()
    set(architectures 75-real 80-real 90a-real 80-virtual)
  endif()
  set(CMAKE_CUDA_ARCHITECTURES "${architectures}" CACHE STRING "what nvcc builds for")
endif()
message(STATUS "CUDA architectures: ${CMAKE_CUDA_ARCHITECTURES}")

if(NOT CMAKE_CUDA_COMPILER)
  find_program(CMAKE_CUDA_COMPILER nvcc PATHS /usr/local/cuda/bin ENV CUDA_HOME PATH_SUFFIXES bin)
endif()
if(NOT CMAKE_CUDA_COMPILER)
  message(FATAL_ERROR "The cuda preset needs nvcc of CUDA Toolkit 12.4 or newer, which was not found. "
                      "Without it: cmake --preset cpu")
endif()
enable_language(CUDA)
find_package(CUDAToolkit 12.4 REQUIRED)
