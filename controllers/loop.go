package controllers

import (
	"context"
	"fmt"
	"sort"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"

	"kuberow/sqlstore"
)

// A loop runs one controller. A pass of it:
//
//  1. read the store's changes since the last pass (at the first pass, and when
//     they were compacted: every living object) and map them to keys;
//  2. take the keys that are due: changed, woken, asked for again, or past
//     their back-off;
//  3. call Step with a View of now;
//  4. submit the writes and wait for all of them.
//
// Since 4 ends before the next 3 begins, and a write is acknowledged after it
// was applied, a View always shows the controller its own writes.

// Back-off of a key whose write failed: 5 ms, doubled at each failure in a row.
const (
	firstBackoff = 5 * time.Millisecond
	maxBackoff   = 60 * time.Second
)

// loop is a controller and what the runner remembers about its keys. All
// fields but mu, woken and bell belong to the goroutine that calls pass.
type loop struct {
	r    *Runner
	c    *Controller
	user user.Info

	listed   bool
	after    int64                  // changes up to this revision became keys
	due      []Key                  // in the order in which they fell due
	isDue    map[Key]bool           // the members of due
	causes   map[Key]sqlstore.Cause // of keys that are due, or were
	foreign  map[Key]bool           // due because of a change by someone else
	timers   map[Key]time.Time      // asked for again, or in back-off
	failures map[Key]int            // in a row
	own      map[int64]bool         // revisions of own writes, until they are read back
	tick     time.Time              // when Every is up

	mu    sync.Mutex
	woken []Key // by Wake

	bell chan struct{} // rings when there may be work
}

func newLoop(r *Runner, c *Controller) *loop {
	return &loop{
		r: r, c: c, user: userOf(c),
		isDue: map[Key]bool{}, causes: map[Key]sqlstore.Cause{}, foreign: map[Key]bool{}, timers: map[Key]time.Time{},
		failures: map[Key]int{}, own: map[int64]bool{}, bell: make(chan struct{}, 1),
	}
}

// notify rings the bell; many rings may become one.
func (l *loop) notify() {
	select {
	case l.bell <- struct{}{}:
	default:
	}
}

// poke makes a key due from outside.
func (l *loop) poke(k Key) {
	l.mu.Lock()
	l.woken = append(l.woken, k)
	l.mu.Unlock()
	l.notify()
}

// run passes until ctx ends.
func (l *loop) run(ctx context.Context) {
	for ctx.Err() == nil {
		worked, err := l.pass(ctx)
		if err != nil && ctx.Err() == nil {
			l.r.cfg.Logger.Error("controller pass failed", "controller", l.c.Name, "error", err)
		}
		if worked && err == nil {
			continue
		}
		wait, any := l.untilNext()
		if err != nil {
			wait, any = time.Second, true
		}
		l.sleep(ctx, wait, any)
	}
}

// sleep waits for the bell, for at most d when limited.
func (l *loop) sleep(ctx context.Context, d time.Duration, limited bool) {
	var timeout <-chan time.Time
	if limited {
		t := l.r.cfg.Clock.NewTimer(max(d, 0))
		defer t.Stop()
		timeout = t.C()
	}
	select {
	case <-ctx.Done():
	case <-l.bell:
	case <-timeout:
	}
}

