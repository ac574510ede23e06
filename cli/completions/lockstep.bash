# Completion of lockstep for bash (and zsh: autoload -U bashcompinit && bashcompinit). Asks --help, so that it knows what
# this version knows.
_lockstep() {
  local word=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]} command=${COMP_WORDS[1]}
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    local commands
    commands=$("$program" --help 2>/dev/null | sed -n '/^Subcommands:/,$s/^  \([a-z]\{1,\}\) .*/\1/p')
    mapfile -t COMPREPLY < <(compgen -W "$commands --help --version" -- "$word")
    return
  fi
  if [[ $word == -* ]]; then
    local options
    options=$("$program" "$command" --help 2>/dev/null | grep -oE '^ +-[^ ]+' | tr ', ' '\n\n' | grep -E '^-')
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    return
  fi
  case ${COMP_WORDS[COMP_CWORD - 1]} in
    -d | --device)
      mapfile -t COMPREPLY < <(compgen -W "$("$program" devices 2>/dev/null | tail -n +2 | grep -oE '^[a-z]+[0-9]*' | sort -u)" -- "$word") ;;
    --engine) mapfile -t COMPREPLY < <(compgen -W "auto interpreter translator" -- "$word") ;;
    -w | --wave) mapfile -t COMPREPLY < <(compgen -W "32 64" -- "$word") ;;
  esac
  ((${#COMPREPLY[@]})) || compopt -o default 2>/dev/null
}
complete -F _lockstep lockstep
