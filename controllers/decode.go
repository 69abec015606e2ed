package controllers

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kuberow/sqlstore"
)

// decode gives the object of a row, which must be no tombstone. It is shared,
// and comes without managed fields: no controller reads them.
func (r *Runner) decode(gr schema.GroupResource, row *sqlstore.KV) (runtime.Object, error) {
	if obj, ok := r.cfg.Objects.Find(row.ID); ok {
		return obj, nil
	}
	res := r.cfg.Registry.Get(gr)
	if res == nil {
		return nil, fmt.Errorf("decode %s: resource %s is not served", row.Key, gr)
	}
	return r.cfg.Objects.Object(row, res.Hub.New)
}

// accessor gives the metadata of an object. What has none (a Status) gets empty metadata.
func accessor(obj runtime.Object) metav1.Object {
	m, err := meta.Accessor(obj)
	if err != nil {
		return &metav1.ObjectMeta{}
	}
	return m
}
