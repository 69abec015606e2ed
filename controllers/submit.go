package controllers

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"kuberow/sqlstore"
)

// Submitting the writes of an Outcome: each key is a lane. A lane's writes run
// in order, in batches of those that go Beside each other; lanes run at the same time. So one
// group commit takes many, and what depends on an earlier write comes after it.
// RunUntilQuiet runs everything one after the other instead: Parallel is 1 there.

// controllerManager is the field manager of the controllers that upstream runs in one process.
const controllerManager = "kube-controller-manager"

// lane is what the writes of one key share.
type lane struct {
	l      *loop
	key    Key
	cause  sqlstore.Cause
	mu     sync.Mutex
	failed bool
	own    []int64 // revisions that were written
}

// submit runs writes, and says which keys failed.
func (l *loop) submit(ctx context.Context, writes []Write, causes map[Key]sqlstore.Cause) map[Key]bool {
	var order []Key
	byKey := map[Key][]Write{}
	for _, w := range writes {
		if _, seen := byKey[w.Key]; !seen {
			order = append(order, w.Key)
		}
		byKey[w.Key] = append(byKey[w.Key], w)
	}
	lanes := make([]*lane, len(order))
	var all sync.WaitGroup
	for i, k := range order {
		lanes[i] = &lane{l: l, key: k, cause: causes[k]}
		if l.r.cfg.Parallel == 1 {
			lanes[i].run(ctx, byKey[k])
			continue
		}
		all.Go(func() { lanes[i].run(ctx, byKey[k]) })
	}
	all.Wait()
	failed := map[Key]bool{}
	for _, a := range lanes {
		if a.failed {
			failed[a.key] = true
		}
		for _, rev := range a.own {
			l.own[rev] = true
		}
	}
	return failed
}

// run runs the writes of the lane, batch by batch, until one fails.
func (a *lane) run(ctx context.Context, writes []Write) {
	for len(writes) > 0 && !a.failed && ctx.Err() == nil {
		n := 1
		for n < len(writes) && writes[n].Beside {
			n++
		}
		a.batch(ctx, writes[:n])
		writes = writes[n:]
	}
}

// batch runs writes side by side.
func (a *lane) batch(ctx context.Context, writes []Write) {
	if len(writes) == 1 || a.l.r.cfg.Parallel == 1 {
		for i := range writes {
			a.one(ctx, &writes[i])
		}
		return
	}
	var all sync.WaitGroup
	for i := range writes {
		all.Go(func() { a.one(ctx, &writes[i]) })
	}
	all.Wait()
}

// one runs a write and what follows from it.
func (a *lane) one(ctx context.Context, w *Write) {
	if w.Cause == (sqlstore.Cause{}) {
		w.Cause = a.cause
	}
	if w.User == nil {
		w.User = a.l.user
	}
	if w.Agent == "" {
		w.Agent, w.Manager = a.l.c.Name, cmp.Or(a.l.c.Manager, controllerManager)
	}
	if w.Verb == Record {
		a.l.r.recorder.record(w)
		return
	}
	obj, err := a.call(ctx, w)
	switch {
	case err == nil:
		a.wrote(revisionOf(obj))
		if w.Done != nil {
			a.follow(ctx, w.Done(obj))
		}
	case w.Ignore != nil && w.Ignore(err):
	default:
		a.l.r.cfg.Logger.Log(ctx, failureLevel(err), "write failed", "controller", a.l.c.Name, "verb", w.Verb,
			"resource", w.Resource, "subresource", w.Subresource, "namespace", w.Namespace, "name", w.Name, "error", err)
		a.mu.Lock()
		a.failed = true
		a.mu.Unlock()
		if w.Failed != nil {
			a.follow(ctx, w.Failed(err))
		}
	}
}

// failureLevel is how loudly a failure is told. That somebody else was faster is
// everyday, and the repetition will see it.
func failureLevel(err error) slog.Level {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) || terminating(err) {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

// follow runs the writes that come out of another one's end.
func (a *lane) follow(ctx context.Context, writes []Write) {
	for i := range writes {
		a.one(ctx, &writes[i])
	}
}

// wrote remembers a revision as the controller's own.
func (a *lane) wrote(revision int64) {
	a.mu.Lock()
	a.own = append(a.own, revision)
	a.mu.Unlock()
}

// call hands a write to the client, when there is a free slot. A panic, of a Mutate most likely, is the write's failure.
func (a *lane) call(ctx context.Context, w *Write) (obj runtime.Object, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s %s %s/%s panicked: %v\n%s", w.Verb, w.Resource, w.Namespace, w.Name, p, stack())
		}
	}()
	select {
	case a.l.r.slots <- struct{}{}:
		defer func() { <-a.l.r.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	client := a.l.r.cfg.Client
	switch w.Verb {
	case Create:
		return client.Create(ctx, w.Write)
	case Update:
		return client.Update(ctx, w.Write)
	case Mutate:
		return client.Mutate(ctx, w.Write)
	case Delete:
		return client.Delete(ctx, w.Write)
	}
	return nil, fmt.Errorf("submit write of %s: unknown verb %q", w.Resource, w.Verb)
}

// Gone ignores the failures of a write to something that is not there (any more).
func Gone(err error) bool { return apierrors.IsNotFound(err) }

// There ignores the failure of creating what exists.
func There(err error) bool { return apierrors.IsAlreadyExists(err) }

// stack is the calling goroutine's stack, for a log line.
func stack() string { return string(debug.Stack()) }
