package rest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kuberow/api/wire"
	"kuberow/sqlstore"
)

// WATCH. A watcher is a position in history and nothing else: it asks the
// store for the changes after it, writes those that concern it, and waits to
// be woken. Nobody keeps a queue for it, so a slow client costs nothing and
// misses nothing; only compaction can overtake it, and then it is told so.

const (
	minWatch       = 30 * time.Minute // a watch without timeoutSeconds lasts between this and twice this
	bookmarkEvery  = time.Minute
	bookmarkBefore = 2 * time.Second // before the end of the watch
	changesAtOnce  = 1000
)

type watcher struct {
	*call
	*framer
	selector  selector
	from, to  string // keys
	position  int64  // every change up to here was seen
	bookmarks bool
	deadline  time.Time
	next      time.Time // of the next bookmark
	body      *wire.Stream
}

// serveWatch answers GET with watch=true.
func (c *call) serveWatch() error {
	out, err := wire.NegotiateStream(c.req)
	if err != nil {
		return err
	}
	c.out = out
	o, err := c.listOptions()
	if err != nil {
		return err
	}
	revision, err := c.revisionOf(o.ResourceVersion)
	if err != nil {
		return err
	}
	f, err := c.newFramer()
	if err != nil {
		return err
	}
	initial := o.SendInitialEvents != nil && *o.SendInitialEvents
	var early error
	if initial && revision > 0 {
		early = c.waitFor(revision)
	}
	timeout := minWatch + time.Duration(rand.Int64N(int64(minWatch)))
	if o.TimeoutSeconds != nil && *o.TimeoutSeconds > 0 {
		timeout = time.Duration(*o.TimeoutSeconds) * time.Second
	}
	ctx, cancel := context.WithTimeout(c.Ctx, timeout)
	defer cancel()
	defer context.AfterFunc(c.rest.Stopping, cancel)()
	c.Ctx = ctx
	w := &watcher{
		call: c, framer: f, bookmarks: o.AllowWatchBookmarks, deadline: time.Now().Add(timeout),
		selector: selector{labels: o.LabelSelector, fields: o.FieldSelector},
	}
	w.from, w.to = w.selector.reach(c.Resource, c.listNamespace())
	return w.run(revision, initial, early)
}

// run starts the answer and goes on until the watch ends. Errors are events
// from here on, the early one too.
func (w *watcher) run(revision int64, initial bool, early error) error {
	if revision == 0 {
		revision = w.call.rest.Store.Revision()
	}
	w.position = revision
	mediaType := w.call.out.MediaType
	if mediaType == wire.Protobuf {
		mediaType += ";stream=watch"
	}
	w.body = wire.NewStream(w.w, mediaType)
	if initial && w.bookmarks { // a list in the form of a watch, which upstream compresses
		w.body.Compress(w.req)
	}
	w.body.Start()
	w.scheduleBookmark()
	err := early
	if err == nil {
		err = w.stream(initial)
	}
	if err == nil || ended(err) || errors.Is(err, errNoFrame) || errors.Is(err, context.DeadlineExceeded) || w.Ctx.Err() != nil {
		return nil
	}
	b, encodeErr := w.failure(w.failed(err))
	if encodeErr != nil {
		return nil
	}
	if _, err := w.body.Write(b); err == nil {
		_ = w.body.Flush()
	}
	return nil
}

// failed words the end of a watch.
func (w *watcher) failed(err error) metav1.Status {
	if sqlstore.CodeOf(err) == sqlstore.CodeCompacted {
		return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)",
			w.position, w.call.rest.Store.CompactRevision())).Status()
	}
	return StatusOf(err)
}

func (w *watcher) stream(initial bool) error {
	if initial {
		if err := w.sendInitial(); err != nil {
			return err
		}
	}
	store := w.call.rest.Store
	for {
		changes, err := store.Changes(w.Ctx, w.position, changesAtOnce)
		if err != nil {
			return err
		}
		if len(changes) > 0 {
			if err := w.send(changes); err != nil {
				return err
			}
			w.position = changes[len(changes)-1].ModRevision
			_ = w.body.Flush()
			continue
		}
		if err := w.wait(); err != nil {
			return err
		}
	}
}

