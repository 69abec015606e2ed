package scheduler

import (
	"fmt"
	"sort"
	"strings"
)

// What a refused pod is told: how many nodes, why not, and whether evicting other pods would help.

// beforeFilters is the message when no node was even looked at. Upstream then also tells of a
// step that it did not get to, with these words.
func beforeFilters(nodes int, why string) string {
	return fmt.Sprintf("0/%d nodes are available: %s. not found", nodes, why)
}

// afterFilters is the message when every node said no, and what came of looking for pods to evict.
func afterFilters(nodes int, verdicts map[*nodeState]*verdict, preemption string) string {
	counts := map[string]int{}
	for _, no := range verdicts {
		for _, reason := range no.reasons {
			counts[reason]++
		}
	}
	return available(nodes, counts) + " preemption: " + preemption
}

// available is the sentence with the counts, sorted as text.
func available(nodes int, counts map[string]int) string {
	var parts []string
	for reason, n := range counts {
		parts = append(parts, fmt.Sprintf("%d %s", n, reason))
	}
	sort.Strings(parts)
	return fmt.Sprintf("0/%d nodes are available: %s.", nodes, strings.Join(parts, ", "))
}
