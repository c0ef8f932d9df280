package block

import (
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/jit/target"
)

// texts are programs whose texts have all kinds of notes between them, by names.
var texts = []struct {
	name, file string
	extents    map[string]int64
	settings   Settings
	machine    string
}{
	{"add", "../ir/testdata/add.tir", map[string]int64{"i": 1024}, Settings{Warps: 4, Stages: 1}, "sm_90a"},
	{"product", "../ir/testdata/linear_gelu.tir", map[string]int64{"i": 128, "j": 128, "k": 64}, Settings{Warps: 8, Stages: 4}, "sm_90a"},
	{"teams", "../ir/testdata/linear_gelu.tir", map[string]int64{"i": 64, "j": 128, "k": 64}, Settings{Warps: 4, Stages: 4, Persist: 2}, "sm_90a"},
	{"passes", "../ir/testdata/linear_gelu.tir", map[string]int64{"i": 128, "j": 128, "k": 64}, Settings{Warps: 4, Stages: 4}, "sm_90a"},
	{"pairs", "../ir/testdata/linear_gelu.tir", map[string]int64{"i": 64, "j": 128, "k": 64}, Settings{Warps: 4, Stages: 4, Persist: 2, Cluster: 2}, "sm_90a"},
	{"read once", "../ir/testdata/linear_gelu.tir", map[string]int64{"i": 128, "j": 128, "k": 64}, Settings{Warps: 8, Stages: 4, Once: []string{"w"}}, "sm_90a"},
	{"by threads", "../ir/testdata/linear_gelu.tir", map[string]int64{"i": 64, "j": 192, "k": 32}, Settings{Warps: 8, Stages: 3}, "sm_80"},
	{"attention", "../ir/testdata/attention.tir", map[string]int64{"i": 128, "j": 64}, Settings{Warps: 8, Stages: 2, Forms: map[string]int64{"overlap": 3, "longest": 8}}, "sm_90a"},
	{"step", "testdata/step.tir", map[string]int64{"i": 1, "j": 32}, Settings{Warps: 8, Stages: 1}, "sm_90a"},
	{"rows of a step", "testdata/step.tir", map[string]int64{"i": 16, "j": 32}, Settings{Warps: 8, Stages: 1}, "sm_90a"},
	{"layernorm", "../ir/testdata/layernorm.tir", map[string]int64{"i": 2}, Settings{Warps: 4, Stages: 1}, "sm_90a"},
	{"rows", "interp/testdata/centre.tir", map[string]int64{"i": 1}, Settings{Warps: 4, Stages: 1, Forms: map[string]int64{"kept": 4, "stagger": 2}}, "sm_90a"},
	{"residual", "testdata/residual.tir", map[string]int64{"i": 128, "j": 128, "k": 64}, Settings{Warps: 8, Stages: 4}, "sm_90a"},
	{"histogram", "testdata/histogram.tir", map[string]int64{"i": 1024}, Settings{Warps: 4, Stages: 1}, "sm_90a"},
	{"behind", "testdata/behind.tir", map[string]int64{"k": 4}, Settings{Warps: 4, Stages: 1}, "sm_90a"},
	{"parts", "testdata/parts.tir", map[string]int64{"j": 128}, Settings{Warps: 8, Stages: 4}, "sm_90a"},
	{"neighbours", "interp/testdata/neighbours.tir", map[string]int64{"n": 16, "j": 32}, Settings{Warps: 2, Stages: 1}, "sm_90a"},
	{"words", "interp/testdata/words.tir", map[string]int64{"i": 1}, Settings{Warps: 2, Stages: 1, Forms: map[string]int64{"kept": 3}}, "sm_90a"},
}

// textOf is the text of one of them.
func textOf(t testing.TB, name string) string {
	t.Helper()
	for _, x := range texts {
		if x.name != name {
			continue
		}
		source, err := os.ReadFile(filepath.FromSlash(x.file))
		require.NoError(t, err)
		return decided(t, string(source), x.extents, x.settings, x.machine).String()
	}
	require.Fail(t, "no such program", name)
	return ""
}

// decided is the program of a kernel's text, with extents of axes that are neither whole nor scalars.
func decided(t testing.TB, source string, extents map[string]int64, s Settings, machine string) *Program {
	t.Helper()
	f, err := ir.Parse("source", source)
	require.NoError(t, err)
	for _, a := range f.Axes {
		switch extent, ok := extents[a.Name]; {
		case ok:
			a.Extent = extent
		case a.Scalar:
			a.Extent = 1
		case a.Kind == ir.Whole:
			a.Extent = a.Len
		}
	}
	m, err := target.Find(machine)
	require.NoError(t, err)
	before := f.String()
	p, err := Decide(f, s, m)
	require.NoError(t, err)
	require.Equal(t, before, f.String(), "the kernel is left as it was")
	return p
}

// What is printed reads back, and prints the same. Between them, the texts have all kinds of notes.
func TestTextReadsBack(t *testing.T) {
	all := ""
	for _, x := range texts {
		text := textOf(t, x.name)
		p, err := Parse(x.name, text)
		require.NoError(t, err, text)
		assert.Equal(t, text, p.String(), x.name)
		all += text
	}
	for _, n := range notes {
		assert.Regexp(t, "@"+n.word+`\b`, all)
	}
}

// Axes of any name are told from the words around them.
func TestAxesOfAnyName(t *testing.T) {
	for _, name := range []string{"store", "reg", "warp", "12", "a b", "+", "home", "n1.j", "e"} {
		p := decide(t, 4, "sm_90a")
		for _, a := range p.Func.Axes {
			if a.Name == "j" {
				a.Name = name
			}
		}
		text := p.String()
		read, err := Parse("t", text)
		require.NoError(t, err, text)
		assert.Equal(t, text, read.String())
	}
}

