package backend

import (
	"slices"

	"tilec/jit/misuse"
)

// Opener opens the devices of a back end by their names on the command line.
type Opener struct {
	// Names are what the command line calls its devices, for messages: "cuda", "cuda:N".
	Names []string
	// Open gives the device of a name; nil, without an error, for a name of another back end.
	Open func(name string) (Device, error)
}

// Open asks one back end after the other for the device of a name. A name that is none's is a *misuse.NameError.
func Open(openers []Opener, name string) (Device, error) {
	var known []string
	for _, o := range openers {
		if d, err := o.Open(name); d != nil || err != nil {
			return d, err
		}
		known = append(known, o.Names...)
	}
	slices.Sort(known)
	return nil, &misuse.NameError{What: "device", Name: name, Known: known, Unlike: true}
}
