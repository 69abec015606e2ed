package main

// What upstream answers can be kept: not the answers, whose size nobody would
// review, but one line for each exchange with the status and a digest of the
// rest. With these lines kuberow is held to upstream's answers where there is no upstream (answers_test.go).
// A digest says that something differs; replay beside a living server says what.

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// unstable stands for the digest of an answer that two runs of upstream give differently.
const unstable = "-"

// line is what is kept of an answer.
func (a answer) line(id string) string {
	headers := make([]string, 0, len(comparedHeaders))
	for _, h := range comparedHeaders {
		headers = append(headers, strings.Join(a.headers[h], "\n"))
	}
	text, err := json.Marshal([]any{headers, normalize(a.body, "")})
	if err != nil { // a body was parsed from JSON, or is a string
		panic(err)
	}
	sum := sha256.Sum256(text)
	return fmt.Sprintf("%d %s %s", a.status, hex.EncodeToString(sum[:8]), id)
}

// answers sends the exchanges to one server, and gives a line for each.
func (s *server) answers(exchanges []exchange) []string {
	lines := make([]string, 0, len(exchanges))
	for _, together := range batches(exchanges) {
		found := make([]string, len(together))
		var all sync.WaitGroup
		for i, x := range together {
			all.Go(func() {
				if a, err := s.send(x); err == nil {
					found[i] = a.line(x.ID)
				} else {
					found[i] = "no answer " + x.ID
				}
			})
		}
		all.Wait()
		lines = append(lines, found...)
	}
	return lines
}

// record writes upstream's answers to the named files of exchanges, each file sent to two new servers.
func record(args []string) error {
	flags := flag.NewFlagSet("record", flag.ExitOnError)
	bin := flags.String("bin", "bin", "directory with etcd and kube-apiserver")
	out := flags.String("out", "golden/reference/answers", "directory for the answers")
	port := flags.Int("port", 17443, "port of kube-apiserver; the two after it are etcd's")
	flags.Parse(args)
	for _, name := range flags.Args() {
		exchanges, err := readFile(name)
		if err != nil {
			return err
		}
		first, err := freshAnswers(*bin, *port, exchanges)
		if err != nil {
			return err
		}
		second, err := freshAnswers(*bin, *port, exchanges)
		if err != nil {
			return err
		}
		for i := range first {
			if first[i] != second[i] {
				first[i] = unstable + " " + unstable + " " + exchanges[i].ID
			}
		}
		file := filepath.Join(*out, strings.TrimSuffix(filepath.Base(name), ".jsonl")+".txt")
		if err := os.WriteFile(file, []byte(strings.Join(first, "\n")+"\n"), 0o644); err != nil {
			return fmt.Errorf("write answers: %w", err)
		}
		fmt.Println(file)
	}
	return nil
}

// freshAnswers are those of a new etcd and kube-apiserver.
func freshAnswers(bin string, port int, exchanges []exchange) ([]string, error) {
	p, err := newPlane()
	if err != nil {
		return nil, err
	}
	defer p.remove()
	p.bin, p.more.reference = bin, "--enable-admission-plugins=NodeRestriction"
	if err := p.upstream(port, p.tokenFile()); err != nil {
		return nil, err
	}
	s := &server{name: "reference", url: fmt.Sprintf("https://127.0.0.1:%d", port), token: "admintoken"}
	return s.answers(exchanges), nil
}
