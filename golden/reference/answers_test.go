package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAnswersAreUpstreams sends the exchanges to kuberow, and holds each answer to the digest of upstream's in answers/. Those
// that cannot agree are in answers/known.txt, with why. Some answers depend on when a second ends or what a server does by
// itself meanwhile: as upstream has two runs to be of one mind, kuberow has two to agree with it. KUBEROW names the binary.
func TestAnswersAreUpstreams(t *testing.T) {
	binary := os.Getenv("KUBEROW")
	if binary == "" {
		t.Skip("KUBEROW names no binary")
	}
	known := knownDifferences(t)
	files, err := filepath.Glob("exchanges/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("exchanges: %v %v", files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			want := readLinesOf(t, filepath.Join("answers", name+".txt"))
			exchanges, err := readFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(want) != len(exchanges) {
				t.Fatalf("%d answers to %d exchanges: record them again", len(want), len(exchanges))
			}
			differ := func() (ids []int, got []string) {
				got = startKuberow(t, binary).answers(exchanges)
				for i, x := range exchanges {
					if !strings.HasPrefix(want[i], unstable) && !known[name+" "+x.ID] && got[i] != want[i] {
						ids = append(ids, i)
					}
				}
				return ids, got
			}
			first, got := differ()
			if len(first) == 0 {
				return
			}
			second, _ := differ()
			for _, i := range first {
				if slices.Contains(second, i) {
					t.Errorf("%s %s: want %s, got %s", exchanges[i].Method, exchanges[i].Path, want[i], got[i])
				}
			}
		})
	}
}

func startKuberow(t *testing.T, binary string) *server {
	t.Helper()
	p, err := newPlane()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.remove)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	if err := p.kuberow(binary, port, 0, p.tokenFile()); err != nil {
		t.Fatal(err)
	}
	return &server{name: "kuberow", url: fmt.Sprintf("https://127.0.0.1:%d", port), token: "admintoken"}
}

// knownDifferences are FILE ID pairs; "#" begins the reason for those that follow.
func knownDifferences(t *testing.T) map[string]bool {
	known := map[string]bool{}
	for _, line := range readLinesOf(t, "answers/known.txt") {
		if !strings.HasPrefix(line, "#") {
			known[line] = true
		}
	}
	return known
}

func readLinesOf(t *testing.T, name string) (lines []string) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		lines = append(lines, s.Text())
	}
	return lines
}
