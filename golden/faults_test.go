package golden

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	_ "modernc.org/sqlite" // the second process's SQLite
)

// Faults that come from outside of the process and pass: another process that
// holds the file, a full disk (full_disk_linux_test.go). While one lasts, writes are refused with the reason and
// reads go on; afterwards all is as before.

// write creates a ConfigMap, once: a client would try again by itself.
func (k *killed) write(name string, bytes int) error {
	made := &corev1.ConfigMap{}
	err := k.client.Post().MaxRetries(0).Namespace(killNamespace).Resource("configmaps").
		Body(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"at": strings.Repeat("x", bytes)}}).
		Do(context.Background()).Into(made)
	if err == nil {
		k.mu.Lock()
		k.acked[name] = made.ResourceVersion
		k.mu.Unlock()
	}
	return err
}

// wantUnavailable checks that err is the 503 that says why, and when to ask again.
func (k *killed) wantUnavailable(err error, why string) {
	k.t.Helper()
	seconds, retry := apierrors.SuggestsClientDelay(err)
	if !apierrors.IsServiceUnavailable(err) || !strings.Contains(err.Error(), why) || !retry || seconds < 1 {
		k.t.Fatalf("the write answered %v (retry after %d), want 503 with %q", err, seconds, why)
	}
}

// A foreign BEGIN IMMEDIATE holds the file past busy_timeout.
func TestAForeignTransactionHoldsUpWritesOnly(t *testing.T) {
	k := newKilled(t)
	k.start()
	defer k.kill()
	k.makePods()
	if err := k.write("before", 1); err != nil {
		t.Fatal(err)
	}
	other, err := sql.Open("sqlite", filepath.Join(k.dir, "cluster.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	conn, err := other.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), `PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}

	refused := make(chan error)
	go func() { refused <- k.write("held", 1) }()
	reads := 0
	for waiting := true; waiting; reads++ {
		start := time.Now()
		k.verify()
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("a read took %s while the file was held", took)
		}
		select {
		case err := <-refused:
			k.wantUnavailable(err, "another process holds a lock on cluster.db; try again, or end that process's transaction")
			waiting = false
		default:
		}
	}
	if reads < 2 {
		t.Errorf("only %d reads while a write waited", reads)
	}
	if _, err := conn.ExecContext(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	k.eventually("a write works again", func() error { return k.write(fmt.Sprint("after-", time.Now().UnixNano()), 1) })
	k.verify()
	k.kill()
	k.check()
}

// eventually waits until do succeeds.
func (k *killed) eventually(what string, do func() error) {
	k.t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(patience)
	for err := do(); err != nil; err = do() {
		if time.Now().After(deadline) {
			k.t.Fatalf("%s: still not after %s: %v", what, patience, err)
		}
		<-tick.C
	}
}

// ready asks /readyz.
func (k *killed) ready() int {
	code := 0
	k.client.Get().MaxRetries(0).AbsPath("/readyz").Do(context.Background()).StatusCode(&code)
	return code
}

// An object over the limits of its kind, of a row, of a request, sent as an object's bytes: a clear answer, and the server goes on.
func TestAnObjectThatIsTooLarge(t *testing.T) {
	k := newKilled(t)
	k.start()
	defer k.kill()
	for bytes, want := range map[int]struct {
		code int
		text string
	}{
		1<<20 + 1: {http.StatusUnprocessableEntity, "may not be more than 1048576 bytes"},
		4 << 20:   {http.StatusRequestEntityTooLarge, "limit is 3145728"},
	} {
		err := k.write("large", bytes)
		status, ok := err.(apierrors.APIStatus)
		if !ok || status.Status().Code != int32(want.code) || !strings.Contains(err.Error(), want.text) {
			t.Errorf("%d bytes: %v, want %d %q", bytes, err, want.code, want.text)
		}
	}
	if err := k.write("small", 1); err != nil || k.ready() != http.StatusOK {
		t.Errorf("afterwards: %v", err)
	}
}
