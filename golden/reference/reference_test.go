package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestMutationsChangeOnePlaceOfACopy(t *testing.T) {
	object := parse([]byte(`{"kind":"A","metadata":{"name":"a","uid":"u"},"spec":{"n":1,"list":[{"x":true}]}}`)).(map[string]any)
	full := parse([]byte(`{"spec":{"other":{"deep":"v"}}}`)).(map[string]any)
	before := short(object)
	var places []string
	for _, m := range mutations(object, full) {
		after := m.apply(object)
		if short(object) != before {
			t.Fatalf("%s changed its original", m)
		}
		if short(after) == before {
			t.Errorf("%s changes nothing", m)
		}
		if !slices.Contains(places, m.place()) {
			places = append(places, m.place())
		}
	}
	want := []string{".kind", ".metadata.zzz", ".metadata", ".metadata.name", ".spec.zzz", ".spec", ".spec.list", ".spec.list[0].zzz", ".spec.list[0]", ".spec.list[0].x", ".spec.n", ".spec.other", ".spec.other.deep"}
	if !slices.Equal(places, want) {
		t.Errorf("changed places %v, want %v", places, want)
	}
}

// What two runs of one server do not share is the same after normalize; all else is not.
func TestCompare(t *testing.T) {
	const a = `{"metadata":{"uid":"8f9c6c0e-1111-4222-8333-444455556666","resourceVersion":"7","creationTimestamp":"2001-01-01T00:00:00Z"},"spec":{"nodePort":30001,"clusterIP":"10.96.3.4","n":1}}`
	b := strings.NewReplacer("8f9c6c0e", "00000000", `"7"`, `"12"`, "30001", "31999", "10.96.3.4", "10.96.200.1").Replace(a)
	header := http.Header{"Content-Type": {"application/json"}}
	of := func(text string) answer { return answer{status: 200, headers: header, body: parse([]byte(text))} }
	if found := compare(of(a), of(b)); len(found) > 0 {
		t.Errorf("two runs differ: %v", found)
	}
	for _, change := range [][2]string{{`"n":1`, `"n":2`}, {`"n":1`, `"m":1`}, {"2001-", "2002-"}, {"10.96.3.4", "10.97.3.4"}} {
		if found := compare(of(a), of(strings.Replace(a, change[0], change[1], 1))); len(found) == 0 {
			t.Errorf("%s instead of %s is not seen", change[1], change[0])
		}
	}
	if found := compare(of(a), answer{status: 404, headers: header}); len(found) != 1 || !strings.HasPrefix(found[0], "status: want 200") {
		t.Errorf("another status: %v", found)
	}
}

// A placeholder stands for what the same server answered before.
func TestPlaceholders(t *testing.T) {
	var asked []string
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked = append(asked, req.URL.RequestURI())
		w.Write([]byte(`{"metadata":{"resourceVersion":"7","uid":"u"}}`))
	}))
	defer h.Close()
	s := &server{name: "test", url: h.URL}
	for _, x := range []exchange{{ID: "a", Method: "GET", Path: "/a"}, {ID: "b", Method: "GET", Path: "/b?rv={{a.rv}}&uid={{a.uid}}&c={{z.rv}}"}} {
		if _, err := s.send(x); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"/a", "/b?rv=7&uid=u&c={{z.rv}}"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
}

// Every file that comes with the command can be read by it.
func TestFilesAreReadable(t *testing.T) {
	objects, _ := filepath.Glob("objects/*.yaml")
	for _, name := range objects {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, document := range bytes.Split(raw, []byte("\n---\n")) {
			var object map[string]any
			if err := yaml.UnmarshalStrict(document, &object); err != nil {
				t.Errorf("%s, document %d: %v", name, i, err)
			}
		}
	}
	exchanges, _ := filepath.Glob("exchanges/*.jsonl")
	for _, name := range exchanges {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for decoder := json.NewDecoder(bytes.NewReader(raw)); decoder.More(); {
			var x exchange
			if err := decoder.Decode(&x); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if x.ID == "" || x.Method == "" || x.Path == "" || seen[x.ID] {
				t.Errorf("%s: exchange %q is incomplete, or there twice", name, x.ID)
			}
			seen[x.ID] = true
		}
	}
}

// Two servers that are not there do not agree: a run against nothing must not look like a good one.
func TestAbsentServersDoNotAgree(t *testing.T) {
	gone := httptest.NewTLSServer(http.NotFoundHandler())
	gone.Close()
	s := &server{name: "gone", url: gone.URL}
	if found := ask(s, s, exchange{ID: "a", Method: "GET", Path: "/"}); len(found) == 0 {
		t.Error("they agree")
	}
}
