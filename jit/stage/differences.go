package stage

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"tilec/jit/compile"
	"tilec/lang"
)

// Form is a program at a point on its way, with what that point is called.
type Form struct {
	Title   string
	Listing lang.Listing
}

// What the lines of Differences begin with. A line of the first form, which is there as a whole, begins with none of these.
const (
	Title   = "// "
	Added   = "+ "
	Removed = "- "
	both    = "  "
	// Gap is a line that stands for any number of lines that do not differ.
	Gap = "  …"
)

// Differences lists the first form as a whole, and of each that differs from the one before it the lines that do, with up to three of those
// around them. Each form begins with a line of its title.
func Differences(forms []Form) lang.Listing {
	var all lang.Listing
	for i, f := range forms {
		title := lang.ListedLine{Text: Title + f.Title}
		if i == 0 {
			all = append(append(all, title), f.Listing...)
			continue
		}
		if changed := difference(forms[i-1].Listing, f.Listing); len(changed) > 0 {
			all = append(append(all, title), changed...)
		}
	}
	return all
}

// hunk is the head of a run of lines in a unified difference: where these begin in either text.
var hunk = regexp.MustCompile(`^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@`)

// difference is what two forms differ by; nothing where they are equal.
func difference(before, after lang.Listing) (changed lang.Listing) {
	text := string(diff.Diff("before", []byte(before.String()), "after", []byte(after.String())))
	old, now, began := 0, 0, false // the next lines of either form
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		m := hunk.FindStringSubmatch(line)
		switch {
		case m != nil:
			first, _ := strconv.Atoi(m[1])
			second, _ := strconv.Atoi(m[2])
			if second > now+1 || began {
				changed = append(changed, lang.ListedLine{Text: Gap})
			}
			old, now, began = max(first-1, 0), max(second-1, 0), true
		case !began: // the names of the texts
		case strings.HasPrefix(line, "-"):
			changed = append(changed, lang.ListedLine{Text: Removed + line[1:], At: before[old].At})
			old++
		case strings.HasPrefix(line, "+"):
			changed = append(changed, lang.ListedLine{Text: Added + line[1:], At: after[now].At})
			now++
		case strings.HasPrefix(line, " "):
			changed = append(changed, lang.ListedLine{Text: both + line[1:], At: after[now].At})
			old, now = old+1, now+1
		}
	}
	return changed
}

// Passes are the differences of a kernel's IR on its way to the back end, from Forms of the compiler.
func Passes(forms []compile.Form) lang.Listing {
	var all []Form
	for _, f := range forms {
		title := fmt.Sprintf("%s, after %s", f.Func.Name, f.Pass)
		switch f.Pass {
		case "":
			title = f.Func.Name + ", as it is built"
		case "plan":
			title = f.Func.Name + ", with the extents of the plan"
		}
		all = append(all, Form{title, f.Func.Listing()})
	}
	return Differences(all)
}
