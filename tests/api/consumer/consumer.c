/* A program in C: the interface is C99. */
#include <lockstep.h>
#include <stdio.h>

int main(void) {
  lockstep_device_options options;
  lockstep_device* device = NULL;
  lockstep_device_info info = {0};
  lockstep_device_options_init(&options);
  options.name = "navi31";
  info.struct_size = sizeof info;
  if (lockstep_device_create(&options, &device) != LOCKSTEP_OK ||
      lockstep_device_get_info(device, &info) != LOCKSTEP_OK) {
    fprintf(stderr, "%s\n", lockstep_last_error());
    return 1;
  }
  printf("%s, %u compute units: good\n", info.target, info.compute_units);
  lockstep_device_destroy(device);
  return 0;
}
