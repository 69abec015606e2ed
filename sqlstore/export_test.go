package sqlstore

// PastQuery lets a test look at the plan of a read at an old revision.
func PastQuery(q Query) (string, []any) {
	st, err := pastStatement(&q)
	if err != nil {
		panic(err)
	}
	return `SELECT ` + kvColumns + ` ` + st.from + ` ORDER BY ` + st.key, st.args
}
