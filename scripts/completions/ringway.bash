# Completions of ringway for bash: the command itself knows the names that exist. bash breaks words at ':' and '=', which names of
# ports have, so words that no blank parts are joined here, and answers lose what stands before the last break.
_ringway() {
	local rest=${COMP_LINE:0:COMP_POINT} words=() word blanks i
	for ((i = 0; i <= COMP_CWORD; i++)); do
		blanks=${rest%%[![:space:]]*}
		rest=${rest#"$blanks"}
		word=${COMP_WORDS[i]}
		((i < COMP_CWORD)) || word=$rest
		rest=${rest#"$word"}
		if ((i > 0)) && [[ -z $blanks ]]; then
			words[${#words[@]} - 1]+=$word
		else
			words+=("$word")
		fi
	done
	local last=$((${#words[@]} - 1)) before=
	case ${words[last]} in
	[\'\"]*) ;;
	*[:=]*) before=${words[last]%"${words[last]##*[:=]}"} ;;
	esac
	words=("${words[@]#[\'\"]}")
	mapfile -t COMPREPLY < <(RINGWAY_COMPLETE=bash _CLAP_IFS=$'\n' _CLAP_COMPLETE_INDEX=$last "${COMP_WORDS[0]}" -- "${words[@]}" 2>/dev/null)
	COMPREPLY=("${COMPREPLY[@]#"$before"}")
	# More is to follow these.
	if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} =~ [=/:]$ ]]; then
		compopt -o nospace
	fi
}
complete -o bashdefault -F _ringway ringway
