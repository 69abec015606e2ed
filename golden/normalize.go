package golden

import (
	"regexp"
	"slices"
	"strings"
)

// The one normaliser: what differs from run to run is replaced by a name in
// angle brackets. A gap after a replaced word keeps the columns where they were.

type rule struct {
	pattern *regexp.Regexp
	with    string
}

var rules = []rule{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<uid>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`), "<time>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)? [+-]\d{4}( \w+)?`), "<time>"},
	{regexp.MustCompile(`(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}`), "<time>"},
	{regexp.MustCompile(`[EWI]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ `), "<klog> "},
	{regexp.MustCompile(`\.go:\d+\]`), ".go]"},
	{regexp.MustCompile(`(?m)^<klog> (reflector|websocket|v2)\.go\].*\n`), ""}, // how a stream ends depends on who is quicker
	{regexp.MustCompile(`https?://(127\.0\.0\.1|localhost|\[::1\]):\d+`), "<server>"},
	{regexp.MustCompile(`(127\.0\.0\.1|\[::1\]):\d{4,5}\b`), "<address>"},
	{regexp.MustCompile(`\b10\.\d+\.\d+\.\d+\b`), "<ip>"},
	{regexp.MustCompile(`simulated://[0-9a-f]{64}`), "simulated://<id>"},
	{regexp.MustCompile(`(X509SHA256=)[0-9a-f]{64}`), "$1<hash>"},
	{regexp.MustCompile(`eyJ[\w-]+\.[\w-]+\.[\w-]+`), "<token>"},
	{regexp.MustCompile(`LS0t[A-Za-z0-9+/=]{40,}`), "<pem>"},
	{regexp.MustCompile(`-----BEGIN [A-Z ]+-----[\s\S]*?-----END [A-Z ]+-----`), "<pem>"},
	{regexp.MustCompile(`\b(LIVE|MERGED)-\d+\b`), "$1"},
	{regexp.MustCompile(`(debugger|-edit|kubectl-edit|kubectl-diff)-[a-z0-9]{5,10}\b`), "$1-<suffix>"},
	{regexp.MustCompile(`([a-z0-9])-[bcdfghjklmnpqrstvwxz2456789]{5}\b`), "$1-<suffix>"},
	{regexp.MustCompile(`kube-api-access-\w{5}`), "kube-api-access-<suffix>"},
	{regexp.MustCompile(`(^|[^a-z0-9.-])node-\d+\b`), "$1<node>"},
	{regexp.MustCompile(`:3\d{4}/`), ":<nodePort>/"},
	{regexp.MustCompile(`(NodePort: +(<unset>|\S+) +)3\d{4}/`), "$1<nodePort>/"},
	{regexp.MustCompile(`(nodePort"?: )3\d{4}`), "$1<nodePort>"},
	{regexp.MustCompile(`(Resource Version: +)\d+`), "$1<rv>"},
	{regexp.MustCompile(`(resourceVersion\\?"?[:=] ?\\?"?)[1-9]\d*`), "$1<rv>"},
	{regexp.MustCompile(`(continue\\?"?[:=] ?\\?"?)[A-Za-z0-9_-]{16,}`), "$1<continue>"},
	{regexp.MustCompile(`(hash=)[0-9A-F]{32,}`), "$1<hash>"},
	{regexp.MustCompile(`(timeoutSeconds=)\d{3}\b`), "$1<n>"},
	{regexp.MustCompile(`\(x\d+ over (\d+[smhdy])+\)`), ""},
}

// age is apart from the rules: Go has no look-behind, and words such as "8d" in
// the middle of a name must stay.
var age = regexp.MustCompile(`(?m)(^|[ \t(])((?:\d{1,2}m|\d+[shdy]){1,2}|<invalid>|<unknown>)($|[ \t)\n])`)

// selectors are the terms of a selector in a query. Clients build them from a
// map, in no certain order.
var selectors = regexp.MustCompile(`fieldSelector=[^& ]+%2C[^& ]+`)

func sortTerms(query string) string {
	name, terms, _ := strings.Cut(query, "=")
	list := strings.Split(terms, "%2C")
	slices.Sort(list)
	return name + "=" + strings.Join(list, "%2C")
}

// Normalize makes two runs of one command comparable.
func Normalize(text string) string {
	for _, r := range rules {
		text = replaceKeepingColumns(text, r.pattern, r.with)
	}
	text = selectors.ReplaceAllStringFunc(text, sortTerms)
	text = replaceKeepingColumns(text, age, "$1<age>$3")
	return replaceKeepingColumns(text, age, "$1<age>$3") // neighbours share a space
}

// replaceKeepingColumns is ReplaceAllString that widens or narrows the gap
// after a replaced word by what the word's length changed.
func replaceKeepingColumns(text string, pattern *regexp.Regexp, with string) string {
	var b strings.Builder
	at := 0
	for _, m := range pattern.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(text[at:m[0]])
		word := string(pattern.ExpandString(nil, with, text, m))
		b.WriteString(word)
		at = m[1]
		rest := text[at:]
		gap := len(rest) - len(strings.TrimLeft(rest, " "))
		if strings.HasSuffix(word, " ") {
			gap++
		}
		if gap >= 2 && gap < len(rest) {
			want := gap + (m[1] - m[0]) - len(word)
			for ; want > gap; want-- {
				b.WriteByte(' ')
			}
			for ; want < gap && gap > 1 && at < len(text) && text[at] == ' '; gap-- {
				at++
			}
		}
	}
	b.WriteString(text[at:])
	return b.String()
}
