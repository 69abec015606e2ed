package main

import (
	"fmt"
	"strings"
)

// kind is where objects of one kind of one version are served.
type kind struct {
	name       string // as in "deployments.apps/v1"
	prefix     string // "/apis/apps/v1"
	resource   string
	namespaced bool
	status     bool // has a status subresource
}

func (k kind) collection(namespace string) string {
	if k.namespaced {
		if namespace == "" {
			namespace = "default"
		}
		return k.prefix + "/namespaces/" + namespace + "/" + k.resource
	}
	return k.prefix + "/" + k.resource
}

// discover reads every kind that a server serves, by apiVersion/kind.
func discover(s *server) (map[string]kind, error) {
	prefixes := []string{"/api/v1"}
	groups, err := s.get("/apis")
	if err != nil {
		return nil, err
	}
	list, _ := groups["groups"].([]any)
	for _, g := range list {
		group, _ := g.(map[string]any)
		versions, _ := group["versions"].([]any)
		for _, v := range versions {
			version, _ := v.(map[string]any)
			prefixes = append(prefixes, "/apis/"+text(version, "groupVersion"))
		}
	}
	out := map[string]kind{}
	for _, prefix := range prefixes {
		answer, err := s.get(prefix)
		if err != nil {
			return nil, err
		}
		version := text(answer, "groupVersion")
		resources, _ := answer["resources"].([]any)
		status := map[string]bool{}
		for _, r := range resources {
			name := text(r.(map[string]any), "name")
			if resource, sub, found := strings.Cut(name, "/"); found && sub == "status" {
				status[resource] = true
			}
		}
		for _, r := range resources {
			resource := r.(map[string]any)
			name := text(resource, "name")
			if strings.Contains(name, "/") {
				continue
			}
			namespaced, _ := resource["namespaced"].(bool)
			out[version+"/"+text(resource, "kind")] = kind{name: name + "." + version, prefix: prefix, resource: name, namespaced: namespaced, status: status[name]}
		}
	}
	return out, nil
}

func (s *server) get(path string) (map[string]any, error) {
	got, err := s.send(exchange{ID: path, Method: "GET", Path: path})
	if err != nil {
		return nil, err
	}
	body, ok := got.body.(map[string]any)
	if got.status != 200 || !ok {
		return nil, fmt.Errorf("get %s of %s: status %d", path, s.name, got.status)
	}
	return body, nil
}
