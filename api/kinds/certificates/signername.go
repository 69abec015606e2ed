package certificates

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The longest signer name: a domain, a slash, a namespace, a dot and a name.
const maxSignerName = 2*validation.DNS1123SubdomainMaxLength + validation.DNS1123LabelMaxLength + 2

// kubernetesSigner says whether the name belongs to the Kubernetes project.
func kubernetesSigner(name string) bool {
	domain, _, _ := strings.Cut(name, "/")
	return domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io")
}

// validateSignerName wants example.com/some.path.
func validateSignerName(path *field.Path, name string) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	parts := strings.Split(name, "/")
	if len(parts) != 2 {
		return field.ErrorList{field.Invalid(path, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")}
	}
	domain, rest := parts[0], parts[1]
	var errs field.ErrorList
	if len(domain) > validation.DNS1123SubdomainMaxLength {
		errs = append(errs, field.TooLong(path, "", validation.DNS1123SubdomainMaxLength))
	}
	errs = append(errs, firstBadLabel(path, domain, validation.IsDNS1123Label)...)
	if !strings.Contains(domain, ".") {
		errs = append(errs, field.Invalid(path, domain, "should be a domain with at least two segments separated by dots"))
	}
	errs = append(errs, firstBadLabel(path, rest, validation.IsDNS1123Subdomain)...)
	if len(name) > maxSignerName {
		errs = append(errs, field.TooLong(path, "", maxSignerName))
	}
	return errs
}

// firstBadLabel stops at the first label that is wrong, since the next ones would only repeat it.
func firstBadLabel(path *field.Path, text string, check func(string) []string) field.ErrorList {
	for label := range strings.SplitSeq(text, ".") {
		var errs field.ErrorList
		for _, msg := range check(label) {
			errs = append(errs, field.Invalid(path, text, fmt.Sprintf("validating label %q: %s", label, msg)))
		}
		if len(errs) > 0 {
			return errs
		}
	}
	return nil
}
