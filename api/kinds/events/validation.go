// What an Event written through events.k8s.io must look like. The core group
// asks only for the first half, Legacy.
package events

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

const (
	maxShort = 128 // reportingInstance, action, reason
	maxNote  = 1024
)

func validateCreate(_ *kinds.Context, e *corev1.Event) field.ErrorList {
	all := append(Legacy(e, "reportingController"), validateSeries(e)...)
	if e.EventTime.IsZero() {
		all = append(all, field.Required(field.NewPath("eventTime"), ""))
	}
	if e.Type != corev1.EventTypeNormal && e.Type != corev1.EventTypeWarning {
		all = append(all, field.Invalid(field.NewPath("type"), "", fmt.Sprintf("has invalid value: %v", e.Type)))
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"firstTimestamp", !e.FirstTimestamp.IsZero()},
		{"lastTimestamp", !e.LastTimestamp.IsZero()},
		{"count", e.Count != 0},
		{"source", e.Source != corev1.EventSource{}},
	} {
		if f.set {
			all = append(all, field.Invalid(field.NewPath(f.name), "", "needs to be unset"))
		}
	}
	return all
}

// validateUpdate: only the series of an event may change.
func validateUpdate(_ *kinds.Context, e, old *corev1.Event) field.ErrorList {
	all := Legacy(e, "reportingController")
	if !common.Equal(e.Series, old.Series) {
		all = append(all, validateSeries(e)...)
	}
	fixed := func(name string, value, was any) {
		all = append(all, common.Immutable(value, was, field.NewPath(name))...)
	}
	fixed("involvedObject", e.InvolvedObject, old.InvolvedObject)
	fixed("reason", e.Reason, old.Reason)
	fixed("message", e.Message, old.Message)
	fixed("source", e.Source, old.Source)
	fixed("firstTimestamp", e.FirstTimestamp, old.FirstTimestamp)
	fixed("lastTimestamp", e.LastTimestamp, old.LastTimestamp)
	fixed("count", e.Count, old.Count)
	fixed("reason", e.Reason, old.Reason)
	fixed("type", e.Type, old.Type)
	// The wire carries microseconds; what is finer may get lost on the way.
	if !e.EventTime.Truncate(time.Microsecond).Equal(old.EventTime.Truncate(time.Microsecond)) {
		fixed("eventTime", e.EventTime, old.EventTime)
	}
	fixed("action", e.Action, old.Action)
	fixed("related", e.Related, old.Related)
	fixed("reportingController", e.ReportingController, old.ReportingController)
	fixed("reportingInstance", e.ReportingInstance, old.ReportingInstance)
	return all
}

func validateSeries(e *corev1.Event) field.ErrorList {
	var all field.ErrorList
	if e.Series == nil {
		return nil
	}
	if e.Series.Count < 2 {
		all = append(all, field.Invalid(field.NewPath("series.count"), "", "should be at least 2"))
	}
	if e.Series.LastObservedTime.IsZero() {
		all = append(all, field.Required(field.NewPath("series.lastObservedTime"), ""))
	}
	return all
}

// Legacy are the rules of both groups. controller is what the group calls the reporting controller's field.
func Legacy(e *corev1.Event, controller string) field.ErrorList {
	var all field.ErrorList
	about := e.InvolvedObject.Namespace
	elsewhere := field.Invalid(field.NewPath("involvedObject", "namespace"), about, "does not match event.namespace")
	if e.EventTime.IsZero() { // an event of the old style
		if (about == "" && e.Namespace != "" && e.Namespace != "default") || (about != "" && about != e.Namespace) {
			all = append(all, elsewhere)
		}
		return all
	}
	if about == "" && e.Namespace != "default" && e.Namespace != "kube-system" {
		all = append(all, elsewhere)
	}
	if e.ReportingController == "" {
		all = append(all, field.Required(field.NewPath(controller), ""))
	}
	all = append(all, common.QualifiedName(e.ReportingController, field.NewPath(controller))...)
	for _, f := range []struct {
		name, value string
		max         int
	}{
		{"reportingInstance", e.ReportingInstance, maxShort},
		{"action", e.Action, maxShort},
		{"reason", e.Reason, maxShort},
	} {
		if f.value == "" {
			all = append(all, field.Required(field.NewPath(f.name), ""))
		}
		all = append(all, atMost(f.name, f.value, f.max)...)
	}
	return append(all, atMost("message", e.Message, maxNote)...)
}

func atMost(name, value string, max int) field.ErrorList {
	if len(value) <= max {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath(name), "", fmt.Sprintf("can have at most %v characters", max))}
}
