// Package build makes objects.txt and managed.txt of package bootstrap from
// its data/*.yaml. It is not part of the product: `go generate` and the test
// that compares are its only users, since it parses the whole apply schema.
//
// Why this shape: managedFields must be what a real server records when its
// own parts create these objects, so the same library (apimachinery's
// managedfields) computes them here, once.
//
// Hardest part: knowing who wrote which part. Flow schemas and the ServiceCIDR
// get their status from a second writer, by server-side apply.
//
// What can be lost: nothing; the files are in the repository.
package build
