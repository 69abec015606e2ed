package raftlog

import (
	"bytes"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"

	"kuberow/sqlstore"
)

// How a command stands in the log: msgpack in raft_log.data, and its gist in
// raft_log.op and key for those who read the table.

// encode is a command as bytes.
func encode(cmd *sqlstore.Command) ([]byte, error) {
	data, err := msgpack.Marshal(cmd)
	if err != nil {
		return nil, fmt.Errorf("encode command: %w", err)
	}
	return data, nil
}

// Decode is the command in raft_log.data.
func Decode(data []byte) (*sqlstore.Command, error) {
	cmd := &sqlstore.Command{}
	if err := decoder(data).Decode(cmd); err != nil {
		return nil, fmt.Errorf("decode command: %w", err)
	}
	return cmd, nil
}

// decoder is one of its own for each command. The library's pool keeps a decoder's buffer, which grows by a
// megabyte at each text that claims to be longer than the data: a few thousand such texts took gigabytes.
func decoder(data []byte) *msgpack.Decoder {
	dec := msgpack.NewDecoder(bytes.NewReader(data))
	dec.UsePreallocateValues(true)
	return dec
}

// peekID reads no more of an encoded command than its ID, which stands first.
// Raft hands out copies of what was proposed, so this is how a member finds its own again
// without decoding whole objects.
func peekID(data []byte) (id sqlstore.CommandID, ok bool) {
	dec := decoder(data)
	if n, err := dec.DecodeMapLen(); err != nil || n < 1 {
		return id, false
	}
	if name, err := dec.DecodeString(); err != nil || name != "id" {
		return id, false
	}
	return id, dec.Decode(&id) == nil
}

// gist is what a reader of the log wants to see without decoding.
func gist(cmd *sqlstore.Command) (op, key string) {
	switch {
	case cmd.Txn != nil:
		return gistOfTxn(cmd.Txn)
	case cmd.LeaseGrant != nil:
		return "lease grant", ""
	case cmd.LeaseRevoke != nil && cmd.LeaseRevoke.Expired:
		return "lease expire", ""
	case cmd.LeaseRevoke != nil:
		return "lease revoke", ""
	case cmd.LeaseKeep != nil:
		return "lease keep", ""
	case cmd.Compact != nil:
		return "compact", ""
	}
	return "nothing", ""
}

// gistOfTxn names the first operation; whether it will be made, apply decides.
func gistOfTxn(t *sqlstore.Txn) (op, key string) {
	ops := t.Then
	if len(ops) == 0 {
		ops = t.Else
	}
	if len(ops) == 0 {
		return "txn", ""
	}
	op = "put"
	if ops[0].Type == sqlstore.OpDelete {
		op = "delete"
	}
	if len(ops) > 1 {
		op += fmt.Sprintf(" and %d more", len(ops)-1)
	}
	return op, ops[0].Key
}
