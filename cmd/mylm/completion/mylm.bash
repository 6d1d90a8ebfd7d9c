# Completion of mylm for bash. Load it with: source <(mylm completion bash)

_mylm() {
    # bash cuts words at characters such as ":" and "=", which names of models
    # contain: join what no white space separates.
    local rest=${COMP_LINE:0:COMP_POINT} words=() spaces word i
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        spaces=${rest%%[![:space:]]*}
        rest=${rest#"$spaces"}
        if ((i == COMP_CWORD && ${#rest} < ${#word})); then
            word=$rest # the cursor is in the middle of it
        fi
        if ((i == 0)) || [[ -n $spaces ]]; then
            words+=("$word")
        else
            words[${#words[@]}-1]+=$word
        fi
        rest=${rest#"$word"}
    done
    local cur=${words[${#words[@]}-1]}
    unset "words[${#words[@]}-1]"

    local line values=() abouts=() files=
    while IFS= read -r line; do
        case $line in
        :*) files=${line#:} ;;
        *)
            values+=("${line%%$'\t'*}")
            if [[ $line == *$'\t'* ]]; then abouts+=("${line#*$'\t'}"); else abouts+=(""); fi
            ;;
        esac
    done < <("${words[0]/#\~/$HOME}" __complete "=$cur" "${words[@]:1}" 2>/dev/null)

    # Only what is behind the last such character is replaced.
    local cut= width=0
    for ((i = 0; i < ${#cur}; i++)); do
        case ${cur:i:1} in
        [:=]) [[ $COMP_WORDBREAKS == *"${cur:i:1}"* ]] && cut=${cur:0:i+1} ;;
        esac
    done
    COMPREPLY=()
    for ((i = 0; i < ${#values[@]}; i++)); do
        COMPREPLY+=("${values[i]#"$cut"}")
        if ((${#COMPREPLY[i]} > width)); then width=${#COMPREPLY[i]}; fi
    done
    # A list shows what each is about. Menus (%) and insertions (*) are none.
    if ((${#values[@]} > 1)) && [[ ${COMP_TYPE:-9} != 37 && ${COMP_TYPE:-9} != 42 ]]; then
        for ((i = 0; i < ${#values[@]}; i++)); do
            if [[ -n ${abouts[i]} ]]; then
                printf -v line "%-${width}s  (%s)" "${COMPREPLY[i]}" "${abouts[i]}"
                COMPREPLY[i]=${line:0:${COLUMNS:-80}}
            fi
        done
    fi
    if ((BASH_VERSINFO[0] >= 4)); then
        case $files in
        files) compopt -o default ;;
        dirs) compopt -o dirnames ;;
        *) compopt +o default ;;
        esac 2>/dev/null
        compopt -o nosort 2>/dev/null
    fi
}

complete -o default -F _mylm mylm
