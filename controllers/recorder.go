package controllers

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"kuberow/api/kinds"
)

// The recorder turns what controllers tell into Event objects, as client-go's
// recorders do: the same thing told again counts up the event that is there;
// things that differ in their message only become one "(combined from
// similar events)" after nine of them; and a source may tell 25 things about
// an object, then one every five minutes.
//
// Events are written in the background, so nobody waits for them: record
// decides at once what the event object should look like, and workers
// bring it to the store. An event that counts up while it waits is written once.

const (
	combineAfter   = 10               // differing messages that make a combined event
	combineWindow  = 10 * time.Minute // and how long they may be apart
	spamBurst      = 25               // events of a source about an object
	spamRefill     = 5 * time.Minute  // and when it may send one more
	rememberEvents = 4096
	recordWorkers  = 16
	seriesWindow   = 6 * time.Minute // events of the newer API this close together are one series
)

// entry is one Event object on its way to the store.
type entry struct {
	event   *corev1.Event // as it should be; replaced, never changed
	write   kinds.Write   // who asked for it, and why
	stored  bool          // it exists
	queued  bool          // it waits for a worker, or one has it
	changed bool          // it changed while a worker had it
}

// group remembers differing messages of one reason.
type group struct {
	messages map[string]bool
	last     time.Time
}

// bucket is a token bucket.
type bucket struct {
	tokens float64
	at     time.Time
}

// recorder correlates and writes events. mu guards all that follows it.
type recorder struct {
	client kinds.Client
	clock  clock.PassiveClock
	logger *slog.Logger

	mu      sync.Mutex
	seen    *lru.Cache // what is told -> *entry
	groups  *lru.Cache // reason -> *group
	buckets *lru.Cache // source and object -> *bucket
	queue   []*entry
	last    int64 // nanoseconds of the last event's name: names must differ
	bell    chan struct{}
}

func newRecorder(client kinds.Client, c clock.PassiveClock, logger *slog.Logger) *recorder {
	return &recorder{
		client: client, clock: c, logger: logger, bell: make(chan struct{}, 1),
		seen: lru.New(rememberEvents), groups: lru.New(rememberEvents), buckets: lru.New(rememberEvents),
	}
}

// record takes one thing told.
func (r *recorder) record(w *Write) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := w.Event
	now := r.clock.Now()
	var en *entry
	if e.Action != "" {
		en = r.series(e, now)
	} else {
		en = r.count(e, now)
	}
	if en == nil {
		return
	}
	en.write = w.Write
	if en.queued {
		en.changed = true
		return
	}
	en.queued = true
	r.queue = append(r.queue, en)
	select {
	case r.bell <- struct{}{}:
	default:
	}
}

// object begins the Event object of e.
func (r *recorder) object(e *Event, now time.Time) *corev1.Event {
	namespace := e.Regarding.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	r.last = max(r.last+1, now.UnixNano())
	ev := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: fmt.Sprintf("%s.%x", e.Regarding.Name, r.last), Namespace: namespace},
		InvolvedObject: e.Regarding,
		Reason:         e.Reason,
		Message:        e.Message,
		Type:           e.Type,
	}
	if len(ev.Name) > 253 {
		ev.Name = string(types.UID(fmt.Sprintf("event.%x", r.last)))
	}
	return ev
}

// count is the correlation of core events; nil when the event is dropped.
func (r *recorder) count(e *Event, now time.Time) *entry {
	source := strings.Join([]string{e.Component, e.Host, e.Regarding.Kind, e.Regarding.Namespace, e.Regarding.Name,
		string(e.Regarding.UID), e.Regarding.APIVersion, e.Type}, "\x00")
	message, key := e.Message, strings.Join([]string{source, e.Regarding.FieldPath, e.Reason, e.Message}, "\x00")
	combined := r.similar(source+"\x00"+e.Reason, e.Message, now)
	if combined {
		message, key = "(combined from similar events): "+e.Message, source+"\x00"+e.Reason
	}
	t := metav1.NewTime(now)
	en := &entry{}
	if v, ok := r.seen.Get(key); ok {
		en = v.(*entry)
		ev := en.event.DeepCopy()
		ev.Count++
		ev.LastTimestamp, ev.Message = t, message
		en.event = ev
		if !r.allow(source, now) {
			return nil // counted, and told with the next one that is allowed
		}
		return en
	}
	en.event = r.object(e, now)
	en.event.Message = message
	en.event.Source = corev1.EventSource{Component: e.Component, Host: e.Host}
	if !combined { // client-go leaves these out of what it combines
		en.event.ReportingController, en.event.ReportingInstance = e.Component, e.Host
	}
	en.event.FirstTimestamp, en.event.LastTimestamp, en.event.Count = t, t, 1
	r.seen.Add(key, en)
	if !r.allow(source, now) {
		r.seen.Remove(key)
		return nil
	}
	return en
}

