package common

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	pathvalidation "k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	unversionedvalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Small rules that many kinds use. Each answers with upstream's wording.

// Immutable refuses any change of a value.
func Immutable(value, old any, path *field.Path) field.ErrorList {
	if Equal(value, old) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, Internal(value), apivalidation.FieldImmutableErrorMsg)}
}

// NonNegative refuses numbers below zero.
func NonNegative(value int64, path *field.Path) field.ErrorList {
	return apivalidation.ValidateNonnegativeField(value, path)
}

// Positive refuses numbers below one.
func Positive(value int64, path *field.Path) field.ErrorList {
	if value > 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, `must be greater than zero`)}
}

// LabelSelector checks a selector in its structured form.
func LabelSelector(s *metav1.LabelSelector, path *field.Path) field.ErrorList {
	options := unversionedvalidation.LabelSelectorValidationOptions{}
	if s == nil || len(s.MatchLabels) < 2 {
		return unversionedvalidation.ValidateLabelSelector(s, options, path)
	}
	rest := *s
	rest.MatchLabels = nil
	return append(Labels(s.MatchLabels, path.Child("matchLabels")), unversionedvalidation.ValidateLabelSelector(&rest, options, path)...)
}

// Labels checks a map of labels (a template's, a selector's), in the order of its keys: the same
// request is refused with the same words each time.
func Labels(labels map[string]string, path *field.Path) field.ErrorList {
	var all field.ErrorList
	for _, key := range Keys(labels) {
		all = append(all, unversionedvalidation.ValidateLabels(map[string]string{key: labels[key]}, path)...)
	}
	return all
}

// Annotations checks a map of annotations, in the order of its keys. Unlike a label's, an
// annotation's key may have capitals in its prefix.
func Annotations(annotations map[string]string, path *field.Path) field.ErrorList {
	var all field.ErrorList
	for _, key := range Keys(annotations) {
		all = append(all, Invalid(validation.IsQualifiedName(strings.ToLower(key)), key, path)...)
	}
	if apivalidation.ValidateAnnotationsSize(annotations) != nil {
		all = append(all, field.TooLong(path, "", apivalidation.TotalAnnotationSizeLimitB))
	}
	return all
}

// UserAnnotations checks what the subject of a certificate says about itself: annotations that each
// have a domain.
func UserAnnotations(annotations map[string]string, path *field.Path) field.ErrorList {
	var all field.ErrorList
	for _, key := range Keys(annotations) {
		all = append(all, validation.IsDomainPrefixedKey(path, strings.ToLower(key))...)
	}
	if apivalidation.ValidateAnnotationsSize(annotations) != nil {
		all = append(all, field.TooLong(path, "", apivalidation.TotalAnnotationSizeLimitB))
	}
	return all
}

// TemplateMeta checks the metadata of an object's template, which may have labels and annotations only.
func TemplateMeta(m *metav1.ObjectMeta, path *field.Path) field.ErrorList {
	all := append(Annotations(m.Annotations, path.Child("annotations")), Labels(m.Labels, path.Child("labels"))...)
	fields := reflect.ValueOf(*m)
	for i := range fields.NumField() {
		name := fields.Type().Field(i).Name
		if name != "Labels" && name != "Annotations" && !fields.Field(i).IsZero() {
			all = append(all, field.Forbidden(path.Child(strings.ToLower(name[:1])+name[1:]), "cannot be set"))
		}
	}
	return all
}

// QualifiedName checks a name with an optional DNS prefix.
func QualifiedName(value string, path *field.Path) field.ErrorList {
	return Invalid(validation.IsQualifiedName(value), value, path)
}

// DNSLabel checks a DNS-1123 label.
func DNSLabel(value string, path *field.Path) field.ErrorList {
	return Invalid(validation.IsDNS1123Label(value), value, path)
}

// DNSSubdomain checks a DNS-1123 subdomain.
func DNSSubdomain(value string, path *field.Path) field.ErrorList {
	return Invalid(validation.IsDNS1123Subdomain(value), value, path)
}

