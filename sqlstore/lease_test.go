package sqlstore_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kuberow/sqlstore"
)

const second = int64(1e9)

func (d *db) grant(id, ttl, at int64) *sqlstore.Result {
	return d.do(&sqlstore.Command{LeaseGrant: &sqlstore.LeaseGrant{ID: id, TTL: ttl, At: at}})
}

func leased(key string, lease int64) sqlstore.Op {
	op := put(key, "")
	op.Lease = lease
	return op
}

func TestRevokingALeaseDeletesItsKeysAtOneRevision(t *testing.T) {
	d := open(t)
	d.grant(7, 10, 0)
	d.do(txn(leased("b", 7), leased("a", 7), leased("c", 7), put("d", "")))
	d.do(txn(put("c", ""))) // c lets go of the lease
	res := d.do(&sqlstore.Command{LeaseRevoke: &sqlstore.LeaseRevoke{ID: 7}})
	if res.Err != nil || !res.Succeeded || res.Revision != 4 {
		t.Fatalf("revoke: %+v", res)
	}
	if diff := cmp.Diff([]string{"c=@3/2/2", "d=@2/2/1"}, d.all("", 0)); diff != "" {
		t.Error(diff)
	}
	var keys []string
	for _, r := range res.Rows {
		keys = append(keys, r.Key)
	}
	if diff := cmp.Diff([]string{"a", "b"}, keys); diff != "" { // in key order: all members alike
		t.Error(diff)
	}
	wantCode(t, d.do(&sqlstore.Command{LeaseRevoke: &sqlstore.LeaseRevoke{ID: 7}}).Err, sqlstore.CodeNotFound)
}

// Between the leader's look at the clock and the apply a renewal may have come first.
func TestAnExpiryThatARenewalOvertookIsDropped(t *testing.T) {
	d := open(t)
	d.grant(7, 10, 0)
	d.do(txn(leased("a", 7)))
	if res := d.do(&sqlstore.Command{LeaseKeep: &sqlstore.LeaseKeep{ID: 7, At: 9 * second}}); res.LeaseTTL != 10 {
		t.Errorf("renewal: %+v", res)
	}
	res := d.do(&sqlstore.Command{LeaseRevoke: &sqlstore.LeaseRevoke{ID: 7, Expired: true, At: 11 * second}})
	if res.Succeeded || res.Err != nil || res.LeaseTTL != 8 || len(d.all("", 0)) != 1 {
		t.Errorf("expiry after a renewal: %+v", res)
	}
	res = d.do(&sqlstore.Command{LeaseRevoke: &sqlstore.LeaseRevoke{ID: 7, Expired: true, At: 19 * second}})
	if !res.Succeeded || len(d.all("", 0)) != 0 {
		t.Errorf("expiry in time: %+v", res)
	}
}

func TestLeaseGrants(t *testing.T) {
	d := open(t)
	if res := d.grant(0, 5, 0); res.LeaseID != 1 { // the index of the command
		t.Errorf("chosen id %d, want 1", res.LeaseID)
	}
	d.grant(3, 5, second)
	if res := d.grant(0, 5, 0); res.LeaseID != 4 { // index 3 is taken as an id
		t.Errorf("chosen id %d, want 4", res.LeaseID)
	}
	wantCode(t, d.grant(3, 5, 0).Err, sqlstore.CodeExists)
	wantCode(t, d.grant(9, 0, 0).Err, sqlstore.CodeInvalid)
	wantCode(t, d.do(&sqlstore.Command{LeaseKeep: &sqlstore.LeaseKeep{ID: 99}}).Err, sqlstore.CodeNotFound)
	due, err := d.DueLeases(t.Context(), 5*second, 10)
	if err != nil || len(due) != 2 || due[0].ID != 1 || due[1].ID != 4 {
		t.Errorf("due leases %v, %v", due, err)
	}
	all, err := d.Leases(t.Context())
	if err != nil || len(all) != 3 {
		t.Errorf("leases %v, %v", all, err)
	}
	d.do(txn(leased("k", 3)))
	if keys, err := d.LeaseKeys(t.Context(), 3); err != nil || len(keys) != 1 || keys[0] != "k" {
		t.Errorf("keys %v, %v", keys, err)
	}
}
