package controllers

import (
	"fmt"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/lru"

	"kuberow/api/kinds"
	"kuberow/sqlstore"
)

// A kv row never changes, so its decoded form may be shared by everyone who
// asks for the row's id. Protocol: Cached first; when it has nothing, read the row and Decode it.

// Decoder decodes kv rows into shared hub objects: DeepCopy before changing one.
type Decoder interface {
	// Cached gives the object of kv row id when it was decoded before.
	Cached(id int64) (runtime.Object, bool)
	// Decode gives the object of a row, which must be no tombstone.
	Decode(gr schema.GroupResource, row *sqlstore.KV) (runtime.Object, error)
}

// Cache is a Decoder that keeps the last objects that it decoded.
type Cache struct {
	registry *kinds.Registry
	mu       sync.Mutex
	objects  *lru.Cache // kv.id -> runtime.Object
}

// NewCache keeps up to size objects.
func NewCache(registry *kinds.Registry, size int) *Cache {
	return &Cache{registry: registry, objects: lru.New(size)}
}

// Cached is Decoder's.
func (c *Cache) Cached(id int64) (runtime.Object, bool) {
	v, ok := c.objects.Get(id)
	if !ok {
		return nil, false
	}
	return v.(runtime.Object), true
}

// Decode is Decoder's. The managed fields are left out: no controller reads them.
func (c *Cache) Decode(gr schema.GroupResource, row *sqlstore.KV) (runtime.Object, error) {
	if obj, ok := c.Cached(row.ID); ok {
		return obj, nil
	}
	res := c.registry.Get(gr)
	if res == nil {
		return nil, fmt.Errorf("decode %s: resource %s is not served", row.Key, gr)
	}
	obj := res.Hub.New()
	if err := json.Unmarshal(row.Value, obj); err != nil {
		return nil, fmt.Errorf("decode %s at revision %d: %w", row.Key, row.ModRevision, err)
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", row.Key, err)
	}
	m.SetResourceVersion(strconv.FormatInt(row.ModRevision, 10))
	c.objects.Add(row.ID, obj)
	return obj, nil
}

// accessor gives the metadata of an object that came out of a Decoder, which
// always has one.
func accessor(obj runtime.Object) metav1.Object {
	m, err := meta.Accessor(obj)
	if err != nil {
		return &metav1.ObjectMeta{}
	}
	return m
}
