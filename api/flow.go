package api

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kuberow/api/auth"
	"kuberow/sqlstore"
)

// Which FlowSchema a request falls under (API Priority and Fairness, KEP-1040).
// Upstream queues requests by it. Here two limits hold for all (inflight.go), but an
// answer's headers name the schema and its priority level as upstream's do: who writes a FlowSchema sees what it matches.

const (
	flowSchemaPrefix    = "/registry/flowschemas/"
	priorityLevelPrefix = "/registry/prioritylevelconfigurations/"
)

// flows are the FlowSchemas in the order in which they are tried, and the levels that they name.
type flows struct {
	*auth.Mirror
	schemas []*flowcontrolv1.FlowSchema
	levels  map[string]types.UID // by name
}

func newFlows(source auth.Source) *flows {
	f := &flows{}
	f.Mirror = auth.NewMirror(source, f, flowSchemaPrefix, priorityLevelPrefix)
	return f
}

// Reset implements auth.Owner.
func (f *flows) Reset() { f.schemas, f.levels = nil, map[string]types.UID{} }

// Put implements auth.Owner.
func (f *flows) Put(kv *sqlstore.KV) {
	if name, ok := strings.CutPrefix(kv.Key, priorityLevelPrefix); ok {
		delete(f.levels, name)
		var level flowcontrolv1.PriorityLevelConfiguration
		if kv.Version != 0 && json.Unmarshal(kv.Value, &level) == nil {
			f.levels[name] = level.UID
		}
		return
	}
	name := strings.TrimPrefix(kv.Key, flowSchemaPrefix)
	f.schemas = slices.DeleteFunc(f.schemas, func(s *flowcontrolv1.FlowSchema) bool { return s.Name == name })
	var schema flowcontrolv1.FlowSchema
	if kv.Version == 0 || json.Unmarshal(kv.Value, &schema) != nil {
		return
	}
	f.schemas = append(f.schemas, &schema)
	slices.SortFunc(f.schemas, func(a, b *flowcontrolv1.FlowSchema) int {
		return cmp.Or(cmp.Compare(a.Spec.MatchingPrecedence, b.Spec.MatchingPrecedence), cmp.Compare(a.Name, b.Name))
	})
}

// name puts the schema and the level that a request falls under into the answer's header.
func (f *flows) name(ctx context.Context, header http.Header, u user.Info, info *request.RequestInfo) error {
	if err := f.Sync(ctx); err != nil {
		return err
	}
	f.RLock()
	defer f.RUnlock()
	for _, s := range f.schemas {
		level, known := f.levels[s.Spec.PriorityLevelConfiguration.Name]
		if known && slices.ContainsFunc(s.Spec.Rules, func(r flowcontrolv1.PolicyRulesWithSubjects) bool { return flowMatches(&r, u, info) }) {
			header.Set(flowcontrolv1.ResponseHeaderMatchedFlowSchemaUID, string(s.UID))
			header.Set(flowcontrolv1.ResponseHeaderMatchedPriorityLevelConfigurationUID, string(level))
			return nil
		}
	}
	return nil
}

// flowMatches tells whether a rule is about the sender and what he asks for.
func flowMatches(r *flowcontrolv1.PolicyRulesWithSubjects, u user.Info, info *request.RequestInfo) bool {
	if !slices.ContainsFunc(r.Subjects, func(s flowcontrolv1.Subject) bool { return flowIsFrom(&s, u) }) {
		return false
	}
	if !info.IsResourceRequest {
		return slices.ContainsFunc(r.NonResourceRules, func(rule flowcontrolv1.NonResourcePolicyRule) bool {
			return listed(rule.Verbs, info.Verb) && slices.ContainsFunc(rule.NonResourceURLs, func(url string) bool { return flowCovers(url, info.Path) })
		})
	}
	resource := info.Resource
	if info.Subresource != "" {
		resource += "/" + info.Subresource
	}
	return slices.ContainsFunc(r.ResourceRules, func(rule flowcontrolv1.ResourcePolicyRule) bool {
		if !listed(rule.Verbs, info.Verb) || !listed(rule.APIGroups, info.APIGroup) || !listed(rule.Resources, resource) {
			return false
		}
		if info.Namespace == "" {
			return rule.ClusterScope
		}
		return listed(rule.Namespaces, info.Namespace)
	})
}

// flowIsFrom tells whether a subject is the sender.
func flowIsFrom(s *flowcontrolv1.Subject, u user.Info) bool {
	switch {
	case s.Kind == flowcontrolv1.SubjectKindUser && s.User != nil:
		return s.User.Name == flowcontrolv1.NameAll || s.User.Name == u.GetName()
	case s.Kind == flowcontrolv1.SubjectKindGroup && s.Group != nil:
		return s.Group.Name == flowcontrolv1.NameAll || slices.Contains(u.GetGroups(), s.Group.Name)
	case s.Kind == flowcontrolv1.SubjectKindServiceAccount && s.ServiceAccount != nil:
		if s.ServiceAccount.Name == flowcontrolv1.NameAll {
			return strings.HasPrefix(u.GetName(), serviceaccount.ServiceAccountUsernamePrefix+s.ServiceAccount.Namespace+serviceaccount.ServiceAccountUsernameSeparator)
		}
		return serviceaccount.MatchesUsername(s.ServiceAccount.Namespace, s.ServiceAccount.Name, u.GetName())
	}
	return false
}

// flowCovers tells whether a rule's URL is the path or a directory above it; a star may end it.
func flowCovers(url, path string) bool {
	if url == flowcontrolv1.NonResourceAll || url == path {
		return true
	}
	return strings.HasPrefix(path, strings.TrimSuffix(strings.TrimSuffix(url, "*"), "/")+"/")
}

// listed tells whether a list holds a value, or stands for all of them.
func listed(list []string, value string) bool {
	return slices.Contains(list, value) || len(list) == 1 && list[0] == flowcontrolv1.NamespaceEvery
}
