package kindtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"kuberow/api/kinds"
)

// A Cluster is what the strategies under test find stored, and what they said.
type Cluster struct {
	Objects  map[string][]runtime.Object // by the plural name of the resource
	Warnings []string
	drawn    int
}

// Context gives a request by nobody in particular.
func (c *Cluster) Context() *kinds.Context {
	return &kinds.Context{
		Ctx: context.Background(), Now: time.Unix(1700000000, 0), Reader: c, Client: &client{c},
		Namespace: "default",
		Cluster:   &kinds.Cluster{ServiceCIDRs: []string{"10.96.0.0/16"}, NodePortFirst: 30000, NodePortLast: 32767},
		Random:    func(n int) string { c.drawn++; return fmt.Sprintf("%0*d", n, c.drawn) },
		UID:       func() types.UID { return "11111111-2222-3333-4444-555555555555" },
		Warn:      func(text string) { c.Warnings = append(c.Warnings, text) },
	}
}

// Get finds an object by resource and name.
func (c *Cluster) Get(_ context.Context, gr schema.GroupResource, namespace, name string) (runtime.Object, error) {
	for _, obj := range c.Objects[gr.Resource] {
		if m, err := meta.Accessor(obj); err == nil && m.GetNamespace() == namespace && m.GetName() == name {
			return obj, nil
		}
	}
	return nil, errors.NewNotFound(gr, name)
}

// List gives the objects of a resource.
func (c *Cluster) List(_ context.Context, gr schema.GroupResource, namespace string, s labels.Selector) ([]runtime.Object, error) {
	var out []runtime.Object
	for _, obj := range c.Objects[gr.Resource] {
		m, err := meta.Accessor(obj)
		if err == nil && (namespace == "" || m.GetNamespace() == namespace) && (s == nil || s.Matches(labels.Set(m.GetLabels()))) {
			out = append(out, obj)
		}
	}
	return out, nil
}

// client changes the stored objects in place.
type client struct{ *Cluster }

func (c *client) Create(context.Context, kinds.Write) (runtime.Object, error) {
	return nil, fmt.Errorf("not expected here: create")
}

func (c *client) Update(context.Context, kinds.Write) (runtime.Object, error) {
	return nil, fmt.Errorf("not expected here: update")
}

func (c *client) Mutate(ctx context.Context, w kinds.Write) (runtime.Object, error) {
	obj, err := c.Get(ctx, w.Resource, w.Namespace, w.Name)
	if err != nil {
		return nil, err
	}
	return obj, w.Mutate(obj)
}

func (c *client) Delete(_ context.Context, w kinds.Write) (runtime.Object, error) {
	list := c.Objects[w.Resource.Resource]
	for i, obj := range list {
		if m, err := meta.Accessor(obj); err == nil && m.GetName() == w.Name {
			c.Objects[w.Resource.Resource] = append(list[:i:i], list[i+1:]...)
			return obj, nil
		}
	}
	return nil, errors.NewNotFound(w.Resource, w.Name)
}

// Find gives a resource by its plural name.
func Find(t testing.TB, list []*kinds.Resource, name string) *kinds.Resource {
	t.Helper()
	for _, r := range list {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("no resource %s", name)
	return nil
}

// Create runs the steps of a POST on obj itself and gives what is wrong with it, one line per
// fault, as clients read it.
func Create(r *kinds.Context, s *kinds.Strategy, obj runtime.Object) []string {
	if s.Default != nil {
		s.Default(obj)
	}
	if s.PrepareForCreate != nil {
		s.PrepareForCreate(r, obj)
	}
	if s.BeginCreate != nil {
		if err := s.BeginCreate(r, obj); err != nil {
			return []string{err.Error()}
		}
	}
	var faults []string
	if s.Validate != nil {
		for _, e := range s.Validate(r, obj) {
			faults = append(faults, e.Error())
		}
	}
	if s.Canonicalize != nil {
		s.Canonicalize(obj)
	}
	return faults
}

// Update runs the steps of a PUT on obj itself.
func Update(r *kinds.Context, s *kinds.Strategy, obj, old runtime.Object) []string {
	if s.Default != nil {
		s.Default(obj)
	}
	if s.PrepareForUpdate != nil {
		s.PrepareForUpdate(r, obj, old)
	}
	if s.BeginUpdate != nil {
		if err := s.BeginUpdate(r, obj, old); err != nil {
			return []string{err.Error()}
		}
	}
	var faults []string
	if s.ValidateUpdate != nil {
		for _, e := range s.ValidateUpdate(r, obj, old) {
			faults = append(faults, e.Error())
		}
	}
	if s.Canonicalize != nil {
		s.Canonicalize(obj)
	}
	return faults
}
