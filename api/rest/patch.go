package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	kjson "sigs.k8s.io/json"

	"kuberow/api/kinds"
	"kuberow/api/wire"
)

// PATCH. A patch is a change like any other: current object in, wanted object
// out. It is applied to the version of the URL, and the result passes the
// same stages as a PUT. Server-side apply is in apply.go.

const maxJSONPatchOperations = 10000

// patcher applies one patch; it may be asked to again, on a newer object.
type patcher struct {
	*call
	kind    types.PatchType
	body    []byte
	options *metav1.PatchOptions
}

// servePatch answers PATCH on an object or on a part of it.
func (c *call) servePatch() error {
	contentType, _, _ := strings.Cut(c.req.Header.Get("Content-Type"), ";")
	p := &patcher{call: c, kind: types.PatchType(contentType), options: &metav1.PatchOptions{}}
	var err error
	if p.body, err = c.readBody(); err != nil {
		return err
	}
	if err := c.patchOptions(p.options, p.kind); err != nil {
		return err
	}
	if err := p.check(); err != nil {
		return err
	}
	res, created, err := c.update(p.apply, p.kind == types.ApplyYAMLPatchType && c.sub == nil, "")
	if err != nil {
		return err
	}
	return c.answer(okOrCreated(created), res)
}

// check refuses a body that is no patch before anything is read.
func (p *patcher) check() error {
	if p.kind == types.ApplyYAMLPatchType {
		// What no audit log could hold as JSON is refused in other words than what is read later.
		if _, err := yaml.ToJSON(p.body); err != nil {
			return apierrors.NewBadRequest(fmt.Sprintf("error encoding patch: %v", err))
		}
		return nil
	}
	if !json.Valid(p.body) {
		return apierrors.NewBadRequest("invalid JSON patch")
	}
	return nil
}

// apply is the change.
func (p *patcher) apply(current *row) (obj runtime.Object, tracked bool, err error) {
	if p.kind == types.ApplyYAMLPatchType {
		obj, err = p.serverSide(current)
		tracked = true
	} else {
		obj, err = p.patched(current)
	}
	if err != nil {
		return nil, false, err
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, false, fmt.Errorf("patch %s: %w", p.Resource.Name, err)
	}
	if current == nil && m.GetUID() != "" {
		return nil, false, apierrors.NewConflict(p.groupResource(), p.Name, fmt.Errorf(
			"uid mismatch: the provided object specified uid %s, and no existing object was found", m.GetUID()))
	}
	if err := p.checkNamespace(m); err != nil {
		return nil, false, err
	}
	return obj, tracked, p.checkName(m)
}

// patched applies one of the three patches that are made of JSON.
func (p *patcher) patched(current *row) (runtime.Object, error) {
	if current == nil { // of a kind that a PUT may create
		return nil, p.notFound()
	}
	before, err := p.encoder().fromHub(current.complete())
	if err != nil {
		return nil, err
	}
	version, obj := p.Version, runtime.Object(nil)
	if p.kind == types.StrategicMergePatchType {
		obj, err = p.strategic(before)
	} else {
		version, obj, err = p.textual(before)
	}
	if err != nil {
		return nil, err
	}
	hub, err := hubOf(version, obj)
	if err != nil {
		return nil, err
	}
	p.defaults(hub)
	return hub, nil
}

func (p *patcher) strict() bool { return p.options.FieldValidation != metav1.FieldValidationIgnore }

// textual applies a JSON patch or a merge patch to the object as JSON. The patch may change the
// object's version to another one that is served.
func (p *patcher) textual(before runtime.Object) (*kinds.Version, runtime.Object, error) {
	text, err := json.Marshal(before)
	if err != nil {
		return nil, nil, fmt.Errorf("encode %s: %w", p.Resource.Name, err)
	}
	var strictErrs []error
	if p.kind == types.JSONPatchType {
		text, strictErrs, err = p.jsonPatch(text)
	} else {
		text, strictErrs, err = p.mergePatch(text)
	}
	if err != nil {
		return nil, nil, err
	}
	version, obj, more, err := p.decodePatched(text)
	if err != nil {
		return nil, nil, invalidPatch(string(text), err)
	}
	strictErrs = append(strictErrs, more...)
	if version.Prune != nil {
		for _, name := range version.Prune(obj) {
			strictErrs = append(strictErrs, fmt.Errorf("unknown field %q", name))
		}
	}
	return version, obj, p.leftOver(string(text), strictErrs)
}

// decodePatched reads a patched object. Without an apiVersion upstream fills its internal
// type, none of whose fields has the name that the text gives it: what is left is empty.
func (p *patcher) decodePatched(text []byte) (v *kinds.Version, obj runtime.Object, strictErrs []error, err error) {
	var found map[string]any
	err = json.Unmarshal(text, &found)
	if err == nil && found != nil && found["apiVersion"] == nil && !p.Resource.Custom {
		for _, name := range slices.Sorted(maps.Keys(found)) {
			if name != "kind" && name != "apiVersion" {
				strictErrs = append(strictErrs, fmt.Errorf("unknown field %q", name))
			}
		}
		return p.Version, p.Version.New(), strictErrs, nil
	}
	v = p.patchedVersion(found["apiVersion"])
	obj, strictErrs, err = wire.DecodeJSON(text, p.patchedTarget(v), p.strict())
	return v, obj, strictErrs, err
}

