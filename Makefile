# kuberow: everything a contributor types. `make` alone lists it.
export CGO_ENABLED ?= 0
KUBECTL = bin/kubectl-1.37

.DEFAULT_GOAL := help
.PHONY: help build run test quick race fuzz bench fault generate verify fmt kubectl clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: bin/kuberow ## build bin/kuberow, one static binary

run: bin/kuberow ## start a cluster in .kuberow (Docker pods when an engine answers, else simulated)
	bin/kuberow serve

test: bin/kuberow $(KUBECTL) ## all tests; those on Docker when an engine answers (required with KUBEROW_REQUIRE_DOCKER=1)
	go vet ./...
	KUBEROW_E2E=1 KUBECTL=$(CURDIR)/$(KUBECTL) go test -timeout 30m ./...

quick: ## the tests that need nothing, as go test ./... runs them
	go test ./...

race: ## the quick tests under the race detector (wants a C compiler)
	CGO_ENABLED=1 go test -race -timeout 30m ./sqlstore/... ./raftlog/... ./tables/... ./api/... ./controllers/... ./docker/... ./golden/...

fault: ## 200 rounds of kill -9 under a write load, then the check
	KUBEROW_E2E=1 KUBEROW_KILL_ROUNDS=200 go test -timeout 60m -count=1 -run 'Kill' -v ./raftlog/... ./golden/...

FUZZTIME ?= 10s
fuzz: ## every fuzz target for FUZZTIME (10s) each
	@set -e; for pkg in ./api ./api/wire ./raftlog ./sqlstore; do \
		for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "$$pkg $$target"; go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; done

bench: ## the Go benchmarks of the hot paths
	go test -run '^$$' -bench . -benchmem ./sqlstore/... ./raftlog/... ./tables/... ./api/...

generate: ## copy schema.sql into sqlstore and rebuild what is made at build time
	cp schema.sql sqlstore/schema.sql
	go generate ./...

verify: ## what a review would ask: format, vet, tidy modules, generated files
	@test -z "$$(gofmt -l . | tee /dev/stderr)"
	go vet ./...
	go mod tidy -diff
	cmp schema.sql sqlstore/schema.sql

fmt: ## gofmt
	gofmt -w .

kubectl: $(KUBECTL) ## build kubectl 1.37 from k8s.io/kubectl (golden/kubectl/1.37)

bin/kuberow: FORCE
	go build -ldflags '-s -w' -o $@ .

bin/kubectl-%: golden/kubectl/%/go.mod golden/kubectl/%/main.go
	cd golden/kubectl/$* && go build -ldflags '-s -w -X k8s.io/component-base/version.gitVersion=v$*.2 -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=$(subst 1.,,$*)' -o $(CURDIR)/$@ .

clean: ## remove bin
	rm -rf bin

FORCE:
