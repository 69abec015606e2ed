package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// A RoleBinding gives a Role of its namespace, or a ClusterRole, within the namespace.
func roleBindings() *kinds.Resource {
	validate := func(o *rbacv1.RoleBinding) field.ErrorList {
		return validateBinding(o.RoleRef, o.Subjects, true, "Role", "ClusterRole")
	}
	return resource(kinds.Resource{
		Name: "rolebindings", Singular: "rolebinding", Namespaced: true, StorageVersionHash: "eGsCzGH6b1g=",
		Strategy: common.Typed[rbacv1.RoleBinding, *rbacv1.RoleBinding]{
			AllowCreateOnUpdate: true,
			Default:             func(o *rbacv1.RoleBinding) { defaultBinding(&o.RoleRef, o.Subjects) },
			BeginCreate:         func(r *kinds.Context, o *rbacv1.RoleBinding) error { return mayBind(r, o.Name, o.RoleRef) },
			BeginUpdate: func(r *kinds.Context, o, old *rbacv1.RoleBinding) error {
				if onlyForGC(o, old) {
					return nil
				}
				return mayBind(r, o.Name, o.RoleRef)
			},
			Validate: func(_ *kinds.Context, o *rbacv1.RoleBinding) field.ErrorList {
				return common.Declared(validate(o), append(declaredSubjects(o.Subjects), declaredRef(o.RoleRef)...))
			},
			ValidateUpdate: func(_ *kinds.Context, o, old *rbacv1.RoleBinding) field.ErrorList {
				all := append(validate(o), validateRoleRefUpdate(o.RoleRef, old.RoleRef)...)
				return common.Declared(all, declaredSubjects(o.Subjects))
			},
			ValidateName: common.NamePath,
		}.Strategy(),
	}, common.Version[rbacv1.RoleBinding, rbacv1.RoleBindingList](gvk("RoleBinding")))
}