// similar says whether reason was told with so many messages that they are combined.
func (r *recorder) similar(reason, message string, now time.Time) bool {
	g := &group{messages: map[string]bool{}}
	if v, ok := r.groups.Get(reason); ok && now.Sub(v.(*group).last) <= combineWindow {
		g = v.(*group)
	}
	g.messages[message] = true
	g.last = now
	r.groups.Add(reason, g)
	if len(g.messages) < combineAfter {
		return false
	}
	delete(g.messages, message)
	return true
}

// allow takes a token of the source.
func (r *recorder) allow(source string, now time.Time) bool {
	b := &bucket{tokens: spamBurst, at: now}
	if v, ok := r.buckets.Get(source); ok {
		b = v.(*bucket)
	}
	b.tokens = min(spamBurst, b.tokens+float64(now.Sub(b.at))/float64(spamRefill))
	b.at = now
	r.buckets.Add(source, b)
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// series is the correlation of events.k8s.io: a repetition starts a series, of
// which the store hears once; later ones count in memory.
func (r *recorder) series(e *Event, now time.Time) *entry {
	key := strings.Join([]string{"series", e.Type, e.Action, e.Reason, e.Component, e.Regarding.Kind, e.Regarding.Namespace,
		e.Regarding.Name, string(e.Regarding.UID), e.Message}, "\x00")
	if v, ok := r.seen.Get(key); ok {
		en := v.(*entry)
		last := en.event.EventTime.Time
		if en.event.Series != nil {
			last = en.event.Series.LastObservedTime.Time
		}
		if now.Sub(last) < seriesWindow {
			ev := en.event.DeepCopy()
			first := ev.Series == nil
			if first {
				ev.Series = &corev1.EventSeries{Count: 1}
			}
			ev.Series.Count++
			ev.Series.LastObservedTime = metav1.NewMicroTime(now)
			en.event = ev
			if !first {
				return nil
			}
			return en
		}
	}
	en := &entry{event: r.object(e, now)}
	en.event.EventTime = metav1.NewMicroTime(now)
	en.event.Action = e.Action
	en.event.ReportingController = e.Component
	en.event.ReportingInstance = e.Component + "-kuberow"
	en.event.Related = e.Related
	r.seen.Add(key, en)
	return en
}

// run writes events until ctx ends.
func (r *recorder) run(ctx context.Context) {
	var all sync.WaitGroup
	for range recordWorkers {
		all.Go(func() {
			for ctx.Err() == nil {
				if r.next(ctx) {
					continue
				}
				select {
				case <-ctx.Done():
				case <-r.bell:
				}
			}
		})
	}
	all.Wait()
}

// flush writes all that waits, in order.
func (r *recorder) flush(ctx context.Context) {
	for ctx.Err() == nil && r.next(ctx) {
	}
}

// next writes one event; false when none waits.
func (r *recorder) next(ctx context.Context) bool {
	r.mu.Lock()
	if len(r.queue) == 0 {
		r.mu.Unlock()
		return false
	}
	en := r.queue[0]
	r.queue = r.queue[1:]
	more := len(r.queue) > 0
	en.changed = false
	event, stored, w := en.event, en.stored, en.write
	r.mu.Unlock()
	if more {
		select { // the ring that brought us here stood for several
		case r.bell <- struct{}{}:
		default:
		}
	}
	err := r.write(ctx, w, event, stored)
	if err != nil && ctx.Err() == nil {
		r.logger.Debug("drop an event", "event", event.Name, "reason", event.Reason, "error", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	en.stored = en.stored || err == nil
	en.queued = en.changed
	if en.changed {
		r.queue = append(r.queue, en)
	}
	return true
}

// write creates the event, or brings the one that is there up to date.
func (r *recorder) write(ctx context.Context, w kinds.Write, event *corev1.Event, stored bool) error {
	w.Resource = schema.GroupResource{Resource: "events"}
	if event.Action != "" {
		w.Resource.Group = "events.k8s.io"
	}
	w.Namespace, w.Name = event.Namespace, event.Name
	if stored {
		w.Mutate = func(obj runtime.Object) error {
			now, ok := obj.(*corev1.Event)
			if !ok {
				return fmt.Errorf("mutate event %s: it is a %T", event.Name, obj)
			}
			now.Count, now.LastTimestamp, now.Message, now.Series = event.Count, event.LastTimestamp, event.Message, event.Series
			return nil
		}
		_, err := r.client.Mutate(ctx, w)
		if !apierrors.IsNotFound(err) {
			return err
		}
	}
	w.Mutate = nil
	w.Object = event.DeepCopy()
	_, err := r.client.Create(ctx, w)
	return err
}

// Reference names an object for an Event.
func Reference(obj runtime.Object, gvk schema.GroupVersionKind) corev1.ObjectReference {
	m := accessor(obj)
	return corev1.ObjectReference{
		APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind,
		Namespace: m.GetNamespace(), Name: m.GetName(), UID: m.GetUID(), ResourceVersion: m.GetResourceVersion(),
	}
}
