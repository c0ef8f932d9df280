package lang

import (
	"fmt"
	"slices"
)

// This file is the table of settings: one row for each thing that a source, a launch or a command line says about
// how code is made or found, and not about what it computes. The checker, the planner, the Go API, the command line,
// the language server and the test of docs/language.md read it.

// SettingPlace is where a setting may stand, or several such places together.
type SettingPlace uint8

// Nowhere is where no setting may stand, as on a function.
const Nowhere SettingPlace = 0

// The places.
const (
	// OnKernel, OnGraph, OnField and OnAccess: as an attribute of a kernel, a graph, a struct's field, or an access (`x[i] @latency(4)`).
	OnKernel SettingPlace = 1 << iota
	OnGraph
	OnField
	OnAccess
	// InTarget: as `name = value` in `@target(sm_90a, ...)`.
	InTarget
	// AtLaunch: as NAME=VALUE on the command line, and by name among the arguments of a call.
	AtLaunch
	// AsFlag: as `--name` on the command line, and as "@name" among the arguments of a call.
	AsFlag
)

// SettingValue is what a setting takes.
type SettingValue uint8

// What settings take.
const (
	// TakesNothing: the setting is there or not.
	TakesNothing SettingValue = iota
	// TakesNumber: one number from 1 to Most, or from 0.
	TakesNumber
	// TakesWord: one of Words.
	TakesWord
	// TakesMore: arguments of its own form, which the checker reads.
	TakesMore
)

// Setting is a row of the table.
type Setting struct {
	Name  string
	Takes SettingValue
	// At is where it may stand.
	At SettingPlace
	// Repeats: it may stand several times at one place, for different targets or axes.
	Repeats bool
	// Most is the largest number on every machine (what one machine has is for the planner to say), PowerOfTwo whether it
	// must be a power of two, and Unit what it counts.
	Most int64
	// FromZero: 0 is a number too that it can be.
	FromZero   bool
	PowerOfTwo bool
	Unit       string
	// Form: it says which of several forms the code has that give the same values; what is best is decided where it is not given.
	Form bool
	// Words are those that it may be; the first is what holds where nothing is said.
	Words []string
	// Written shows one, and Doc says what it does.
	Written, Doc string
}

