package api

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"

	"k8s.io/apiserver/pkg/audit/policy"
)

// The audit log's file. Requests hand their lines to one goroutine, which
// writes them; when it falls behind by a queue's length, requests wait, since an event must not
// be lost. What cannot be written (the disk is full) is logged and counted. Close writes what is left.

// auditQueue is how many lines may wait.
const auditQueue = 4096

// AuditLog writes audit events to a file.
type AuditLog struct {
	lines   chan []byte
	done    chan struct{}
	log     *slog.Logger
	written atomic.Int64
	failed  atomic.Int64

	mu     sync.RWMutex // held for reading while a line is handed over
	closed bool
}

// OpenAudit reads a policy, and opens the log ("-" is standard output).
func OpenAudit(path, policyFile string, log *slog.Logger) (*Audit, error) {
	p, err := policy.LoadPolicyFromFile(policyFile)
	if err != nil {
		return nil, fmt.Errorf("--audit-policy-file: %w", err)
	}
	var out io.WriteCloser = os.Stdout
	if path != "-" {
		if out, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
			return nil, fmt.Errorf("--audit-log-path: %w", err)
		}
	}
	return &Audit{Policy: policy.NewPolicyRuleEvaluator(p), Sink: NewAuditLog(out, log)}, nil
}

// NewAuditLog writes to out, which it closes in the end.
func NewAuditLog(out io.WriteCloser, log *slog.Logger) *AuditLog {
	l := &AuditLog{lines: make(chan []byte, auditQueue), done: make(chan struct{}), log: log}
	go l.run(out)
	return l
}

// write hands a line over; err is why there is none.
func (l *AuditLog) write(line []byte, err error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	switch {
	case err != nil:
		l.lost(fmt.Errorf("encode event: %w", err))
		return
	case l.closed:
		l.lost(errors.New("the log is closed"))
		return
	}
	l.lines <- append(line, '\n')
}

// run writes until Close; a burst of lines is one write.
func (l *AuditLog) run(out io.WriteCloser) {
	defer close(l.done)
	defer out.Close()
	w := bufio.NewWriterSize(out, 64<<10)
	for line := range l.lines {
		_, err := w.Write(line)
		if err == nil && len(l.lines) == 0 {
			err = w.Flush()
		}
		if err != nil {
			l.lost(err)
			w.Reset(out) // a writer that failed once refuses everything after
			continue
		}
		l.written.Add(1)
	}
	if err := w.Flush(); err != nil {
		l.lost(err)
	}
}

func (l *AuditLog) lost(err error) {
	l.failed.Add(1)
	l.log.Error("an audit event was not written", "error", err)
}

// Close writes what is left, and ends.
func (a *Audit) Close() {
	if a == nil {
		return
	}
	a.Sink.mu.Lock()
	if !a.Sink.closed {
		a.Sink.closed = true
		close(a.Sink.lines)
	}
	a.Sink.mu.Unlock()
	<-a.Sink.done
}
