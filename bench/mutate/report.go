package main

import (
	"fmt"
	"strings"
)

// added names the tests that were written because a fault went unnoticed when it was first tried.
var added = map[string]string{
	"address-sign":              "jit@emu TestConformance/launches/backwards",
	"address-wide-sign":         "jit@emu TestConformance/access/planes_moved_back",
	"affine-wrap":               "jit@emu TestConformance/access/index_that_wraps",
	"atomic-acquire":            "jit/ptx TestOrderOfAtomics",
	"atomic-old-copies":         "jit@emu TestConformance/atomics/everyone_learns",
	"atomic-release":            "jit/ptx TestOrderOfAtomics",
	"atomic-scope":              "jit/ptx TestOrderOfAtomics",
	"bounds-clamp":              "jit TestConformance/loops/end_that_is_computed",
	"bounds-product":            "typecheck TestFactsAreMultipliedByWhatIsNotNegative",
	"bounds-sub-range":          "typecheck TestErrors/sub_range.tile",
	"bounds-where":              "typecheck TestErrors/bounds_loop_end.tile",
	"build-or":                  "jit TestConformance/choices/known_or_not",
	"combine-argmax-start":      "jit TestConformance/alignment/argmax_of_nothing_better",
	"combine-max-identity":      "jit/pass TestMaximumOfNegativeChunks",
	"combine-precision":         "jit/pass TestChunksKeepThePrecision",
	"constant-address":          "jit@emu TestConformance/graphs/weights_that_a_launch_chooses",
	"contract-mixes":            "jit/pass TestLoopThatReducesItsChunksStays",
	"contract-mma-cast":         "jit/ptx TestNarrowAccumulatorRoundsEachStep",
	"contract-narrow":           "jit/pass TestWrappingProductsAreNoContraction",
	"contract-tf32x3-infinity":  "jit@emu TestConformance/products/precision_of_a_kernel",
	"cover-diagonal":            "typecheck TestReasonsForFilling",
	"cpu-combine-captured":      "jit TestConformance/scans/function_of_two_scalars",
	"cpu-combine-chunk":         "jit TestConformance/scans/reduce_wide_by_function",
	"cse-not-commutative":       "jit/pass TestOperandsKeepTheirOrder",
	"cse-over":                  "jit/pass TestReductionsOverDifferentAxesAreNotEqual",
	"dce-init":                  "jit/pass TestDroppedCarriedValueTakesItsStart",
	"debug-ends":                "jit@emu TestPrintAfterMuch",
	"dependent-own":             "jit@emu TestConformance/graphs/weights_of_many_threads",
	"eval-ne-nan":               "jit/ir/eval TestComparisonsWithNaN",
	"fill-later":                "jit TestConformance/unstored/parts_of_a_formula",
	"fold-holds":                "jit/pass TestSimplificationsHoldForEveryValue",
	"fold-self-float":           "jit/pass TestSimplificationsHoldForEveryValue",
	"fragment-depth-not-zeroed": "jit@emu TestConformance/products/ragged_depth_of_a_computed_operand",
	"fragment-tile-too-small":   "jit@emu TestConformance/barriers/value_in_two_products",
	"global-war-barrier":        "jit/ptx TestBlockReadsAndWritesOneTensor",
	"gpt-weights-dtype":         "gpt TestWeightsRound",
	"graph-carried":             "jit TestConformance/launches/carries_two",
	"graph-dtype":               "jit TestConformance/launches/shapes_that_disagree",
	"graph-second-index":        "jit TestConformance/graphs/slice_at_two_indices",
	"graph-sizes":               "jit TestConformance/launches/shapes_that_disagree",
	"grid-end-multiple":         "jit@emu TestConformance/alignment/grid_that_ends_within_a_vector",
	"key-alignment":             "jit TestKeyTellsSpecialisationsApart",
	"launch-empty":              "jit TestEmptyDimensions",
	"layout-alignment":          "jit TestLayoutOfViews",
	"layout-neighbour":          "jit/layout TestRegAt",
	"loop-end-assumes-nothing":  "jit@emu TestConformance/barriers/loop_without_steps",
	"misuse-dimension":          "jit TestMisuses",
	"misuse-overlap-size":       "jit TestOverlap",
	"pipeline-inside-scalar":    "jit@emu TestConformance/products/operand_by_the_step",
	"plan-streams-written":      "jit/plan TestAxesOfTensorsThatAreWrittenAreNotCut",
	"race-atomics":              "typecheck TestErrors/race_atomic.tile",
	"race-coefficient":          "typecheck TestErrors/race_factor.tile",
	"race-disjoint":             "typecheck TestErrors/race_family.tile",
	"race-scope":                "typecheck TestErrors/race_atomic.tile",
	"race-single":               "typecheck TestErrors/race_two.tile",
	"race-varying":              "typecheck TestErrors/race_factor.tile",
	"reload-written":            "jit@emu TestConformance/barriers/read_before_it_is_overwritten",
	"replay-arguments":          "jit TestReplayIsOfItsArguments",
	"replay-fills":              "jit TestReplayIsOfItsArguments",
	"replay-place":              "jit TestReplayIsOfItsArguments",
	"shared-overlap":            "jit@emu TestConformance/barriers/two_sorts",
	"shared-row-padding":        "jit/block TestRowsOfTilesAreWholeVectors",
	"sink-key":                  "jit/pass TestTakesAlongDifferentAxes",
	"sink-renamed":              "jit/pass TestTakesOfRenamedParts",
	"sink-written":              "jit TestConformance/shapes/split_of_what_was",
	"steps-few":                 "gpt TestTextsOfOneModelHaveTheirOwnSampling",
	"steps-no-number":           "gpt TestLogitsThatAreNoNumbers",
	"steps-prompt-seen":         "gpt TestPenaltyIsForThePromptToo",
	"stream-passes-write":       "jit/pass TestStoresKeepTheirOrder",
	"sum-multiple":              "jit@emu TestConformance/alignment/range_that_begins_anywhere",
	"take-start":                "jit@emu TestConformance/shapes/split_of_a_part",
	"unify-dimension":           "typecheck TestSizesThatDisagreeAreBothShown",
	"unify-struct":              "typecheck TestErrors/graph_struct_names.tile",
	"vector-checked":            "jit@emu TestConformance/alignment/end_within_a_vector",
	"vector-offset":             "jit@emu TestConformance/alignment/next_element_f32",
	"vector-scalar":             "jit@emu TestConformance/alignment/windows",
	"vector-strided":            "jit@emu TestConformance/alignment/column_of_many_rows",
	"vector-tensor-align":       "jit@emu TestConformance/alignment/view_from_anywhere_i8",
	"wgmma-async-fence":         "stdlib@emu TestLinearWide",
	"wgmma-commit":              "stdlib@emu TestLinearWide",
}

