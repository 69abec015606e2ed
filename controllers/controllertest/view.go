package controllertest

import (
	"context"
	"fmt"
	"reflect"
	"sort"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kuberow/api/kinds"
	"kuberow/api/kinds/builtin"
	"kuberow/controllers"
	"kuberow/sqlstore"
)

// View is a View of objects that a test lists: rows in. What a Step answers
// is told by Told: writes out.
type View struct {
	T        testing.TB
	Time     time.Time
	registry *kinds.Registry
	objs     map[schema.GroupResource][]runtime.Object
}

// Now is the time of views whose test does not care.
var Now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// NewView makes one. An object without a uid gets one of its name.
func NewView(t testing.TB, objs ...runtime.Object) *View {
	t.Helper()
	registry, err := kinds.NewRegistry(builtin.Resources()...)
	if err != nil {
		t.Fatal(err)
	}
	v := &View{T: t, Time: Now, registry: registry, objs: map[schema.GroupResource][]runtime.Object{}}
	byType := map[reflect.Type]schema.GroupResource{}
	for _, res := range registry.All() {
		if res.Prefix != "" && res.Group != "events.k8s.io" {
			byType[reflect.TypeOf(res.Hub.New())] = res.GroupResource()
		}
	}
	for _, obj := range objs {
		m, err := meta.Accessor(obj)
		if err != nil {
			t.Fatal(err)
		}
		if m.GetUID() == "" {
			m.SetUID(types.UID(m.GetName() + "-uid"))
		}
		gr, ok := byType[reflect.TypeOf(obj)]
		if !ok {
			t.Fatalf("no resource holds a %T", obj)
		}
		v.objs[gr] = append(v.objs[gr], obj)
	}
	for gr := range v.objs {
		sort.SliceStable(v.objs[gr], func(i, j int) bool { return keyOf(v.objs[gr][i]) < keyOf(v.objs[gr][j]) })
	}
	return v
}

func accessor(obj runtime.Object) metav1.Object {
	m, err := meta.Accessor(obj)
	if err != nil {
		return &metav1.ObjectMeta{}
	}
	return m
}

func keyOf(obj runtime.Object) string {
	return accessor(obj).GetNamespace() + "/" + accessor(obj).GetName()
}

func (v *View) Context() context.Context             { return context.Background() }
func (v *View) Revision() int64                      { return 1 }
func (v *View) Now() time.Time                       { return v.Time }
func (v *View) Registry() *kinds.Registry            { return v.registry }
func (v *View) Cause(controllers.Key) sqlstore.Cause { return sqlstore.Cause{} }
func (v *View) Random(n int) string                  { return strings.Repeat("x", n) }
func (v *View) Cluster() *kinds.Cluster              { return &kinds.Cluster{CertificateCA: []byte("CA")} }

// Get is View's.
func (v *View) Get(gr schema.GroupResource, namespace, name string) runtime.Object {
	for _, obj := range v.objs[gr] {
		if accessor(obj).GetNamespace() == namespace && accessor(obj).GetName() == name {
			return obj
		}
	}
	return nil
}

// List is View's.
func (v *View) List(gr schema.GroupResource, namespace string, selector labels.Selector) []runtime.Object {
	var out []runtime.Object
	for _, obj := range v.objs[gr] {
		m := accessor(obj)
		if (namespace == "" || m.GetNamespace() == namespace) && (selector == nil || selector.Matches(labels.Set(m.GetLabels()))) {
			out = append(out, obj)
		}
	}
	return out
}

// Owned is View's.
func (v *View) Owned(gr schema.GroupResource, uid types.UID) []runtime.Object {
	var out []runtime.Object
	for _, obj := range v.objs[gr] {
		for _, ref := range accessor(obj).GetOwnerReferences() {
			if ref.UID == uid {
				out = append(out, obj)
			}
		}
	}
	return out
}

// Dependents is View's.
func (v *View) Dependents(uid types.UID) []controllers.Dependent {
	var out []controllers.Dependent
	for _, res := range v.registry.All() {
		for _, obj := range v.Owned(res.GroupResource(), uid) {
			out = append(out, controllers.Dependent{Resource: res.GroupResource(), Object: obj})
		}
	}
	return out
}

// Alive is View's.
func (v *View) Alive(uid types.UID) bool {
	for _, objs := range v.objs {
		for _, obj := range objs {
			if accessor(obj).GetUID() == uid {
				return true
			}
		}
	}
	return false
}

// Told writes down what an Outcome wants, a line for each write; a create is taken to succeed, and what it
// leads to follows indented. Mutations are applied to copies, which Changed gives.
func (v *View) Told(out controllers.Outcome) []string {
	v.T.Helper()
	var lines []string
	for i := range out.Writes {
		lines = append(lines, v.tell(&out.Writes[i], "")...)
	}
	return lines
}

func (v *View) tell(w *controllers.Write, indent string) []string {
	if w.Verb == controllers.Record {
		return []string{indent + fmt.Sprintf("event %s %s: %s", w.Event.Type, w.Event.Reason, w.Event.Message)}
	}
	name := w.Name
	if w.Object != nil && name == "" {
		name = accessor(w.Object).GetGenerateName() + "*"
	}
	what := w.Resource.Resource
	if w.Subresource != "" {
		what += "/" + w.Subresource
	}
	line := fmt.Sprintf("%s %s %s", w.Verb, what, name)
	if b, ok := w.Object.(*corev1.Binding); ok {
		line += " to " + b.Target.Name
	}
	if w.Propagation != "" {
		line += " " + w.Propagation
	}
	lines := []string{indent + line}
	if w.Done != nil {
		var obj runtime.Object = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, next := range w.Done(obj) {
			lines = append(lines, v.tell(&next, indent+"  ")...)
		}
	}
	return lines
}

// Changed applies the mutations that an Outcome wants of one object to a copy of it.
func (v *View) Changed(out controllers.Outcome, gr schema.GroupResource, namespace, name string) runtime.Object {
	v.T.Helper()
	obj := v.Get(gr, namespace, name)
	if obj == nil {
		v.T.Fatalf("%s %s/%s is not in the view", gr, namespace, name)
	}
	obj = obj.DeepCopyObject()
	for _, w := range out.Writes {
		if w.Verb == controllers.Mutate && w.Resource == gr && w.Namespace == namespace && w.Name == name {
			if err := w.Mutate(obj); err != nil {
				v.T.Fatal(err)
			}
		}
	}
	return obj
}