// Faults put into texts are refused, by the parser with a place or by the verifier, and named.
func TestFaultsInTextsAreNamed(t *testing.T) {
	for _, c := range []struct{ fault, of, old, new, says string }{
		{"no plan", "add", "@plan sm_90a warps 4 stages 1", "", "add:8:4: ragged before the plan"},
		{"a plan for no machine", "add", "sm_90a", "sm_1", `unknown target "sm_1"`},
		{"a plan for the CPU", "add", "sm_90a", "cpu", "target cpu is no GPU"},
		{"more warps than a block has", "add", "warps 4 stages 1", "warps 64 stages 1", "lane i+1*32 | warp i+32*4, which has 4 warps, and the plan 64"},
		{"a form of no name", "attention", "overlap 3", "overlaps 3", "overlaps where a form belongs: chains, deferred, kept, longest, moments, overlap"},
		{"a note of no kind", "add", "@ragged", "@rugged", "add:8:4: nothing is noted as rugged"},
		{"a note about something else", "product", "@late", "@ring stages 2 ahead 1", "ring is noted about a loop over an axis"},
		{"a note twice", "product", "@grouped", "@grouped @grouped", "grouped twice, or behind grouped"},
		{"notes in another order", "product", "@registers producer 40 consumer 232\n  @grouped", "@grouped @registers producer 40 consumer 232", "registers twice, or behind grouped"},
		{"a value that is not there", "add", "@home %1:", "@home %9:", "%9 is not defined"},
		{"the home of another operation's value", "add", "@home %2:", "@home %1:", "%1 is no tile that is made here"},
		{"no home", "add", "@home %2: reg i+1*4 i+512*2 | lane i+4*32 | warp i+128*4", "", "%2 has no home"},
		{"a home with elements missing", "add", "@home %2: reg i+1*4 i+512*2", "@home %2: reg i+1*4", "which has 512 of 1024 positions along i"},
		{"a home with half a warp", "add", "lane i+1*32", "lane i+1*16", "which has 16 lanes"},
		{"a home along an axis that is not there", "add", "reg i+128*8", "reg k+128*8", "axis k is not declared"},
		{"a home along another tile's axis", "product", "@home %0: reg |", "@home %0: reg j+1*2 |", "which counts positions along j, and there are none"},
		{"an unknown part of a layout", "add", "| warp", "| block", "block where warp belongs"},
		{"too many registers given away", "product", "consumer 232", "consumer 240", "one of 2 warpgroups that compute has 240"},
		{"registers that no step gives", "product", "producer 40", "producer 41", "in steps of 8"},
		{"neighbours along an axis that is none of the grid's", "neighbours", "@along n", "@along j", "blocks along j do not share loops"},
		{"neighbours that are no whole clusters", "neighbours", "split 4", "split 8", "blocks along n do not share loops"},
		{"more teams than take turns", "teams", "teams 2", "teams 3", "one of 3 warpgroups that compute has 232"},
		{"tiles for no block", "teams", "blocks 132", "blocks 0", "0 blocks of 2 teams"},
		{"a loop without a ring", "product", "@ring stages 4 ahead 2 produced overlapped\n      producer: await room 0; start copies 0\n      begin: hand over\n      step: await copies 0; wipe; compute; return kept 0 of -1; keep 0\n      end: await products", "", "a copy is of a load in a loop that has a ring"},
		{"a ring of too few stages", "by threads", "stages 3 ahead 2", "stages 2 ahead 1", "is read for step 0, and has the copies of step 2"},
		{"a ring of too many stages", "product", "@ring stages 4", "@ring stages 8", "the stages of a loop take 262144 bytes of shared memory, of at most"},
		{"no stages", "product", "@ring stages 4 ahead 2", "@ring stages 0 ahead 0", "loads run 0 steps ahead in 0 stages"},
		{"loads too far ahead", "product", "ahead 2", "ahead 4", "loads run 4 steps ahead in 4 stages"},
		{"more steps than are said", "parts", "stages 2 ahead 2 steps 2", "stages 2 ahead 2 steps 1", "the loop may have more than 1 steps"},
		{"all steps ahead of a loop of any length", "parts", "stages 2 ahead 2 steps 2", "stages 2 ahead 2", "loads run 2 steps ahead in 2 stages"},
		{"copies that are never awaited", "product", "step: await copies 0; wipe;", "step: wipe;", "stage 0 of set 0 is read for step 0, whose copies were not waited for"},
		{"a product that is never awaited", "product", "      end: await products\n", "", "%11 is not waited for behind the loop"},
		{"a stage that is never given back", "product", "; keep 0", "", "the producer waits for a stage to be given back"},
		{"a stage that is given back too early", "product", "return kept 0 of -1; keep 0", "return 0", "which %11 of step 0 still reads"},
		{"stages that are never handed over", "product", "      begin: hand over\n", "", "the producer waits for a stage to be given back"},
		{"a producer that waits for no room", "product", "await room 0; ", "", "is read for step 0, and has the copies of step 8"},
		{"a set that is not there", "product", "await copies 0", "await copies 1", "await copies 1: there are 1 sets of copies"},
		{"an act that is none", "product", "hand over", "hand out", "hand is nothing that a schedule does"},
		{"warps that do not meet", "by threads", "await copies 0 but 1; barrier;", "await copies 0 but 1;", "whose copies were not waited for"},
		{"too few copies awaited", "by threads", "but 1", "but 2", "whose copies were not waited for"},
		{"a step before the first", "by threads", "start copies 0 of +2", "start copies 0 of -2", "there is no step -2"},
		{"no turn passed on", "attention", "; pass turn at 1 by 2", "", "the warpgroups take"},
		{"a team that takes no turn", "teams", "begin: take turn at 3", "begin: take turn at 1", `a team has "take turn at 3" 0 times for a tile`},
		{"scores that are not awaited", "attention", "step: await products but 1;", "step:", "%23 is under way"},
		{"a product started before its operands are ready", "attention", "ready %23; start %23", "start %23", "its operands are not ready"},
		{"a product of another value", "attention", "ready %23", "ready %24", "is none of the kernel"},
		{"queries that are not awaited", "attention", "await loads; ", "", "the load of %6(qi) was not waited for"},
		{"products that cannot overlap", "product", "produced overlapped", "produced overlap", "the products of this loop cannot overlap"},
		{"a product that no next step awaits", "attention", "produced overlap turns", "produced overlapped", "the loop has no product that the next step may wait for"},
		{"threads that copy boxes", "product", "ahead 2 produced", "ahead 2", "a producer copies boxes, and nobody else does"},
		{"a box of half a tile", "product", "box map_0 {1: 64, 0: 128}", "box map_0 {1: 64, 0: 64}", "have 8192 bytes in rows of 128, and the tile 16384"},
		{"a box larger than any", "product", "box map_0 {1: 64, 0: 128}", "box map_0 {1: 64, 0: 512}", "from 1 to 256 elements of each dimension of %x"},
		{"a dimension that is not there", "product", "box map_0 {1: 64, 0: 128}", "box map_0 {2: 64, 0: 128}", "elements of each dimension of %x"},
		{"a dimension without a box", "product", "box map_0 {1: 64, 0: 128}", "box map_0 {1: 64}", "a box of 1 dimensions of %x, which has 2"},
		{"two maps of one name", "product", "box map_1", "box map_0", "map_0 where map_1 belongs"},
		{"a tile with too little room", "product", "tile_0 {k 64, i 128}", "tile_0 {k 64, i 64}", "has room for 64 of 128 positions along i"},
		{"a tile swizzled by no power", "product", "swizzle 8", "swizzle 3", "a swizzle permutes 1, 2, 4 or 8 chunks, not 3"},
		{"a tile that lies as no box does", "product", "tile_0 {k 64, i 128} of bf16 swizzle 8", "tile_0 {k 64, i 128} of bf16 swizzle 4", "does not lie as boxes do"},
		{"panels of other rows", "product", "panels 64", "panels 32", "are no panels of 32 rows"},
		{"a tile of another type", "product", "tile_0 {k 64, i 128} of bf16", "tile_0 {k 64, i 128} of float", "float where an element type belongs"},
		{"an operand in another tile", "product", "operands tile_0, tile_1", "operands tile_1, tile_1", "has room for 1 of 128 positions along i"},
		{"a tile that no product reads", "product", "operands tile_0, tile_1", "operands tile_9 {k 128, i 128} of bf16 swizzle 8 panels 128 async, tile_1", "does not serve the product %11"},
		{"copies in no rounds", "step", "rounds 4", "rounds 0", "0 rounds of copies: there is at least one"},
		{"a copy to a tile that is too small", "rows of a step", "operands tile_0,", "operands tile_9 {k 512, i 32} of bf16 swizzle 8,", "which does not serve a product"},
		{"a place handed over that is not free", "step", "rounds 4", "rounds 4 handed", "hands its place over"},
		{"three neighbours at once", "by threads", "vector 8", "vector 3", "3 neighbours at once: there is a power of two"},
		{"passes that cut instructions", "passes", "passes 4", "passes 3", "its steps are no 3 passes through the same code"},
		{"no passes", "passes", "passes 4", "passes 0", "its steps are no 0 passes"},
		{"passes of a product that begins anew", "attention", "by wgmma of bf16, bf16", "by wgmma of bf16, bf16 passes 4", "its steps are no 4 passes"},
		{"an instruction of no name", "product", "by wgmma", "by wmma", "wmma where an instruction belongs: mma, threads, wgmma"},
		{"an instruction that nobody has", "product", "wgmma of bf16, bf16", "wgmma of bf16, f32", "no instruction multiplies bf16 and f32"},
		{"an axis in two roles", "product", "columns {j}", "columns {i}", "each axis of a product plays one role"},
		{"an instruction of half its rows", "product", "rows {i} i+1*2 i+2*2 i+4*2 i+8*2", "rows {i} i+1*2 i+2*2 i+4*2", "an instruction has 4 digits of rows"},
		{"columns that nobody has", "product", "steps j+8*16", "steps j+8*8", "which has 64 of 128 positions along j"},
		{"fewer warps in a product", "product", "warps i+16*8", "warps i+16*4", "which has 4 warps, and the plan 8"},
		{"a store that goes nowhere", "product", " box map_2 {1: 64, 0: 128}", "", "a store through shared memory goes on by a box or in lines"},
		{"a late value that is stored otherwise", "product", "@boxstore", "// @boxstore", "%29 goes to no store by boxes, or elsewhere too"},
		{"a phase in which a product holds", "attention", "    %25 = ge %3, %21", "      @phase\n    %25 = ge %3, %21", "%24 does not tell whether a step is one of the first"},
		{"squares as a mean", "layernorm", "@home %8: reg | lane *32 | warp i+1*2 *2", "@home %8: reg | lane *32 | warp i+1*2 *2\n    @moments", "is not found with the squares of what is off it"},
		{"a reduction that its loop needs", "attention", "%27 = reduce_max %26 over j : f32{i}", "%27 = reduce_max %26 over j : f32{i}\n      @deferred", "deferred"},
		{"a row of no shared memory", "rows", "store %y[%0, %13] = %15", "store %y[%0, %13] = %15\n      @row step 256", "a row is copied in place of a store in shared memory"},
		{"words of no row", "words", "      @words\n", "", "what is stored is no whole row"},
		{"a kernel that is none", "add", "add %1, %2", "add %1", "add"},
		{"text behind the kernel", "add", "store %", "} store %", "store after the kernel"},
	} {
		text := textOf(t, c.of)
		require.Contains(t, text, c.old, c.fault)
		_, err := Parse(c.of, strings.Replace(text, c.old, c.new, 1))
		if assert.Error(t, err, c.fault) {
			assert.Contains(t, err.Error(), c.says, c.fault)
		}
	}
}

