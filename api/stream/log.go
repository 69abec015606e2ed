package stream

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// log serves pods/log. Nothing is written before the node gave the first
// bytes, so that its refusal can still become a Status.
func (h *Handler) log(w http.ResponseWriter, r *http.Request, info *request.RequestInfo) error {
	options, err := logOptions(r.URL.Query())
	if err != nil {
		return err
	}
	if errs := validateLogOptions(options); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "PodLogOptions"}, info.Name, errs)
	}
	pod, err := h.pod(r, info.Namespace, info.Name)
	if err != nil {
		return err
	}
	if options.Container, err = chooseContainer(pod, options.Container); err != nil {
		return err
	}
	out := &logWriter{ResponseWriter: w, flush: options.Follow}
	if pod.Spec.NodeName == "" {
		w.WriteHeader(http.StatusNoContent) // there is nothing, and nowhere to ask for more
		return nil
	}
	if err := h.onNode(r, pod); err != nil {
		return err
	}
	if err := h.Nodes.Logs(r.Context(), pod, options, out); err != nil && !out.started {
		return err
	}
	out.start()
	return nil
}

// logWriter sends the header with the first bytes.
type logWriter struct {
	http.ResponseWriter
	flush, started bool
}

func (l *logWriter) start() {
	if !l.started {
		l.started = true
		l.Header().Set("Content-Type", "text/plain")
		l.WriteHeader(http.StatusOK)
	}
}

func (l *logWriter) Write(p []byte) (int, error) {
	l.start()
	n, err := l.ResponseWriter.Write(p)
	if l.flush && err == nil {
		err = http.NewResponseController(l.ResponseWriter).Flush()
	}
	return n, err
}

// logOptions reads corev1.PodLogOptions from a query.
func logOptions(q url.Values) (*corev1.PodLogOptions, error) {
	o := &corev1.PodLogOptions{
		Container: q.Get("container"), Follow: isTrue(q, "follow"), Previous: isTrue(q, "previous"),
		Timestamps: isTrue(q, "timestamps"), InsecureSkipTLSVerifyBackend: isTrue(q, "insecureSkipTLSVerifyBackend"),
	}
	for name, into := range map[string]**int64{"sinceSeconds": &o.SinceSeconds, "tailLines": &o.TailLines, "limitBytes": &o.LimitBytes} {
		text := q.Get(name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		*into = &n
	}
	if text := q.Get("sinceTime"); text != "" {
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		o.SinceTime = &metav1.Time{Time: t}
	}
	all := corev1.LogStreamAll
	o.Stream = &all
	if text := q.Get("stream"); text != "" {
		o.Stream = &text
	}
	return o, nil
}

func validateLogOptions(o *corev1.PodLogOptions) field.ErrorList {
	var errs field.ErrorList
	if o.TailLines != nil && *o.TailLines < 0 {
		errs = append(errs, field.Invalid(field.NewPath("tailLines"), *o.TailLines, "must be greater than or equal to 0"))
	}
	if o.LimitBytes != nil && *o.LimitBytes < 1 {
		errs = append(errs, field.Invalid(field.NewPath("limitBytes"), *o.LimitBytes, "must be greater than 0"))
	}
	switch {
	case o.SinceSeconds != nil && o.SinceTime != nil:
		errs = append(errs, field.Forbidden(field.NewPath(""), "at most one of `sinceTime` or `sinceSeconds` may be specified"))
	case o.SinceSeconds != nil && *o.SinceSeconds < 1:
		errs = append(errs, field.Invalid(field.NewPath("sinceSeconds"), *o.SinceSeconds, "must be greater than 0"))
	}
	switch *o.Stream {
	case corev1.LogStreamAll:
	case corev1.LogStreamStdout, corev1.LogStreamStderr:
		if o.TailLines != nil {
			errs = append(errs, field.Forbidden(field.NewPath(""), "`tailLines` and specific `stream` are mutually exclusive for now"))
		}
	default:
		errs = append(errs, field.NotSupported(field.NewPath("stream"), *o.Stream, []string{corev1.LogStreamAll, corev1.LogStreamStderr, corev1.LogStreamStdout}))
	}
	return errs
}

// isTrue reads a boolean option: present without a value counts as true.
func isTrue(q url.Values, name string) bool {
	values, there := q[name]
	if !there || len(values) == 0 {
		return false
	}
	return values[0] != "false" && values[0] != "0"
}
