# Sourced by the registered command, with $rl_guard (this file), $rl_as (who registered it), $rl_layouts and $rl_on
# set: the last for a prompt of the person, a slash command of ours, or a hook that may wake the session.
# Leaves at once when the project has no loop; shell built-ins only until there is a file to read, because
# this runs at the end of every turn of every session. It may be wrong in one direction only: starting
# Python. The project may be anybody's: of its files, one block of a regular one is read.

rl_state=${XDG_STATE_HOME:-}
case $rl_state in
/*) ;;
*) rl_state=${HOME:-}/.local/state ;;
esac
rl_state=$rl_state/ralphloop

# Whether the state directory lies in the folder $1 or in the repository around it: a project's settings can
# set HOME and XDG_STATE_HOME, and then it would be the project that names the interpreter.
rl_is_within() {
  cd -P "$1" 2>/dev/null || return 1
  rl_top=$PWD
  rl_up=$PWD
  while [ -n "$rl_up" ]; do
    [ -e "$rl_up/.git" ] && rl_top=$rl_up
    rl_up=${rl_up%/*}
  done
  cd -P "$rl_state" 2>/dev/null || return 1
  case $PWD in "${rl_top%/}"/*) return 0 ;; esac
  return 1
}

rl_start() {
  rl_python=
  rl_here=$PWD
  case $rl_state in
  /*)
    if [ -r "$rl_state/python" ] && ! rl_is_within "$rl_here" && ! rl_is_within "${CLAUDE_PROJECT_DIR:-$rl_here}"; then
      IFS= read -r rl_python <"$rl_state/python"
    fi
    ;;
  esac
  cd "$rl_here" 2>/dev/null
  { [ -f "$rl_python" ] && [ -x "$rl_python" ]; } || rl_python=python3
  command -v "$rl_python" >/dev/null 2>&1 || exit 0
  # Without its script Python would exit with 2, which the client takes for a block.
  [ -r "${rl_guard%/*}/launch.py" ] || exit 0
  # shellcheck disable=SC2086 # the layouts are words of their own
  exec "$rl_python" -I -S "${rl_guard%/*}/launch.py" "$rl_as" $rl_layouts ${rl_on:-}
}

# Start unless the stamp $2 is there and has the time of $1.
rl_like() {
  [ -f "$2" ] || rl_start
  [ "$1" -nt "$2" ] && rl_start
  [ "$1" -ot "$2" ] && rl_start
  return 0
}

# Start if this loop file exists, unless it is just as an ended loop left it (same time as its stamp).
rl_file() {
  [ -e "$1" ] || return 0
  rl_like "$1" "$rl_state/by-path$1"
}

# The same for every list in the folder $1. Where each has a stamp and each stamp its list, the stamps are looked
# at from their own folder: of many lists it is the long paths that cost.
rl_lists() {
  rl_path=$1
  if [ -d "$rl_state/by-path$1" ]; then
    rl_here=$PWD
    rl_text=
    cd "$1" 2>/dev/null && set -- */feature_list.json && rl_text=$* && set --
    cd "$rl_state/by-path$rl_path" 2>/dev/null && set -- */feature_list.json
    if [ "$rl_text" = "$*" ]; then
      for rl_name; do
        [ "$rl_path/$rl_name" -nt "$rl_name" ] || [ "$rl_path/$rl_name" -ot "$rl_name" ] || continue
        cd "$rl_here" 2>/dev/null
        rl_start
      done
      cd "$rl_here" 2>/dev/null
      return 0
    fi
    cd "$rl_here" 2>/dev/null
  fi
  for rl_path in "$rl_path"/*/feature_list.json; do
    [ -e "$rl_path" ] && rl_like "$rl_path" "$rl_state/by-path$rl_path"
  done
}

# Read a short text file into $rl_text; start if it cannot be read or is as long as the block. `read` would
# go byte by byte to a newline that may never come. The outer redirection is for bash, which reports NULs.
rl_read() {
  { rl_text=$(dd if="$1" bs=4096 count=1 2>/dev/null); } 2>/dev/null || rl_start
  [ ${#rl_text} -lt 4096 ] || rl_start
}

# Start if this pointer leads to a state file: $1 pointer, $2 folder of bare names, $3 the state's name.
rl_pointer() {
  { [ -f "$1" ] && [ -s "$1" ]; } || return 0
  rl_read "$1"
  case $rl_text in
  '' | *[!A-Za-z0-9._/-]*) rl_start ;;
  ./*) rl_file "$rl_dir/${rl_text#./}/$3" ;;
  /*) rl_file "$rl_text/$3" ;;
  *) rl_file "$2/$rl_text/$3" ;;
  esac
}

# Start if these settings name other folders. Prose may hold characters of several bytes, so it is dd that
# tells whether the block was full (`1+0 records in`), and not the length of the text.
rl_settings() {
  [ -f "$1" ] || return 0
  { rl_text=$(dd if="$1" bs=4096 count=1 2>&1); } 2>/dev/null || rl_start
  case $rl_text in *specs_dirs* | *1+0*) rl_start ;; esac
}

# Start if this session has ended a loop here ($1): one look by its name, where all that has ended is noted.
rl_ended() {
  [ -d "$1/ended" ] || return 0
  rl_like "$1/ended" "$1/last/.known"
  # Every letter, because a range is what the locale takes for one. Python writes other names in another way.
  case $CLAUDE_CODE_SESSION_ID in
  *[!abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-]*) rl_start ;;
  esac
  [ ${#CLAUDE_CODE_SESSION_ID} -le 200 ] || rl_start
  [ -e "$1/last/$CLAUDE_CODE_SESSION_ID" ] && rl_start
  return 0
}

# Look at one folder, $rl_dir (empty for the root of the file system).
rl_look() {
  for rl_path in "$rl_state/by-path$rl_dir/@ralph/owned/"*.json "$rl_state/by-path$rl_dir/@ralph/armed/"*.json; do
    [ -e "$rl_path" ] && rl_start
  done
  # A status line, and a prompt that may be an approval, also concern the loop of this session that has ended.
  case $rl_as:${rl_on:-}:${CLAUDE_CODE_SESSION_ID:-} in
  statusline:*:?* | *:prompt:?*) rl_ended "$rl_state/by-path$rl_dir/@ralph" ;;
  esac
  case $rl_layouts in
  *features*)
    [ -d "$rl_dir/.ralph/loops" ] && rl_lists "$rl_dir/.ralph/loops"
    [ -d "$rl_dir/.claude/data/ralph-loops" ] && rl_lists "$rl_dir/.claude/data/ralph-loops"
    [ -z "${RALPH_LOOP_DIR:-}" ] || rl_file "$rl_dir/$RALPH_LOOP_DIR/feature_list.json"
    ;;
  esac
  case $rl_layouts in
  *specum*)
    rl_settings "$rl_dir/.claude/ralph-specum.local.md"
    rl_pointer "$rl_dir/specs/.current-spec" "$rl_dir/specs" .ralph-state.json
    ;;
  esac
  case $rl_layouts in
  *speckit*)
    rl_pointer "$rl_dir/.specify/.current-feature" "$rl_dir/.specify/specs" .speckit-state.json
    ;;
  esac
}

# Look at the folder, at each one above it, and at the main checkout of a worktree on the way.
rl_walk() {
  rl_dir=${1%/}
  while :; do
    rl_look
    if [ -f "$rl_dir/.git" ]; then
      rl_read "$rl_dir/.git"
      rl_name=${rl_text#gitdir: }
      case $rl_name in
      /*/.git/worktrees/*)
        rl_below=$rl_dir
        rl_dir=$(cd -P "${rl_name%/.git/worktrees/*}" 2>/dev/null && pwd) && rl_look
        rl_dir=$rl_below
        ;;
      *.git/worktrees/*) rl_start ;;
      esac
    fi
    [ -n "$rl_dir" ] || break
    rl_dir=${rl_dir%/*}
  done
}

case ${HOME:-} in /*) ;; *) rl_start ;; esac
[ "${rl_on:-}" != typed ] || rl_start
case ${RALPH_LOOP_DIR:-} in /*) rl_file "$RALPH_LOOP_DIR/feature_list.json" ;; esac
cd -P . 2>/dev/null
rl_walk "$PWD"
if [ -n "${CLAUDE_PROJECT_DIR:-}" ] && [ "$CLAUDE_PROJECT_DIR" != "$PWD" ]; then
  rl_walk "$(cd -P "$CLAUDE_PROJECT_DIR" 2>/dev/null && pwd || printf %s "$CLAUDE_PROJECT_DIR")"
fi
exit 0
