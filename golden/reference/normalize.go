package main

// What may differ between two runs of one server, replaced by a name for it; and
// the comparison of what is left.

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"
)

var (
	reTime      = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	reUUID      = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	reClusterIP = regexp.MustCompile(`^10\.96\.\d+\.\d+$`)
	reNodePort  = regexp.MustCompile(`\b(\d+):3\d{4}/`)
	reAge       = regexp.MustCompile(`^(\d+[smhdy])+$`)
	reAccess    = regexp.MustCompile(`kube-api-access-\w{5}\b`)
	reRevision  = regexp.MustCompile(`resourceVersion(\\*)":(\\*)"\d+`)
	reSuffix    = regexp.MustCompile(`(\w)-[bcdfghjklmnpqrstvwxz2456789]{5}\b`)
	reHash      = regexp.MustCompile(`hash=[0-9A-F]+`)
	reTooOld    = regexp.MustCompile(`(too old resource version: )\d+ \(\d+\)`)
	reServer    = regexp.MustCompile(`127\.0\.0\.1:\d{4,5}\b`)
	reScheme    = regexp.MustCompile(`in scheme "[^"]*"`) // a place in upstream's source, which depends on how it was built
	reToken     = regexp.MustCompile(`^eyJ[\w-]+\.([\w-]+)\.[\w-]+$`)
	reNumber    = regexp.MustCompile(`\b\d{10}\b`)
	reCurrent   = regexp.MustCompile(`(current: )\d+`)
	reCompared  = regexp.MustCompile(`(ResourceVersion in (?:the precondition \(|record \(|precondition: |object meta: ))\d+`)
	reDamaged   = regexp.MustCompile(`^(strconv\.ParseUint: parsing ")\d+`) // a resourceVersion that mutate appended to
)

func normalize(v any, key string) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, w := range v {
			out[k] = normalize(w, k)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, w := range v {
			out[i] = normalize(w, key)
		}
		if key == "managedFields" {
			sort.SliceStable(out, func(i, j int) bool { return short(out[i]) < short(out[j]) })
		}
		return out
	case string:
		return normalizeText(v, key)
	case json.Number:
		if key == "nodePort" || key == "healthCheckNodePort" {
			return "<nodePort>"
		}
		return v.String()
	}
	return v
}

func normalizeText(v, key string) string {
	switch {
	case v == "":
		return v
	case key == "resourceVersion":
		if v == "0" {
			return v
		}
		return "<rv>"
	case key == "uid":
		return "<uid>"
	case key == "continue":
		return "<continue>"
	case reToken.MatchString(v):
		return claims(v)
	}
	v = reUUID.ReplaceAllString(v, "<uid>")
	if reTime.FindString(v) == v && recent(v) {
		return "<time>"
	}
	if reClusterIP.MatchString(v) {
		return "<clusterIP>"
	}
	v = reAccess.ReplaceAllString(v, "kube-api-access-<suffix>")
	v = reNodePort.ReplaceAllString(v, "$1:<nodePort>/")
	v = reAge.ReplaceAllString(v, "<age>")
	if len(v) > 60 {
		v = reTime.ReplaceAllString(v, "<time>")
		v = reRevision.ReplaceAllString(v, `resourceVersion$1":$2"<rv>`)
		v = reSuffix.ReplaceAllString(v, "$1-<suffix>")
	}
	v = reHash.ReplaceAllString(v, "hash=<hash>")
	v = reTooOld.ReplaceAllString(v, "$1<rv>")
	v = reServer.ReplaceAllString(v, "<server>")
	v = reScheme.ReplaceAllString(v, "in scheme <name>")
	v = reCompared.ReplaceAllString(v, "$1<rv>")
	v = reDamaged.ReplaceAllString(v, "$1<rv>")
	return reCurrent.ReplaceAllString(v, "$1<rv>")
}

// claims is what a service account's token says, with its lifetime instead of its times.
func claims(token string) string {
	raw, err := base64.RawURLEncoding.DecodeString(reToken.FindStringSubmatch(token)[1])
	var c struct{ Iat, Exp int64 }
	if err != nil || json.Unmarshal(raw, &c) != nil {
		return token
	}
	text := reUUID.ReplaceAllString(string(raw), "<uid>")
	return fmt.Sprintf("%s for %d s", reNumber.ReplaceAllString(text, "<seconds>"), c.Exp-c.Iat)
}

// recent says that a time is one of this run: within a day of now.
func recent(text string) bool {
	t, err := time.Parse(time.RFC3339, text)
	return err == nil && time.Since(t).Abs() < 24*time.Hour
}

// compare lists where got differs from want.
func compare(want, got answer) []string {
	var out []string
	if want.status != got.status {
		return []string{fmt.Sprintf("status: want %d %s, got %d %s", want.status, gist(want.body), got.status, gist(got.body))}
	}
	for _, h := range comparedHeaders {
		w, g := strings.Join(want.headers[h], "\n"), strings.Join(got.headers[h], "\n")
		if w != g {
			out = append(out, fmt.Sprintf("%s: want %q, got %q", h, w, g))
		}
	}
	return append(out, differ(normalize(want.body, ""), normalize(got.body, ""), "")...)
}

// gist is an answer in a few words: the message of a Status, or the start of the rest.
func gist(body any) string {
	if object, ok := body.(map[string]any); ok && object["kind"] == "Status" {
		return short(object["message"])
	}
	if text := short(body); len(text) > 80 {
		return text[:80] + "..."
	}
	return short(body)
}

func differ(want, got any, path string) []string {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			return differMaps(w, g, path)
		}
	case []any:
		if g, ok := got.([]any); ok {
			var out []string
			if len(w) != len(g) {
				out = append(out, fmt.Sprintf("%s: want %d items, got %d: %s | %s", path, len(w), len(g), short(want), short(got)))
			}
			for i := range min(len(w), len(g)) {
				out = append(out, differ(w[i], g[i], fmt.Sprintf("%s[%d]", path, i))...)
			}
			return out
		}
	default:
		if want == got {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s: want %s, got %s", path, short(want), short(got))}
}

func differMaps(want, got map[string]any, path string) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if g, ok := got[k]; ok {
			out = append(out, differ(want[k], g, path+"."+k)...)
		} else {
			out = append(out, fmt.Sprintf("%s.%s: missing, want %s", path, k, short(want[k])))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[k]; !ok {
			out = append(out, fmt.Sprintf("%s.%s: unexpected %s", path, k, short(got[k])))
		}
	}
	return out
}

func short(v any) string {
	raw, _ := json.Marshal(v)
	if len(raw) > 400 {
		return string(raw[:400]) + "..."
	}
	return string(raw)
}
