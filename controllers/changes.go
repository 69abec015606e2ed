package controllers

import (
	"context"
	"fmt"
	"sort"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kuberow/sqlstore"
)

// From changes to keys: what the loop does first. At the first pass, and when
// the changes that it has not read were compacted away, every living object is taken for a change.

// changesAtOnce is how many changes one read of the store may give.
const changesAtOnce = 1000

// readChanges maps what happened since the last pass to keys.
func (l *loop) readChanges(ctx context.Context) (bool, error) {
	if !l.listed {
		return true, l.list(ctx)
	}
	read := false
	var v *storeView
	defer func() {
		if v != nil {
			v.close()
		}
	}()
	for l.after < l.r.cfg.Store.Revision() {
		changes, err := l.r.cfg.Store.Changes(ctx, l.after, changesAtOnce)
		if sqlstore.CodeOf(err) == sqlstore.CodeCompacted {
			return true, l.list(ctx)
		}
		if err != nil {
			return read, fmt.Errorf("read changes after %d: %w", l.after, err)
		}
		if len(changes) == 0 {
			break
		}
		for _, c := range changes {
			keysOf := l.keysOf(schema.GroupResource{Group: c.Object.Group, Resource: c.Object.Resource})
			own := l.own[c.ModRevision]
			if keysOf == nil {
				continue
			}
			if v == nil {
				if v, err = l.r.view(ctx, nil); err != nil {
					return read, err
				}
			}
			if obj, ok := l.object(c); ok {
				for _, k := range l.ask(keysOf, v, obj) {
					l.mark(k, obj.Cause, own)
				}
			}
		}
		l.after = changes[len(changes)-1].ModRevision
		read = true
	}
	for rev := range l.own {
		if rev <= l.after {
			delete(l.own, rev)
		}
	}
	return read, nil
}

// keysOf is the function that maps changes of a resource, nil when they do not matter.
func (l *loop) keysOf(gr schema.GroupResource) KeysFunc {
	if f := l.c.Keys[gr]; f != nil {
		return f
	}
	if gr.Resource == "" { // a key that holds no object
		return nil
	}
	return l.c.Any
}

// ask calls a function of Keys. A panic of it costs this one change, not the server.
func (l *loop) ask(keysOf KeysFunc, v View, o Object) (keys []Key) {
	defer func() {
		if p := recover(); p != nil {
			l.r.cfg.Logger.Error("controller panicked over a change", "controller", l.c.Name, "resource", o.Resource, "revision", o.Cause.Revision, "panic", p, "stack", stack())
		}
	}()
	return keysOf(v, o)
}

// object decodes a change. One that cannot be decoded is logged and skipped.
func (l *loop) object(c *sqlstore.Change) (Object, bool) {
	gr := schema.GroupResource{Group: c.Object.Group, Resource: c.Object.Resource}
	o := Object{Resource: gr, Cause: sqlstore.Cause{Revision: c.ModRevision, ID: c.ID}}
	var err error
	if c.Version != 0 {
		o.Now, err = l.r.decode(gr, &c.KV)
	}
	if err == nil && c.Prev != nil && c.Prev.Version != 0 {
		o.Prev, err = l.r.decode(gr, c.Prev)
	}
	if err != nil {
		l.r.cfg.Logger.Warn("skip a change that cannot be decoded", "controller", l.c.Name, "key", c.Key, "error", err)
		return o, false
	}
	return o, true
}

// list takes every living object as a change.
func (l *loop) list(ctx context.Context) error {
	v, err := l.r.view(ctx, nil)
	if err != nil {
		return err
	}
	defer v.close()
	grs := make([]schema.GroupResource, 0, len(l.c.Keys))
	for gr := range l.c.Keys {
		grs = append(grs, gr)
	}
	sort.Slice(grs, func(i, j int) bool { return grs[i].String() < grs[j].String() })
	for _, gr := range grs {
		for _, o := range v.all(gr) {
			for _, k := range l.ask(l.c.Keys[gr], v, o) {
				l.mark(k, o.Cause, false)
			}
		}
	}
	if l.c.Any != nil {
		for _, o := range v.ownedOrEnding() {
			if l.c.Keys[o.Resource] != nil {
				continue
			}
			for _, k := range l.ask(l.c.Any, v, o) {
				l.mark(k, o.Cause, false)
			}
		}
	}
	if v.err != nil {
		return v.err
	}
	l.listed, l.after = true, v.rev
	l.own = map[int64]bool{}
	return nil
}
