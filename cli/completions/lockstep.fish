# Completion of lockstep for fish. Asks --help, so that it knows what this version knows.
function __lockstep_commands
    lockstep --help 2>/dev/null | sed -n '/^Subcommands:/,$s/^  \([a-z]\{1,\}\)  *\(.*\)/\1\t\2/p'
end
function __lockstep_options
    set -l words (commandline -opc)
    test (count $words) -ge 2; and lockstep $words[2] --help 2>/dev/null | grep -oE '^ +-[^ ]+' | tr ', ' '\n\n' | grep -E '^-'
end
complete -c lockstep -n '__fish_use_subcommand' -f -a '(__lockstep_commands)'
complete -c lockstep -n 'not __fish_use_subcommand; and string match -q -- "-*" (commandline -ct)' -f -a '(__lockstep_options)'
