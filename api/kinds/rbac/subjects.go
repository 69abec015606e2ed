package rbac

// What the two kinds of binding share: subjects and the reference to a role.

import (
	rbacv1 "k8s.io/api/rbac/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds/common"
)

func defaultBinding(ref *rbacv1.RoleRef, subjects []rbacv1.Subject) {
	if ref.APIGroup == "" {
		ref.APIGroup = rbacv1.GroupName
	}
	for i := range subjects {
		s := &subjects[i]
		if s.APIGroup == "" && (s.Kind == rbacv1.UserKind || s.Kind == rbacv1.GroupKind) {
			s.APIGroup = rbacv1.GroupName
		}
	}
}

// validateBinding checks a binding that may refer to the given kinds of role.
func validateBinding(ref rbacv1.RoleRef, subjects []rbacv1.Subject, namespaced bool, roleKinds ...string) field.ErrorList {
	path := field.NewPath("roleRef")
	errs := common.Among(ref.APIGroup, path.Child("apiGroup"), rbacv1.GroupName)
	errs = append(errs, common.Among(ref.Kind, path.Child("kind"), roleKinds...)...)
	if ref.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	} else {
		errs = append(errs, common.Invalid(common.NamePath(ref.Name, false), ref.Name, path.Child("name"))...)
	}
	for i, s := range subjects {
		errs = append(errs, validateSubject(s, namespaced, field.NewPath("subjects").Index(i))...)
	}
	return errs
}

// declaredSubjects and declaredRef are what the Go types declare: names. A reference that changes is refused before
// its name is looked at, so only a new binding's is.
func declaredSubjects(subjects []rbacv1.Subject) field.ErrorList {
	var errs field.ErrorList
	for i, s := range subjects {
		errs = append(errs, common.Wanted(s.Name, field.NewPath("subjects").Index(i).Child("name"))...)
	}
	return errs
}

func declaredRef(ref rbacv1.RoleRef) field.ErrorList {
	return common.Wanted(ref.Name, field.NewPath("roleRef", "name"))
}

func validateSubject(s rbacv1.Subject, namespaced bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		if s.Name != "" {
			errs = append(errs, common.Invalid(apivalidation.ValidateServiceAccountName(s.Name, false), s.Name, path.Child("name"))...)
		}
		errs = append(errs, common.Among(s.APIGroup, path.Child("apiGroup"), "")...)
		if !namespaced && s.Namespace == "" {
			errs = append(errs, field.Required(path.Child("namespace"), ""))
		}
	case rbacv1.UserKind, rbacv1.GroupKind:
		errs = common.Among(s.APIGroup, path.Child("apiGroup"), rbacv1.GroupName)
	default:
		errs = common.Among(s.Kind, path.Child("kind"), rbacv1.ServiceAccountKind, rbacv1.UserKind, rbacv1.GroupKind)
	}
	return errs
}

// validateRoleRefUpdate: who may bind a role was decided when the binding was
// made, so it cannot be pointed at another role.
func validateRoleRefUpdate(ref, old rbacv1.RoleRef) field.ErrorList {
	return common.Immutable(ref, old, field.NewPath("roleRef"))
}
