package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kuberow/tables"
)

// The scale subresource is an autoscaling/v1 Scale that is stored nowhere: it
// is read off the object, changed, and put back as one number. Its
// managedFields are those entries of the object that own that number, renamed
// to the path in a Scale and back.

// serveScale answers for the scale subresource: a view of one number of the object.
func (c *call) serveScale() error {
	switch c.info.Verb {
	case "get":
		current, there, err := c.rest.live(c.Ctx, c.Resource, c.key())
		if err != nil {
			return err
		}
		if !there {
			return c.notFound()
		}
		s, err := c.scaleOf(current.obj)
		if err != nil {
			return err
		}
		return c.answerScale(s)
	case "update", "patch":
		return c.changeScale()
	}
	return methodNotAllowed(c.info.Verb)
}

// changeScale answers PUT and PATCH: a change of the Scale, inside a change of the object.
func (c *call) changeScale() error {
	part := *c
	inner := *c.op
	part.op = &inner
	inner.Resource = c.rest.fields.part(c.Resource, autoscalingv1.SchemeGroupVersion.WithKind("Scale"),
		func() runtime.Object { return &autoscalingv1.Scale{} })
	inner.Version = inner.Resource.Hub
	inner.sub = nil
	changed, err := part.scaleChange()
	if err != nil {
		return err
	}
	c.options, c.DryRun, c.manager = inner.options, inner.DryRun, inner.manager
	res, _, err := c.update(func(current *row) (runtime.Object, bool, error) {
		obj, err := c.applyScale(&inner, changed, current)
		return obj, true, err
	}, false, "")
	if err != nil {
		return err
	}
	s, err := c.scaleOf(res.obj)
	if err != nil {
		return err
	}
	return c.answerScale(s)
}

// answerScale writes a Scale, also as a Table: its cells are in no view, since no row holds it.
func (c *call) answerScale(s *autoscalingv1.Scale) error {
	if !c.out.IsTable() {
		return c.answerObject(http.StatusOK, s)
	}
	t, err := c.newTable()
	if err != nil {
		return err
	}
	t.table, t.known = tables.For(autoscalingv1.GroupName, "scale")
	age := duration.HumanDuration(c.Now.Sub(s.CreationTimestamp.Time))
	return c.answerRows([]runtime.Object{s}, &metav1.Table{
		ListMeta: metav1.ListMeta{ResourceVersion: s.ResourceVersion}, ColumnDefinitions: t.definitions(),
		Rows: []metav1.TableRow{{Cells: []any{s.Name, s.Spec.Replicas, s.Status.Replicas, age}}},
	})
}

// scaleChange reads the request as a change of a Scale.
func (c *call) scaleChange() (change, error) {
	body, err := c.readBody()
	if err != nil {
		return nil, err
	}
	if c.info.Verb == "patch" {
		contentType, _, _ := strings.Cut(c.req.Header.Get("Content-Type"), ";")
		p := &patcher{call: c, kind: types.PatchType(contentType), body: body, options: &metav1.PatchOptions{}}
		if err := c.patchOptions(p.options, p.kind); err != nil {
			return nil, err
		}
		return p.apply, p.check()
	}
	options := &metav1.UpdateOptions{}
	if err := c.updateOptions(options); err != nil {
		return nil, err
	}
	mediaType, err := c.inputType()
	if err != nil {
		return nil, err
	}
	obj, err := c.decode(body, mediaType, options.FieldValidation)
	if err != nil {
		return nil, err
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, errNoObject
	}
	if err := c.checkNamespace(m); err != nil {
		return nil, err
	}
	return func(*row) (runtime.Object, bool, error) { return obj.DeepCopyObject(), false, nil }, c.checkName(m)
}

// applyScale changes the Scale of current and puts the result back.
func (c *call) applyScale(inner *op, changed change, current *row) (runtime.Object, error) {
	paths := managedfields.ResourcePathMappings{}
	for _, v := range c.Resource.Versions {
		paths[v.GVK.GroupVersion().String()] = fieldpath.MakePathOrDie("spec", "replicas")
	}
	handler := managedfields.NewScaleHandler(managed(&current.kv), c.Version.GVK.GroupVersion(), paths)
	before, err := c.scaleRow(handler, current)
	if err != nil {
		return nil, err
	}
	obj, tracked, err := changed(before)
	if err != nil {
		return nil, err
	}
	if !tracked {
		inner.trackRow(before, obj)
	}
	s, ok := obj.(*autoscalingv1.Scale)
	if !ok {
		return nil, apierrors.NewBadRequest("expected input object type to be Scale")
	}
	if s.Spec.Replicas < 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: autoscalingv1.GroupName, Kind: "Scale"}, c.Name, field.ErrorList{
			field.Invalid(field.NewPath("spec", "replicas"), s.Spec.Replicas, "must be greater than or equal to 0")})
	}
	out := current.obj.DeepCopyObject()
	m, err := meta.Accessor(out)
	if err != nil {
		return nil, err
	}
	if s.UID != "" && s.UID != m.GetUID() {
		return nil, c.wrongScaleUID(s.UID, m.GetUID())
	}
	if err := c.sub.Scale.Set(out, s.Spec.Replicas); err != nil {
		return nil, err
	}
	m.SetResourceVersion(s.ResourceVersion)
	entries, err := handler.ToParent(s.ManagedFields)
	if err != nil {
		return nil, err
	}
	m.SetManagedFields(entries)
	return out, nil
}

// wrongScaleUID is the 409 of a Scale of another object. With PUT upstream's storage finds out; a patch's
// outcome it compares before, under the name of the part.
func (c *call) wrongScaleUID(want, have types.UID) error {
	if c.info.Verb != "patch" {
		return c.wrongUID(want, have)
	}
	part := c.groupResource()
	part.Resource += "/scale"
	return apierrors.NewConflict(part, c.Name, fmt.Errorf("Precondition failed: UID in precondition: %s, UID in object meta: %s", want, have))
}

// scaleRow is the Scale of a row, as a row.
func (c *call) scaleRow(handler *managedfields.ScaleHandler, current *row) (*row, error) {
	s, err := c.scaleOf(current.obj)
	if err != nil {
		return nil, err
	}
	entries, err := handler.ToSubresource()
	if err != nil {
		return nil, err
	}
	r := &row{kv: current.kv, obj: s}
	if r.kv.ManagedFields, err = json.Marshal(entries); err != nil {
		return nil, err
	}
	return r, nil
}

// scaleOf makes the Scale of an object.
func (o *op) scaleOf(obj runtime.Object) (*autoscalingv1.Scale, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	spec, status, selector, err := o.sub.Scale.Get(obj)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	s := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Name: m.GetName(), Namespace: m.GetNamespace(), UID: m.GetUID(),
			ResourceVersion: m.GetResourceVersion(), CreationTimestamp: m.GetCreationTimestamp(),
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: spec},
		Status: autoscalingv1.ScaleStatus{Replicas: status, Selector: selector},
	}
	s.SetGroupVersionKind(autoscalingv1.SchemeGroupVersion.WithKind("Scale"))
	return s, nil
}
