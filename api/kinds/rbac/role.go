package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

func roles() *kinds.Resource {
	return resource(kinds.Resource{
		Name: "roles", Singular: "role", Namespaced: true, StorageVersionHash: "7FuwZcIIItM=",
		Strategy: common.Typed[rbacv1.Role, *rbacv1.Role]{
			AllowCreateOnUpdate: true,
			BeginCreate:         func(r *kinds.Context, o *rbacv1.Role) error { return mayWriteRole(r, o.Name, o.Rules) },
			BeginUpdate: func(r *kinds.Context, o, old *rbacv1.Role) error {
				if onlyForGC(o, old) {
					return nil
				}
				return mayWriteRole(r, o.Name, o.Rules)
			},
			Validate:       func(_ *kinds.Context, o *rbacv1.Role) field.ErrorList { return validateRole(o) },
			ValidateUpdate: func(_ *kinds.Context, o, _ *rbacv1.Role) field.ErrorList { return validateRole(o) },
			ValidateName:   common.NamePath,
		}.Strategy(),
	}, common.Version[rbacv1.Role, rbacv1.RoleList](gvk("Role")))
}

func validateRole(o *rbacv1.Role) field.ErrorList {
	return append(validateRules(o.Rules, true), declaredRules(o.Rules)...)
}
