// Package report is a page of what became of a kernel or a graph: its stages as lines that are linked with those of the source, pictures, and what each line of
// the source costs. The page is one file of HTML that needs no network. The package knows what a page has on it; it must not know how that came
// about.
package report

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strconv"

	"tilec/lang"
)

// Page is a report.
type Page struct {
	// Title names the kernel or the graph and its machine; For is the sizes and types that it is for; By is the compiler that made the report.
	Title, For, By string
	// Source is where that is declared.
	Source   *lang.Source
	Sections []Section
	// Costs are what lines of the sources cost, as parts of the whole.
	Costs []Cost
}

// Section is one stage, or one way to look at all of it.
type Section struct {
	// ID is a word for addresses, Title what a person reads, About a sentence of what there is to see.
	ID, Title, About string
	Parts            []Part
}

// Part is what a section has of one launch.
type Part struct {
	// Title names the launch; "" where there is one alone.
	Title string
	// Missing says why there is nothing else.
	Missing string
	Lines   lang.Listing
	// Differences: the lines are those of stage.Differences.
	Differences bool
	Pictures    []Picture
}

// Picture is a drawing as SVG, with a line of what it shows. Of several in one part, each has a Title.
type Picture struct{ Title, About, SVG string }

// Cost is the part of all executed instructions, from 0 to 1, that a line of a source (from 1) takes.
type Cost struct {
	File string
	Line int
	Part float64
}

// sources are those that lines of the page come from, that of the kernel first.
func (p *Page) sources() []*lang.Source {
	all := []*lang.Source{p.Source}
	for _, s := range p.Sections {
		for _, part := range s.Parts {
			for _, line := range part.Lines {
				if of := line.At.Source; of != nil && !slices.Contains(all, of) {
					all = append(all, of)
				}
			}
		}
	}
	return all
}

var namedPlace = regexp.MustCompile(`([\w./-]+\.tile):(\d+)`)

// Text lists lines that may name a place of one of the sources, as in norm.tile:7, with the folders before or without.
func Text(text string, sources []*lang.Source) lang.Listing {
	l := lang.NewListing(text, nil)
	for i, line := range l {
		m := namedPlace.FindStringSubmatch(line.Text)
		if m == nil {
			continue
		}
		n, _ := strconv.Atoi(m[2])
		if j := slices.IndexFunc(sources, func(s *lang.Source) bool { return s.Path == m[1] || path.Base(s.Path) == m[1] }); j >= 0 {
			l[i].At = sources[j].LineSpan(n)
		}
	}
	return l
}

// MarshalJSON is the page for programs: see docs/json.md.
func (p *Page) MarshalJSON() ([]byte, error) {
	type jsonLine struct {
		Text string `json:"text"`
		File string `json:"file,omitempty"`
		Line int    `json:"line,omitempty"`
	}
	type jsonPicture struct {
		Title string `json:"title,omitempty"`
		About string `json:"about,omitempty"`
		SVG   string `json:"svg"`
	}
	type jsonPart struct {
		Title    string        `json:"title,omitempty"`
		Missing  string        `json:"missing,omitempty"`
		Lines    []jsonLine    `json:"lines,omitempty"`
		Pictures []jsonPicture `json:"pictures,omitempty"`
	}
	type jsonSection struct {
		ID    string     `json:"id"`
		Title string     `json:"title"`
		Parts []jsonPart `json:"parts"`
	}
	type jsonCost struct {
		File string  `json:"file"`
		Line int     `json:"line"`
		Part float64 `json:"part"`
	}
	out := struct {
		Title    string        `json:"title"`
		For      string        `json:"for,omitempty"`
		By       string        `json:"by"`
		File     string        `json:"file"`
		Sections []jsonSection `json:"sections"`
		Costs    []jsonCost    `json:"costs,omitempty"`
	}{Title: p.Title, For: p.For, By: p.By, File: p.Source.Path}
	for _, s := range p.Sections {
		section := jsonSection{ID: s.ID, Title: s.Title}
		for _, part := range s.Parts {
			j := jsonPart{Title: part.Title, Missing: part.Missing}
			for _, line := range part.Lines {
				l := jsonLine{Text: line.Text}
				if line.At.IsValid() {
					l.File = line.At.Source.Path
					l.Line, _ = line.At.Position()
				}
				j.Lines = append(j.Lines, l)
			}
			for _, x := range part.Pictures {
				j.Pictures = append(j.Pictures, jsonPicture(x))
			}
			section.Parts = append(section.Parts, j)
		}
		out.Sections = append(out.Sections, section)
	}
	for _, c := range p.Costs {
		out.Costs = append(out.Costs, jsonCost(c))
	}
	return json.Marshal(out)
}
