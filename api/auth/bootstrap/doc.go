// Package bootstrap makes the objects that a cluster begins with: namespaces,
// the default roles and who has them, priority classes, flow schemas,
// APIServices, and the Service kubernetes with what belongs to it.
//
// Why this shape: the whole start takes 150 ms, and computing managedFields
// alone would cost 115 ms (the schema has to be parsed). So what does not
// depend on the cluster is data: data/*.yaml says it for people, `go generate`
// makes objects.txt of it (the stored JSON and managedFields of each object),
// and a test makes it again and compares. At the first start the lines get
// their UIDs and times, and all objects become one transaction. What depends
// on addresses is in network.go; managed.txt has its managedFields.
//
// Hardest part: later starts. Ensure only adds what is missing, and follows
// the API server's address in the Endpoints; it never takes back what people
// changed. Real Kubernetes also re-adds rules that were taken out of a default
// role.
//
// What can be lost: nothing; without the transaction there is no cluster.
package bootstrap

//go:generate go run ./generate
