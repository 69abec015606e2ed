package sqlstore

import "sync"

// The types in this file are the vocabulary between the layers: what a
// proposal says (Command), what applying it answers (Result), and what a
// reader gets (KV, Change). Their names are etcd's.

// KV is one row of the table kv: one change of one key, never updated.
// Version 0 marks a tombstone.
type KV struct {
	ID             int64  `db:"id"`              // the row's own number; PrevID and the views' NAME_row point at it
	ModRevision    int64  `db:"mod_revision"`    // revision of the transaction that wrote it; an object's resourceVersion
	Sub            int64  `db:"sub"`             // position inside that transaction, from 0
	Key            string `db:"key"`             // etcd's key: /registry/pods/default/web-1
	CreateRevision int64  `db:"create_revision"` // mod_revision of the key's first row since it last did not exist
	Version        int64  `db:"version"`         // 1 for the row that created the key, one more at each change, 0 for a tombstone
	Lease          int64  `db:"lease"`           // 0 for none
	Value          []byte `db:"value"`           // the object as JSON without resourceVersion and managedFields; nil for a tombstone
	ManagedFields  []byte `db:"managed_fields"`  // metadata.managedFields as JSON, nil when there are none
	PrevID         int64  `db:"prev_id"`         // the row it replaced, 0 when the key did not exist
	RequestID      int64  `db:"request_id"`      // the request that wrote it
}

// Pair is one row of label or field: a name and its value.
type Pair struct {
	Name  string `msgpack:"n"`
	Value string `msgpack:"v"`
}

// ObjectRef names the object that a key holds; live repeats it in columns.
type ObjectRef struct {
	Group     string `msgpack:"g"` // "" for the core group
	Resource  string `msgpack:"r"` // plural: pods
	Namespace string `msgpack:"ns"`
	Name      string `msgpack:"n"`
	UID       string `msgpack:"u"`
}

// Cause is the change that a controller was reacting to when it asked for a
// write: the kv row's mod_revision and id. Zero for a request of a person.
type Cause struct {
	Revision int64 `msgpack:"r"`
	ID       int64 `msgpack:"i"`
}

// Request is who asked for a write and why: one row of the table request.
// It travels inside the Command, so every member keeps the same rows.
type Request struct {
	At    int64  `msgpack:"at"` // wall clock of the member that proposed it, unix nanoseconds
	User  string `msgpack:"u"`  // the authenticated user's name
	Agent string `msgpack:"a"`  // User-Agent, or the controller's name
	Verb  string `msgpack:"v"`  // create, update, patch, delete, ...
	Path  string `msgpack:"p"`  // the request's URL path
	Cause Cause  `msgpack:"c"`
}

// OpType says what an Op does.
type OpType uint8

// The operations of a transaction.
const (
	OpPut    OpType = iota + 1 // write Value under Key
	OpDelete                   // write a tombstone under Key; nothing when the key does not live
)

// Op is one write of a transaction. What the index tables need is carried
// along, computed once by the proposer, so that apply parses nothing.
type Op struct {
	Type          OpType    `msgpack:"t"`
	Key           string    `msgpack:"k"`
	Value         []byte    `msgpack:"v"`
	ManagedFields []byte    `msgpack:"m"`
	Lease         int64     `msgpack:"l"`
	Object        ObjectRef `msgpack:"o"`
	Labels        []Pair    `msgpack:"lb"` // sorted by name
	Fields        []Pair    `msgpack:"f"`  // sorted by name; only what the kind's field selectors can ask
	Owners        []string  `msgpack:"ow"` // UIDs of metadata.ownerReferences
}

// CompareTarget is what of a key a Compare looks at.
type CompareTarget uint8

// The targets, as in etcd's Compare message. A key that does not live
// compares with every number as 0.
const (
	CompareMod CompareTarget = iota + 1
	CompareCreate
	CompareVersion
	CompareValue
	CompareLease
)

// CompareResult is the relation that must hold.
type CompareResult uint8

// The relations, as in etcd's Compare message.
const (
	Equal CompareResult = iota + 1
	NotEqual
	Greater
	Less
)

// Compare is a condition on the key space at the moment of apply.
type Compare struct {
	Key    string        `msgpack:"k"`
	Target CompareTarget `msgpack:"t"`
	Result CompareResult `msgpack:"r"`
	Int    int64         `msgpack:"i"`
	Value  []byte        `msgpack:"v"`
}