// README.md says what each kind of note says, what each act does, and shows a program in the printer's own form.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, n := range notes {
		assert.Contains(t, string(readme), "| `@"+n.word, "the note %s", n.word)
	}
	for _, v := range verbs[:endStep] {
		assert.Contains(t, string(readme), "`"+v.name, "the act %s", v.name)
	}
	text := strings.Split(string(readme), "```\n")[1]
	_, text, _ = strings.Cut(text, "\n") // a comment
	p, err := Parse("README.md", text)
	require.NoError(t, err)
	assert.Equal(t, text, p.String())
}

// readOrRefused reads a text, verifies what it says where it reads, and prints that: nothing panics, whatever the text, and what is printed reads back.
func readOrRefused(t *testing.T, text string) (read bool) {
	t.Helper()
	p, err := parse("t", text)
	if err != nil {
		return false
	}
	wrong := p.Verify()
	once := p.String()
	again, err := parse("t", once)
	require.NoError(t, err, once)
	require.Equal(t, once, again.String())
	return wrong == nil
}

func FuzzParse(f *testing.F) {
	for _, x := range texts {
		f.Add(textOf(f, x.name))
	}
	f.Fuzz(func(t *testing.T, text string) { readOrRefused(t, text) })
}

// FuzzFaults puts faults into texts that read.
func FuzzFaults(f *testing.F) {
	for n := range texts {
		f.Add(n, int64(1))
	}
	f.Fuzz(func(t *testing.T, n int, seed int64) {
		text := textOf(t, texts[uint(n)%uint(len(texts))].name)
		readOrRefused(t, faulty(rand.New(rand.NewSource(seed)), text))
	})
}

