// Warnings about schemas: formats that nothing checks, and sets of things that
// have no order.
package apiextensions

import (
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"kuberow/api/kinds"
)

// warnings tells what obj brings that old did not have.
func warnings(_ *kinds.Context, obj, old *definition) []string {
	formats, sets := schemaWarnings(obj)
	var known []string
	if old != nil {
		oldFormats, oldSets := schemaWarnings(old)
		known = append(oldFormats, oldSets...)
	}
	slices.Sort(sets)
	var out []string
	for _, w := range append(formats, slices.Compact(sets)...) {
		if !slices.Contains(known, w) {
			out = append(out, w)
		}
	}
	return out
}

func schemaWarnings(d *definition) (formats, sets []string) {
	in, err := internal(d)
	if err != nil {
		return nil, nil // validation reports it
	}
	visit := func(s *apiextensions.JSONSchemaProps) bool {
		if s.Format != "" {
			probe := &spec.Schema{SchemaProps: spec.SchemaProps{Format: s.Format, Type: []string{s.Type}}}
			for _, f := range apiservervalidation.GetUnrecognizedFormats(probe, environment.DefaultCompatibilityVersion()) {
				formats = append(formats, fmt.Sprintf("unrecognized format %q", f))
			}
		}
		if s.XListType != nil && *s.XListType == "set" && s.Items != nil && s.Items.Schema != nil {
			if t := s.Items.Schema.Type; t == "object" || t == "array" {
				sets = append(sets, fmt.Sprintf("x-kubernetes-list-type: set for items of type %q is not supported by server-side apply or CEL validation rules", t))
			}
		}
		return false // go on to the next schema
	}
	if in.Spec.Validation != nil && in.Spec.Validation.OpenAPIV3Schema != nil {
		validation.SchemaHas(in.Spec.Validation.OpenAPIV3Schema, visit)
	}
	for _, v := range in.Spec.Versions {
		if v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
			validation.SchemaHas(v.Schema.OpenAPIV3Schema, visit)
		}
	}
	return formats, sets
}
