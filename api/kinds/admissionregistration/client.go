// Where a webhook is reached: a URL, or a Service of the cluster.
package admissionregistration

import (
	"fmt"
	"net/url"
	"strings"

	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validateClient(c *v1.WebhookClientConfig, path *field.Path) field.ErrorList {
	switch {
	case (c.URL == nil) == (c.Service == nil):
		return field.ErrorList{field.Required(path, "exactly one of url or service is required")}
	case c.URL != nil:
		return validateURL(*c.URL, path.Child("url"))
	}
	return validateService(c.Service, path.Child("service"))
}

func validateURL(text string, path *field.Path) field.ErrorList {
	const form = "; desired format: https://host[/path]"
	u, err := url.Parse(text)
	if err != nil {
		return field.ErrorList{field.Required(path, "url must be a valid URL: "+err.Error()+form)}
	}
	var all field.ErrorList
	refuse := func(wrong bool, value, message string) {
		if wrong {
			all = append(all, field.Invalid(path, value, message))
		}
	}
	refuse(u.Scheme != "https", u.Scheme, "'https' is the only allowed URL scheme"+form)
	refuse(u.Host == "", u.Host, "host must be specified"+form)
	refuse(u.User != nil, u.User.String(), "user information is not permitted in the URL")
	refuse(u.Fragment != "", u.Fragment, "fragments are not permitted in the URL")
	refuse(u.RawQuery != "", u.RawQuery, "query parameters are not permitted in the URL")
	return all
}

// validateService names the wrong field when the name or the namespace is missing, since upstream
// mixes up the two, and clients may know it by now.
func validateService(s *v1.ServiceReference, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if s.Namespace == "" {
		all = append(all, field.Required(path.Child("name"), ""))
	}
	if s.Name == "" {
		all = append(all, field.Required(path.Child("namespace"), ""))
	}
	if m := validation.IsValidPortNum(int(*s.Port)); len(m) > 0 {
		all = append(all, field.Invalid(path.Child("port"), *s.Port, "port is not valid: "+strings.Join(m, ", ")))
	}
	if s.Path == nil || *s.Path == "" || *s.Path == "/" {
		return all
	}
	return append(all, validatePath(*s.Path, path.Child("path"))...)
}

func validatePath(text string, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if text == "//" {
		return field.ErrorList{field.Invalid(path, text, "segment[0] may not be empty")}
	}
	if text[0] != '/' {
		all = append(all, field.Invalid(path, text, "must start with a '/'"))
	}
	for i, segment := range strings.Split(strings.TrimSuffix(text[1:], "/"), "/") {
		if segment == "" {
			all = append(all, field.Invalid(path, text, fmt.Sprintf("segment[%d] may not be empty", i)))
			continue
		}
		for _, m := range validation.IsDNS1123Subdomain(segment) {
			all = append(all, field.Invalid(path, text, fmt.Sprintf("segment[%d]: %v", i, m)))
		}
	}
	return all
}
