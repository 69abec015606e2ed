package main

// An exchange is one request and, from each server, one answer. A file of
// exchanges is JSON Lines, in the form that the recorded suites have:
//
//	{"id":"cm","method":"POST","path":"/api/v1/namespaces/default/configmaps","headers":{},"body":{...}}
//	{"id":"cm-get","method":"GET","path":"/api/v1/namespaces/default/configmaps/a?resourceVersion={{cm.rv}}"}
//
// {{ID.rv}}, {{ID.uid}}, {{ID.continue}} and {{ID.token}} stand for what that
// server answered to the earlier exchange ID (token is that of a TokenRequest). A body is a JSON value, or a string that is sent as
// it is. A header with several values has them on lines, and "-" sends none. watch is the number of seconds for which a stream is read.

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/yaml"
)

type exchange struct {
	ID      string            `json:"id"`
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    json.RawMessage   `json:"body,omitempty"`
	Watch   float64           `json:"watch,omitempty"`
	Setup   bool              `json:"setup,omitempty"`
}

type answer struct {
	status  int
	headers http.Header
	body    any
}

// comparedHeaders are those whose value is part of the contract.
var comparedHeaders = []string{"Content-Type", "Warning", "Allow", "Location", "WWW-Authenticate", "Retry-After", "Vary", "Cache-Control", "X-Content-Type-Options"}

// server is one side of the comparison, and what it answered so far.
type server struct {
	name, url, token string
	mu               sync.Mutex
	seen             map[string]map[string]string // by exchange, what placeholders stand for; guarded by mu
}

var client = &http.Client{
	Timeout:       15 * time.Second,
	Transport:     &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 8},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

var placeholder = regexp.MustCompile(`\{\{([^{}]+?)\.(rv|uid|continue|token)\}\}`)

func (s *server) fill(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return placeholder.ReplaceAllStringFunc(text, func(found string) string {
		m := placeholder.FindStringSubmatch(found)
		if v, ok := s.seen[m[1]][m[2]]; ok {
			return v
		}
		return found
	})
}

func (s *server) send(x exchange) (answer, error) {
	ctx := context.Background()
	if x.Watch > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, time.Duration(x.Watch*float64(time.Second)))
		defer cancel()
	}
	var body io.Reader
	if len(x.Body) > 0 {
		text := string(x.Body)
		if x.Body[0] == '"' {
			if err := json.Unmarshal(x.Body, &text); err != nil {
				return answer{}, fmt.Errorf("read body of %s: %w", x.ID, err)
			}
		}
		body = bytes.NewBufferString(s.fill(text))
	}
	req, err := http.NewRequestWithContext(ctx, x.Method, s.url+s.fill(x.Path), body)
	if err != nil {
		return answer{}, fmt.Errorf("make request %s: %w", x.ID, err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "oracle")
	req.Header.Set("Authorization", "Bearer "+s.token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range x.Headers {
		if v = s.fill(v); v == "-" {
			req.Header.Del(k)
		} else {
			req.Header[http.CanonicalHeaderKey(k)] = strings.Split(v, "\n")
		}
	}
	resp, err := client.Do(req)
	if err != nil {
		return answer{}, fmt.Errorf("send %s: %w", x.ID, err)
	}
	defer resp.Body.Close()
	out := answer{status: resp.StatusCode, headers: http.Header{}}
	for _, h := range comparedHeaders {
		if v := resp.Header.Values(h); len(v) > 0 {
			out.headers[h] = v
		}
	}
	if x.Watch > 0 {
		out.body = readLines(resp.Body)
		return out, nil
	}
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, fmt.Errorf("read answer to %s: %w", x.ID, err)
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/yaml") {
		if asJSON, err := yaml.YAMLToJSON(raw); err == nil {
			raw = asJSON
		}
	}
	out.body = parse(raw)
	s.remember(x.ID, out.body)
	return out, nil
}

// readLines reads a stream until it ends or its time is over.
func readLines(r io.Reader) []any {
	lines := []any{}
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		lines = append(lines, parse(scanner.Bytes()))
	}
	return lines
}

func parse(raw []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var v any
	if decoder.Decode(&v) != nil || decoder.More() {
		return string(raw)
	}
	return v
}