// Random faults are refused or read, and never end in a panic.
func TestRandomFaultsNeverPanic(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	most, read := 200, 0
	if testing.Short() {
		most = 40
	}
	for _, x := range texts {
		text := textOf(t, x.name)
		for range most {
			if readOrRefused(t, faulty(r, text)) {
				read++
			}
		}
	}
	t.Logf("%d of %d texts read", read, most*len(texts))
	assert.Less(t, read, most*len(texts)/2, "most faults are refused")
}

// tokens are what faults are made of.
var tokens = regexp.MustCompile(`[A-Za-z_][A-Za-z_0-9.]*|[0-9]+|[^\sA-Za-z_0-9]`)

// faulty is a text with a fault or two: a token, most of the time one of a note, becomes another or goes, or a line goes or stands elsewhere.
func faulty(r *rand.Rand, text string) string {
	lines := strings.SplitAfter(text, "\n")
	notes := make([]int, 0, len(lines))
	noted := false
	for i, line := range lines {
		word := strings.TrimSpace(line)
		noted = strings.HasPrefix(word, "@") || noted && !strings.HasPrefix(word, "%") && !strings.HasPrefix(word, "store") && !strings.HasPrefix(word, "}")
		if noted {
			notes = append(notes, i)
		}
	}
	for range 1 + r.Intn(2) {
		i := notes[r.Intn(len(notes))]
		if r.Intn(8) == 0 {
			i = r.Intn(len(lines))
		}
		switch places := tokens.FindAllStringIndex(lines[i], -1); {
		case r.Intn(10) == 0:
			lines[i] = ""
		case r.Intn(10) == 0:
			lines[i] += lines[notes[r.Intn(len(notes))]]
		case len(places) > 0:
			at := places[r.Intn(len(places))]
			lines[i] = lines[i][:at[0]] + another(r, lines[i][at[0]:at[1]], text) + lines[i][at[1]:]
		}
	}
	return strings.Join(lines, "")
}

// another is a token in place of one: another number, or anything in the text, or nothing.
func another(r *rand.Rand, token, text string) string {
	switch {
	case r.Intn(6) == 0:
		return ""
	case token[0] >= '0' && token[0] <= '9' && r.Intn(4) > 0:
		return []string{"0", "1", "2", "3", "4", "6", "8", "16", "31", "32", "64", "96", "128", "1000", "16777216", "99999999999"}[r.Intn(16)]
	}
	all := tokens.FindAllString(text, -1)
	return all[r.Intn(len(all))]
}
