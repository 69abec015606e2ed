package sqlstore

import (
	"context"
	"database/sql"
)

// What the garbage collector asks: whom does this object own, does this owner exist?

// Object is a living row with what it is.
type Object struct {
	KV
	Ref ObjectRef
}

// Owned reads the living objects whose ownerReferences name uid, in key order.
func (s *Store) Owned(ctx context.Context, uid string) ([]KV, error) {
	objects, err := s.OwnedObjects(ctx, uid)
	rows := make([]KV, len(objects))
	for i := range objects {
		rows[i] = objects[i].KV
	}
	return rows, err
}

// OwnedObjects is Owned with what each row is.
func (s *Store) OwnedObjects(ctx context.Context, uid string) ([]Object, error) {
	return s.objects(ctx, `
		SELECT kv.id, kv.mod_revision, kv.sub, kv.key, kv.create_revision, kv.version, kv.lease,
		       kv.value, kv.managed_fields, kv.prev_id, kv.request_id,
		       live.api_group, live.resource, live.namespace, live.name, live.uid
		FROM owner CROSS JOIN live ON live.key = owner.key CROSS JOIN kv ON kv.id = live.id
		WHERE owner.uid = ? ORDER BY owner.key`, uid)
}

// ByUID reads the living object with a uid.
func (s *Store) ByUID(ctx context.Context, uid string) (Object, bool, error) {
	if uid == "" {
		return Object{}, false, nil
	}
	return one(s.objects(ctx, `
		SELECT kv.id, kv.mod_revision, kv.sub, kv.key, kv.create_revision, kv.version, kv.lease,
		       kv.value, kv.managed_fields, kv.prev_id, kv.request_id,
		       live.api_group, live.resource, live.namespace, live.name, live.uid
		FROM live CROSS JOIN kv ON kv.id = live.id WHERE live.uid = ? AND live.uid <> '' ORDER BY live.key`, uid))
}

// ByKey reads what lives under a key.
func (s *Store) ByKey(ctx context.Context, key string) (Object, bool, error) {
	return one(s.objects(ctx, `
		SELECT kv.id, kv.mod_revision, kv.sub, kv.key, kv.create_revision, kv.version, kv.lease,
		       kv.value, kv.managed_fields, kv.prev_id, kv.request_id,
		       live.api_group, live.resource, live.namespace, live.name, live.uid
		FROM live CROSS JOIN kv ON kv.id = live.id WHERE live.key = ?`, key))
}

// one takes the first object, if any.
func one(objects []Object, err error) (Object, bool, error) {
	if err != nil || len(objects) == 0 {
		return Object{}, false, err
	}
	return objects[0], true, nil
}

// objects reads rows with what they are.
func (s *Store) objects(ctx context.Context, query, arg string) (objects []Object, err error) {
	err = s.query(ctx, "read objects", func(c *conn) error {
		return c.each(query, []any{arg}, func(rows *sql.Rows) error {
			var o Object
			err := scanMore(rows, &o.KV, &o.Ref.Group, &o.Ref.Resource, &o.Ref.Namespace, &o.Ref.Name, &o.Ref.UID)
			objects = append(objects, o)
			return err
		})
	})
	return objects, err
}
