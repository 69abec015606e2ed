// Where devices are: a union that ResourceSlice has, and each of its devices.
package resource

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds/core"
)

// place collects which members of the union are set, and what is wrong with them.
type place struct {
	path *field.Path
	set  []string
	all  field.ErrorList
}

func (p *place) nodeName(name *string, empty string) {
	at := p.path.Child("nodeName")
	switch {
	case name == nil:
	case *name == "":
		p.all = append(p.all, field.Invalid(at, *name, empty))
	default:
		p.set = append(p.set, "`nodeName`")
		for _, m := range apivalidation.NameIsDNSSubdomain(*name, false) {
			p.all = append(p.all, field.Invalid(at, *name, m))
		}
	}
}

func (p *place) nodeSelector(s *corev1.NodeSelector) {
	if s != nil {
		p.set = append(p.set, "`nodeSelector`")
		p.all = append(p.all, core.ValidateNodeSelector(s, p.path.Child("nodeSelector"))...)
	}
}

func (p *place) flag(value *bool, name string) {
	switch {
	case value == nil:
	case *value:
		p.set = append(p.set, "`"+name+"`")
	default:
		p.all = append(p.all, field.Invalid(p.path.Child(name), *value, "must be either unset or set to true"))
	}
}

// exactlyOne ends the list with the answer to none or several members.
func (p *place) exactlyOne(none, several string) field.ErrorList {
	switch len(p.set) {
	case 0:
		return append(p.all, field.Required(p.path, none))
	case 1:
		return p.all
	}
	return append(p.all, field.Invalid(p.path, fmt.Sprintf("{%s}", strings.Join(p.set, ", ")), several))
}
