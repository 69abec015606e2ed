package rest

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Server-side apply: the client says what it wants of an object and under
// which name it wants it. Fields that another manager set to another value
// are conflicts; fields that this manager set before and no longer names go.

// applied decodes the configuration.
func (p *patcher) applied() (*unstructured.Unstructured, error) {
	config := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal(p.body, &config.Object); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	return config, nil
}

// serverSide merges the configuration into the current object, nil when there is none.
func (p *patcher) serverSide(current *row) (runtime.Object, error) {
	config, err := p.applied()
	if err != nil {
		return nil, err
	}
	m, err := p.fieldManager()
	if err != nil {
		return nil, err
	}
	var live runtime.Object
	if current != nil {
		live = current.complete()
	} else {
		live = p.Resource.Hub.New()
	}
	live.GetObjectKind().SetGroupVersionKind(p.Resource.Hub.GVK)
	force := p.options.Force != nil && *p.options.Force
	known := entryTimes(live)
	obj, err := m.Apply(live, config, p.options.FieldManager, force)
	if err != nil {
		return nil, err
	}
	p.stamp(known, obj)
	p.defaults(obj)
	return obj, p.strictApply()
}

// strictApply looks for duplicate keys in the configuration; unknown fields the schema has refused already.
func (p *patcher) strictApply() error {
	if p.options.FieldValidation == metav1.FieldValidationIgnore {
		return nil
	}
	err := yaml.UnmarshalStrict(p.body, &map[string]any{})
	switch {
	case err == nil:
		return nil
	case p.options.FieldValidation == metav1.FieldValidationStrict:
		return apierrors.NewBadRequest(fmt.Sprintf("error strict decoding patch: %v", err))
	}
	p.warnStrict([]error{err})
	return nil
}
