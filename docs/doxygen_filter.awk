# Makes the headers' plain comments into ones that Doxygen reads: what stands before a declaration, or behind it on the
# line, tells of it; what opens the file tells of the file; indented lines are an example or a table.
function escaped(text,    parts, n, i, out) {
  n = split(text, parts, "`")
  for (i = 1; i <= n; ++i) {
    if (i % 2 == 1) gsub(/[\\@<>&#%$]/, "\\\\&", parts[i])
    out = out (i > 1 ? "`" : "") parts[i]
  }
  return out
}
# A line of a comment, without its `//`.
function say(text) {
  if (text ~ /^- /) in_list = 1
  else if (text !~ /^  /) in_list = 0
  if (!in_list && text ~ /^  / && text ~ /[^ ]/) {
    if (!verbatim) print "/// @verbatim"
    verbatim = 1
    print "/// " text
    return
  }
  if (verbatim && text !~ /[^ ]/) { print "///"; return }
  leave_verbatim()
  print "/// " escaped(text)
}
function leave_verbatim() {
  if (verbatim) print "/// @endverbatim"
  verbatim = 0
}
FNR == 1 { opening = 1; print "/// @file" }
# C: whole comments, on lines of their own.
/^[ \t]*\/\*/ || in_c {
  text = $0
  begins = !in_c
  in_c = text !~ /\*\//
  sub(/^[ \t]*\/\*[ \t]?/, "", text)
  sub(/[ \t]*\*\/.*/, "", text)
  # What is below the first line stands three columns in.
  if (!begins) sub(/^   /, "", text)
  if (text ~ /^--- .* ---$/) next
  say(text)
  if (!in_c) leave_verbatim()
  next
}
/^[ \t]*\/\// {
  text = $0
  sub(/^[ \t]*\/\/ ?/, "", text)
  if (text ~ /^--- .* ---$/) next
  say(text)
  next
}
{ leave_verbatim() }
/^#pragma once/ && opening { opening = 0; print "" }
# Behind a declaration.
/[^ \t].*[^:"]\/\/ / && !/^[ \t]*#/ {
  at = index($0, "// ")
  print substr($0, 1, at - 1) "///< " escaped(substr($0, at + 3))
  next
}
{ print }
