package golden

import (
	"fmt"
	"slices"
	"strings"
)

// A transcript is a text file that a person writes half of and the recorder the
// other half:
//
//	# Prose, anywhere between two commands.
//	! kubectl get serviceaccount default      repeated until it succeeds, not recorded
//	$ kubectl get pods                        one shell command
//	> GET /api/v1/namespaces/default/pods ...     what went over the wire
//	| No resources found in default namespace.    what it printed
//	? 1                                           its exit status, unless 0
//
// The lines >, | and ? are a recording. Where the versions of kubectl do not
// agree, each group of versions has its own, under a line [1.32 1.34]. The line
// "# kubectl: 1.32 1.34 1.37" names the versions that an unmarked recording holds for.
// Input files follow in txtar form and lie in the directory that the commands run in.

// Recording is what one command did.
type Recording struct {
	Requests []string
	Output   []string
	Exit     int
}

// Step is one command of a transcript with what precedes it.
type Step struct {
	Prose      []string
	Command    string
	Until      bool // a "!" command: repeat until it succeeds, record nothing
	Recordings map[string]*Recording
}

// Transcript is a parsed file without its txtar input files.
type Transcript struct {
	Versions []string // of kubectl, in order
	Steps    []*Step
	Trailer  []string // prose after the last command
}

const versionsLine = "# kubectl: "

// ParseTranscript reads the part of a transcript file before its input files.
func ParseTranscript(text string) (*Transcript, error) {
	t := &Transcript{}
	var prose []string
	var step *Step
	var versions []string // that the lines read now hold for
	for n, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		kind, rest, _ := strings.Cut(line, " ")
		switch {
		case strings.HasPrefix(line, versionsLine):
			t.Versions = strings.Fields(line[len(versionsLine):])
		case kind == "$" || kind == "!":
			step = &Step{Prose: prose, Command: rest, Until: kind == "!", Recordings: map[string]*Recording{}}
			prose, versions = nil, t.Versions
			t.Steps = append(t.Steps, step)
		case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") && step != nil:
			versions = strings.Fields(line[1 : len(line)-1])
		case kind == ">" || kind == "|" || kind == "?":
			if step == nil || step.Until || len(versions) == 0 {
				return nil, fmt.Errorf("line %d: a recording without a command or a version: %q", n+1, line)
			}
			if err := step.add(versions, kind, rest); err != nil {
				return nil, fmt.Errorf("line %d: %w", n+1, err)
			}
		case line == "" || kind == "#":
			prose = append(prose, line)
		default:
			return nil, fmt.Errorf("line %d: begins with none of # $ ! > | ? [: %q", n+1, line)
		}
	}
	// A command that printed nothing and sent nothing has no lines at all.
	for _, s := range t.Steps {
		if len(s.Recordings) == 0 && !s.Until {
			for _, v := range t.Versions {
				s.Recordings[v] = &Recording{}
			}
		}
	}
	t.Trailer = prose
	return t, nil
}

func (s *Step) add(versions []string, kind, rest string) error {
	for _, v := range versions {
		r := s.Recordings[v]
		if r == nil {
			r = &Recording{}
			s.Recordings[v] = r
		}
		switch kind {
		case ">":
			r.Requests = append(r.Requests, rest)
		case "|":
			r.Output = append(r.Output, rest)
		case "?":
			if _, err := fmt.Sscanf(rest, "%d", &r.Exit); err != nil {
				return fmt.Errorf("read exit status %q: %w", rest, err)
			}
		}
	}
	return nil
}

// Commands counts the commands that are recorded.
func (t *Transcript) Commands() int {
	n := 0
	for _, s := range t.Steps {
		if !s.Until {
			n++
		}
	}
	return n
}

// String writes the transcript as ParseTranscript reads it.
func (t *Transcript) String() string {
	var b strings.Builder
	if len(t.Versions) > 0 {
		fmt.Fprintln(&b, versionsLine+strings.Join(t.Versions, " "))
	}
	for _, s := range t.Steps {
		for _, line := range s.Prose {
			fmt.Fprintln(&b, line)
		}
		if s.Until {
			fmt.Fprintln(&b, "! "+s.Command)
			continue
		}
		fmt.Fprintln(&b, "$ "+s.Command)
		groups := s.groups(t.Versions)
		for _, group := range groups {
			if len(groups) > 1 || len(group) != len(t.Versions) {
				fmt.Fprintf(&b, "[%s]\n", strings.Join(group, " "))
			}
			s.Recordings[group[0]].write(&b)
		}
	}
	for _, line := range t.Trailer {
		fmt.Fprintln(&b, line)
	}
	return b.String()
}

// groups gathers the versions whose recordings agree.
func (s *Step) groups(versions []string) [][]string {
	var groups [][]string
	for _, v := range versions {
		r := s.Recordings[v]
		if r == nil {
			continue
		}
		i := slices.IndexFunc(groups, func(g []string) bool { return s.Recordings[g[0]].Agrees(r) })
		if i < 0 {
			groups = append(groups, []string{v})
			continue
		}
		groups[i] = append(groups[i], v)
	}
	return groups
}

func (r *Recording) write(b *strings.Builder) {
	for _, line := range r.Requests {
		fmt.Fprintln(b, "> "+line)
	}
	for _, line := range r.Output {
		fmt.Fprintln(b, strings.TrimRight("| "+line, " "))
	}
	if r.Exit != 0 {
		fmt.Fprintf(b, "? %d\n", r.Exit)
	}
}

// Agrees tells whether two recordings say the same: requests in any order,
// since clients send some side by side, and a repeated one once, since how often
// a client asks again depends on the speed of the machine; output line by line,
// where the width of a gap does not count.
func (r *Recording) Agrees(other *Recording) bool {
	return r.Exit == other.Exit && slices.Equal(asSet(r.Requests), asSet(other.Requests)) &&
		slices.EqualFunc(r.Output, other.Output, func(a, b string) bool { return squeeze(a) == squeeze(b) })
}

func asSet(lines []string) []string {
	lines = slices.Clone(lines)
	slices.Sort(lines)
	return slices.Compact(lines)
}

func squeeze(line string) string { return strings.Join(strings.Fields(line), " ") }

// Set stores what a version of kubectl did; what already says the same stays as
// it is, so that recording again changes no line without need.
func (t *Transcript) Set(s *Step, version string, r *Recording) {
	for _, other := range s.Recordings {
		if other.Agrees(r) {
			r = other
			break
		}
	}
	s.Recordings[version] = r
	if !slices.Contains(t.Versions, version) {
		t.Versions = append(t.Versions, version)
		slices.Sort(t.Versions)
	}
}
