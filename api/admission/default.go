package admission

import (
	"fmt"
	"slices"
	"strings"

	"kuberow/api/auth"
)

// Options of the built-in plugins.
type Options struct {
	Source auth.Source // the store
	// Enable and Disable are --enable-admission-plugins and --disable-admission-plugins.
	Enable, Disable []string
}

// Default gives the plugins that are on, in kube-apiserver's order.
func Default(o Options) ([]Plugin, error) {
	all := plugins(newLookup(o.Source))
	for _, name := range slices.Concat(o.Enable, o.Disable) {
		if !slices.ContainsFunc(all, func(p Plugin) bool { return p.Name == name }) {
			var names []string
			for _, p := range all {
				names = append(names, p.Name)
			}
			return nil, fmt.Errorf("choose admission plugins: there is no %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	return slices.DeleteFunc(all, func(p Plugin) bool { return slices.Contains(o.Disable, p.Name) }), nil
}

// plugins lists all of them. ResourceQuota is last: what it charges should not be refused afterwards.
func plugins(l *lookup) []Plugin {
	return []Plugin{
		namespaceLifecycle(l),
		limitRanger(l),
		serviceAccount(l),
		nodeRestriction(),
		taintNodesByCondition(),
		podSecurity(l),
		priority(l),
		defaultTolerationSeconds(),
		defaultStorageClass(),
		storageObjectInUseProtection(),
		persistentVolumeClaimResize(),
		runtimeClass(),
		certificateApproval(),
		certificateSigning(),
		clusterTrustBundleAttest(),
		certificateSubjectRestriction(),
		defaultIngressClass(),
		podTopologyLabels(),
		nodeDeclaredFeatures(),
		podResize(),
		resourceQuota(l),
	}
}
