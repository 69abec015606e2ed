// Match conditions, variables and parameters of webhooks and policies.
package admissionregistration

import (
	"fmt"
	"regexp"
	"strings"

	celgo "github.com/google/cel-go/cel"
	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds/common"
)

const maxMatchConditions = 64

func blank(s string) bool { return strings.TrimSpace(s) == "" }

func validateMatchConditions(conditions []v1.MatchCondition, params bool, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if n := len(conditions); n > maxMatchConditions {
		all = append(all, field.TooMany(path, n, maxMatchConditions))
	}
	if len(conditions) == 0 {
		return nil
	}
	seen, compiler := map[string]bool{}, hookCompiler()
	compiler.params = params
	for i, c := range conditions {
		at := path.Index(i)
		if blank(c.Expression) {
			all = append(all, field.Required(at.Child("expression"), ""))
		} else {
			all = append(all, compiler.check(strings.TrimSpace(c.Expression), at.Child("expression"), celgo.BoolType)...)
		}
		if c.Name == "" {
			all = append(all, field.Required(at.Child("name"), ""))
			continue
		}
		all = append(all, common.QualifiedName(c.Name, at.Child("name"))...)
		if seen[c.Name] {
			all = append(all, field.Duplicate(at.Child("name"), c.Name))
		}
		seen[c.Name] = true
	}
	return all
}

var celIdentifier = regexp.MustCompile("^[_a-zA-Z][_a-zA-Z0-9]*$")

// celReserved are the words of the CEL grammar that cannot name anything.
const celReserved = " true false null in as break const continue else for function if import let loop package namespace return var void while "

func validateVariables(variables []v1.Variable, compiler *compiler, path *field.Path) field.ErrorList {
	var all field.ErrorList
	for i, v := range variables {
		at := path.Index(i)
		if blank(v.Name) {
			all = append(all, field.Required(at.Child("name"), "name is not specified"))
		} else if !celIdentifier.MatchString(v.Name) || strings.Contains(celReserved, " "+v.Name+" ") {
			all = append(all, field.Invalid(at.Child("name"), v.Name, "must be a valid CEL identifier"))
		}
		if blank(v.Expression) {
			all = append(all, field.Required(at.Child("expression"), "expression is not specified"))
		} else {
			all = append(all, compiler.variable(&v, at.Child("expression"))...)
		}
	}
	return all
}

func validateParamKind(k *v1.ParamKind, path *field.Path) field.ErrorList {
	if k == nil {
		return nil
	}
	all := validateAPIVersion(k.APIVersion, path.Child("apiVersion"))
	if k.Kind == "" {
		return append(all, field.Required(path.Child("kind"), ""))
	}
	if m := validation.IsDNS1035Label(strings.ToLower(k.Kind)); len(m) > 0 {
		all = append(all, field.Invalid(path.Child("kind"), k.Kind, "may have mixed case, but should otherwise match: "+strings.Join(m, ",")))
	}
	return all
}

func validateAPIVersion(text string, path *field.Path) field.ErrorList {
	if text == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	if strings.Count(text, "/") > 1 {
		return field.ErrorList{field.Invalid(path, text, "unexpected GroupVersion string: "+text)}
	}
	group, version, slash := strings.Cut(text, "/")
	if !slash {
		group, version = "", text
	}
	var all field.ErrorList
	if group != "" {
		if m := validation.IsDNS1123Subdomain(group); len(m) > 0 {
			all = append(all, field.Invalid(path, group, strings.Join(m, ",")))
		}
	}
	if version == "" {
		return append(all, field.Invalid(path, text, "version must be specified"))
	}
	if m := validation.IsDNS1035Label(version); len(m) > 0 {
		all = append(all, field.Invalid(path, version, strings.Join(m, ",")))
	}
	return all
}

func validateParamRef(p *v1.ParamRef, path *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	const exclusive = "name and selector are mutually exclusive"
	var all field.ErrorList
	if p.Name != "" {
		all = append(all, common.Invalid(content.IsPathSegmentName(p.Name), p.Name, path.Child("name"))...)
		if p.Selector != nil {
			all = append(all, field.Forbidden(path.Child("name"), exclusive))
		}
	}
	if p.Selector != nil {
		all = append(all, common.LabelSelector(p.Selector, path.Child("selector"))...)
		if p.Name != "" {
			all = append(all, field.Forbidden(path.Child("selector"), exclusive))
		}
	}
	if p.Name == "" && p.Selector == nil {
		all = append(all, field.Required(path, "one of name or selector must be specified"))
	}
	action := path.Child("parameterNotFoundAction")
	if p.ParameterNotFoundAction == nil {
		return append(all, field.Required(action, ""))
	}
	return append(all, common.OneOf(*p.ParameterNotFoundAction, action, v1.DenyAction, v1.AllowAction)...)
}

// policyName checks a binding's policy; a missing name comes back apart.
func policyName(name string, path *field.Path) (all, missing field.ErrorList) {
	if name == "" {
		return nil, field.ErrorList{field.Required(path, "")}
	}
	return common.Invalid(apivalidation.NameIsDNSSubdomain(name, false), name, path), nil
}

// staticSuffix ends the names of objects that a server reads from files instead of from the API.
const staticSuffix = ".static.k8s.io"

func staticText() string {
	return fmt.Sprintf("names ending with %q are reserved for static manifest-based configurations and cannot be managed via the API", staticSuffix)
}

func validateNotStatic(name string) field.ErrorList {
	if !strings.HasSuffix(name, staticSuffix) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), name, staticText())}
}

// warnStatic warns about an object that was stored before such names were reserved.
func warnStatic(name string) []string {
	if !strings.HasSuffix(name, staticSuffix) {
		return nil
	}
	return []string{"metadata.name: " + staticText()}
}
