// The names that DRA objects are made of: drivers, pools, devices, attributes.
package resource

import (
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds/common"
)

const maxDriverName = 63

func driverName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	all := common.MaxBytes(name, maxDriverName, path)
	all = append(all, common.Invalid(validation.IsDNS1123Subdomain(strings.ToLower(name)), name, path)...)
	return all
}

// poolName: a path of DNS names.
func poolName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	all := common.MaxBytes(name, resourcev1.PoolNameMaxLength, path)
	for _, part := range strings.Split(name, "/") {
		all = append(all, common.DNSSubdomain(part, path)...)
	}
	return all
}

func className(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return common.DNSSubdomain(name, path)
}

// qualifiedName: an identifier with an optional domain, as attributes and capacities have.
func qualifiedName(name string, path *field.Path) field.ErrorList {
	domain, id, slash := strings.Cut(name, "/")
	if !slash {
		return identifier(name, path)
	}
	if strings.Contains(id, "/") {
		return nil
	}
	var all field.ErrorList
	if domain == "" {
		all = append(all, field.Invalid(path, "", "the domain must not be empty"))
	} else {
		all = append(all, driverName(domain, path)...)
	}
	if id == "" {
		return append(all, field.Invalid(path, "", "the name must not be empty"))
	}
	return append(all, identifier(id, path)...)
}

func identifier(id string, path *field.Path) field.ErrorList {
	all := common.MaxBytes(id, resourcev1.DeviceMaxIDLength, path)
	all = append(all, common.Invalid(content.IsCIdentifier(id), id, path)...)
	return all
}

// requestNames are the names by which constraints, configurations and results refer to requests:
// NAME, or NAME/SUBREQUEST.
type requestNames map[string]bool

func namesOf(claim *resourcev1.DeviceClaim) requestNames {
	names := requestNames{}
	for _, r := range claim.Requests {
		names[r.Name] = true
		for _, s := range r.FirstAvailable {
			names[r.Name+"/"+s.Name] = true
		}
	}
	return names
}

func (names requestNames) validate(name string, path *field.Path) field.ErrorList {
	unknown := field.Invalid(path, name, "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'")
	parts := strings.Split(name, "/")
	if len(parts) > 2 {
		return field.ErrorList{unknown}
	}
	var all field.ErrorList
	for _, p := range parts {
		all = append(all, common.DNSLabel(p, path)...)
	}
	if !names[name] {
		all = append(all, unknown)
	}
	return all
}

func (names requestNames) validateAll(list []string, path *field.Path) field.ErrorList {
	return each(list, resourcev1.DeviceRequestsMaxSize, path, func(name *string, at *field.Path) field.ErrorList {
		return names.validate(*name, at)
	})
}

// each checks the items of a list. A list that is too long is not looked at: its length is fault enough.
func each[T any](list []T, max int, path *field.Path, check func(*T, *field.Path) field.ErrorList) field.ErrorList {
	var all field.ErrorList
	if len(list) > max {
		return nil
	}
	for i := range list {
		all = append(all, check(&list[i], path.Index(i))...)
	}
	return all
}

// duplicates refuses every item whose key an earlier one has. It prints the key.
func duplicates[T any](list []T, path *field.Path, key func(*T) string) field.ErrorList {
	var all field.ErrorList
	seen := map[string]bool{}
	for i := range list {
		k := key(&list[i])
		if seen[k] {
			all = append(all, field.Duplicate(path.Index(i), k))
		}
		seen[k] = true
	}
	return all
}
