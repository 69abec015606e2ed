package kubelet

import "time"

// Back-off as the real kubelet counts it: the first failure costs nothing, the
// second 10 s from the end of the failed attempt, then twice as much up to 5
// minutes, and all is forgotten after 10 minutes without a failure.

const (
	firstBackoff = 10 * time.Second
	maxBackoff   = 300 * time.Second
	forgetAfter  = 2 * maxBackoff
)

// backoff of one thing that may fail again and again.
type backoff struct {
	delay time.Duration
	last  time.Time // when delay was set
	note  string    // what the last failure said
}

// until says when the next attempt may be made, for a failure at since; zero when now.
func (b *backoff) until(since, now time.Time) time.Time {
	if b == nil || since.Sub(b.last) > forgetAfter {
		return time.Time{}
	}
	if t := since.Add(b.delay); t.After(now) {
		return t
	}
	return time.Time{}
}

// next counts an attempt after a failure at since.
func (b *backoff) next(since, now time.Time) {
	switch {
	case b.delay == 0 || since.Sub(b.last) > forgetAfter:
		b.delay = firstBackoff
	default:
		b.delay = min(2*b.delay, maxBackoff)
	}
	b.last = now
}

// quick counts an attempt that is retried soon: 0.5 s, doubling to 2 minutes
// (mounts and sandboxes).
func (b *backoff) quick(now time.Time) {
	switch {
	case b.delay == 0:
		b.delay = 500 * time.Millisecond
	default:
		b.delay = min(2*b.delay, 2*time.Minute)
	}
	b.last = now
}

// backoffOf gives the worker's counter of that name, making it. Called with mu held.
func (w *worker) backoffOf(name string) *backoff {
	b := w.backoff[name]
	if b == nil {
		b = &backoff{}
		w.backoff[name] = b
	}
	return b
}