// untilNext is how long nothing is due by itself.
func (l *loop) untilNext() (time.Duration, bool) {
	var next time.Time
	for _, t := range l.timers {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	if l.c.Every > 0 && (next.IsZero() || l.tick.Before(next)) {
		next = l.tick
	}
	return next.Sub(l.r.cfg.Clock.Now()), !next.IsZero()
}

// pass does one round, and says whether there was anything to do.
func (l *loop) pass(ctx context.Context) (bool, error) {
	read, err := l.readChanges(ctx)
	if err != nil {
		return false, err
	}
	l.takeWoken()
	l.takeTimers()
	if len(l.due) == 0 {
		return read, nil
	}
	keys := l.due
	l.due, l.isDue, l.foreign = nil, map[Key]bool{}, map[Key]bool{}
	out, causes, err := l.step(ctx, keys)
	if err != nil {
		for _, k := range keys {
			l.fail(k)
		}
		return true, err
	}
	failed := l.submit(ctx, out.Writes, causes)
	for _, k := range keys {
		if !failed[k] {
			delete(l.failures, k)
		}
	}
	for k := range failed {
		l.fail(k)
	}
	for k, t := range out.Again {
		if old, ok := l.timers[k]; !ok || t.Before(old) {
			l.timers[k] = t
		}
	}
	l.forget(keys)
	return true, nil
}

// step calls Step with a view of now. A panic of a controller is its error, not the server's end.
func (l *loop) step(ctx context.Context, keys []Key) (out Outcome, causes map[Key]sqlstore.Cause, err error) {
	causes = make(map[Key]sqlstore.Cause, len(keys))
	for _, k := range keys {
		causes[k] = l.causes[k]
	}
	v, err := l.r.view(ctx, causes)
	if err != nil {
		return out, nil, err
	}
	defer v.close()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("step of %s panicked: %v", l.c.Name, p)
			l.r.cfg.Logger.Error("controller panicked", "controller", l.c.Name, "panic", p, "stack", stack())
		}
	}()
	out = l.c.Step(v, keys)
	return out, causes, v.err
}

// mark makes a key due because of a change. Which change is told as the cause
// of what follows: the first by someone else, as long as there is one; a controller that reacts to its own
// writes is still busy with what woke it before.
func (l *loop) mark(k Key, cause sqlstore.Cause, own bool) {
	if !l.isDue[k] {
		l.isDue[k] = true
		l.due = append(l.due, k)
	}
	if _, known := l.causes[k]; !known || (!own && !l.foreign[k]) {
		l.causes[k] = cause
	}
	if !own {
		l.foreign[k] = true
	}
}

// fail puts a key into back-off.
func (l *loop) fail(k Key) {
	n := l.failures[k]
	l.failures[k] = n + 1
	d := maxBackoff
	if n < 20 {
		d = min(maxBackoff, firstBackoff<<n)
	}
	at := l.r.cfg.Clock.Now().Add(d)
	if old, ok := l.timers[k]; !ok || at.Before(old) {
		l.timers[k] = at
	}
}

// forget drops the causes of keys that nobody waits for, when they have become many.
func (l *loop) forget(keys []Key) {
	if len(l.causes) < 10000 {
		return
	}
	for _, k := range keys {
		if _, waits := l.timers[k]; !waits && !l.isDue[k] {
			delete(l.causes, k)
		}
	}
}

// takeWoken makes the keys of Wake due.
func (l *loop) takeWoken() {
	l.mu.Lock()
	woken := l.woken
	l.woken = nil
	l.mu.Unlock()
	for _, k := range woken {
		l.again(k)
	}
}

// takeTimers makes keys due whose time has come, the earliest first.
func (l *loop) takeTimers() {
	now := l.r.cfg.Clock.Now()
	if l.c.Every > 0 && !l.tick.After(now) {
		l.tick = now.Add(l.c.Every)
		l.again(Key{})
	}
	var ready []Key
	for k, t := range l.timers {
		if !t.After(now) {
			ready = append(ready, k)
		}
	}
	sort.Slice(ready, func(i, j int) bool {
		a, b := l.timers[ready[i]], l.timers[ready[j]]
		if !a.Equal(b) {
			return a.Before(b)
		}
		return ready[i].less(ready[j])
	})
	for _, k := range ready {
		delete(l.timers, k)
		l.again(k)
	}
}

// again makes a key due with the cause that it had.
func (l *loop) again(k Key) {
	if !l.isDue[k] {
		l.isDue[k] = true
		l.due = append(l.due, k)
	}
}

// less orders keys, for a fixed order only.
func (k Key) less(o Key) bool {
	if k.Namespace != o.Namespace {
		return k.Namespace < o.Namespace
	}
	if k.Name != o.Name {
		return k.Name < o.Name
	}
	return k.UID < o.UID
}

// revisionOf reads an object's resourceVersion; 0 when it has none.
func revisionOf(obj runtime.Object) int64 {
	if obj == nil {
		return 0
	}
	n, _ := strconv.ParseInt(accessor(obj).GetResourceVersion(), 10, 64)
	return n
}