// markdown is the report: the score, by class, and every fault that was not
// noticed. Only results that hold for the sources under a root count.
func markdown(all []Fault, kept map[string]Result, root string) string {
	type tally struct{ noticed, missed, equivalent, untested, other int }
	var total tally
	byClass := map[string]*tally{}
	var missing, same, broken, notRun []string
	slow, crash := 0, 0
	for _, f := range all {
		t := byClass[f.Class]
		if t == nil {
			t = &tally{}
			byClass[f.Class] = t
		}
		r, why := standing(&f, kept, root)
		if r.Verdict == missed && f.Equivalent != "" {
			r.Verdict = equivalent // shown since
		}
		switch {
		case why != "":
			t.untested++
			total.untested++
			notRun = append(notRun, fmt.Sprintf("| `%s` | %s | %s | %s |", f.ID, f.File, f.Note, why))
		case r.Verdict == noticed:
			t.noticed++
			total.noticed++
			if strings.HasSuffix(r.By, "(too slow)") {
				slow++
			}
			if strings.HasSuffix(r.By, "(crash)") {
				crash++
			}
		case r.Verdict == missed:
			t.missed++
			total.missed++
			missing = append(missing, fmt.Sprintf("| `%s` | %s | %s | %s |", f.ID, place(f, r), f.Note, f.Missed))
		case r.Verdict == equivalent:
			t.equivalent++
			total.equivalent++
			same = append(same, fmt.Sprintf("| `%s` | %s | %s | %s |", f.ID, place(f, r), f.Note, f.Equivalent))
		default:
			t.other++
			total.other++
			broken = append(broken, fmt.Sprintf("| `%s` | %s: %s |", f.ID, r.Verdict, strings.ReplaceAll(r.Detail, "|", "\\|")))
		}
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	counted := total.noticed + total.missed
	line("# Mutation score")
	line("Made by `go run ./bench/mutate`; without an assembler in `TILEC_PTXAS`, what only assembling shows goes unnoticed. Each fault of the list is put into the compiler alone, and the test suite is run until a package fails, the likeliest test first. A result holds only while the fault and the function that it changes are as they were when the tests ran; every other fault counts as not run.\n")
	line("**%d of the %d faults that were run and count were noticed, %.1f %%; %d of the list's %d were not run.** %d more change nothing that any program could tell, and do not count. Of those noticed, %d made a test run into its time limit and %d crashed outside any test.\n",
		total.noticed, counted, 100*float64(total.noticed)/float64(max(counted, 1)), total.untested, len(all), total.equivalent, slow, crash)
	if total.untested > 0 {
		line("%d faults have no result that holds, listed below: `go run ./bench/mutate -resume` goes on. A run tries the likeliest test of each fault first, and whole packages then: where it was cut short, what is left is what that test did not notice, and harder to notice than the rest.\n", total.untested)
	}
	line("| class | noticed | missed | equivalent | not run |")
	line("|---|---|---|---|---|")
	for _, c := range classes {
		if t := byClass[c]; t != nil {
			line("| %s | %d | %d | %d | %d |", c, t.noticed, t.missed, t.equivalent, t.untested)
		}
	}
	table := func(title, head string, rows []string) {
		if len(rows) == 0 {
			return
		}
		line("\n## %s", title)
		line("%s", head)
		line("|%s", strings.Repeat("---|", strings.Count(head, "|")-1))
		for _, r := range rows {
			line("%s", r)
		}
	}
	var later []string
	for _, f := range all {
		if r, why := standing(&f, kept, root); why == "" && r.Verdict == noticed && added[f.ID] != "" {
			later = append(later, fmt.Sprintf("| `%s` | %s | %s |", f.ID, f.Note, added[f.ID]))
		}
	}
	if len(later) > 0 {
		line("\n%d of those noticed were not when they were first tried; a test was written for each, listed below.", len(later))
	}
	table("Unnoticed at first", "| fault | what goes wrong | test that was written for it |", later)
	table("Missed", "| fault | where | what goes wrong | why it is missed |", missing)
	table("Equivalent", "| fault | where | the change | why nothing changes |", same)
	table("Not run", "| fault | file | what goes wrong | why there is no result |", notRun)
	table("Without a verdict", "| fault | why |", broken)
	line("\n## Noticed")
	line("| fault | where | what goes wrong | first noticed by |")
	line("|---|---|---|---|")
	for _, f := range all {
		if r, why := standing(&f, kept, root); why == "" && r.Verdict == noticed {
			line("| `%s` | %s | %s | `%s` |", f.ID, place(f, r), f.Note, r.By)
		}
	}
	return b.String()
}

func place(f Fault, r Result) string { return fmt.Sprintf("%s:%d", f.File, r.Line) }
