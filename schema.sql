-- schema.sql: the whole state of a kuberow cluster, and the first file to read.
--
-- It is etcd's key space told in tables. A cluster is a map from keys such as
-- /registry/pods/default/web-1 to objects; every change of the map gets the next
-- revision, one number for the whole cluster, and old changes stay readable until
-- they are compacted. An object's resourceVersion is the revision that wrote it.
--
--   the key space                       what is derived from it
--   ------------------------------     -----------------------------------------------
--   kv        every change, ever        live      the current row of each living key
--   request   who asked, and why        label     \
--   lease     keys that expire          field      } what selectors and the garbage
--   resource  which keys hold what      owner     /  collector look up
--   store     the revision counters
--
--   the log that feeds it               this member's own affairs
--   ------------------------------     -----------------------------------------------
--   raft_log     what was proposed      sweep      how far compaction has deleted
--   raft_state   term, vote, indexes    proposal   a door for other processes
--   raft_member  who votes              clock_pin  makes the views' clock stand still
--
-- A write takes one road: a command is appended to raft_log; once it is committed it is
-- applied, which inserts one request row and one kv row for each key it changed, and brings live,
-- label, field and owner up to date; all of that and applied_index is one SQLite transaction.
-- Try it:  SELECT key, mod_revision, version FROM kv ORDER BY mod_revision DESC LIMIT 10;
--
-- Two classes of tables, and the difference matters as soon as there are several members:
--   replicated   kv live label field owner resource lease request store. They change only
--                when a command is applied, and only from what the command carries: no clock, no
--                random number. So every member has the same rows, kv.id and request.id included.
--   local        raft_log raft_state raft_member sweep proposal clock_pin, and the views. They belong to
--                the member and survive the install of a snapshot.
-- What compaction deletes (old kv and request rows) each member deletes in its own time, so the
-- replicated tables may differ below compact_revision, where nobody may read any more.
--
-- Every table is STRICT: a column holds what it says. Foreign keys stand only where the
-- child's column is indexed anyway; the other references are checked by `kuberow check`.
--
-- Not in this file, as SQLite wants them outside of a transaction (see sqlstore/create.go): page_size,
-- auto_vacuum=INCREMENTAL, journal_mode=WAL, synchronous=FULL. application_id and
-- user_version are set with these tables, in one transaction: a file has all of it or nothing.

-- kv: one row is one change of one key. Rows are inserted by apply (sqlstore/apply.go),
-- never updated, and deleted only by compaction (sqlstore/sweep.go). Read by everything: gets and
-- lists of now (through live), reads at an old revision, watches that fell behind, history and why.
-- Invariant: between compact_revision and current_revision no mod_revision is missing, and
-- within one the subs are 0, 1, 2 and so on. A key changes at most once in a revision.
CREATE TABLE kv (
  id              INTEGER PRIMARY KEY,        -- the row's own number, counting up with the rows; views take it (NAME_row)
  mod_revision    INTEGER NOT NULL,           -- the revision of the transaction that wrote it: the object's resourceVersion
  sub             INTEGER NOT NULL,           -- position inside that transaction, from 0
  key             TEXT    NOT NULL,           -- the key, its bytes unchanged; compared byte by byte
  create_revision INTEGER NOT NULL,           -- mod_revision of the row that brought the key to life; 0 in a tombstone
  version         INTEGER NOT NULL,           -- changes since the key came to life, from 1; 0 marks a tombstone (a deletion)
  lease           INTEGER NOT NULL,           -- lease.id that deletes the key when it ends; 0 for none
  value           ANY,                        -- the object: text for JSON, a blob for anything else; NULL in a tombstone.
                                              --   Without resourceVersion (that is mod_revision) and managedFields (next column)
  managed_fields  TEXT,                       -- metadata.managedFields as JSON; NULL for none. Apart, since readers seldom want it
  prev_id         INTEGER NOT NULL,           -- kv.id of the row it replaced; 0 when the key did not exist before
  request_id      INTEGER NOT NULL            -- request.id of the request that wrote it
) STRICT;

-- Watches and the sweep walk history in order; also says that (mod_revision, sub) names one row.
CREATE UNIQUE INDEX kv_revision ON kv (mod_revision, sub);
-- "The newest row of this key at or below revision R": reads at an old revision, and one object's history.
CREATE UNIQUE INDEX kv_key ON kv (key, mod_revision);
-- Which keys end with a lease. Partial: few keys have one.
CREATE INDEX kv_lease ON kv (lease, key) WHERE lease <> 0;

