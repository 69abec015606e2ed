package admission

// What plugins look up with each pod, kept decoded at the store's revision: a
// Mirror of five key ranges. The objects are shared; nobody may change them.

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"kuberow/api/auth"
	"kuberow/sqlstore"
)

const (
	namespacePrefix     = "/registry/namespaces/"
	accountPrefix       = "/registry/serviceaccounts/"
	limitRangePrefix    = "/registry/limitranges/"
	quotaPrefix         = "/registry/resourcequotas/"
	priorityClassPrefix = "/registry/priorityclasses/"
)

type lookup struct {
	*auth.Mirror
	namespaces map[string]*corev1.Namespace
	accounts   map[string]*corev1.ServiceAccount           // by NAMESPACE/NAME
	limits     map[string]map[string]*corev1.LimitRange    // by namespace, then name
	quotas     map[string]map[string]*corev1.ResourceQuota // by namespace, then name
	priorities map[string]*schedulingv1.PriorityClass
}

func newLookup(source auth.Source) *lookup {
	l := &lookup{}
	l.Mirror = auth.NewMirror(source, l, namespacePrefix, accountPrefix, limitRangePrefix, quotaPrefix, priorityClassPrefix)
	return l
}

// Reset implements auth.Owner.
func (l *lookup) Reset() {
	l.namespaces, l.accounts = map[string]*corev1.Namespace{}, map[string]*corev1.ServiceAccount{}
	l.limits, l.quotas = map[string]map[string]*corev1.LimitRange{}, map[string]map[string]*corev1.ResourceQuota{}
	l.priorities = map[string]*schedulingv1.PriorityClass{}
}

// Put implements auth.Owner.
func (l *lookup) Put(kv *sqlstore.KV) {
	for prefix, put := range map[string]func(rest string){
		namespacePrefix:     func(name string) { set(l.namespaces, name, kv) },
		accountPrefix:       func(name string) { set(l.accounts, name, kv) },
		priorityClassPrefix: func(name string) { set(l.priorities, name, kv) },
		limitRangePrefix:    func(name string) { setIn(l.limits, name, kv) },
		quotaPrefix:         func(name string) { setIn(l.quotas, name, kv) },
	} {
		if rest, ok := strings.CutPrefix(kv.Key, prefix); ok {
			put(rest)
		}
	}
}

// set drops what cannot be decoded: etcd's door may put anything under a key.
func set[T any](m map[string]*T, name string, kv *sqlstore.KV) {
	delete(m, name)
	if o := new(T); kv.Version != 0 && json.Unmarshal(kv.Value, o) == nil {
		m[name] = o
	}
}

func setIn[T any](m map[string]map[string]*T, key string, kv *sqlstore.KV) {
	namespace, name, _ := strings.Cut(key, "/")
	if m[namespace] == nil {
		m[namespace] = map[string]*T{}
	}
	set(m[namespace], name, kv)
	if len(m[namespace]) == 0 {
		delete(m, namespace)
	}
}

func (l *lookup) namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	if err := l.Sync(ctx); err != nil {
		return nil, err
	}
	l.RLock()
	defer l.RUnlock()
	return l.namespaces[name], nil
}

func (l *lookup) account(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	if err := l.Sync(ctx); err != nil {
		return nil, err
	}
	l.RLock()
	defer l.RUnlock()
	return l.accounts[namespace+"/"+name], nil
}

// limitsIn and quotasIn list in the order of the names.
func (l *lookup) limitsIn(ctx context.Context, namespace string) ([]*corev1.LimitRange, error) {
	if err := l.Sync(ctx); err != nil {
		return nil, err
	}
	l.RLock()
	defer l.RUnlock()
	return byName(l.limits[namespace]), nil
}

func (l *lookup) quotasIn(ctx context.Context, namespace string) ([]*corev1.ResourceQuota, error) {
	if err := l.Sync(ctx); err != nil {
		return nil, err
	}
	l.RLock()
	defer l.RUnlock()
	return byName(l.quotas[namespace]), nil
}

func byName[T any](m map[string]*T) []*T {
	if len(m) == 0 {
		return nil
	}
	out := make([]*T, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[name])
	}
	return out
}

// priority finds a class by name; "" finds the default one: of several the one with the lowest value.
func (l *lookup) priority(ctx context.Context, name string) (*schedulingv1.PriorityClass, error) {
	if err := l.Sync(ctx); err != nil {
		return nil, err
	}
	l.RLock()
	defer l.RUnlock()
	if name != "" {
		return l.priorities[name], nil
	}
	var found *schedulingv1.PriorityClass
	for _, c := range l.priorities {
		if c.GlobalDefault && (found == nil || c.Value < found.Value || c.Value == found.Value && c.Name < found.Name) {
			found = c
		}
	}
	return found, nil
}
