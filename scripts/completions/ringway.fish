# Completions of ringway for fish: the command itself knows the names that exist.
complete --keep-order --exclusive --command ringway --arguments "(RINGWAY_COMPLETE=fish ringway -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
