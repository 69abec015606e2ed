package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"

	"kuberow/api/kinds/builtin"
)

// keyOf finds the key of KIND/NAME, where KIND is what kubectl takes: plural,
// singular or short name, with ".group" where two groups share it.
func keyOf(ctx context.Context, db *sqlx.DB, namespace, object string) (string, error) {
	kind, name, _ := strings.Cut(object, "/")
	kind, group, qualified := strings.Cut(strings.ToLower(kind), ".")
	for _, r := range builtin.Resources() {
		called := r.Name == kind || r.Singular == kind || slices.Contains(r.ShortNames, kind)
		if r.Prefix != "" && called && (!qualified || r.Group == group) {
			return r.Key(namespace, name), nil
		}
	}
	var custom []struct{ Group, Plural, Scope string }
	err := db.SelectContext(ctx, &custom, `SELECT spec ->> '$.group' AS "group", spec ->> '$.names.plural' AS plural, spec ->> '$.scope' AS scope
		FROM (SELECT kv.value -> '$.spec' AS spec FROM live JOIN kv ON kv.id = live.id WHERE live.resource = 'customresourcedefinitions')
		WHERE ?1 IN (spec ->> '$.names.plural', spec ->> '$.names.singular') OR ?1 IN (SELECT value FROM json_each(spec, '$.names.shortNames'))`, kind)
	if err != nil {
		return "", fmt.Errorf("look for the kind %s: %w", kind, err)
	}
	for _, c := range custom {
		if qualified && c.Group != group {
			continue
		}
		if c.Scope == "Namespaced" {
			name = namespace + "/" + name
		}
		return "/registry/" + c.Group + "/" + c.Plural + "/" + name, nil
	}
	return "", fmt.Errorf("%q is no kind that kuberow serves: kubectl api-resources lists them", kind)
}
