# Sourced by the scripts of `make test`: `step NAME` begins a step, and says how long the one before took.
step_name=
step() {
  step_now=$(date +%s)
  test -z "$step_name" || printf '== %s: %d s\n' "$step_name" $((step_now - step_begun))
  step_name=$1 step_begun=$step_now
  test -z "$step_name" || printf '== %s\n' "$step_name"
}