// patchedVersion is the version that a patched text names, of any group that serves the stored kind; else that of the URL.
func (p *patcher) patchedVersion(apiVersion any) *kinds.Version {
	if apiVersion == p.Version.GVK.GroupVersion().String() {
		return p.Version
	}
	for _, res := range p.rest.Registry.All() {
		if res.Hub.GVK != p.Resource.Hub.GVK {
			continue
		}
		for _, v := range res.Versions {
			if apiVersion == v.GVK.GroupVersion().String() {
				return v
			}
		}
	}
	return p.Version
}

// patchedTarget is what a patched text should hold: the kind, under any of the
// names that a group version gives it or gave it once.
func (p *patcher) patchedTarget(v *kinds.Version) wire.Target {
	t := wire.Target{GVK: v.GVK, New: v.New, Known: p.rest.known}
	t.Also = func(gvk schema.GroupVersionKind) bool {
		return gvk.Kind == t.GVK.Kind && clientscheme.Scheme.Recognizes(gvk)
	}
	return t
}

// leftOver warns of or refuses what strict decoding complained about.
func (p *patcher) leftOver(shown string, errs []error) error {
	if len(errs) == 0 || !p.strict() {
		return nil
	}
	if p.options.FieldValidation == metav1.FieldValidationStrict {
		return invalidPatch(shown, runtime.NewStrictDecodingError(errs))
	}
	p.warnStrict(errs)
	return nil
}

func invalidPatch(shown string, err error) error {
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{
		field.Invalid(field.NewPath("patch"), shown, err.Error()),
	})
}

// jsonPatchOp is one operation, to find what does not belong into it. Its
// name shows in an error text of upstream.
type jsonPatchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

func (p *patcher) jsonPatch(text []byte) ([]byte, []error, error) {
	var strictErrs []error
	if p.strict() {
		var ops []jsonPatchOp
		errs, err := kjson.UnmarshalStrict(p.body, &ops)
		if err != nil {
			return nil, nil, apierrors.NewBadRequest("error decoding patch: " +
				strings.ReplaceAll(err.Error(), "rest.jsonPatchOp", "handlers.jsonPatchOp"))
		}
		for _, e := range errs {
			strictErrs = append(strictErrs, fmt.Errorf("json patch %w", e))
		}
	}
	patch, err := jsonpatch.DecodePatch(p.body)
	if err != nil {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	if len(patch) > maxJSONPatchOperations {
		return nil, nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
			"The allowed maximum operations in a JSON patch is %d, got %d", maxJSONPatchOperations, len(patch)))
	}
	if text, err = applyOperations(patch, text); err != nil {
		return nil, nil, unprocessable(err)
	}
	return text, strictErrs, nil
}

// applyOperations applies a JSON patch. The library panics at a test of the whole document that names no value.
func applyOperations(patch jsonpatch.Patch, text []byte) (out []byte, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("an operation lacks what it needs: %v", fault)
		}
	}()
	return patch.Apply(text)
}

// unprocessable is the 422 of a patch that does not fit the object.
func unprocessable(err error) error {
	return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
}

func (p *patcher) mergePatch(text []byte) ([]byte, []error, error) {
	var strictErrs []error
	if p.strict() {
		var err error
		if strictErrs, err = kjson.UnmarshalStrict(p.body, &map[string]any{}); err != nil {
			return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
		}
	}
	text, err := jsonpatch.MergePatch(text, p.body)
	if errors.Is(err, jsonpatch.ErrBadJSONPatch) {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	return text, strictErrs, err
}

// strategic applies a strategic merge patch, which knows the lists that are merged by key.
func (p *patcher) strategic(before runtime.Object) (runtime.Object, error) {
	original, err := runtime.DefaultUnstructuredConverter.ToUnstructured(before)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", p.Resource.Name, err)
	}
	patch := map[string]any{}
	var strictErrs []error
	if p.strict() {
		strictErrs, err = kjson.UnmarshalStrict(p.body, &patch)
	} else {
		err = kjson.UnmarshalCaseSensitivePreserveInts(p.body, &patch)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	merged, err := strategicpatch.StrategicMergeMapPatch(original, patch, p.Version.New())
	if err != nil {
		return nil, strategicError(err)
	}
	obj := p.Version.New()
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(merged, obj, p.strict())
	if s, ok := runtime.AsStrictDecodingError(err); ok {
		strictErrs = append(strictErrs, s.Errors()...)
	} else if err != nil {
		return nil, invalidPatch(fmt.Sprintf("%+v", patch), err)
	}
	return obj, p.leftOver(fmt.Sprintf("%+v", patch), strictErrs)
}

// strategicError gives the library's errors their status.
func strategicError(err error) error {
	switch {
	case errors.Is(err, mergepatch.ErrBadJSONDoc), errors.Is(err, mergepatch.ErrBadPatchFormatForPrimitiveList),
		errors.Is(err, mergepatch.ErrBadPatchFormatForRetainKeys), errors.Is(err, mergepatch.ErrBadPatchFormatForSetElementOrderList),
		errors.Is(err, mergepatch.ErrUnsupportedStrategicMergePatchFormat):
		return apierrors.NewBadRequest(err.Error())
	case errors.Is(err, mergepatch.ErrNoListOfLists), errors.Is(err, mergepatch.ErrPatchContentNotMatchRetainKeys):
		return unprocessable(err)
	}
	return err
}
