package wire

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"kuberow/sqlstore"
)

// Cache holds decoded objects of kv rows. A row is never updated, so an entry
// is never wrong, only old: two generations of bounded size are kept, and an
// entry that is used again moves to the young one.
//
// The objects are shared by everybody who reads: DeepCopy before changing one.
// They carry their resourceVersion and no managedFields.
type Cache struct {
	limit int // bytes of JSON in one generation

	mu    sync.Mutex
	young map[int64]runtime.Object // by kv.id
	old   map[int64]runtime.Object
	size  int // bytes of JSON behind young
}

// NewCache holds objects whose JSON takes about limit bytes.
func NewCache(limit int) *Cache {
	return &Cache{limit: limit / 2, young: map[int64]runtime.Object{}}
}

// Object decodes the value of a row, or finds it decoded.
func (c *Cache) Object(kv *sqlstore.KV, empty func() runtime.Object) (runtime.Object, error) {
	c.mu.Lock()
	obj, ok := c.young[kv.ID]
	if !ok {
		if obj, ok = c.old[kv.ID]; ok {
			c.put(kv, obj)
		}
	}
	c.mu.Unlock()
	if ok {
		return obj, nil
	}
	obj, err := Decoded(kv, kv.ModRevision, empty)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.put(kv, obj)
	c.mu.Unlock()
	return obj, nil
}

// Find gives the object of kv row id when it is known.
func (c *Cache) Find(id int64) (runtime.Object, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if obj, ok := c.young[id]; ok {
		return obj, true
	}
	obj, ok := c.old[id]
	return obj, ok
}

// Put remembers the object that was just written as kv; it is shared from now on.
func (c *Cache) Put(kv *sqlstore.KV, obj runtime.Object) {
	c.mu.Lock()
	c.put(kv, obj)
	c.mu.Unlock()
}

func (c *Cache) put(kv *sqlstore.KV, obj runtime.Object) {
	if kv.ID == 0 {
		return
	}
	if c.size > c.limit {
		c.old, c.young, c.size = c.young, make(map[int64]runtime.Object, len(c.young)), 0
	}
	c.young[kv.ID] = obj
	c.size += len(kv.Value) + 200
}

// Decoded decodes the value of a row, with revision as its resourceVersion.
func Decoded(kv *sqlstore.KV, revision int64, empty func() runtime.Object) (runtime.Object, error) {
	obj := empty()
	if err := DecodeStored(kv.Value, obj); err != nil {
		return nil, fmt.Errorf("decode %s at revision %d: %w", kv.Key, kv.ModRevision, err)
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", kv.Key, err)
	}
	m.SetResourceVersion(Revision(revision))
	return obj, nil
}
