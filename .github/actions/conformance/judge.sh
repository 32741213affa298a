#!/usr/bin/env bash
# Runs the suite as the inputs of the action say, and writes all reports.
set -uo pipefail

command="$RUNNER_TEMP/conformance/bin/bookkeeper-conformance"
mkdir -p "$REPORTS"
eval "arguments=($ARGUMENTS)" # the author of the workflow wrote them, as words of a shell
words=("$ROLE")
[ -n "$ADDRESS" ] && words+=(--address "$ADDRESS")
[ -n "$TARGET" ] && words+=(--target "$TARGET")
words+=("${arguments[@]}")
for form in json html pcap badge; do
  suffix=$([ "$form" = badge ] && echo svg || echo "$form")
  words+=("--$form" "$REPORTS/conformance-$ROLE.$suffix")
done
words+=(--junit "$REPORTS/conformance-$ROLE.xml" --markdown "$GITHUB_STEP_SUMMARY")
if [ -n "$DRIVER" ]; then
  eval "driver=($DRIVER)"
  words+=(-- "${driver[@]}")
fi

"$command" "${words[@]}"
code=$?
echo "exit-code=$code" >> "$GITHUB_OUTPUT"
exit "$code"
