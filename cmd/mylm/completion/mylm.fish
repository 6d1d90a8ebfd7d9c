# Completion of mylm for fish. Load it with: mylm completion fish | source

function __mylm_complete
    set -l words (commandline -opc)
    set -l cur (commandline -ct)
    set -l flag (string match -r -- '^-[^=]*=' $cur) # before the name of a file
    set -l path (string replace -r -- '^-[^=]*=' '' $cur)
    for line in ($words[1] __complete "=$cur" $words[2..-1] 2>/dev/null)
        switch $line
            case :files
                string replace -r -- '^' "$flag" (__fish_complete_path $path)
            case :dirs
                string replace -r -- '^' "$flag" (__fish_complete_directories $path '')
            case '*'
                echo $line
        end
    end
end

complete -c mylm -e
complete -c mylm -f -k -a '(__mylm_complete)'
