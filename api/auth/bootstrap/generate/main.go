// Command generate writes objects.txt and managed.txt of package bootstrap
// from its data. `go generate` runs it in the package's folder.
package main

import (
	"fmt"
	"os"

	"kuberow/api/auth/bootstrap/build"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run() error {
	objects, managed, err := build.Files(".")
	if err != nil {
		return err
	}
	if err := os.WriteFile("objects.txt", []byte(objects), 0o644); err != nil {
		return err
	}
	return os.WriteFile("managed.txt", []byte(managed), 0o644)
}
