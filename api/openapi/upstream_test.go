package openapi_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestDocumentsAreUpstreams: every document says what kube-apiserver v1.37.2 says, to the last description and the order
// of every list. testdata/upstream.txt has the SHA-256 of each of its documents, as JSON whose keys are sorted.
func TestDocumentsAreUpstreams(t *testing.T) {
	f, err := os.Open("testdata/upstream.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, h := server(t)
	n := 0
	for s := bufio.NewScanner(f); s.Scan(); n++ {
		want, path, _ := strings.Cut(s.Text(), "  ")
		_, b := get(t, h, path)
		if got := digest(t, b); got != want {
			t.Errorf("%s differs from upstream's (digest %s, want %s): make reference shows where", path, got, want)
		}
	}
	if n != 50 {
		t.Errorf("%d documents, want 50", n)
	}
}

// digest is of what the JSON says, not of how it is written.
func digest(t *testing.T, text []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	sorted, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(sorted)
	return hex.EncodeToString(sum[:])
}
