package controllers

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/jmoiron/sqlx"
	"k8s.io/utils/clock"

	"kuberow/api/kinds"
	"kuberow/api/wire"
	"kuberow/sqlstore"
)

// The Runner drives all controllers. Goroutines of Run:
//
//	feed        waits for the store's next revision and tells every loop; one
//	loop        one per controller: changes -> keys -> Step -> writes (loop.go)
//	writers     at most Config.Parallel at a time, short-lived, one per key with writes (submit.go)
//	recorders   write Event objects behind everyone's back (recorder.go)
//
// RunUntilQuiet does the same work in the caller's goroutine, in a fixed order.

// Store is what the Runner needs of sqlstore.Store.
type Store interface {
	Revision() int64
	Changes(ctx context.Context, after int64, limit int) ([]*sqlstore.Change, error)
	Wait(ctx context.Context, after int64) error
	Reader() *sqlx.DB
}

// Config is what a Runner is made of. Store, Client, Registry and Cluster are needed.
type Config struct {
	Store       Store
	Client      kinds.Client
	Registry    *kinds.Registry
	Cluster     *kinds.Cluster
	Controllers []Controller

	Objects  *wire.Cache        // decoded rows, shared with the API; nil: its own
	Clock    clock.WithTicker   // nil: the real one
	Random   func(n int) string // name suffixes; nil: apimachinery's
	Logger   *slog.Logger       // nil: slog.Default
	Parallel int                // writes at a time; 0: 256
}

// Runner runs controllers against a store.
type Runner struct {
	cfg      Config
	loops    []*loop
	byName   map[string]*loop
	slots    chan struct{} // one token for each write under way
	recorder *recorder
}

// NewRunner prepares a runner; nothing runs yet.
func NewRunner(cfg Config) (*Runner, error) {
	fillConfig(&cfg)
	r := &Runner{cfg: cfg, byName: map[string]*loop{}, slots: make(chan struct{}, cfg.Parallel)}
	r.recorder = newRecorder(cfg.Client, cfg.Clock, cfg.Logger)
	for i := range cfg.Controllers {
		c := &cfg.Controllers[i]
		if r.byName[c.Name] != nil {
			return nil, fmt.Errorf("make runner: controller %s is there twice", c.Name)
		}
		l := newLoop(r, c)
		r.loops = append(r.loops, l)
		r.byName[c.Name] = l
	}
	return r, nil
}

// Wake makes a controller's Step look at a key soon, for a reason that the
// store does not know (a container ended). A controller that is off ignores it.
func (r *Runner) Wake(controller string, key Key) {
	if l := r.byName[controller]; l != nil {
		l.poke(key)
	}
}

// Run works until ctx ends, and returns when everything has stopped.
func (r *Runner) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, l := range r.loops {
		all.Go(func() { l.run(ctx) })
	}
	all.Go(func() { r.recorder.run(ctx) })
	r.feed(ctx)
	all.Wait()
	return ctx.Err()
}

// feed wakes the loops whenever the store has moved.
func (r *Runner) feed(ctx context.Context) {
	seen := int64(0)
	for ctx.Err() == nil {
		now := r.cfg.Store.Revision()
		if now > seen {
			seen = now
			for _, l := range r.loops {
				l.notify()
			}
		}
		if err := r.cfg.Store.Wait(ctx, seen); err != nil && ctx.Err() == nil {
			r.cfg.Logger.Error("controllers stop: the store does not answer", "error", err)
			return
		}
	}
}

// RunUntilQuiet runs all controllers one after the other, again and again,
// until none has a key that is due. Keys that are due only later stay: let the clock move and
// call again. It must not be used beside Run.
func (r *Runner) RunUntilQuiet(ctx context.Context) error {
	for {
		busy := false
		for _, l := range r.loops {
			worked, err := l.pass(ctx)
			if err != nil {
				return fmt.Errorf("run %s: %w", l.c.Name, err)
			}
			r.recorder.flush(ctx)
			busy = busy || worked
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if !busy {
			return nil
		}
	}
}