func (s *server) remember(id string, body any) {
	object, _ := body.(map[string]any)
	meta, ok := object["metadata"].(map[string]any)
	if !ok {
		return
	}
	text := func(name string) string { v, _ := meta[name].(string); return v }
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string]map[string]string{}
	}
	s.seen[id] = map[string]string{"rv": text("resourceVersion"), "uid": text("uid"), "continue": url.QueryEscape(text("continue"))}
	if status, ok := object["status"].(map[string]any); ok {
		s.seen[id]["token"], _ = status["token"].(string)
	}
}

// replay sends every exchange of the named files to both servers, in order, and
// prints the differences. It returns how many exchanges differ.
func replay(args []string) (int, error) {
	flags := flag.NewFlagSet("replay", flag.ExitOnError)
	reference, own := sides(flags)
	verbose := flags.Bool("v", false, "print every difference, not only the first five of an exchange")
	flags.Parse(args)
	own.token = reference.token
	different, total := 0, 0
	for _, name := range flags.Args() {
		exchanges, err := readFile(name)
		if err != nil {
			return 0, err
		}
		total += len(exchanges)
		for _, together := range batches(exchanges) {
			found := make([][]string, len(together))
			var all sync.WaitGroup
			for i, x := range together {
				all.Go(func() { found[i] = ask(reference, own, x) })
			}
			all.Wait()
			for i, x := range together {
				if len(found[i]) > 0 {
					different++
					report(fmt.Sprintf("%s  %s %s", x.ID, x.Method, x.Path), found[i], *verbose)
				}
			}
		}
	}
	fmt.Printf("replay: %d of %d exchanges agree\n", total-different, total)
	return different, nil
}

func readFile(name string) ([]exchange, error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read exchanges: %w", err)
	}
	exchanges, err := readExchanges(raw)
	if err != nil {
		return nil, fmt.Errorf("read exchanges of %s: %w", name, err)
	}
	return exchanges, nil
}

func readExchanges(raw []byte) (exchanges []exchange, err error) {
	for decoder := json.NewDecoder(bytes.NewReader(raw)); decoder.More(); {
		var x exchange
		if err := decoder.Decode(&x); err != nil {
			return nil, err
		}
		exchanges = append(exchanges, x)
	}
	return exchanges, nil
}

// batches groups the exchanges that may be sent at once: neighbours that only
// read, and whose answers no placeholder stands for. Many of them wait.
func batches(exchanges []exchange) (out [][]exchange) {
	named := map[string]bool{}
	for _, x := range exchanges {
		for _, m := range placeholder.FindAllStringSubmatch(x.Path+string(x.Body), -1) {
			named[m[1]] = true
		}
	}
	open := false
	for _, x := range exchanges {
		reads := x.Method == http.MethodGet && !named[x.ID]
		if reads && open && len(out[len(out)-1]) < 24 {
			out[len(out)-1] = append(out[len(out)-1], x)
		} else {
			out = append(out, []exchange{x})
		}
		open = reads
	}
	return out
}

// ask sends one exchange to both servers and returns where they differ. That a
// server does not answer is an answer too: the other should not either. But a
// server that is not there agrees with nobody.
func ask(reference, own *server, x exchange) []string {
	var want, got answer
	var wantErr, gotErr error
	var both sync.WaitGroup
	both.Go(func() { want, wantErr = reference.send(x) })
	both.Go(func() { got, gotErr = own.send(x) })
	both.Wait()
	switch {
	case absent(wantErr) || absent(gotErr):
		return []string{fmt.Sprintf("not connected: %v", errors.Join(wantErr, gotErr))}
	case wantErr != nil && gotErr != nil:
		return nil
	case wantErr != nil:
		return []string{fmt.Sprintf("want %v, got %d %s", wantErr, got.status, gist(got.body))}
	case gotErr != nil:
		return []string{fmt.Sprintf("want %d %s, got %v", want.status, gist(want.body), gotErr)}
	}
	return compare(want, got)
}

func report(title string, found []string, verbose bool) {
	fmt.Println("DIFF " + title)
	for i, line := range found {
		if i == 5 && !verbose {
			fmt.Printf("     (%d more)\n", len(found)-i)
			break
		}
		fmt.Println("     " + line)
	}
}

// absent tells that nobody listens.
func absent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