// settings is in the order of the reference.
var settings = []Setting{
	{Name: "sizes", Takes: TakesMore, At: OnKernel | OnGraph, Written: "@sizes(M = 8192, T = bf16)",
		Doc: "typical sizes and element types, for tools that have no launch at hand"},
	{Name: "warps", Takes: TakesNumber, At: OnKernel | InTarget | AtLaunch, Most: 32, PowerOfTwo: true, Unit: "warps in a block", Written: "@warps(8)",
		Doc: "warps of a block: a power of two up to 32"},
	{Name: "stages", Takes: TakesNumber, At: OnKernel | InTarget | AtLaunch, Most: 8, Unit: "stages", Written: "@stages(3)",
		Doc: "stages of the pipeline of loops that load for a contraction, up to 8; 1 is none"},
	{Name: "occupancy", Takes: TakesNumber, At: OnKernel | InTarget | AtLaunch, Most: 32, Unit: "blocks on a multiprocessor", Written: "@occupancy(2)",
		Doc: "so many blocks, up to 32, are to share a multiprocessor: each gets that part of its registers, shared memory and threads"},
	{Name: "cluster", Takes: TakesNumber, At: OnKernel | InTarget | AtLaunch, Most: 8, Unit: "blocks in a cluster", Written: "@cluster(2)",
		Doc: "blocks are launched in clusters of so many, up to 8; on targets with clusters (sm_90a)"},
	{Name: "split", Takes: TakesMore, At: OnKernel | InTarget | AtLaunch, Repeats: true, Most: 8, Unit: "blocks of a cluster that share an axis", Written: "@split(k, 4)",
		Doc: "so many blocks of a cluster, up to 8, share the positions of `k`, a `for`, an `axis` or what a formula reduces over; 1 is none; on targets with clusters"},
	{Name: "producer", Takes: TakesNumber, At: OnKernel | InTarget | AtLaunch, Most: 4, PowerOfTwo: true, Unit: "warps that only copy", Written: "@producer(4)",
		Doc: "of a block whose loads the tensor memory accelerator does, so many warps only start those: a power of two up to 4; 4 give their registers to those that compute"},
	{Name: "persist", Takes: TakesNumber, At: OnKernel | InTarget | AtLaunch, Most: 2, FromZero: true, Unit: "teams of warps", Written: "@persist(2)",
		Doc: "blocks stay and go through the tiles of the grid with so many teams of warps, up to 2: with 2, one multiplies while the other stores; 0 is a block for each tile"},
	{Name: "private", Takes: TakesNumber, At: OnKernel | InTarget | AtLaunch, Most: 32768, Unit: "elements", Written: "@private(1)",
		Doc: "atomics on a tensor of up to so many integers, up to 32768, are made in shared memory first and put to the tensor once a block, where that pays; 1 is none"},
	{Name: "relayout", Takes: TakesNumber, At: OnKernel | InTarget | AtLaunch, Most: 2, Unit: "ways", Written: "@relayout(1)",
		Doc: "a way to treat operands of products, up to 2: 1 leaves them as they lie in memory, 2 first copies those whose channels do not lie innermost, or whose rows do not begin at multiples of 16 bytes, and, of a product of floats of 8 bits, one as f16, and others of 8 bits that lie across the depth with the depth innermost; where nothing is said, they are copied if that pays"},
	{Name: "cut", Takes: TakesNumber, At: OnKernel | InTarget | AtLaunch, Most: 2, Unit: "launches", Written: "@cut(1)",
		Doc: "launches of a kernel that reduces all it reads to one number, rows of a product, or rows that it goes through again, or of a product of much depth and few results, up to 2: 1 keeps it whole, 2 cuts it where it can be; where nothing is said, it is cut if that pays"},
	{Name: "online", Takes: TakesNumber, At: OnKernel | InTarget | AtLaunch, Most: 2, Unit: "ways", Written: "@online(1)",
		Doc: "a way through the scores of a softmax, up to 2: 1 goes through them for the largest, for the sum of their weights, and for what these are multiplied with; 2 once, with the largest so far; where nothing is said, what is predicted to be faster"},
	{Name: "ranges", Takes: TakesNumber, At: OnKernel | InTarget | AtLaunch, Most: 256, PowerOfTwo: true, Unit: "ranges in a block", Written: "@ranges(16)",
		Doc: "so many positions of the grid, a power of two up to 256, have a block together whose loops go through ranges that are read from memory, as the rows of sparse matrices are: side by side; 1 gives each a block; where nothing is said, what is predicted to be faster"},
	{Name: "longest", Takes: TakesNumber, At: OnKernel | InTarget | AtLaunch, Form: true, Most: 65536, Unit: "blocks of the other axes", Written: "@longest(8)",
		Doc: "of a grid along one axis of which a loop of the blocks gets longer, the longest begin first, of so many of the other axes' blocks at a time, up to 65536; 1 keeps the order of the grid"},
	{Name: "phases", Takes: TakesNumber, At: OnKernel | InTarget | AtLaunch, Form: true, Most: 2, Unit: "codes", Written: "@phases(2)",
		Doc: "2 gives a loop's steps in which a comparison of positions holds throughout code of their own, without it; 1 does not; up to 2"},
	{Name: "overlap", Takes: TakesNumber, At: OnKernel | InTarget | AtLaunch, Form: true, Most: 3, Unit: "as the forms are numbered", Written: "@overlap(2)",
		Doc: "of a loop with a product that takes what is computed of another: 1 computes step by step; 2 has the other product of the next step under way beside it; 3, and warpgroups take turns; up to 3"},
	{Name: "deferred", Takes: TakesNumber, At: OnKernel | InTarget | AtLaunch, Form: true, Most: 2, Unit: "as the forms are numbered", Written: "@deferred(2)",
		Doc: "2 has each thread carry a part of its own of a sum that a loop carries, and joins them behind the loop; 1 joins them in each step; up to 2"},
	{Name: "moments", Takes: TakesNumber, At: OnKernel | InTarget | AtLaunch, Form: true, Most: 2, Unit: "as the forms are numbered", Written: "@moments(1)",
		Doc: "of a mean and the mean or the sum of the squares of what is off it: 2 has threads make both reductions together; 1 makes one after the other; up to 2"},
	{Name: "chains", Takes: TakesNumber, At: OnKernel | InTarget | AtLaunch, Form: true, Most: 2, Unit: "as the forms are numbered", Written: "@chains(1)",
		Doc: "of a product of which a warp has one tile: 2 has several sums of it under way, each of some steps of the depth, and adds them up at the end; 1 has one; up to 2"},
	{Name: "kept", Takes: TakesNumber, At: OnKernel | InTarget | AtLaunch, Form: true, Most: 4, Unit: "as the forms are numbered", Written: "@kept(1)",
		Doc: "of rows that several loops go through: 1 reads them from memory in each loop; 2 keeps in shared memory what the first loop loads, where there is room; 3 copies them there as a whole before it, where they begin at multiples of 16 bytes or loops go through them by words; 4 has blocks stay, and copies the parts of the next row as a block is done with those of this one; up to 4"},
	{Name: "stagger", Takes: TakesNumber, At: OnKernel | InTarget | AtLaunch, Form: true, Most: 2, Unit: "as the forms are numbered", Written: "@stagger(2)",
		Doc: "of rows that are copied to shared memory: 1 has blocks ask for all parts of a row at once; 2 has every second of those that begin together ask for its first row part after part, so that some reduce while others copy; up to 2"},
	{Name: "words", Takes: TakesNumber, At: OnKernel | InTarget | AtLaunch, Form: true, Most: 2, Unit: "as the forms are numbered", Written: "@words(1)",
		Doc: "of rows that begin at no multiples of 16 bytes and that loops go through: 1 goes through them by columns, element by element; 2 by the words of 16 bytes in which they lie in memory; up to 2"},
	{Name: "selection", Takes: TakesNumber, At: OnKernel | InTarget | AtLaunch, Form: true, Most: 2, Unit: "as the forms are numbered", Written: "@selection(1)",
		Doc: "of a `topk` of rows that a block has by itself: 1 finds the largest elements one after the other; 2 finds a threshold, by halving, and orders what is above it; up to 2"},
	{Name: "wgmma", Takes: TakesNumber, At: OnKernel | InTarget | AtLaunch, Most: 2, Unit: "ways to choose wgmma", Written: "@wgmma(1)",
		Doc: "products by instructions of four warps together (`wgmma`): 1 is by none, up to 2, which is wherever one can be; on targets with wgmma (sm_90a)"},
	{Name: "target", Takes: TakesMore, At: OnKernel, Repeats: true, Written: "@target(sm_90a, BM = 128, warps = 8, split(k, 4))",
		Doc: "extents, warps, stages, occupancy, cluster, producer, persist, forms and splits for one target; there may be several"},
	{Name: "precision", Takes: TakesWord, At: OnKernel | AsFlag, Words: []string{"tf32", "tf32x3", "ieee"}, Written: "@precision(ieee)",
		Doc: "how products of f32 are computed on tensor cores: `tf32` rounds their operands, `tf32x3` adds three products of parts, `ieee` multiplies without tensor cores, and keeps the bounds of functions where results are rounded to 16 bits ([Numbers](language.md#numbers))"},
	{Name: "approx", Takes: TakesNothing, At: OnKernel, Written: "@approx",
		Doc: "permits the hardware's fast forms of functions, beyond the bounds of [operations.md](operations.md), and of products of f8"},
	{Name: "generate", Takes: TakesNothing, At: OnGraph, Written: "@generate",
		Doc: "a language model, which `tilec run` can generate text with"},
	{Name: "logits", Takes: TakesNothing, At: OnGraph, Written: "@logits",
		Doc: "gives the logits of every position"},
	{Name: "config", Takes: TakesMore, At: OnGraph, Written: "@config(H = \"n_head\")",
		Doc: "dimensions, constants and scalars from a checkpoint's config.json"},
	{Name: "require", Takes: TakesMore, At: OnGraph, Written: "@require(\"model_type\" == \"gpt2\")",
		Doc: "what must be so of a checkpoint's config.json"},
	{Name: "name", Takes: TakesMore, At: OnField, Written: "@name(\"h.{i}.ln_1.weight\")",
		Doc: "the tensor of a checkpoint that fills the field, or several that stand one behind the other"},
	{Name: "transposed", Takes: TakesNothing, At: OnField, Written: "@transposed",
		Doc: "the checkpoint's tensor has the two dimensions of the field in the other order"},
	{Name: "scale", Takes: TakesMore, At: OnField, Written: "@scale(w)",
		Doc: "the scales of a field whose weights may be stored in 8 bits"},
	{Name: "latency", Takes: TakesNumber, At: OnAccess, Most: 8, Unit: "stages", Written: "@latency(4)",
		Doc: "a load for a contraction in a loop runs ahead in so many stages, up to 8"},
	{Name: "evict_first", At: OnAccess, Written: "@evict_first", Doc: "the elements are used once"},
	{Name: "evict_last", At: OnAccess, Written: "@evict_last", Doc: "the elements are used again soon"},
	{Name: "evict_normal", At: OnAccess, Written: "@evict_normal", Doc: "no wish about the caches"},
	{Name: "no_allocate", At: OnAccess, Written: "@no_allocate", Doc: "the elements need not be kept in the nearest cache"},
}

