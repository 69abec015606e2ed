package kinds

// The 403 of a request that no authorizer allowed. Impersonation, the door and
// admission plugins that ask the authorizer all answer with it.

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// EscapeHTML keeps a browser from taking for HTML what a user typed and a message gives back.
var EscapeHTML = strings.NewReplacer(`&`, "&amp;", `<`, "&lt;", `>`, "&gt;")

// Forbidden says who may not do what, in upstream's words, and the authorizer's reason if it gave one.
func Forbidden(a authorizer.Attributes, reason string) *apierrors.StatusError {
	text := EscapeHTML.Replace(forbiddenText(a))
	if reason != "" {
		text += ": " + reason
	}
	gr := schema.GroupResource{Group: a.GetAPIGroup(), Resource: a.GetResource()}
	err := apierrors.NewForbidden(gr, a.GetName(), errors.New(text))
	if !a.IsResourceRequest() {
		err.ErrStatus.Message = "forbidden: " + text
		err.ErrStatus.Details = &metav1.StatusDetails{}
	}
	return err
}

func forbiddenText(a authorizer.Attributes) string {
	name := ""
	if u := a.GetUser(); u != nil {
		name = u.GetName()
	}
	if !a.IsResourceRequest() {
		return fmt.Sprintf("User %q cannot %s path %q", name, a.GetVerb(), a.GetPath())
	}
	resource := a.GetResource()
	if sub := a.GetSubresource(); sub != "" {
		resource += "/" + sub
	}
	where := " at the cluster scope"
	if ns := a.GetNamespace(); ns != "" {
		where = fmt.Sprintf(" in the namespace %q", ns)
	}
	return fmt.Sprintf("User %q cannot %s resource %q in API group %q%s", name, a.GetVerb(), resource, a.GetAPIGroup(), where)
}
