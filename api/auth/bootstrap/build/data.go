package build

// The YAML of bootstrap/data, as typed objects.

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"kuberow/api/auth/bootstrap"
	"sigs.k8s.io/yaml"
)

type rule struct {
	Verbs, Groups, Resources, Names, URLs []string
}

type role struct {
	AggregateTo []string
	Aggregates  string
	Rules       []rule
}

type binding struct {
	Role string
	To   []string
}

type others struct {
	Namespaces      []string
	PriorityClasses map[string]struct {
		Value       int32
		Description string
	}
	APIServices map[string][2]int32
}

type flowcontrol struct {
	FlowSchemas    map[string]flowcontrolv1.FlowSchemaSpec
	PriorityLevels map[string]flowcontrolv1.PriorityLevelConfigurationSpec
}

const aggregateLabel = "rbac.authorization.k8s.io/aggregate-to-"

func read(dir, name string, into any) error {
	data, err := os.ReadFile(filepath.Join(dir, "data", name))
	if err != nil {
		return fmt.Errorf("read bootstrap data: %w", err)
	}
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		return fmt.Errorf("read bootstrap data %s: %w", name, err)
	}
	return nil
}

// objects reads all of dir's data. The order is that of the revisions in a new cluster.
func objects(dir string, now time.Time) ([]bootstrap.Typed, error) {
	var (
		clusterRoles    map[string]role
		clusterBindings map[string]binding
		roles           map[string]map[string]role
		bindings        map[string]map[string]binding
		flow            flowcontrol
		rest            others
	)
	for name, into := range map[string]any{"clusterroles.yaml": &clusterRoles, "clusterrolebindings.yaml": &clusterBindings,
		"roles.yaml": &roles, "rolebindings.yaml": &bindings, "flowcontrol.yaml": &flow, "others.yaml": &rest} {
		if err := read(dir, name, into); err != nil {
			return nil, err
		}
	}
	var out []bootstrap.Typed
	add := func(group, resource string, o metav1.Object) {
		out = append(out, bootstrap.Typed{GroupResource: schema.GroupResource{Group: group, Resource: resource}, Object: o})
	}
	for _, n := range rest.Namespaces {
		add("", "namespaces", namespace(n))
	}
	for _, n := range sorted(clusterRoles) {
		add(rbacv1.GroupName, "clusterroles", clusterRole(n, clusterRoles[n]))
	}
	for _, n := range sorted(clusterBindings) {
		b := clusterBindings[n]
		add(rbacv1.GroupName, "clusterrolebindings", &rbacv1.ClusterRoleBinding{TypeMeta: meta(rbacv1.GroupName, "ClusterRoleBinding"),
			ObjectMeta: rbacMeta("", n), RoleRef: roleRef("ClusterRole", n, b), Subjects: subjects(b)})
	}
	for _, ns := range sorted(roles) {
		for _, n := range sorted(roles[ns]) {
			add(rbacv1.GroupName, "roles", &rbacv1.Role{TypeMeta: meta(rbacv1.GroupName, "Role"), ObjectMeta: rbacMeta(ns, n), Rules: rules(roles[ns][n])})
		}
	}
	for _, ns := range sorted(bindings) {
		for _, n := range sorted(bindings[ns]) {
			b := bindings[ns][n]
			add(rbacv1.GroupName, "rolebindings", &rbacv1.RoleBinding{TypeMeta: meta(rbacv1.GroupName, "RoleBinding"),
				ObjectMeta: rbacMeta(ns, n), RoleRef: roleRef("Role", n, b), Subjects: subjects(b)})
		}
	}
	for _, n := range sorted(rest.PriorityClasses) {
		preempt := corev1.PreemptLowerPriority
		add(schedulingv1.GroupName, "priorityclasses", &schedulingv1.PriorityClass{TypeMeta: meta(schedulingv1.GroupName, "PriorityClass"),
			ObjectMeta: metav1.ObjectMeta{Name: n, Generation: 1}, Value: rest.PriorityClasses[n].Value,
			Description: rest.PriorityClasses[n].Description, PreemptionPolicy: &preempt})
	}
	for _, n := range sorted(flow.PriorityLevels) {
		add(flowcontrolv1.GroupName, "prioritylevelconfigurations", &flowcontrolv1.PriorityLevelConfiguration{
			TypeMeta: meta(flowcontrolv1.GroupName, "PriorityLevelConfiguration"), ObjectMeta: flowMeta(n), Spec: flow.PriorityLevels[n]})
	}
	for _, n := range sorted(flow.FlowSchemas) {
		add(flowcontrolv1.GroupName, "flowschemas", flowSchema(n, flow.FlowSchemas[n], now))
	}
	for _, n := range sorted(rest.APIServices) {
		add(apiregistrationv1.GroupName, "apiservices", apiService(n, rest.APIServices[n], now))
	}
	return out, nil
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func meta(group, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: schema.GroupVersion{Group: group, Version: "v1"}.String(), Kind: kind}
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{TypeMeta: meta("", "Namespace"),
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}},
		Spec:       corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes}},
		Status:     corev1.NamespaceStatus{Phase: corev1.NamespaceActive}}
}

func rbacMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name,
		Labels:      map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"},
		Annotations: map[string]string{rbacv1.AutoUpdateAnnotationKey: "true"}}
}

func clusterRole(name string, r role) *rbacv1.ClusterRole {
	o := &rbacv1.ClusterRole{TypeMeta: meta(rbacv1.GroupName, "ClusterRole"), ObjectMeta: rbacMeta("", name), Rules: rules(r)}
	for _, to := range r.AggregateTo {
		o.Labels[aggregateLabel+to] = "true"
	}
	if r.Aggregates != "" {
		o.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{
			{MatchLabels: map[string]string{aggregateLabel + r.Aggregates: "true"}}}}
	}
	return o
}

func rules(r role) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	for _, p := range r.Rules {
		out = append(out, rbacv1.PolicyRule{Verbs: p.Verbs, APIGroups: p.Groups, Resources: p.Resources, ResourceNames: p.Names, NonResourceURLs: p.URLs})
	}
	return out
}

func roleRef(kind, name string, b binding) rbacv1.RoleRef {
	if b.Role != "" {
		name = b.Role
	}
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
}

// subjects reads "User x", "Group x" and "ServiceAccount namespace/name".
func subjects(b binding) []rbacv1.Subject {
	var out []rbacv1.Subject
	for _, to := range b.To {
		kind, name, _ := strings.Cut(to, " ")
		s := rbacv1.Subject{Kind: kind, APIGroup: rbacv1.GroupName, Name: name}
		if kind == rbacv1.ServiceAccountKind {
			s.APIGroup = ""
			s.Namespace, s.Name, _ = strings.Cut(name, "/")
		}
		out = append(out, s)
	}
	return out
}

func flowMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Generation: 1, Annotations: map[string]string{flowcontrolv1.AutoUpdateAnnotationKey: "true"}}
}

func flowSchema(name string, spec flowcontrolv1.FlowSchemaSpec, now time.Time) *flowcontrolv1.FlowSchema {
	return &flowcontrolv1.FlowSchema{TypeMeta: meta(flowcontrolv1.GroupName, "FlowSchema"), ObjectMeta: flowMeta(name), Spec: spec,
		Status: flowcontrolv1.FlowSchemaStatus{Conditions: []flowcontrolv1.FlowSchemaCondition{{
			Type: flowcontrolv1.FlowSchemaConditionDangling, Status: flowcontrolv1.ConditionFalse, LastTransitionTime: metav1.NewTime(now), Reason: "Found",
			Message: fmt.Sprintf("This FlowSchema references the PriorityLevelConfiguration object named %q and it exists", spec.PriorityLevelConfiguration.Name),
		}}}}
}

func apiService(name string, priority [2]int32, now time.Time) *apiregistrationv1.APIService {
	version, group, _ := strings.Cut(name, ".")
	return &apiregistrationv1.APIService{TypeMeta: meta(apiregistrationv1.GroupName, "APIService"),
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kube-aggregator.kubernetes.io/automanaged": "onstart"}},
		Spec:       apiregistrationv1.APIServiceSpec{Group: group, Version: version, GroupPriorityMinimum: priority[0], VersionPriority: priority[1]},
		Status: apiregistrationv1.APIServiceStatus{Conditions: []apiregistrationv1.APIServiceCondition{{
			Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue, LastTransitionTime: metav1.NewTime(now),
			Reason: "Local", Message: "Local APIServices are always available",
		}}}}
}
