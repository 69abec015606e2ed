package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) < 2 {
		fail(2, "reference: want a command: up, replay, mutate or record")
	}
	var err error
	differences := 0
	switch name, args := os.Args[1], os.Args[2:]; name {
	case "up":
		err = up(args)
	case "replay":
		differences, err = replay(args)
	case "mutate":
		differences, err = mutate(args)
	case "record":
		err = record(args)
	default:
		fail(2, "reference: no command "+name+"; want up, replay, mutate or record")
	}
	if err != nil {
		fail(2, "reference: "+err.Error())
	}
	if differences > 0 {
		os.Exit(1)
	}
}

func fail(code int, message string) {
	fmt.Fprintln(os.Stderr, message)
	os.Exit(code)
}

// sides adds the flags that name the two servers.
func sides(flags *flag.FlagSet) (reference, own *server) {
	reference, own = &server{name: "reference"}, &server{name: "kuberow"}
	flags.StringVar(&reference.url, "reference", "https://127.0.0.1:17443", "address of the real server")
	flags.StringVar(&own.url, "kuberow", "https://127.0.0.1:16443", "address of kuberow")
	flags.StringVar(&reference.token, "token", "admintoken", "bearer token that both servers take")
	return reference, own
}
