# Fails if an object has weak symbols: the linker could merge them with the copy made for another host instruction set,
# and run AVX-512 code on a processor without it. Exempt is what holds no vector code: what the compiler adds for exceptions,
# and numeric's constant tables, which are the same bytes in every copy.
foreach(object IN LISTS OBJECTS)
  execute_process(COMMAND ${NM} --format=posix --defined-only ${object} OUTPUT_VARIABLE symbols RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${NM} failed on ${object}")
  endif()
  string(REPLACE "\n" ";" lines "${symbols}")
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "^([^ ]+) [WwVv] " OR line MATCHES "^_ZN8lockstep7numeric6detail[0-9]+k[A-Za-z]+E [Vv] ")
      continue()
    endif()
    string(REGEX REPLACE " .*" "" name "${line}")
    if(NOT name MATCHES "^(__clang_call_terminate|DW\\.ref\\..*)$")
      message(SEND_ERROR "${object}: weak symbol ${name}; give it internal linkage or move it out of the vector files")
    endif()
  endforeach()
endforeach()