// AllSettings lists the settings in the order of the reference.
func AllSettings() []Setting { return slices.Clone(settings) }

// Settings lists the settings that may stand at one of the places given, in the order of the reference.
func Settings(at SettingPlace) []Setting {
	return slices.DeleteFunc(AllSettings(), func(s Setting) bool { return s.At&at == 0 })
}

// FindSetting finds a setting that may stand at one of the places given.
func FindSetting(name string, at SettingPlace) (Setting, bool) {
	for _, s := range settings {
		if s.Name == name && s.At&at != 0 {
			return s, true
		}
	}
	return Setting{}, false
}

// PlanSettings names what can be pinned at a launch beside extents.
func PlanSettings() []string { return namesOf(Settings(AtLaunch)) }

// Forms names the settings that say which of several forms the code has.
func Forms() []string {
	return namesOf(slices.DeleteFunc(AllSettings(), func(s Setting) bool { return !s.Form }))
}

// LeastPin is the smallest number that a pin of a name can be: a setting's, or the extent of an axis.
func LeastPin(name string) int64 {
	s, ok := FindSetting(name, AtLaunch)
	if !ok {
		return 1
	}
	return s.least()
}

// CacheHints names the settings of an access that speak to the caches.
func CacheHints() []string {
	return namesOf(slices.DeleteFunc(Settings(OnAccess), func(s Setting) bool { return s.Takes != TakesNothing }))
}

