package raftlog

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"

	"kuberow/sqlstore"
	"kuberow/sqlstore/storetest"
)

// What was acknowledged survives kill -9 at any instant. A child, this test
// binary again, writes with many callers and reports each acknowledged write through a pipe; it is
// killed from outside at a random moment, or kills itself at a step of a commit. The parent reads
// the pipe to its end, opens the file, and compares.
//
// KUBEROW_KILL_ROUNDS sets the number of rounds, 10 by default.

const crashDirEnv, crashAtEnv = "KUBEROW_CRASH_DIR", "KUBEROW_CRASH_AT"

// The ways to die. At a step of a commit: the number is which commit.
var crashes = []string{"outside", "before", "outside", "after", "compacting"}

// roundsPerFile bounds the file, as each round checks all of it.
const roundsPerFile = 20

func TestAcknowledgedWritesSurviveKill(t *testing.T) {
	if os.Getenv(crashDirEnv) != "" {
		t.Skip("this is the child")
	}
	rounds, err := strconv.Atoi(os.Getenv("KUBEROW_KILL_ROUNDS"))
	if err != nil {
		rounds = 10
	}
	acked, dir := map[string]int64{}, ""
	for round := range rounds {
		if round%roundsPerFile == 0 {
			acked, dir = map[string]int64{}, storetest.Dir(t)
		}
		before := len(acked)
		runAndKill(t, dir, fmt.Sprint(round), crashes[round%len(crashes)], acked)
		verify(t, dir, acked)
		if t.Failed() {
			t.Fatalf("round %d (%s) lost something", round, crashes[round%len(crashes)])
		}
		if len(acked) == before {
			t.Errorf("round %d (%s) acknowledged nothing: it tests nothing", round, crashes[round%len(crashes)])
		}
	}
}

// runAndKill runs the child until it is dead and adds what it acknowledged.
func runAndKill(t *testing.T, dir, round, crash string, acked map[string]int64) {
	t.Helper()
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	child := exec.Command(os.Args[0], "-test.run=^TestCrashChild$")
	child.Env = append(os.Environ(), crashDirEnv+"="+dir, crashAtEnv+"="+crash, "KUBEROW_CRASH_ROUND="+round)
	child.ExtraFiles = []*os.File{w}
	must(t, child.Start())
	must(t, w.Close())
	killAfter := 50 + rand.IntN(400)
	revisions := map[int64]bool{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		var key string
		var revision int64
		if _, err := fmt.Sscan(lines.Text(), &key, &revision); err != nil {
			t.Errorf("child said %q", lines.Text())
			continue
		}
		if revisions[revision] {
			t.Errorf("revision %d was given twice", revision)
		}
		revisions[revision] = true
		acked[key] = revision
		if n == killAfter {
			must(t, child.Process.Kill())
		}
	}
	if err := child.Wait(); child.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the child ended by itself: %v", err)
	}
}

// verify opens the file as a server would and looks for every acknowledged write.
func verify(t *testing.T, dir string, acked map[string]int64) {
	t.Helper()
	s, err := sqlstore.Open(t.Context(), sqlstore.Options{Path: filepath.Join(dir, "cluster.db")})
	must(t, err)
	defer s.Close()
	storetest.Check(t, s)
	n, err := Start(t.Context(), s, Options{HouseInterval: -1})
	must(t, err)
	defer n.Stop()
	for key, revision := range acked {
		kv, ok, err := s.Get(t.Context(), key, 0)
		if err != nil || !ok || kv.ModRevision != revision || string(kv.Value) != "value of "+key {
			t.Errorf("acknowledged %s at revision %d; found %v %d %q (%v)", key, revision, ok, kv.ModRevision, kv.Value, err)
		}
	}
	storetest.Check(t, s)
}

// TestCrashChild is the child's life; in any other process it does nothing.
func TestCrashChild(t *testing.T) {
	dir := os.Getenv(crashDirEnv)
	if dir == "" {
		t.Skip("only runs as a child of TestAcknowledgedWritesSurviveKill")
	}
	pipe := os.NewFile(3, "acknowledged")
	o := Options{HouseInterval: -1}
	if os.Getenv(crashAtEnv) == "compacting" {
		o = Options{HouseInterval: 1, RetainRevisions: 100}
	}
	s, err := sqlstore.Open(t.Context(), sqlstore.Options{Path: filepath.Join(dir, "cluster.db"), Faults: suicide(os.Getenv(crashAtEnv))})
	must(t, err)
	n, err := Start(t.Context(), s, o)
	must(t, err)
	for w := range 8 {
		go func() {
			name := func(i int) string { return fmt.Sprintf("k%s-%d-%d", os.Getenv("KUBEROW_CRASH_ROUND"), w, i) }
			for i := 0; ; i++ {
				key := name(i)
				res, err := n.Propose(context.Background(), put(key, "value of "+key))
				if err != nil {
					panic(err)
				}
				fmt.Fprintf(pipe, "%s %d\n", key, res.Rows[0].ModRevision) // one write call: a line is whole or not there
				_, _ = n.Propose(context.Background(), &sqlstore.Command{Txn: &sqlstore.Txn{Then: []sqlstore.Op{
					{Type: sqlstore.OpPut, Key: "tmp" + key, Value: []byte("x")}, {Type: sqlstore.OpDelete, Key: "tmp" + name(i-1)}}}})
			}
		}()
	}
	select {}
}

// suicide kills the process at a step of some commit.
func suicide(at string) *sqlstore.Faults {
	var commits atomic.Int64
	last := 10 + rand.Int64N(100)
	die := func(step string) {
		if step == at && commits.Add(1) == last {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	return &sqlstore.Faults{
		BeforeCommit: func() error { die("before"); return nil },
		AfterCommit:  func() { die("after") },
	}
}
