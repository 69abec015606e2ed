package core

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// ComponentStatus stores nothing. Real Kubernetes probes its scheduler, its
// controller manager and etcd over HTTP; here all three are parts of the
// process that answers, and an answer is their proof of health.

func componentStatuses() *kinds.Resource {
	v := common.Version[corev1.ComponentStatus, corev1.ComponentStatusList](gvk("ComponentStatus"))
	v.Deprecated = "v1 ComponentStatus is deprecated in v1.19+"
	return single(kinds.Resource{
		Name: "componentstatuses", Singular: "componentstatus", ShortNames: []string{"cs"},
		Verbs: []string{"get", "list"}, Read: readComponents, Table: componentTable,
	}, v)
}

func readComponents(_ *kinds.Context, name string) (runtime.Object, error) {
	list := &corev1.ComponentStatusList{}
	for _, part := range []struct{ name, message string }{
		{"controller-manager", "ok"}, {"etcd-0", "ok"}, {"scheduler", "ok"},
	} {
		c := corev1.ComponentStatus{Conditions: []corev1.ComponentCondition{{
			Type: corev1.ComponentHealthy, Status: corev1.ConditionTrue, Message: part.message,
		}}}
		c.Name = part.name
		if name == c.Name {
			return &c, nil
		}
		list.Items = append(list.Items, c)
	}
	if name != "" {
		return nil, errors.NewNotFound(schema.GroupResource{Resource: "componentstatus"}, name)
	}
	return list, nil
}

// componentTable is what kubectl get componentstatuses prints.
func componentTable(objs []runtime.Object) *metav1.Table {
	t := &metav1.Table{ColumnDefinitions: []metav1.TableColumnDefinition{
		{Name: "Name", Type: "string", Format: "name", Description: metav1.ObjectMeta{}.SwaggerDoc()["name"]},
		{Name: "Status", Type: "string", Description: "Status of the component conditions"},
		{Name: "Message", Type: "string", Description: "Message of the component conditions"},
		{Name: "Error", Type: "string", Description: "Error of the component conditions"},
	}}
	for _, obj := range objs {
		c := obj.(*corev1.ComponentStatus)
		status, message, failure := "Unhealthy", "", ""
		for _, condition := range c.Conditions {
			if condition.Type != corev1.ComponentHealthy {
				continue
			}
			if condition.Status == corev1.ConditionTrue {
				status = "Healthy"
			}
			message, failure = condition.Message, condition.Error
		}
		t.Rows = append(t.Rows, metav1.TableRow{Cells: []any{c.Name, status, message, failure}})
	}
	return t
}
