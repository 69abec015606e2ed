package rest

import (
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	listvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"unicode"
	"unicode/utf8"

	"kuberow/api/wire"
)

// The query parameters of each verb, read and checked as upstream does.

var metaV1 = metav1.SchemeGroupVersion

func decodeQuery(q url.Values, into runtime.Object) error {
	if len(q) == 0 {
		return nil
	}
	if err := metainternal.ParameterCodec.DecodeParameters(q, metaV1, into); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}

func invalidOptions(kind string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
}

func optionsKind(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{Kind: kind, APIVersion: metav1.SchemeGroupVersion.String()}
}

func (c *call) createOptions(o *metav1.CreateOptions) error {
	if err := decodeQuery(c.req.URL.Query(), o); err != nil {
		return err
	}
	if err := invalidOptions("CreateOptions", validation.ValidateCreateOptions(o)); err != nil {
		return err
	}
	o.TypeMeta = optionsKind("CreateOptions")
	c.useOptions(o, o.FieldManager, o.DryRun)
	return nil
}

func (c *call) updateOptions(o *metav1.UpdateOptions) error {
	if err := decodeQuery(c.req.URL.Query(), o); err != nil {
		return err
	}
	if err := invalidOptions("UpdateOptions", validation.ValidateUpdateOptions(o)); err != nil {
		return err
	}
	o.TypeMeta = optionsKind("UpdateOptions")
	c.useOptions(o, o.FieldManager, o.DryRun)
	return nil
}

func (c *call) patchOptions(o *metav1.PatchOptions, patch types.PatchType) error {
	if err := decodeQuery(c.req.URL.Query(), o); err != nil {
		return err
	}
	if err := invalidOptions("PatchOptions", validation.ValidatePatchOptions(o, patch)); err != nil {
		return err
	}
	o.TypeMeta = optionsKind("PatchOptions")
	c.useOptions(o, o.FieldManager, o.DryRun)
	return nil
}

// deleteOptions come in the body, or in the query when there is none.
func (c *call) deleteOptions() (*metav1.DeleteOptions, error) {
	o := &metav1.DeleteOptions{}
	body, err := c.readBody()
	if err != nil {
		return nil, err
	}
	if len(body) > 0 {
		mediaType, err := c.inputType()
		if err != nil {
			return nil, err
		}
		if o, err = decodeDeleteOptions(body, mediaType); err != nil {
			return nil, err
		}
		if err := c.tellDecoded(o, completeDelete); err != nil {
			return nil, err
		}
	} else if err := decodeQuery(c.req.URL.Query(), o); err != nil {
		return nil, err
	}
	if unsafe := o.IgnoreStoreReadErrorWithClusterBreakingPotential; unsafe != nil && *unsafe && c.info.Verb == "deletecollection" {
		return nil, invalidOptions("DeleteOptions", field.ErrorList{field.Invalid(field.NewPath("ignoreStoreReadErrorWithClusterBreakingPotential"),
			true, "is not allowed with DELETECOLLECTION, try again after removing the option")})
	}
	o.IgnoreStoreReadErrorWithClusterBreakingPotential = nil
	if err := invalidOptions("DeleteOptions", validation.ValidateDeleteOptions(o)); err != nil {
		return nil, err
	}
	o.TypeMeta = optionsKind("DeleteOptions")
	c.useOptions(o, "", o.DryRun)
	return o, nil
}

func decodeDeleteOptions(body []byte, mediaType string) (*metav1.DeleteOptions, error) {
	// A client may send any group's version of DeleteOptions: they are all the same type.
	target := wire.Target{
		GVK:  metaV1.WithKind("DeleteOptions"),
		New:  func() runtime.Object { return &metav1.DeleteOptions{} },
		Also: func(gvk schema.GroupVersionKind) bool { return gvk.Kind == "DeleteOptions" },
		Bare: true,
	}
	obj, _, err := wire.Decode(body, mediaType, target, false)
	if err != nil {
		return nil, err
	}
	o, ok := obj.(*metav1.DeleteOptions)
	if !ok {
		return nil, apierrors.NewBadRequest("decoded object cannot be converted to DeleteOptions")
	}
	return o, nil
}

// useOptions remembers what the stages need of a request's options.
func (c *call) useOptions(o runtime.Object, manager string, dryRun []string) {
	c.options = o
	c.DryRun = len(dryRun) > 0
	c.manager = manager
	if manager == "" {
		c.manager = managerOf(c.Agent)
	}
}

// managerOf makes a field manager's name of a User-Agent: what stands before the first slash.
func managerOf(agent string) string {
	agent, _, _ = strings.Cut(agent, "/")
	var b strings.Builder
	for _, r := range agent {
		if !unicode.IsPrint(r) {
			continue
		}
		if b.Len()+utf8.RuneLen(r) > validation.FieldManagerMaxLength {
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}

// listOptions reads the parameters of list, watch and deletecollection.
func (c *call) listOptions() (*internalversion.ListOptions, error) {
	o := &internalversion.ListOptions{}
	if err := decodeQuery(c.req.URL.Query(), o); err != nil {
		return nil, err
	}
	internalversion.SetListOptionsDefaults(o, true)
	if err := invalidOptions("ListOptions", listvalidation.ValidateListOptions(o, true)); err != nil {
		return nil, err
	}
	if c.info.Verb == "watch" && !o.Watch { // on an old watch path the options are those of a list until here
		o.Watch = true
		internalversion.SetListOptionsDefaults(o, true)
	}
	if o.FieldSelector != nil {
		transformed, err := o.FieldSelector.Transform(c.fieldLabel)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		o.FieldSelector = transformed
	}
	if c.Name != "" {
		name := fields.OneTermEqualSelector("metadata.name", c.Name)
		if o.FieldSelector == nil || o.FieldSelector.Empty() {
			o.FieldSelector = name
		} else if selected, ok := o.FieldSelector.RequiresExactMatch("metadata.name"); !ok || selected != c.Name {
			return nil, apierrors.NewBadRequest("fieldSelector metadata.name doesn't match requested name")
		}
	}
	return o, nil
}
