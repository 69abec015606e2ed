package api

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kuberow/api/kinds"
	"kuberow/api/rest"
)

// Controllers write without HTTP, and stand in the audit log all the same: one
// event for each write, when it is done.

// client wraps a client so that its writes are audited.
func (a *Audit) client(c kinds.Client, registry *kinds.Registry) kinds.Client {
	if a == nil {
		return c
	}
	return auditedClient{c, a, registry}
}

type auditedClient struct {
	next     kinds.Client
	audit    *Audit
	registry *kinds.Registry
}

// Create implements kinds.Client.
func (c auditedClient) Create(ctx context.Context, w kinds.Write) (runtime.Object, error) {
	start := time.Now()
	obj, err := c.next.Create(ctx, w)
	c.tell("create", start, &w, obj, err)
	return obj, err
}

// Update implements kinds.Client.
func (c auditedClient) Update(ctx context.Context, w kinds.Write) (runtime.Object, error) {
	start := time.Now()
	obj, err := c.next.Update(ctx, w)
	verb := "update"
	if w.Apply {
		verb = "patch"
	}
	c.tell(verb, start, &w, obj, err)
	return obj, err
}

// Mutate implements kinds.Client.
func (c auditedClient) Mutate(ctx context.Context, w kinds.Write) (runtime.Object, error) {
	start := time.Now()
	obj, err := c.next.Mutate(ctx, w)
	verb := "update"
	if w.Patch {
		verb = "patch"
	}
	c.tell(verb, start, &w, obj, err)
	return obj, err
}

// Delete implements kinds.Client.
func (c auditedClient) Delete(ctx context.Context, w kinds.Write) (runtime.Object, error) {
	start := time.Now()
	obj, err := c.next.Delete(ctx, w)
	c.tell("delete", start, &w, obj, err)
	return obj, err
}

// tell writes the event.
func (c auditedClient) tell(verb string, start time.Time, w *kinds.Write, obj runtime.Object, err error) {
	res := c.registry.Get(w.Resource)
	if res == nil {
		return
	}
	attrs := authorizer.AttributesRecord{
		User: w.User, Verb: verb, ResourceRequest: true, APIGroup: res.Group, APIVersion: res.Hub.GVK.Version,
		Resource: res.Name, Subresource: w.Subresource, Namespace: w.Namespace, Name: w.Name,
	}
	rule := c.audit.Policy.EvaluatePolicyRule(attrs)
	if rule.Level == auditinternal.LevelNone {
		return
	}
	t := &trail{audit: c.audit, rule: rule, event: auditv1.Event{
		TypeMeta: metav1.TypeMeta{Kind: "Event", APIVersion: auditv1.SchemeGroupVersion.String()},
		Level:    auditv1.Level(rule.Level), AuditID: types.UID(uuid.NewString()), Verb: verb, User: auditUser(w.User),
		RequestURI: rest.WritePath(res, w), UserAgent: w.Agent, SourceIPs: []string{"127.0.0.1"},
		RequestReceivedTimestamp: metav1.NewMicroTime(start),
		ObjectRef: &auditv1.ObjectReference{Resource: res.Name, Namespace: w.Namespace, Name: w.Name,
			APIGroup: res.Group, APIVersion: res.Hub.GVK.Version, Subresource: w.Subresource},
		ResponseStatus: &metav1.Status{Code: http.StatusOK},
	}}
	switch {
	case err != nil:
		s := rest.StatusOf(err)
		t.event.ResponseStatus = &metav1.Status{Status: s.Status, Message: s.Message, Reason: s.Reason, Details: s.Details, Code: s.Code}
	case verb == "create":
		t.event.ResponseStatus.Code = http.StatusCreated
	}
	if err == nil && obj != nil {
		if m, accessErr := meta.Accessor(obj); accessErr == nil {
			t.event.ObjectRef.Name, t.event.ObjectRef.UID = m.GetName(), m.GetUID()
		}
	}
	t.addObjects(w.Object, obj, err)
	t.emit(auditv1.StageResponseComplete)
}

// addObjects tells the objects that the level wants.
func (t *trail) addObjects(sent, stored runtime.Object, err error) {
	if t.tells() {
		t.addObject(&t.event.RequestObject, sent)
	}
	if t.event.Level == auditv1.LevelRequestResponse && err == nil {
		t.addObject(&t.event.ResponseObject, stored)
	}
}
