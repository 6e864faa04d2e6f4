#!/usr/bin/env bash
# The feature-list Stop hook in bash and jq, as a careful engineer would write it: the yardstick for ours.
# Runs on bash 3.2 and the tools of GNU and macOS. One jq per document read or written.
set -euo pipefail

payload=$(cat)
session='' cwd='' transcript=''
eval "$(jq -r '@sh "session=\(.session_id // "") cwd=\(.cwd // "") transcript=\(.transcript_path // "")"' \
  <<<"$payload" 2>/dev/null)" || exit 0
[ -n "$cwd" ] || exit 0

loop=${RALPH_LOOP_DIR:-.claude/data/ralph-loops/current}
case $loop in /*) ;; *) loop=$cwd/$loop ;; esac
list=$loop/feature_list.json
progress=$loop/progress.txt
[ -f "$list" ] && [ -f "$progress" ] || exit 0

log() {
  printf '[%s] session %s: %s\n' "$(date '+%Y-%m-%d %H:%M:%S')" "$session" "$1" >>"$loop/hook.log"
}

last_message() {
  # The tail begins inside a line as a rule; `fromjson?` drops that piece.
  [ -f "$transcript" ] || return 0
  tail -c 65536 "$transcript" | jq -rnR '
    [inputs | fromjson? | select(.type == "assistant") | .message.content[]? | select(.type == "text") | .text]
    | last // ""'
}

set_progress() {
  local temporary=$progress.$$.tmp
  awk -v status="$1" -v iteration="$2" '
    /^Status:/    { print "Status: " status; seen_status = 1; next }
    /^Iteration:/ { print "Iteration: " iteration; seen_iteration = 1; next }
                  { print }
    END {
      if (!seen_status) print "Status: " status
      if (!seen_iteration) print "Iteration: " iteration
    }' "$progress" >"$temporary"
  mv -f "$temporary" "$progress"
}

remaining='' total='' id='' description=''
eval "$(jq -r '
  [.features[] | select(.passes != true)] as $open
  | @sh "remaining=\($open | length) total=\(.features | length)",
    @sh "id=\($open[0].id // "") description=\($open[0].description // "")"' "$list" 2>/dev/null)" || true
if [ -z "$remaining" ]; then
  log 'ERROR: feature_list.json does not parse'
  exit 0
fi

read -r iteration limit < <(awk '
  /^Iteration:/      { iteration = $2 }
  /^Max Iterations:/ { limit = $3 }
  END { print iteration ? iteration : 1, limit ? limit : 15 }' "$progress")
said=$(last_message)
said=${said//$'\n'/ }

if [ "$remaining" -eq 0 ]; then
  set_progress COMPLETE "$iteration"
  log "COMPLETE: $total features"
  jq -nc --arg total "$total" \
    '{continue: true, systemMessage: "Ralph Loop COMPLETE! All \($total) features verified."}'
elif [ "$iteration" -ge "$limit" ]; then
  set_progress REACHED_LIMIT "$iteration"
  log "REACHED_LIMIT: $remaining of $total remain after $limit iterations"
  jq -nc --arg limit "$limit" --arg remaining "$remaining" \
    '{continue: true, systemMessage: "Ralph Loop reached max iterations (\($limit)). \($remaining) features remain."}'
else
  iteration=$((iteration + 1))
  set_progress IN_PROGRESS "$iteration"
  log "CONTINUE: iteration $iteration, feature $id, $remaining of $total remain; last said: ${said:0:120}"
  jq -nc --arg iteration "$iteration" --arg id "$id" --arg description "$description" '{
    decision: "block",
    reason: ("Ralph Loop iteration \($iteration): Continue with Feature \($id) - \($description). "
      + "Review feature_list.json for steps, implement the feature, verify it works, set passes: true, "
      + "commit, and update progress.txt.")}'
fi