// Command is one proposal: exactly one of its parts is set. It is what a
// raft_log row's data holds, msgpack encoded, and it is decided when applied.
type Command struct {
	ID          CommandID    `msgpack:"id"` // set by raftlog, which wants it first
	Request     Request      `msgpack:"q"`
	Txn         *Txn         `msgpack:"t"`
	LeaseGrant  *LeaseGrant  `msgpack:"lg"`
	LeaseRevoke *LeaseRevoke `msgpack:"lr"`
	LeaseKeep   *LeaseKeep   `msgpack:"lk"`
	Compact     *Compact     `msgpack:"cp"`
}

// CommandID names a proposal, so that the member that made it knows its own
// when it is applied. No two proposals of a cluster have the same.
type CommandID struct {
	_msgpack    struct{} `msgpack:",as_array"`
	Member      uint64
	Incarnation uint64 // which start of that member
	Seq         uint64
}

// Txn is etcd's transaction: when every Compare holds, Then, else Else.
type Txn struct {
	Compare []Compare `msgpack:"c"`
	Then    []Op      `msgpack:"t"`
	Else    []Op      `msgpack:"e"`
}

// LeaseGrant makes a lease that expires TTL seconds after At unless kept alive.
type LeaseGrant struct {
	ID  int64 `msgpack:"i"` // 0 lets the store choose; Result.LeaseID says what
	TTL int64 `msgpack:"t"` // seconds
	At  int64 `msgpack:"a"` // unix nanoseconds, the proposer's clock
}

// LeaseKeep renews a lease from At on.
type LeaseKeep struct {
	ID int64 `msgpack:"i"`
	At int64 `msgpack:"a"`
}

// LeaseRevoke ends a lease and deletes its keys. Expired marks a revoke that
// the leader proposed since the lease had run out; it is dropped when the
// lease was kept alive in between.
type LeaseRevoke struct {
	ID      int64 `msgpack:"i"`
	Expired bool  `msgpack:"x"`
	At      int64 `msgpack:"a"`
}

// Compact forgets history: reads below Revision then fail with ErrCompacted.
type Compact struct {
	Revision int64 `msgpack:"r"`
}

// Result is what applying a Command answered.
type Result struct {
	Revision  int64 // the store's revision after it
	Succeeded bool  // which branch of the Txn was taken
	Rows      []KV  // the row that each Op of the branch wrote; a zero KV for a delete of a key that did not live
	Prev      []KV  // what each of those rows replaced; a zero KV when the key did not live
	Current   []KV  // when the compares failed: the current row of each compared key, zero when it does not live
	LeaseID   int64 // the lease of a lease command
	LeaseTTL  int64 // its remaining seconds at the command's At
	Err       error // why the command could not be applied at all: an *Error
}

// Change is one kv row as a watcher sees it, with the row it replaced.
// Changes are shared between watchers: do not modify them.
type Change struct {
	KV
	Object ObjectRef
	Prev   *KV      // nil when the key did not exist; its Value is there even when KV is a tombstone
	Memo   sync.Map // what readers computed from it once for all, such as its encodings; the store leaves it alone
}

// Term is one requirement of a label or field selector. All terms of a query
// must hold. The fields metadata.name and metadata.namespace are always known; other
// fields are what the Ops carried, and one that is absent counts as "".
type Term struct {
	Field  bool   // look in field rather than label
	Name   string // label or field name
	Op     TermOp
	Values []string // one for Is, IsNot, GreaterThan, LessThan; any number for In, NotIn; none for Exists, NotExists
}

// TermOp is the operator of a Term.
type TermOp uint8

// The operators of Kubernetes' selectors.
const (
	Is TermOp = iota + 1
	IsNot
	In
	NotIn
	Exists
	NotExists
	GreaterThan
	LessThan
)

// Query asks for a range of keys.
type Query struct {
	From     string // first key, inclusive; a prefix query sets To to PrefixEnd(From)
	To       string // end, exclusive; "" means the single key From, "\x00" means no end
	Revision int64  // 0 means now; otherwise the key space as it was then
	Limit    int    // 0 means all: only for ranges known to be small, as the whole read is one snapshot that holds the WAL
	Terms    []Term // only allowed when Revision is 0
	Count    bool   // count what is left beyond Limit into Page.Remaining
	KeysOnly bool   // leave Value and ManagedFields empty
}

// Page answers a Query: rows in key order.
type Page struct {
	Revision  int64 // the revision the rows were read at
	Rows      []KV
	More      bool  // there are more rows after the last one
	Remaining int64 // how many, when Query.Count
}
