package controllers

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"

	"kuberow/api/kinds"
)

// eventClient keeps events by name.
type eventClient struct {
	kinds.Client
	events []*corev1.Event
}

func (c *eventClient) Create(_ context.Context, w kinds.Write) (runtime.Object, error) {
	c.events = append(c.events, w.Object.(*corev1.Event))
	return w.Object, nil
}

func (c *eventClient) Mutate(_ context.Context, w kinds.Write) (runtime.Object, error) {
	for _, e := range c.events {
		if e.Name == w.Name {
			return e, w.Mutate(e)
		}
	}
	return nil, fmt.Errorf("no event %s", w.Name)
}

// recording tells events and gives what was stored.
func recording(tell func(r *recorder, clock *clocktesting.FakeClock)) []*corev1.Event {
	client := &eventClient{}
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	tell(newRecorder(client, clock, slog.New(slog.NewTextHandler(io.Discard, nil))), clock)
	return client.events
}

func told(reason, message, action string) *Write {
	return &Write{Event: &Event{Regarding: corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "web"}, Type: "Normal",
		Reason: reason, Message: message, Component: "test", Action: action}}
}

func TestRepeatedEventsCountUp(t *testing.T) {
	events := recording(func(r *recorder, clock *clocktesting.FakeClock) {
		for range 3 {
			r.record(told("Pulled", "the same", ""))
			r.flush(context.Background())
			clock.Step(time.Second)
		}
	})
	if len(events) != 1 || events[0].Count != 3 || events[0].LastTimestamp.Sub(events[0].FirstTimestamp.Time) != 2*time.Second {
		t.Errorf("got %d events, the first counts %d, from %v to %v", len(events), events[0].Count, events[0].FirstTimestamp, events[0].LastTimestamp)
	}
	if !strings.HasPrefix(events[0].Name, "web.") || events[0].Source.Component != "test" {
		t.Errorf("name %s, source %v", events[0].Name, events[0].Source)
	}
}

func TestSimilarEventsAreCombinedAndFloodsDropped(t *testing.T) {
	events := recording(func(r *recorder, _ *clocktesting.FakeClock) {
		for i := range 40 {
			r.record(told("SuccessfulCreate", fmt.Sprintf("Created pod: web-%d", i), ""))
			r.flush(context.Background())
		}
	})
	if len(events) != 10 {
		t.Fatalf("got %d events, want nine and a combined one", len(events))
	}
	last := events[9]
	if !strings.HasPrefix(last.Message, "(combined from similar events): ") || last.Count != 16 {
		t.Errorf("the combined one: %q counts %d, want 16: the source had 25 events to spend", last.Message, last.Count)
	}
	if events[8].ReportingController != "test" || last.ReportingController != "" {
		t.Errorf("reported by %q and, combined, by %q", events[8].ReportingController, last.ReportingController)
	}
}

func TestSchedulerEventsBecomeASeries(t *testing.T) {
	events := recording(func(r *recorder, _ *clocktesting.FakeClock) {
		for range 4 {
			r.record(told("FailedScheduling", "no", "Scheduling"))
			r.flush(context.Background())
		}
	})
	if len(events) != 1 || events[0].Series == nil || events[0].Series.Count != 2 || events[0].Count != 0 || events[0].ReportingController != "test" {
		t.Errorf("got %+v", events)
	}
}
