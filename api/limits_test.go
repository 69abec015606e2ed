package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"kuberow/api"
	"kuberow/api/apitest"
	"kuberow/api/kinds/core"
)

// waiting is a handler whose requests last until release is closed; entered tells of each one.
type waiting struct{ entered, release chan struct{} }

func (w waiting) ServeHTTP(rw http.ResponseWriter, req *http.Request) {
	w.entered <- struct{}{}
	select {
	case <-w.release:
		io.WriteString(rw, "done")
	case <-req.Context().Done():
		http.Error(rw, req.Context().Err().Error(), http.StatusGatewayTimeout)
	}
}

func TestMoreThanInflightIsRefused(t *testing.T) {
	slow := waiting{make(chan struct{}), make(chan struct{})}
	s := apitest.Start(t, core.Resources(), func(c *api.Config) {
		c.MaxInflight, c.MaxMutatingInflight = 1, 1
		c.Prefixes = map[string]http.Handler{"/slow": slow}
	})
	answer := make(chan int)
	go func() {
		code, _ := s.Do("GET", "/slow", "")
		answer <- code
	}()
	<-slow.entered
	resp := get(t, s, configmaps)
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "1" || string(body) != "Too many requests, please try again later.\n" {
		t.Errorf("a second read: %d %v %q", resp.StatusCode, resp.Header, body)
	}
	if code, body := s.Do("POST", configmaps, `{"metadata":{"name":"a"}}`, "Content-Type", "application/json"); code != 201 {
		t.Errorf("a write beside the read: %d %s", code, body)
	}
	resp = get(t, s, configmaps+"?watch=1&timeoutSeconds=1")
	if resp.StatusCode != 200 {
		t.Errorf("a watch beside the read: %d", resp.StatusCode)
	}
	close(slow.release)
	if code := <-answer; code != 200 {
		t.Errorf("the first read: %d", code)
	}
	if code, _ := s.Do("GET", configmaps, ""); code != 200 {
		t.Errorf("a read after it: %d", code)
	}
}

func TestRequestsEnd(t *testing.T) {
	slow := waiting{make(chan struct{}, 1), make(chan struct{})}
	s := apitest.Start(t, core.Resources(), func(c *api.Config) {
		c.RequestTimeout = 100 * time.Millisecond
		c.Prefixes = map[string]http.Handler{"/slow": slow}
	})
	if code, body := s.Do("GET", "/slow", ""); code != 504 {
		t.Errorf("a slow handler: %d %s", code, body)
	}
	if code, body := s.Do("GET", configmaps+"?timeout=x", ""); code != 400 || !strings.Contains(body, "invalid timeout specified in the request URL - time: invalid duration") {
		t.Errorf("?timeout=x: %d %s", code, body)
	}
	// A client that stops in the middle of its body gets an answer, and the connection ends.
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", configmaps)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 504 {
		t.Errorf("half a body: %d", resp.StatusCode)
	}
	io.Copy(io.Discard, conn) // returns when the server closes
}
