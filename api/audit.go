package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"time"

	authnv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// The audit log says who asked for what, and what the answer was: one JSON
// line for each stage of a request that the policy wants to know of. The
// stages of a request:
//
//	RequestReceived   the sender is known, nothing has been decided
//	ResponseStarted   only of long-running requests: the headers went out
//	ResponseComplete  the answer is complete
//	Panic             the handler panicked
//
// Of an Audit that is nil, and of a trail that is nil, every method does nothing: then nothing is audited.

// Audit tells a sink about requests, as a policy wants it.
type Audit struct {
	Policy audit.PolicyRuleEvaluator
	Sink   *AuditLog
}

// trail is what the log learns of one request.
type trail struct {
	audit *Audit
	rule  audit.RequestAuditConfig
	event auditv1.Event
	notes *audit.AuditContext // annotations that others made, by the request's context
	long  bool

	request     *bytes.Buffer // what was read of a body that is told as it was sent
	requestType string        // its Content-Type
	response    bytes.Buffer  // the answer, as far as it is told
	answer      bool          // collect it
}

const maxUserAgent = 1024

// begin starts the trail of a request whose sender is known. The request goes on as it is returned.
func (a *Audit) begin(w http.ResponseWriter, req *http.Request, attrs authorizer.AttributesRecord, long bool) (*trail, *http.Request) {
	t := a.start(w, req, attrs)
	if t == nil {
		return nil, req
	}
	t.long = long
	req = t.collect(req)
	t.emit(auditv1.StageRequestReceived)
	return t, req
}

// start makes the event; nil when the policy does not want it.
func (a *Audit) start(w http.ResponseWriter, req *http.Request, attrs authorizer.AttributesRecord) *trail {
	if a == nil {
		return nil
	}
	rule := a.Policy.EvaluatePolicyRule(attrs)
	if rule.Level == auditinternal.LevelNone {
		return nil
	}
	agent := req.UserAgent()
	if len(agent) > maxUserAgent {
		agent = agent[:maxUserAgent] + "...TRUNCATED"
	}
	t := &trail{audit: a, rule: rule, notes: audit.AuditContextFrom(req.Context()), event: auditv1.Event{
		TypeMeta: metav1.TypeMeta{Kind: "Event", APIVersion: auditv1.SchemeGroupVersion.String()},
		Level:    auditv1.Level(rule.Level), AuditID: types.UID(w.Header().Get("Audit-Id")),
		RequestURI: req.URL.RequestURI(), Verb: attrs.Verb, User: auditUser(attrs.User), UserAgent: agent,
		RequestReceivedTimestamp: metav1.NewMicroTime(time.Now()),
	}}
	for _, ip := range utilnet.SourceIPs(req) {
		t.event.SourceIPs = append(t.event.SourceIPs, ip.String())
	}
	if attrs.ResourceRequest {
		t.event.ObjectRef = &auditv1.ObjectReference{
			Resource: attrs.Resource, Namespace: attrs.Namespace, Name: attrs.Name,
			APIGroup: attrs.APIGroup, APIVersion: attrs.APIVersion, Subresource: attrs.Subresource,
		}
	}
	return t
}

func auditUser(u user.Info) authnv1.UserInfo {
	if u == nil {
		return authnv1.UserInfo{}
	}
	info := authnv1.UserInfo{Username: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups()}
	for k, v := range u.GetExtra() {
		if info.Extra == nil {
			info.Extra = map[string]authnv1.ExtraValue{}
		}
		info.Extra[k] = authnv1.ExtraValue(v)
	}
	return info
}

// unknown is the trail of a request whose sender could not be found out. It has one stage.
func (a *Audit) unknown(w http.ResponseWriter, req *http.Request, attrs authorizer.AttributesRecord) *trail {
	t := a.start(w, req, attrs)
	if t == nil {
		return nil
	}
	t.event.ResponseStatus = &metav1.Status{
		Status: metav1.StatusFailure, Message: "Unauthorized", Reason: metav1.StatusReasonUnauthorized, Code: http.StatusUnauthorized,
	}
	if t.event.Level == auditv1.LevelRequestResponse {
		answer := apierrors.NewUnauthorized("Unauthorized").Status()
		answer.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		t.addObject(&t.event.ResponseObject, &answer)
	}
	t.emit(auditv1.StageResponseStarted)
	return nil
}

// impersonated notes as whom the request is made, and by which of the narrower rights.
func (t *trail) impersonated(as user.Info, constraint string) {
	if t == nil {
		return
	}
	u := auditUser(as)
	t.event.ImpersonatedUser = &u
	if constraint != "" {
		t.event.AuthenticationMetadata = &auditv1.AuthenticationMetadata{ImpersonationConstraint: constraint}
	}
}

// decided notes what the authorizer said.
func (t *trail) decided(allowed bool, reason string) {
	if t == nil {
		return
	}
	decision := "allow"
	if !allowed {
		decision = "forbid"
	}
	t.annotate(map[string]string{"authorization.k8s.io/decision": decision, "authorization.k8s.io/reason": reason})
}

// annotate adds annotations to the event.
func (t *trail) annotate(more map[string]string) {
	if len(more) == 0 {
		return
	}
	if t.event.Annotations == nil {
		t.event.Annotations = map[string]string{}
	}
	maps.Copy(t.event.Annotations, more)
}

// started notes the answer's code.
func (t *trail) started(code int) {
	if t == nil {
		return
	}
	t.event.ResponseStatus = &metav1.Status{Code: int32(code)}
	if code >= http.StatusBadRequest {
		t.answer = true // a Status says more than its code
	}
	if t.long {
		t.answer = t.answer && code >= http.StatusBadRequest
		if !t.answer { // else the stage waits until the Status is known
			t.emit(auditv1.StageResponseStarted)
		}
	}
}

// end tells the last stage. p is the panic that ended the request, nil for none.
func (t *trail) end(p any) {
	if t == nil {
		return
	}
	t.describeBody()
	if p != nil && p != http.ErrAbortHandler {
		t.event.ResponseStatus = &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonInternalError,
			Code: http.StatusInternalServerError, Message: fmt.Sprintf("APIServer panic'd: %v", p)}
		t.emit(auditv1.StagePanic)
		return
	}
	if t.event.ResponseStatus == nil {
		t.event.ResponseStatus = &metav1.Status{Code: http.StatusOK, Status: metav1.StatusSuccess, Message: "Connection closed early"}
	}
	t.describeResponse()
	if t.long && t.answer {
		t.emit(auditv1.StageResponseStarted)
	}
	t.emit(auditv1.StageResponseComplete)
}

// emit writes the event as it is now.
func (t *trail) emit(stage auditv1.Stage) {
	for _, omitted := range t.rule.OmitStages {
		if string(omitted) == string(stage) {
			return
		}
	}
	if t.notes != nil {
		t.annotate(t.notes.GetEventAnnotations())
	}
	t.event.Stage, t.event.StageTimestamp = stage, metav1.NewMicroTime(time.Now())
	line, err := json.Marshal(&t.event)
	if err != nil { // an object that is no JSON: the rest is still worth telling
		t.event.RequestObject, t.event.ResponseObject = nil, nil
		line, err = json.Marshal(&t.event)
	}
	t.audit.Sink.write(line, err)
}

func (a *Audit) counts() (written, failed int64) {
	if a == nil {
		return 0, 0
	}
	return a.Sink.written.Load(), a.Sink.failed.Load()
}
