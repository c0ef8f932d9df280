package syntax

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	m, err := Parse(`
.version 8.0 // a comment
.target sm_90a, debug /* another
	over lines */
.address_size 64
.file 1 "a.tile"
.extern .shared .align 1024 .b8 arena[];
.const .align 8 .f64 half = 0d3FE0000000000000;
.visible .entry first(
	.param .u64 .ptr .global .align 16 x,
	.param .b8 flag,
	.param .align 64 .b8 map[128],
	.param .u32 n
)
.maxntid 256, 1, 1
.reqnctapercluster 2
.minnctapersm 1
{
	.reg .b32 %r<5>, %extra;
	.reg .b64 %rd<3>;
	.reg .pred %p;
	.shared .align 4 .b32 words[10];
	{
		.reg .b32 %r<2>; // hides the outer
		mov.b32 %r1, 0x10;
	}
$L: mov.b32 %extra, -1;
	@!%p bra $L;
	mov.u32 %r4, %ntid.y;
	ret;
}
.entry second() { ret; }
`)
	require.NoError(t, err)
	require.Equal(t, "8.0", m.Version)
	require.Equal(t, "sm_90a", m.Target)
	require.Len(t, m.Entries, 2)
	e := m.Entries[0]
	require.Equal(t, "first", e.Name)
	require.Equal(t, []Param{{"x", 0, 8}, {"flag", 8, 1}, {"map", 64, 128}, {"n", 192, 4}}, e.Params)
	require.Equal(t, 196, e.ParamSize)
	require.Equal(t, [3]int{256, 1, 1}, e.MaxThreads)
	require.Equal(t, [3]int{2, 1, 1}, e.Cluster)
	require.Equal(t, 1, e.MinBlocks)
	require.Equal(t, 40, e.Shared)
	require.Equal(t, 5+1+6+2, e.Registers)
	require.Equal(t, []string{"%p"}, e.PredicateNames)
	require.Len(t, e.RegisterNames, 5+1+3+2)
	require.Equal(t, map[string]int{"$L": 1}, e.Labels)
	st := e.Statements[2]
	require.Equal(t, []any{"bra", "%p", true, 28}, []any{st.Name, st.Guard, st.Negated, st.Line})
	require.Equal(t, []Operand{{Kind: OpName, Name: "$L"}}, st.Operands)
	require.Equal(t, "second", m.Entries[1].Name)
}

// TestParseErrors: each error names the line and what is wrong.
func TestParseErrors(t *testing.T) {
	for body, want := range map[string]string{
		"x: x: ret;":                     "stands twice",
		"mov.b32 %r1, 0f3F80;":           "not a number",
		".reg .b999 %x;":                 ".b999",
		".reg .b32 %r1;\n.reg .b32 %r1;": "declared twice",
		"mov.b32 %r1, \"text":            "does not end",
		"call f;":                        "function f has no body in the module",
		"/* on and on":                   "a comment does not end",
		"mov.b32 %r1, [1.5];":            "an address starts with",
		".shared .align 3 .b32 x;":       "not a power of two",
		".shared .b32 x = 1;":            "variables cannot be initialised",
		"{ mov.b32 %r1, 1;":              "need a name, have the end of the text",
	} {
		_, err := Parse(".version 8.0\n.target sm_90a\n.address_size 64\n.entry k() {\n" + body + "\n}")
		require.ErrorContains(t, err, want, body)
		var at *Error
		require.ErrorAs(t, err, &at)
		require.Positive(t, at.Line, body)
	}
	_, err := Parse("")
	require.ErrorContains(t, err, ".version")
	_, err = Parse(".version 8.0\n.alias f, g;")
	require.EqualError(t, err, "ptx line 2: .alias is not a declaration that the emulator knows")
}

// FuzzParse: no text makes the parser panic.
func FuzzParse(f *testing.F) {
	f.Add(".version 8.0\n.entry k(.param .u64 in) { .reg .b32 %r<9>; x: @%p bra x; }")
	f.Add(".version 8.0\n.func (.reg .b32 %o) f(.reg .b32 %i) { ret; }\n.entry k() { .reg .b32 %r; call (%r), f, (0x1); }")
	f.Add(".version 8.0\n.const .align 8 .f64 half = 0d3FE0000000000000;\n.global .b32 x[2] = {1, -2};")
	f.Fuzz(func(t *testing.T, text string) {
		_, err := Parse(text)
		if err != nil {
			require.ErrorAs(t, err, new(*Error))
		}
	})
}
