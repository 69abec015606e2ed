package common

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/sqlstore"
)

// A kind's file fills in a Typed with functions over its own Go type and calls
// Strategy once, when Resources() is built. A field that is nil stays nil, and
// Drop runs where there is a preparation.

// pointer says that *T is an API object.
type pointer[T any] interface {
	*T
	runtime.Object
}

// Typed is a kinds.Strategy in the words of one Go type; the fields and their order are the same.
type Typed[T any, P pointer[T]] struct {
	Default                   func(obj *T)
	Drop                      func(obj *T) // takes out what belongs to features that are off; part of the preparation
	PrepareForCreate          func(r *kinds.Context, obj *T)
	PrepareForUpdate          func(r *kinds.Context, obj, old *T)
	BeginCreate               func(r *kinds.Context, obj *T) error
	BeginUpdate               func(r *kinds.Context, obj, old *T) error
	Validate                  func(r *kinds.Context, obj *T) field.ErrorList
	ValidateUpdate            func(r *kinds.Context, obj, old *T) field.ErrorList
	Warnings                  func(r *kinds.Context, obj, old *T) []string // old is nil on create
	Canonicalize              func(obj *T)
	Related                   func(r *kinds.Context, obj, old *T) ([]kinds.Related, error) // either may be nil
	CheckDelete               func(r *kinds.Context, old *T) error
	GracePeriod               func(r *kinds.Context, old *T, asked *int64) int64
	ValidateName              func(name string, prefix bool) []string
	Fields                    func(obj *T) []sqlstore.Pair
	FieldNames                []string
	FieldAliases              map[string]string
	UnknownField              func(gvk schema.GroupVersionKind, name string) error
	ResetFields               []string
	AllowCreateOnUpdate       bool
	ForbidUnconditionalUpdate bool
	FreeMeta                  bool
	FreeFinalizers            bool
	FreeUpdate                bool
}

// Strategy gives the untyped form that the registry holds.
func (t Typed[T, P]) Strategy() *kinds.Strategy {
	s := &kinds.Strategy{
		ValidateName: t.ValidateName, ResetFields: t.ResetFields,
		FieldNames: t.FieldNames, FieldAliases: t.FieldAliases, UnknownField: t.UnknownField,
		AllowCreateOnUpdate: t.AllowCreateOnUpdate, ForbidUnconditionalUpdate: t.ForbidUnconditionalUpdate,
		FreeMeta: t.FreeMeta, FreeFinalizers: t.FreeFinalizers, FreeUpdate: t.FreeUpdate,
		Default: one[T, P](t.Default), Canonicalize: one[T, P](t.Canonicalize),
	}
	t.addPrepare(s)
	t.addValidate(s)
	t.addDelete(s)
	if f := t.Related; f != nil {
		s.Related = func(r *kinds.Context, obj, old runtime.Object) ([]kinds.Related, error) {
			return f(r, maybe[T, P](obj), maybe[T, P](old))
		}
	}
	if f := t.Fields; f != nil {
		s.Fields = func(obj runtime.Object) []sqlstore.Pair { return f(obj.(P)) }
	}
	return s
}

func (t Typed[T, P]) addPrepare(s *kinds.Strategy) {
	drop := t.Drop
	if drop == nil {
		drop = func(*T) {}
	}
	if f := t.PrepareForCreate; f != nil {
		s.PrepareForCreate = func(r *kinds.Context, obj runtime.Object) { drop(obj.(P)); f(r, obj.(P)) }
	}
	if f := t.PrepareForUpdate; f != nil {
		s.PrepareForUpdate = func(r *kinds.Context, obj, old runtime.Object) { drop(obj.(P)); f(r, obj.(P), old.(P)) }
	}
	if f := t.BeginCreate; f != nil {
		s.BeginCreate = func(r *kinds.Context, obj runtime.Object) error { return f(r, obj.(P)) }
	}
	if f := t.BeginUpdate; f != nil {
		s.BeginUpdate = func(r *kinds.Context, obj, old runtime.Object) error { return f(r, obj.(P), old.(P)) }
	}
}

func (t Typed[T, P]) addValidate(s *kinds.Strategy) {
	if f := t.Validate; f != nil {
		s.Validate = func(r *kinds.Context, obj runtime.Object) field.ErrorList { return f(r, obj.(P)) }
	}
	if f := t.ValidateUpdate; f != nil {
		s.ValidateUpdate = func(r *kinds.Context, obj, old runtime.Object) field.ErrorList { return f(r, obj.(P), old.(P)) }
	}
	if f := t.Warnings; f != nil {
		s.Warnings = func(r *kinds.Context, obj, old runtime.Object) []string { return f(r, obj.(P), maybe[T, P](old)) }
	}
}

func (t Typed[T, P]) addDelete(s *kinds.Strategy) {
	if f := t.CheckDelete; f != nil {
		s.CheckDelete = func(r *kinds.Context, old runtime.Object) error { return f(r, old.(P)) }
	}
	if f := t.GracePeriod; f != nil {
		s.GracePeriod = func(r *kinds.Context, old runtime.Object, asked *int64) int64 { return f(r, old.(P), asked) }
	}
}

func one[T any, P pointer[T]](f func(obj *T)) func(runtime.Object) {
	if f == nil {
		return nil
	}
	return func(obj runtime.Object) { f(obj.(P)) }
}

// maybe turns a nil interface into a nil pointer instead of a panic.
func maybe[T any, P pointer[T]](obj runtime.Object) *T {
	if obj == nil {
		return nil
	}
	return obj.(P)
}

// Version describes one served version whose Go type is T and whose list type is L.
// It is a hub as long as ToHub and FromHub stay nil:
//
//	common.Version[corev1.Pod, corev1.PodList](corev1.SchemeGroupVersion.WithKind("Pod"))
func Version[T, L any, P pointer[T], Q pointer[L]](gvk schema.GroupVersionKind) *kinds.Version {
	return &kinds.Version{
		GVK:     gvk,
		New:     func() runtime.Object { return P(new(T)) },
		NewList: func() runtime.Object { return Q(new(L)) },
	}
}

// Convert makes v a version that is not the hub: its objects are T, the hub's are H.
func Convert[T, H any, P pointer[T], Q pointer[H]](v *kinds.Version, to func(*T) (*H, error), from func(*H) (*T, error)) *kinds.Version {
	v.ToHub = func(in runtime.Object) (runtime.Object, error) {
		out, err := to(in.(P))
		if err != nil {
			return nil, err
		}
		return Q(out), nil
	}
	v.FromHub = func(hub runtime.Object) (runtime.Object, error) {
		out, err := from(hub.(Q))
		if err != nil {
			return nil, err
		}
		return P(out), nil
	}
	return v
}
