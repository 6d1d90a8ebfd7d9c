#compdef mylm
# Completion of mylm for zsh. Load it behind compinit: source <(mylm completion zsh)

_mylm() {
    local line value about files
    local -a values
    while IFS= read -r line; do
        case $line in
        (:*) files=${line#:} ;;
        (*)
            value=${line%%$'\t'*}
            about=
            [[ $line == *$'\t'* ]] && about=${line#*$'\t'}
            values+=("${value//:/\\:}${about:+:$about}")
            ;;
        esac
    done < <(${(Q)~words[1]} __complete "=${(Q)PREFIX}" "${(@Q)words[2,CURRENT-1]}" 2>/dev/null)

    (( $#values )) && _describe -V -t values mylm values
    case $files in
    (files)
        [[ $PREFIX == -*=* ]] && compset -P '*='
        _files
        ;;
    (dirs)
        [[ $PREFIX == -*=* ]] && compset -P '*='
        _files -/
        ;;
    esac
}

if [[ $funcstack[1] == _mylm ]]; then
    _mylm "$@" # autoloaded from fpath
else
    compdef _mylm mylm
fi