// Precisions are the words for how products of f32 are computed; the first is what holds where nothing is said.
func Precisions() []string {
	s, _ := FindSetting("precision", AsFlag)
	return slices.Clone(s.Words)
}

// Precision is a word for how products of f32 are computed as later stages have it: "" for what holds where nothing is
// said, by that name or by none. ok is false for a word that is none of them.
func Precision(word string) (p string, ok bool) {
	words := Precisions()
	if word == "" || word == words[0] {
		return "", true
	}
	return word, slices.Contains(words, word)
}

func namesOf(ss []Setting) []string {
	names := make([]string, len(ss))
	for i, s := range ss {
		names[i] = s.Name
	}
	return names
}

// Places says where an attribute may stand, "on a kernel or graph"; "" where it is none.
func (s Setting) Places() string {
	text := ""
	for _, p := range []struct {
		at   SettingPlace
		name string
	}{{OnKernel, "kernel"}, {OnGraph, "graph"}, {OnField, "field"}, {OnAccess, "access"}} {
		switch {
		case s.At&p.at == 0:
		case text == "":
			text = "on a " + p.name
			if p.at == OnAccess {
				text = "on an " + p.name
			}
		default:
			text += " or " + p.name
		}
	}
	return text
}

// A SettingFault says why a number is none that a setting can be.
type SettingFault struct {
	// Reason is that: "must be 1 to 32 warps in a block: 8 too many".
	Reason string
	// Fits is the nearest number that it can be, and Next another one, which is larger; 0 where there is none.
	Fits, Next int64
}

// least is the smallest number that the setting can be.
func (s Setting) least() int64 {
	if s.FromZero {
		return 0
	}
	return 1
}

// Check gives what is wrong with a number; nil where the setting can be it.
func (s Setting) Check(n int64) *SettingFault {
	switch {
	case n == 0 && s.FromZero:
		return nil
	case n < 1:
		return &SettingFault{Reason: fmt.Sprintf("must be %d to %d", s.least(), s.Most), Fits: s.least()}
	case n > s.Most:
		return &SettingFault{Reason: fmt.Sprintf("must be %d to %d %s: %d too many", s.least(), s.Most, s.Unit, n-s.Most), Fits: s.Most}
	case s.PowerOfTwo && n&(n-1) != 0:
		down := int64(1)
		for 2*down < n {
			down *= 2
		}
		return &SettingFault{Reason: fmt.Sprintf("must be a power of two: %d or %d", down, 2*down), Fits: down, Next: 2 * down}
	}
	return nil
}