// wait returns at the next change; on the way it sends bookmarks.
func (w *watcher) wait() error {
	for {
		ctx, cancel := w.Ctx, context.CancelFunc(func() {})
		if w.bookmarks {
			ctx, cancel = context.WithDeadline(w.Ctx, w.next)
		}
		err := w.call.rest.Store.Wait(ctx, w.position)
		cancel()
		if err == nil || w.Ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		if err := w.sendBookmark(false); err != nil {
			return err
		}
		w.scheduleBookmark()
	}
}

// scheduleBookmark sets the time of the next one: in a minute, or shortly before the end.
func (w *watcher) scheduleBookmark() {
	now := time.Now()
	w.next = now.Add(bookmarkEvery)
	if before := w.deadline.Add(-bookmarkBefore); before.After(now) && before.Before(w.next) {
		w.next = before
	}
}

func (w *watcher) sendBookmark(endOfInitial bool) error {
	b, err := w.framer.bookmark(w.Ctx, w.position, endOfInitial)
	if err != nil {
		return err
	}
	if _, err := w.body.Write(b); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	_ = w.body.Flush()
	return nil
}

// sendInitial sends what lives now as ADDED, then the bookmark that says so.
func (w *watcher) sendInitial() error {
	l := &lister{rest: w.call.rest, res: w.Resource, selector: w.selector, from: w.from, to: w.to}
	for {
		rows, err := l.next(w.Ctx)
		if err != nil {
			return err
		}
		cells, err := w.cellsOf(rows)
		if err != nil {
			return err
		}
		for i := range rows {
			if err := w.event("ADDED", rows[i].ID, &rows[i], cells[rows[i].ID]); err != nil {
				return err
			}
		}
		if l.done() {
			break
		}
	}
	w.position = l.revision
	_ = w.body.Flush()
	if !w.bookmarks {
		return nil
	}
	return w.sendBookmark(true)
}

func (w *watcher) cellsOf(rows []sqlstore.KV) (map[int64][]any, error) {
	if w.table == nil {
		return nil, nil
	}
	return w.table.cells(w.Ctx, rows, false)
}

// send writes those of the changes that concern the watcher.
func (w *watcher) send(changes []*sqlstore.Change) error {
	for _, ch := range changes {
		if ch.Key < w.from || w.to == "" && ch.Key != w.from || w.to != "" && ch.Key >= w.to {
			continue
		}
		event, shown, err := w.see(ch)
		if err != nil {
			return err
		}
		if event == "" {
			continue
		}
		cells, err := w.cellsOf([]sqlstore.KV{*shown})
		if err != nil {
			return err
		}
		if err := w.event(event, ch.ID, shown, cells[shown.ID]); err != nil {
			return err
		}
	}
	return nil
}

// see tells what a change is to the watcher: an object that begins to match
// the selector is ADDED, one that ceases to is DELETED, shown as it was but
// with the revision of the change.
func (w *watcher) see(ch *sqlstore.Change) (event string, shown *sqlstore.KV, err error) {
	now, err := w.selects(&ch.KV)
	if err != nil {
		return "", nil, err
	}
	before, err := w.selects(ch.Prev)
	if err != nil {
		return "", nil, err
	}
	switch {
	case now && before:
		return "MODIFIED", &ch.KV, nil
	case now:
		return "ADDED", &ch.KV, nil
	case before:
		last := *ch.Prev
		last.ModRevision = ch.ModRevision
		return "DELETED", &last, nil
	}
	return "", nil, nil
}

func (w *watcher) selects(kv *sqlstore.KV) (bool, error) {
	if kv == nil || kv.Version == 0 {
		return false, nil
	}
	if w.selector.empty() {
		return true, nil
	}
	obj, err := w.call.rest.objects.Object(kv, w.Resource.Hub.New)
	if err != nil {
		return false, err
	}
	return w.selector.matches(w.Resource, obj), nil
}

func (w *watcher) event(event string, id int64, shown *sqlstore.KV, cells []any) error {
	b, err := w.framer.frame(event, id, shown, cells)
	if err != nil {
		return err
	}
	if _, err := w.body.Write(b); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	return nil
}
