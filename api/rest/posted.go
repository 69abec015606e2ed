package rest

// managedFields of what is posted but not stored: a review or a token request
// comes back with them, as from a real server. Nothing is ever merged with
// them, so the schema is guessed from the object: lists are atomic, which the
// lists of these kinds are.

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
)

// trackPosted records that the sender set the fields of in.
func (o *op) trackPosted(in runtime.Object) {
	gvk := in.GetObjectKind().GroupVersionKind()
	empty, err := clientscheme.Scheme.New(gvk)
	if err != nil {
		return // a kind of a custom API: it keeps none
	}
	empty.GetObjectKind().SetGroupVersionKind(gvk)
	scheme := clientscheme.Scheme
	m, err := managedfields.NewDefaultFieldManager(managedfields.NewDeducedTypeConverter(), scheme, scheme, scheme, gvk, gvk.GroupVersion(), o.Subresource, nil)
	if err != nil {
		return
	}
	m.UpdateNoErrors(empty, in, o.manager)
}