// OneOf refuses a value outside a set, and an empty one as missing. The set is printed in the given order.
func OneOf[E ~string](value E, path *field.Path, allowed ...E) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return Among(value, path, allowed...)
}

// Among is OneOf where an empty value is as wrong as any other outside the set.
func Among[E ~string](value E, path *field.Path, allowed ...E) field.ErrorList {
	if slices.Contains(allowed, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, allowed)}
}

// MaxBytes refuses a text that is too long.
func MaxBytes(value string, max int, path *field.Path) field.ErrorList {
	if len(value) <= max {
		return nil
	}
	return field.ErrorList{field.TooLong(path, "", max)}
}

// SignerName checks the name of a certificate signer: a domain, a slash and a path.
func SignerName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	parts := strings.Split(name, "/")
	if len(parts) != 2 {
		return field.ErrorList{field.Invalid(path, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")}
	}
	all := MaxBytes(parts[0], validation.DNS1123SubdomainMaxLength, path)
	all = append(all, firstBadLabel(parts[0], validation.IsDNS1123Label, path)...)
	if !strings.Contains(parts[0], ".") {
		all = append(all, field.Invalid(path, parts[0], "should be a domain with at least two segments separated by dots"))
	}
	all = append(all, firstBadLabel(parts[1], validation.IsDNS1123Subdomain, path)...)
	// Room for a label, a dot and a subdomain: the signer of one kubelet is named after its node.
	return append(all, MaxBytes(parts[1], validation.DNS1123SubdomainMaxLength+validation.DNS1123LabelMaxLength+1, path)...)
}

// firstBadLabel reports one wrong label of a dotted name; the others would only repeat it.
func firstBadLabel(name string, check func(string) []string, path *field.Path) field.ErrorList {
	for _, label := range strings.Split(name, ".") {
		if messages := check(label); len(messages) > 0 {
			var all field.ErrorList
			for _, m := range messages {
				all = append(all, field.Invalid(path, name, fmt.Sprintf("validating label %q: %s", label, m)))
			}
			return all
		}
	}
	return nil
}

// Port checks a port number.
func Port(value int, path *field.Path) field.ErrorList {
	return Invalid(validation.IsValidPortNum(value), value, path)
}

// Invalid reports one value for each reason that a check of package validation gave.
func Invalid(messages []string, value any, path *field.Path) field.ErrorList {
	var all field.ErrorList
	for _, m := range messages {
		all = append(all, field.Invalid(path, value, m))
	}
	return all
}

// PodNameWarning speaks about a workload's name that its pods cannot have as a hostname.
func PodNameWarning(name string) []string {
	if m := validation.IsDNS1123Label(name); len(m) != 0 {
		return []string{fmt.Sprintf("metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: %v", m)}
	}
	return nil
}

// The validators of metadata.name that a Strategy names.

// NameSubdomain wants a DNS-1123 subdomain, what most kinds want.
func NameSubdomain(name string, prefix bool) []string {
	return apivalidation.NameIsDNSSubdomain(name, prefix)
}

// NameMade is NameSubdomain in the words of upstream's newer validators, which say bytes, not
// characters, and look at the name that was made, never at generateName.
func NameMade(name string, prefix bool) []string {
	if prefix {
		return nil
	}
	return content.IsDNS1123Subdomain(name)
}

// NameLabel wants a DNS-1123 label.
func NameLabel(name string, prefix bool) []string { return apivalidation.NameIsDNSLabel(name, prefix) }

// NameLabel1035 wants a DNS-1035 label.
func NameLabel1035(name string, prefix bool) []string {
	return apivalidation.NameIsDNS1035Label(name, prefix)
}

// NamePath wants what can stand as one segment of a URL path.
func NamePath(name string, prefix bool) []string {
	return pathvalidation.ValidatePathSegmentName(name, prefix)
}
