package tables

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// chain writes what an apply of a Deployment does, and returns the pod's id.
func chain(t testing.TB, s *store, name string) int64 {
	t.Helper()
	value := func(key string) string { return object(t, key, "metadata: {}") }
	deployment, set, pod := "/registry/deployments/default/"+name, "/registry/replicasets/default/"+name, "/registry/pods/default/"+name+"-1"
	apply := s.put(t, write{key: deployment, value: value(deployment), user: "alice", verb: "patch"})
	scaled := s.put(t, write{key: set, value: value(set), user: "deployment-controller", verb: "create", cause: apply})
	return s.put(t, write{key: pod, value: value(pod), user: "replicaset-controller", verb: "create", cause: scaled})
}

// TestWhy follows a pod back to the person: by its key, and by its name.
func TestWhy(t *testing.T) {
	s := openStore(t)
	id := chain(t, s, "web")
	// what happens later is no reason of why the pod exists
	s.put(t, write{key: "/registry/pods/default/web-1", value: object(t, "/registry/pods/default/web-1", "metadata: {}"), user: "scheduler", verb: "create", cause: id})
	want := []string{
		"0 2026-01-10T00:00:03.000Z replicaset-controller create pods/default/web-1 3",
		"1 2026-01-10T00:00:02.000Z deployment-controller create replicasets/default/web 2",
		"2 2026-01-10T00:00:01.000Z alice patch deployments/default/web 1",
	}
	for _, where := range []string{
		"key = '/registry/pods/default/web-1'",
		"resource = 'pods' AND namespace = 'default' AND name = 'web-1'",
	} {
		var got []string
		query := "SELECT step || ' ' || at || ' ' || user || ' ' || verb || ' ' || object || ' ' || revision FROM why WHERE " + where + " ORDER BY step"
		if err := s.Select(&got, query); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("why WHERE %s (-want +got):\n%s", where, diff)
		}
		if stock := s.stock(t, query); stock != nil && fmt.Sprint(stock) != fmt.Sprint(wrap(want)) {
			t.Errorf("stock sqlite3 says %v", stock)
		}
	}
}

func wrap(rows []string) (list [][]string) {
	for _, r := range rows {
		list = append(list, []string{r})
	}
	return list
}

// TestWhyAfterCompaction: when the row of a cause is gone, its request still
// says who and which key.
func TestWhyAfterCompaction(t *testing.T) {
	s := openStore(t)
	chain(t, s, "web")
	s.MustExec("DELETE FROM live WHERE resource = 'deployments'; DELETE FROM kv WHERE key LIKE '/registry/deployments/%'")
	var got string
	if err := s.Get(&got, "SELECT user || ' ' || object FROM why WHERE key = '/registry/pods/default/web-1' AND step = 2"); err != nil {
		t.Fatal(err)
	}
	if want := "alice deployments/default/web"; got != want {
		t.Errorf("the last step is %q, want %q", got, want)
	}
}

// TestWhyPlan: a look-up touches one row of live and no whole table. This is
// what keeps it under a millisecond whatever the size of the cluster.
func TestWhyPlan(t *testing.T) {
	s := openStore(t)
	for _, where := range []string{
		"key = '/registry/pods/default/web-1'",
		"resource = 'pods' AND namespace = 'default' AND name = 'web-1'",
	} {
		for driver, plan := range s.plans(t, "SELECT * FROM why WHERE "+where) {
			if !strings.Contains(plan, "SEARCH l USING PRIMARY KEY (key=?)") {
				t.Errorf("%s: WHERE %s does not find the row by its key:\n%s", driver, where, plan)
			}
			for _, scan := range []string{"SCAN l\n", "SCAN kv", "SCAN request", "SCAN effect", "SCAN cause", "SCAN r\n"} {
				if strings.Contains(plan+"\n", scan) {
					t.Errorf("%s: WHERE %s: the plan has %q:\n%s", driver, where, scan, plan)
				}
			}
		}
	}
}

// TestHistory lists the changes of one object, deletion included, and says
// which of them a controller made and why.
func TestHistory(t *testing.T) {
	s := openStore(t)
	chain(t, s, "web")
	s.put(t, write{key: "/registry/pods/default/web-1", user: "bob", verb: "delete"})
	var got []string
	if err := s.Select(&got, `SELECT revision || ' ' || at || ' ' || user || ' ' || verb || ' ' || object || ' ' || change || ' ' ||
		coalesce(cause_revision || ' ' || cause_object, '-') FROM history WHERE key = '/registry/pods/default/web-1'`); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"3 2026-01-10T00:00:03.000Z replicaset-controller create pods/default/web-1 created 2 replicasets/default/web",
		"4 2026-01-10T00:00:04.000Z bob delete pods/default/web-1 deleted -",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	for driver, plan := range s.plans(t, "SELECT * FROM history WHERE key = 'k'") {
		if strings.Contains(plan, "SCAN kv") || strings.Contains(plan, "SCAN r\n") {
			t.Errorf("%s: history of a key scans:\n%s", driver, plan)
		}
	}
}

// TestClock: the pin stops it, without the pin it is now.
func TestClock(t *testing.T) {
	s := openStore(t)
	var now int64
	if err := s.Get(&now, "SELECT now FROM clock"); err != nil || now != pinned.Unix() {
		t.Errorf("pinned clock says %d, %v", now, err)
	}
	s.MustExec("DELETE FROM clock_pin")
	if err := s.Get(&now, "SELECT now FROM clock"); err != nil || time.Since(time.Unix(now, 0)).Abs() > time.Minute {
		t.Errorf("the clock says %d, %v", now, err)
	}
}