-- live: one row is a key that exists now, pointing at its newest kv row. etcd keeps this as a tree in
-- memory and rebuilds it at each start; here it is a table and a start reads nothing. Written by apply only.
-- Lists are a range scan of it, in key order. The columns after id say which object the key holds, so
-- that nobody has to take keys apart; all are empty when it holds none (a key written through etcd's door).
-- Invariant: exactly the keys whose newest kv row is no tombstone, and id is that row.
CREATE TABLE live (
  key               TEXT    PRIMARY KEY NOT NULL, -- as in kv
  id                INTEGER NOT NULL,             -- kv.id of its newest row
  api_group         TEXT    NOT NULL,             -- apps; '' for the core group
  resource          TEXT    NOT NULL,             -- the plural: deployments
  namespace         TEXT    NOT NULL,             -- '' for an object of the whole cluster
  name              TEXT    NOT NULL,             -- metadata.name
  uid               TEXT    NOT NULL,             -- metadata.uid
  create_request_id INTEGER NOT NULL              -- request.id of the request that created it: where `why` begins
) STRICT, WITHOUT ROWID;

-- Does an owner still exist? The garbage collector asks by uid. Partial: an etcd key has none.
CREATE INDEX live_uid ON live (uid) WHERE uid <> '';
-- Compaction must keep the requests that created what lives; it asks once for each old request.
CREATE INDEX live_create_request ON live (create_request_id);

-- label: one row is one label of one living object. Written by apply, replaced when the object's labels
-- change, gone with the object. Read by label selectors: the primary key answers "name=value" in
-- key order, so that a selected list is a range scan as well.
CREATE TABLE label (
  name  TEXT NOT NULL,                        -- app.kubernetes.io/name
  value TEXT NOT NULL,                        -- may be ''
  key   TEXT NOT NULL REFERENCES live (key) ON DELETE CASCADE,
  PRIMARY KEY (name, value, key)
) STRICT, WITHOUT ROWID;

-- An object's labels: to replace them, to test one object against a selector, and for the cascade.
CREATE INDEX label_key ON label (key, name);

-- field: one row is one field of one living object that field selectors of its kind may ask for, such
-- as spec.nodeName of a pod. As label in every respect. metadata.name and metadata.namespace are not
-- here: live has them.
CREATE TABLE field (
  name  TEXT NOT NULL,                        -- spec.nodeName
  value TEXT NOT NULL,                        -- '' when the object leaves it out
  key   TEXT NOT NULL REFERENCES live (key) ON DELETE CASCADE,
  PRIMARY KEY (name, value, key)
) STRICT, WITHOUT ROWID;

-- As label_key.
CREATE INDEX field_key ON field (key, name);

-- owner: one row is one entry of a living object's metadata.ownerReferences. Written by apply;
-- read by the garbage collector and by controllers that look for their children.
CREATE TABLE owner (
  uid TEXT NOT NULL,                          -- uid of the owner, which need not exist any more
  key TEXT NOT NULL REFERENCES live (key) ON DELETE CASCADE, -- the object that is owned
  PRIMARY KEY (uid, key)
) STRICT, WITHOUT ROWID;

-- As label_key.
CREATE INDEX owner_key ON owner (key);

-- resource: one row says that keys with this prefix hold objects of this resource. Written by apply at
-- the first such key; read when an old row, whose key may live no more, must say what it was.
CREATE TABLE resource (
  prefix    TEXT PRIMARY KEY NOT NULL,        -- /registry/pods/ ; the rest of a key is namespace/name or name
  api_group TEXT NOT NULL,                    -- '' for the core group
  resource  TEXT NOT NULL                     -- the plural: pods
) STRICT, WITHOUT ROWID;

-- lease: one row is a promise that the keys attached to it (kv.lease) are deleted when nobody renews it. Events
-- hang on one, so that they go away after an hour. Written by apply, also at the end: when time is
-- up the leader proposes a revoke, so that all members delete at the same revision.
CREATE TABLE lease (
  id         INTEGER PRIMARY KEY,             -- chosen by who asked for it, else the raft index of the grant
  ttl        INTEGER NOT NULL,                -- seconds it was granted for, and is renewed for
  expires_at INTEGER NOT NULL                 -- unix nanoseconds, by the clock of the member that proposed the grant or renewal
) STRICT;

-- The leader looks for the next one that is due.
CREATE INDEX lease_expiry ON lease (expires_at);

-- request: one row is one transaction that wrote something: who asked for it and, when a controller did, which
-- change it was reacting to. Following cause_revision from row to row leads back to the person
-- who began it all. Written by apply; read by history and why; deleted by the sweep when neither a
-- kv row nor a living key can reach it any more.
-- Invariant: one row for each revision that still has kv rows, and a cause is older than its effect.
CREATE TABLE request (
  id             INTEGER PRIMARY KEY,         -- raft_log.idx of the command: the same on every member
  revision       INTEGER NOT NULL,            -- the revision it became: kv.mod_revision of all its rows
  key            TEXT    NOT NULL,            -- the first key it changed
  at             INTEGER NOT NULL,            -- unix nanoseconds when it was proposed
  user           TEXT    NOT NULL,            -- the authenticated user: system:serviceaccount:kube-system:replicaset-controller
  agent          TEXT    NOT NULL,            -- its User-Agent, or the controller's name
  verb           TEXT    NOT NULL,            -- create, update, patch, delete, ...
  path           TEXT    NOT NULL,            -- path of the HTTP request
  cause_revision INTEGER NOT NULL,            -- revision of the change it reacted to; 0 when a person asked
  cause_id       INTEGER NOT NULL             -- kv.id of that change; the row itself may be compacted by now
) STRICT;

-- From a cause to the request that made it; also says that a revision has one request.
CREATE UNIQUE INDEX request_revision ON request (revision);
-- Has this request effects that still need it? The sweep asks. Partial: what people asked for has no cause.
CREATE INDEX request_cause ON request (cause_revision) WHERE cause_revision <> 0;

-- store: a single row, the counters of the key space. Written by apply, in the transaction of the rows it counts.
CREATE TABLE store (
  one              INTEGER PRIMARY KEY CHECK (one = 1), -- there is one row
  cluster_id       INTEGER NOT NULL,          -- names the cluster, for ever; its members refuse others
  schema_version   INTEGER NOT NULL,          -- as PRAGMA user_version, for readers
  current_revision INTEGER NOT NULL,          -- revision of the newest change; 1 when there has been none, as in etcd
  compact_revision INTEGER NOT NULL,          -- history up to here is given up: older reads and watches are refused. 0 at first
  last_id          INTEGER NOT NULL           -- the highest kv.id ever given, which compaction may have deleted since
) STRICT;

-- raft_log: one row is one entry of the Raft log: a command, before it is known to be committed. Written by
-- raftlog/storage.go; a suffix may be overwritten until it is committed, a prefix is deleted when
-- it is applied and older than the retention. Read at a start, to apply what was not yet, and by slow members.
-- Invariant: idx has no gaps; the first is raft_state.snapshot_index + 1.
CREATE TABLE raft_log (
  idx  INTEGER PRIMARY KEY,                   -- position in the log, from 1; becomes request.id
  term INTEGER NOT NULL,                      -- the leader's term when it was proposed
  type TEXT    NOT NULL,                      -- normal, or conf for a change of the membership
  op   TEXT    NOT NULL,                      -- gist of data: txn put, delete, lease grant, compact; elect for a new leader's empty entry
  key  TEXT    NOT NULL,                      -- gist of data: the first key it would write; '' for none
  data BLOB                                   -- the command in msgpack (a conf entry: protobuf); NULL when empty
) STRICT;

-- raft_state: a single row, what Raft must not forget between two starts, and how far this member is.
-- Written by raftlog in the transaction that also holds the entries or the rows it speaks of.
-- Invariant: snapshot_index <= applied_index <= commit_index <= the last idx.
CREATE TABLE raft_state (
  one            INTEGER PRIMARY KEY CHECK (one = 1), -- there is one row
  member_id      INTEGER NOT NULL,            -- which raft_member this file belongs to
  incarnation    INTEGER NOT NULL,            -- starts so far: keeps the names of proposals unique
  term           INTEGER NOT NULL,            -- the newest term heard of
  vote           INTEGER NOT NULL,            -- member voted for in that term; 0 for nobody
  commit_index   INTEGER NOT NULL,            -- raft_log.idx up to which a majority has the entries
  applied_index  INTEGER NOT NULL,            -- raft_log.idx up to which the key space above has them
  snapshot_index INTEGER NOT NULL,            -- raft_log.idx of the last entry that was deleted from the front
  snapshot_term  INTEGER NOT NULL,            -- and its term
  conf_state     TEXT    NOT NULL             -- voters and learners as JSON, as of applied_index
) STRICT;

-- raft_member: one row is one member of the cluster and where it listens. Written when a conf entry is applied.
CREATE TABLE raft_member (
  id       INTEGER PRIMARY KEY,               -- Raft's number of it
  name     TEXT NOT NULL,                     -- what people call it
  peer_url TEXT NOT NULL,                     -- where the other members reach it; '' while it is alone
  learner  INTEGER NOT NULL                   -- 1 while it receives the log without a vote
) STRICT;

-- sweep: a single row, how far this member has deleted what store.compact_revision allows. Written by
-- sqlstore/sweep.go with the deletions themselves, so that a start continues where it stopped.
CREATE TABLE sweep (
  one              INTEGER PRIMARY KEY CHECK (one = 1), -- there is one row
  kv_revision      INTEGER NOT NULL,          -- kv is swept up to this revision
  request_revision INTEGER NOT NULL,          -- request is swept up to this revision
  request_cursor   INTEGER NOT NULL           -- in the pass that is under way: revisions from here on are done; 0 when none is
) STRICT;

-- proposal: one row is a wish of another process: how to change the cluster with nothing but sqlite3. INSERT a key and
-- an object; the server notices, takes it through the same admission as an HTTP request of
-- system:admin, and writes the outcome into status and error. The only table that others may write.
CREATE TABLE proposal (
  id     INTEGER PRIMARY KEY,                 -- order of the wishes
  key    TEXT NOT NULL,                       -- /registry/configmaps/default/c
  value  TEXT,                                -- the object as JSON; NULL to delete the key
  status TEXT NOT NULL DEFAULT 'pending',     -- pending, then done or refused
  error  TEXT                                 -- why it was refused
) STRICT;

-- clock_pin: at most one row. While there is one, the view `clock`, and with it every AGE, shows its time:
-- for golden files, and for looking at an old revision as it looked then.
CREATE TABLE clock_pin (
  now INTEGER NOT NULL                        -- unix seconds
) STRICT;
