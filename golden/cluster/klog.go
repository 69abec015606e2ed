package cluster

import (
	"context"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// Libraries of Kubernetes log with klog, to stderr unless told otherwise, and
// call a client that hung up an error. What they say becomes debug lines here;
// what is an error of kuberow's, kuberow says itself.

// quietLibraries sends klog to the log, at level debug.
func quietLibraries(log *slog.Logger) {
	klog.SetLogger(logr.FromSlogHandler(debugOnly{log.Handler()}))
}

// debugOnly makes every record a debug record.
type debugOnly struct{ slog.Handler }

// Enabled implements slog.Handler.
func (d debugOnly) Enabled(ctx context.Context, _ slog.Level) bool {
	return d.Handler.Enabled(ctx, slog.LevelDebug)
}

// Handle implements slog.Handler.
func (d debugOnly) Handle(ctx context.Context, r slog.Record) error {
	r.Level = slog.LevelDebug
	return d.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (d debugOnly) WithAttrs(a []slog.Attr) slog.Handler { return debugOnly{d.Handler.WithAttrs(a)} }

// WithGroup implements slog.Handler.
func (d debugOnly) WithGroup(name string) slog.Handler { return debugOnly{d.Handler.WithGroup(name)} }
