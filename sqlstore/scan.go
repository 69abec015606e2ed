package sqlstore

import (
	"database/sql"
	"fmt"
	"unsafe"
)

// Reading rows of kv. This is the hottest loop of every list, so it copies
// an object once: out of SQLite's page, by the driver.

// kvColumns are the columns in the order of KV's fields. Most queries write them out, to stand whole.
const kvColumns = `kv.id, kv.mod_revision, kv.sub, kv.key, kv.create_revision, kv.version, kv.lease, kv.value, kv.managed_fields, kv.prev_id, kv.request_id`

// kvColumnsKeysOnly are the same without what is long.
const kvColumnsKeysOnly = `kv.id, kv.mod_revision, kv.sub, kv.key, kv.create_revision, kv.version, kv.lease, NULL, NULL, kv.prev_id, kv.request_id`

// scanKV reads a row in the order of kvColumns.
func scanKV(rows *sql.Rows, kv *KV) error {
	return rows.Scan(&kv.ID, &kv.ModRevision, &kv.Sub, &kv.Key, &kv.CreateRevision, &kv.Version, &kv.Lease,
		(*content)(&kv.Value), (*content)(&kv.ManagedFields), &kv.PrevID, &kv.RequestID)
}

// scanMore is scanKV with more columns behind.
func scanMore(rows *sql.Rows, kv *KV, more ...any) error {
	return rows.Scan(append([]any{&kv.ID, &kv.ModRevision, &kv.Sub, &kv.Key, &kv.CreateRevision, &kv.Version, &kv.Lease,
		(*content)(&kv.Value), (*content)(&kv.ManagedFields), &kv.PrevID, &kv.RequestID}, more...)...)
}

// content scans text or a blob without a copy of its own: the driver makes a
// new buffer for each value and forgets it, so it may be taken over.
type content []byte

// Scan is sql.Scanner's.
func (c *content) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*c = nil
	case string:
		*c = unsafe.Slice(unsafe.StringData(v), len(v))
		if len(v) == 0 {
			*c = []byte{} // an empty value, not a missing one
		}
	case []byte:
		*c = v
	default:
		return fmt.Errorf("column holds a %T, not text or a blob", src)
	}
	return nil
}
