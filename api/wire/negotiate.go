package wire

import (
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/munnerz/goautoneg"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The media types that are served, in order of preference.
const (
	JSON     = "application/json"
	YAML     = "application/yaml"
	Protobuf = "application/vnd.kubernetes.protobuf"
)

var mediaTypes = []string{JSON, YAML, Protobuf}

// Output is how a client wants its answer.
type Output struct {
	MediaType string                   // JSON, YAML or Protobuf
	As        *schema.GroupVersionKind // Table, PartialObjectMetadata or PartialObjectMetadataList; nil for the object itself
	Pretty    bool
}

// IsTable tells whether rows were asked for instead of objects.
func (o Output) IsTable() bool { return o.As != nil && o.As.Kind == "Table" }

// IsMetadata tells whether only metadata was asked for.
func (o Output) IsMetadata() bool {
	return o.As != nil && (o.As.Kind == "PartialObjectMetadata" || o.As.Kind == "PartialObjectMetadataList")
}

// Negotiate chooses the answer's media type from the Accept header: the first
// clause that can be served.
func Negotiate(req *http.Request) (Output, error) {
	return negotiate(req, func(o Output) bool { return !o.IsTable() || o.MediaType != Protobuf })
}

// NegotiatePlain is Negotiate for what is only served as itself: a Status, discovery.
func NegotiatePlain(req *http.Request) (Output, error) {
	return negotiate(req, func(o Output) bool { return o.As == nil })
}

// NegotiateMetadata is Negotiate for objects that have no Table: reviews, and most parts of objects.
func NegotiateMetadata(req *http.Request) (Output, error) {
	return negotiate(req, func(o Output) bool { return !o.IsTable() })
}

func negotiate(req *http.Request, served func(Output) bool) (Output, error) {
	header := req.Header.Get("Accept")
	if header == "" {
		return Output{MediaType: JSON, Pretty: pretty(req)}, nil
	}
	for _, clause := range goautoneg.ParseAccept(header) {
		for _, m := range mediaTypes {
			if !clauseMatches(clause, m) {
				continue
			}
			out := Output{MediaType: m, Pretty: clause.Params["pretty"] == "1" || pretty(req)}
			if acceptParameters(clause.Params, &out) && served(out) {
				return out, nil
			}
		}
	}
	return Output{}, NotAcceptable(mediaTypes)
}

// NegotiateStream chooses a watch's media type: YAML has no framing.
func NegotiateStream(req *http.Request) (Output, error) {
	out, err := Negotiate(req)
	if err != nil || out.MediaType == YAML {
		return out, NotAcceptable([]string{JSON + ";stream=watch", Protobuf + ";stream=watch"})
	}
	out.Pretty = false
	return out, nil
}

func clauseMatches(c goautoneg.Accept, mediaType string) bool {
	t, sub, _ := strings.Cut(mediaType, "/")
	return c.Type == t && (c.SubType == sub || c.SubType == "*") || c.Type == "*" && c.SubType == "*"
}

func acceptParameters(params map[string]string, out *Output) bool {
	var as schema.GroupVersionKind
	for k, v := range params {
		switch k {
		case "as":
			as.Kind = v
		case "g":
			as.Group = v
		case "v":
			as.Version = v
		case "stream":
			if v != "" && (v != "watch" || out.MediaType == YAML) {
				return false
			}
		case "sv":
			if v != "" {
				return false
			}
		}
	}
	if as.Empty() {
		return true
	}
	if as.Group != metav1.GroupName || as.Version != "v1" && as.Version != "v1beta1" {
		return false
	}
	switch as.Kind {
	case "Table", "PartialObjectMetadata", "PartialObjectMetadataList":
		out.As = &as
		return true
	}
	return false
}

// pretty tells whether the answer should be indented: ?pretty, or a person's client.
func pretty(req *http.Request) bool {
	if req.URL != nil && strings.Contains(req.URL.RawQuery, "pretty") {
		if v := req.URL.Query().Get("pretty"); v != "" {
			yes, _ := strconv.ParseBool(v)
			return yes
		}
	}
	agent := req.UserAgent()
	return strings.HasPrefix(agent, "curl") || strings.HasPrefix(agent, "Wget") || strings.HasPrefix(agent, "Mozilla/5.0")
}

// InputType gives the media type of the request's body.
func InputType(req *http.Request) (string, error) {
	header := req.Header.Get("Content-Type")
	if header == "" {
		return JSON, nil
	}
	if t, _, err := mime.ParseMediaType(header); err == nil {
		for _, m := range mediaTypes {
			if t == m {
				return m, nil
			}
		}
	}
	return "", UnsupportedMediaType(mediaTypes)
}

// Acceptable tells whether any clause of the Accept header names one of the
// media types, parameters aside: what a route checks before its handler runs.
func Acceptable(req *http.Request, produces []string) bool {
	header := req.Header.Get("Accept")
	if header == "" {
		return true
	}
	for _, clause := range strings.Split(header, ",") {
		clause, _, _ = strings.Cut(clause, ";")
		clause = strings.TrimSpace(clause)
		if clause == "*/*" {
			return true
		}
		for _, p := range produces {
			if p, _, _ = strings.Cut(p, ";"); p == clause {
				return true
			}
		}
	}
	return false
}

// Representations lists what a route produces; a list's route serves its watch too.
func Representations(list bool) []string {
	if list {
		return append(append([]string(nil), mediaTypes...), JSON+";stream=watch", Protobuf+";stream=watch")
	}
	return mediaTypes
}

// StatusError carries a Status that apimachinery's errors cannot make.
type StatusError struct{ S metav1.Status }

// Error gives the message.
func (e *StatusError) Error() string { return e.S.Message }

// Status gives the Status.
func (e *StatusError) Status() metav1.Status { return e.S }

func failure(code int32, reason metav1.StatusReason, message string) error {
	return &StatusError{metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
}

// NotAcceptable is 406: none of the accepted media types is served.
func NotAcceptable(accepted []string) error {
	return failure(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"only the following media types are accepted: "+strings.Join(accepted, ", "))
}

// NotAcceptableText is 406 with a text of its own.
func NotAcceptableText(format string, args ...any) error {
	return failure(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, fmt.Sprintf(format, args...))
}

// UnsupportedMediaType is 415: the body is in a media type that is not read.
func UnsupportedMediaType(accepted []string) error {
	return failure(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		"the body of the request was in an unknown format - accepted media types include: "+strings.Join(accepted, ", "))
}
