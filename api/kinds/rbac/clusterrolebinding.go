package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// A ClusterRoleBinding gives a ClusterRole everywhere.
func clusterRoleBindings() *kinds.Resource {
	validate := func(o *rbacv1.ClusterRoleBinding) field.ErrorList {
		return validateBinding(o.RoleRef, o.Subjects, false, "ClusterRole")
	}
	return resource(kinds.Resource{
		Name: "clusterrolebindings", Singular: "clusterrolebinding", StorageVersionHash: "48tpQ8gZHFc=",
		Strategy: common.Typed[rbacv1.ClusterRoleBinding, *rbacv1.ClusterRoleBinding]{
			AllowCreateOnUpdate: true,
			Default:             func(o *rbacv1.ClusterRoleBinding) { defaultBinding(&o.RoleRef, o.Subjects) },
			BeginCreate:         func(r *kinds.Context, o *rbacv1.ClusterRoleBinding) error { return mayBind(r, o.Name, o.RoleRef) },
			BeginUpdate: func(r *kinds.Context, o, old *rbacv1.ClusterRoleBinding) error {
				if onlyForGC(o, old) {
					return nil
				}
				return mayBind(r, o.Name, o.RoleRef)
			},
			Validate: func(_ *kinds.Context, o *rbacv1.ClusterRoleBinding) field.ErrorList {
				return common.Declared(validate(o), append(declaredSubjects(o.Subjects), declaredRef(o.RoleRef)...))
			},
			ValidateUpdate: func(_ *kinds.Context, o, old *rbacv1.ClusterRoleBinding) field.ErrorList {
				all := append(validate(o), validateRoleRefUpdate(o.RoleRef, old.RoleRef)...)
				return common.Declared(all, declaredSubjects(o.Subjects))
			},
			ValidateName: common.NamePath,
		}.Strategy(),
	}, common.Version[rbacv1.ClusterRoleBinding, rbacv1.ClusterRoleBindingList](gvk("ClusterRoleBinding")))
}
