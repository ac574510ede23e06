# Completion of lockstep for fish. Asks --help, so that it knows what this version knows.
function __lockstep_commands
    lockstep --help 2>/dev/null | sed -n '/^Subcommands:/,$s/^  \([a-z]\{1,\}\)  *\(.*\)/\1\t\2/p'
end
function __lockstep_options
    set -l words (commandline -opc)
    test (count $words) -ge 2; and lockstep $words[2] --help 2>/dev/null | grep -oE '^ +-[^ ]+' | tr ', ' '\n\n' | grep -E '^-'
end
function __lockstep_devices
    lockstep devices 2>/dev/null | tail -n +2 | grep -oE '^[a-z]+[0-9]*' | sort -u
end
function __lockstep_value_of
    contains -- (commandline -opc)[-1] $argv
end
complete -c lockstep -n '__fish_use_subcommand' -f -a '(__lockstep_commands)'
complete -c lockstep -n 'not __fish_use_subcommand; and string match -q -- "-*" (commandline -ct)' -f -a '(__lockstep_options)'
complete -c lockstep -n '__lockstep_value_of -d --device' -f -a '(__lockstep_devices)'
complete -c lockstep -n '__lockstep_value_of --engine' -f -a 'auto interpreter translator'
complete -c lockstep -n '__lockstep_value_of -w --wave' -f -a '32 64'
