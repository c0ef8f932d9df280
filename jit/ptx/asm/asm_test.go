package asm

import (
	"math"
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/target"
)

// machine is what the tests write for; its version of PTX is the lowest that a text declares.
var machine = target.Machine{Name: "sm_80", PTX: 70}

// text is the code without indentation and columns.
func text(c Code) string {
	var lines []string
	for _, l := range strings.Split(strings.TrimSuffix(c.String(), "\n"), "\n") {
		lines = append(lines, strings.Join(strings.Fields(l), " "))
	}
	return strings.Join(lines, "\n")
}

// Every kind of operand, and every kind of line.
func TestText(t *testing.T) {
	a := New(machine)
	p, r, d := a.Reg(Pred), a.Reg(B32), a.Reg(B64)
	done := a.Label()
	a.Comment("%d lines", 3)
	a.Set(d, "ld.param.u64", At(Symbol("x")))
	a.Set(r, "mov.u32", Thread)
	a.If(p).Set(Vector{r, a.Reg(B32)}, "ld.global.v2.b32", At(d).Plus(0))
	a.If(Reg{}).Do("st.global.b32", At(d), r)
	a.Unless(p).Do("bra.uni", done)
	a.Do("bar.warp.sync", AllLanes)
	a.Do("mov.b64", d, Bits64(0xabc))
	a.Do("mov.b32", r, Bits32(0xabc))
	a.Do("mov.f32", Float32(1), Float32(float32(math.NaN())))
	a.Do("mov.f64", Float64(-2), Int(-3))
	a.Set(Sink, "mbarrier.arrive.shared::cta.b64", At(r))
	a.Do("cp.async.bulk.tensor", Box{d, Vector{r}})
	a.Place(done)
	a.Do("ret")
	require.Equal(t, `// 3 lines
ld.param.u64 %rd1, [x];
mov.u32 %r1, %tid.x;
@%p1 ld.global.v2.b32 {%r1, %r2}, [%rd1+0];
st.global.b32 [%rd1], %r1;
@!%p1 bra.uni $L1;
bar.warp.sync 0xffffffff;
mov.b64 %rd1, 0x0000000000000ABC;
mov.b32 %r1, 0x00000ABC;
mov.f32 0f3F800000, 0f7FC00000;
mov.f64 0dC000000000000000, -3;
mbarrier.arrive.shared::cta.b64 _, [%r1];
cp.async.bulk.tensor [%rd1, {%r1}];
$L1:
ret;`, text(a.Body()))
	require.Equal(t, "    @%p1 ld.global.v2.b32        {%r1, %r2}, [%rd1+0];\n", Code{a.Body()[3]}.String())
	require.Equal(t, "    .reg .b32   %r<3>;\n    .reg .b64   %rd<2>;\n    .reg .pred  %p<2>;\n", a.Declarations())
}

// The module around the code: parameters, sections in their order, and the version that something asked for.
func TestModule(t *testing.T) {
	a, _ := kernel()
	a.Require(81)
	aside := Code{&Instr{Name: "ret"}, Label(7)}
	a.PlaceRolled(Label(8))
	a.Do("bar.sync", Int(0))
	require.Equal(t, `// about
.version 8.1
.target sm_80
.address_size 64

.extern .shared .align 1024 .b8 arena[];

.visible .entry k(
    .param .u64  x,
    .param .align 64 .b8 map_0[128]
)
.reqntid 64, 1, 1
.minnctapersm 1
.reqnctapercluster 2, 1, 1
{
    .reg .b32   %r<2>;

    mov.u32                      %r1, %tid.x;

    ret;
$L7:
$L8:
    .pragma "nounroll";
    bar.sync                     0;
}
`, a.Module(Kernel{About: []string{"about"}, Target: "sm_80", Name: "k", Shared: "arena", Params: []Param{{".u64", "x"}, {"", "map_0"}}, Threads: 64, Cluster: 2}, aside))
	require.Contains(t, a.Module(Kernel{Target: "sm_80", Name: "k"}), ".visible .entry k(\n)\n.reqntid 0, 1, 1\n.minnctapersm 1\n{\n")
}

// kernel is a builder in the body of a kernel, which has a register of the entry section.
func kernel() (*Builder, Reg) {
	a := New(machine)
	var x Reg
	a.AtEntry(func() { x = a.Op(B32, "mov.u32", Thread) })
	a.Open(0)
	return a, x
}

// Equal instructions are computed once; different ones are not taken for equal.
func TestCalcOnce(t *testing.T) {
	a, x := kernel()
	y := a.Calc(B32, "add.s32", x, Int(1))
	require.Equal(t, y, a.Calc(B32, "add.s32", x, Int(1)))
	others := map[Reg]bool{y: true}
	for _, r := range []Reg{
		a.Calc(B32, "add.s32", x, Int(2)), a.Calc(B32, "sub.s32", x, Int(1)), a.Calc(B64, "add.s32", x, Int(1)),
		a.Calc(B32, "add.s32", x, Hex(1)), a.Calc(B32, "add.s32", x, y), a.Calc(B32, "neg.s32", x), a.Calc(B32, "neg.s32", x, Int(0)),
	} {
		require.False(t, others[r], "%v", r)
		others[r] = true
	}
	require.Len(t, a.Body(), len(others))
}

// What a region computes from outside alone goes before it, and what it computes from its own stays.
func TestCodeMovesOutOfRegions(t *testing.T) {
	a, x := kernel()
	begin, skip := a.Here(), a.Label()
	p := a.Reg(Pred)
	a.If(p).Do("bra.uni", skip)
	a.Open(begin)
	i := a.Op(B32, "ld.global.b32", At(x))
	inner := a.Here()
	a.Do("bar.sync", Int(0))
	a.Open(inner)
	a.Calc(B32, "add.s32", x, Int(1))
	a.Calc(B32, "add.s32", i, Int(2))
	own := a.Op(B32, "ld.global.b32", At(i))
	a.Calc(B32, "add.s32", own, i)
	again := a.Calc(B32, "add.s32", x, Int(1))
	a.Close()
	require.Equal(t, again, a.Calc(B32, "add.s32", x, Int(1)))
	a.Close()
	a.Place(skip)
	require.Equal(t, `add.s32 %r3, %r1, 1;
@%p1 bra.uni $L1;
ld.global.b32 %r2, [%r1];
add.s32 %r4, %r2, 2;
bar.sync 0;
ld.global.b32 %r5, [%r2];
add.s32 %r6, %r5, %r2;
$L1:`, text(a.Body()))
}

// A value of a region is not at hand behind it.
func TestValuesEndWithTheirRegion(t *testing.T) {
	a, _ := kernel()
	a.Open(a.Here())
	i := a.Op(B32, "ld.global.b32", At(Symbol("x")))
	inside := a.Calc(B32, "neg.s32", i)
	a.Close()
	a.Changes(i) // as a value that a branch hands out
	require.NotEqual(t, inside, a.Calc(B32, "neg.s32", i))
}

// A register that a region changes holds what depends on it inside.
func TestChangedRegistersHoldCode(t *testing.T) {
	a, x := kernel()
	count := a.Op(B32, "mov.b32", Int(0))
	begin := a.Here()
	top := a.Label()
	a.Place(top)
	a.Open(begin)
	a.Changes(count)
	a.Calc(B32, "add.s32", count, x)
	a.Calc(B32, "add.s32", x, x)
	a.Close()
	require.Equal(t, "mov.b32 %r2, 0;\nadd.s32 %r4, %r1, %r1;\n$L1:\nadd.s32 %r3, %r2, %r1;", text(a.Body()))
}

// Another section has what the entry section has, and nothing of the body.
func TestAside(t *testing.T) {
	a, x := kernel()
	y := a.Calc(B32, "add.s32", x, Int(1))
	var section Code
	a.Aside(&section, func() { require.NotEqual(t, y, a.Calc(B32, "add.s32", x, Int(1))) })
	require.Equal(t, y, a.Calc(B32, "add.s32", x, Int(1)))
	require.Len(t, a.Body(), 1)
	require.Equal(t, "add.s32 %r3, %r1, 1;", text(section))
}

// Only pure instructions are moved or computed once.
func TestCalcRefusesEffects(t *testing.T) {
	a, x := kernel()
	for _, name := range []string{"ld.global.b32", "atom.global.add.u32", "shfl.sync.idx.b32", "bar.sync", "bra.uni", "nonsense.b32"} {
		require.Panics(t, func() { a.Calc(B32, name, x) }, name)
	}
	require.Panics(t, func() { a.Calc(B32, "add.s32", x, x, x, x) })
	require.Equal(t, Effects(0), EffectsOf("ld.param.u64"))
	require.Equal(t, Reads, EffectsOf("ld.shared.v4.b32"))
	require.Equal(t, Waits, EffectsOf("cp.async.wait_group"))
	require.Equal(t, Unknown, EffectsOf("addition.s32"))
}

// Check finds each thing that it looks for, and nothing in code that is right.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		emit func(a *Builder, x Reg)
		want string
	}{
		{func(a *Builder, x Reg) { a.If(a.Op(Pred, "setp.eq.u32", x, Int(0))).Do("bra", placed(a)) }, ""},
		{func(a *Builder, x Reg) { a.Set(Vector{x, x}, "ld.global.v2.b32", At(x).Plus(4)) }, ""},
		{func(a *Builder, x Reg) { a.Do("bra", a.Label()) }, `"bra $L1" goes to a label that is not placed`},
		{func(a *Builder, x Reg) { a.Place(placed(a)) }, "label $L1 is placed twice"},
		{func(a *Builder, x Reg) { a.If(x).Do("ret") }, `the condition of "@%r1 ret" is no predicate`},
		{func(a *Builder, x Reg) { a.Do("nonsense", x) }, `the table of effects has no "nonsense %r1"`},
		{func(a *Builder, x Reg) { a.Op(F32, "add.rn.f32", x, Float32(1)) }, `operand 2 of "add.rn.f32 %f1, %r1, 0f3F800000" is not of type f32`},
		{func(a *Builder, x Reg) { a.Op(B32, "add.s64", Int(0), Int(1)) }, `operand 1 of "add.s64 %r2, 0, 1" is not of type s64`},
		{func(a *Builder, x Reg) { a.Op(F32, "add.rn.f32", Float32(1), Int(1)) }, `operand 3`},
		{func(a *Builder, x Reg) { a.Op(F64, "add.rn.f64", Float64(1), Float32(1)) }, `operand 3`},
		{func(a *Builder, x Reg) { a.Op(B64, "mad.wide.u32", x, Int(8), x) }, `operand 4 of "mad.wide.u32 %rd1, %r1, 8, %r1" is not of type u64`},
		{func(a *Builder, x Reg) { a.Op(B32, "selp.b32", x, x, x) }, `operand 4 of "selp.b32 %r2, %r1, %r1, %r1" is not of type pred`},
		{func(a *Builder, x Reg) { a.Op(F32, "cvt.rn.f32.f64", x) }, `operand 2`},
		{func(a *Builder, x Reg) { a.Op(B64, "mov.b64", Vector{x}) }, `operand 2`},
		{func(a *Builder, x Reg) { a.Op(B32, "add.x32", x, x) }, `unknown type "x32"`},
		{func(a *Builder, x Reg) { a.Op(B64, "shl.b64", a.Whole(B64, x, x), x) }, ""},
		{func(a *Builder, x Reg) { a.Op(F32, "mov.b32", a.Op(B32, "cvt.rn.bf16x2.f32", Float32(1), Float32(0))) }, ""},
		{func(a *Builder, x Reg) { a.Op(B32, "neg.s32", a.Reg(B32)) }, `reads %r2, which nothing before it writes`},
		{func(a *Builder, x Reg) { a.If(a.Reg(Pred)).Do("ret") }, `reads %p1, which nothing before it writes`},
		{func(a *Builder, x Reg) {
			y, l := a.Reg(B32), a.Label()
			a.If(a.Op(Pred, "setp.eq.u32", x, Int(0))).Do("bra.uni", l)
			a.Move(y, x)
			a.Place(l)
			a.Op(B32, "neg.s32", y)
		}, `reads %r2, which nothing before it writes on some way there`},
		{func(a *Builder, x Reg) {
			y, l := a.Reg(B32), a.Label()
			a.Move(y, x)
			a.Place(l)
			a.If(a.Op(Pred, "setp.eq.u32", a.Op(B32, "neg.s32", y), Int(0))).Do("bra.uni", l)
		}, ""},
		{func(a *Builder, x Reg) { a.Do("st.global.v2.b32", At(x), Vector{x, a.Reg(B32)}) }, `reads %r2`},
		{func(a *Builder, x Reg) { a.Op(B32, "ld.global.b32", At(a.Reg(B64))) }, `reads %rd1`},
		{func(a *Builder, x Reg) { a.Do("cp.async.bulk.tensor.1d", Box{x, Vector{a.Reg(B32)}}) }, `reads %r2`},
	} {
		a, x := kernel()
		c.emit(a, x)
		err := a.Check()
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.want)
	}
	a, x := kernel()
	y := a.Reg(B32)
	a.Op(B32, "add.s32", x, y)
	require.NoError(t, a.Check(Code{&Instr{Name: "mov.b32", Dst: y, Src: []Operand{Int(0)}}}), "a section comes before the body")
}

// placed is a label that is placed.
func placed(a *Builder) Label {
	l := a.Label()
	a.Place(l)
	return l
}

// Arithmetic on what is known is done at once.
func TestNumbers(t *testing.T) {
	a, x := kernel()
	require.Equal(t, Int(5), a.Add(Int(2), Int(3)))
	require.Equal(t, x, a.Add(Int(0), x))
	require.Equal(t, Int(6), a.Mul(Int(2), 3))
	require.Equal(t, x, a.Mul(x, 1))
	require.Equal(t, Int(6), a.Times(Int(2), Int(3)))
	require.Equal(t, Int(-1), a.Sub(Int(2), Int(3)))
	require.Equal(t, x, a.Sub(x, Int(0)))
	require.Empty(t, a.Body())
	a.Add(a.Mul(Int(8), 2), a.Times(Int(4), x))
	wide := a.Wide(x)
	require.Equal(t, wide, a.Wide(wide))
	a.Add(x, wide)
	require.Equal(t, "mul.lo.s32 %r2, %r1, 4;\nadd.s32 %r3, %r2, 16;\ncvt.s64.s32 %rd1, %r1;\nadd.s64 %rd2, %rd1, %rd1;", text(a.Body()))
}

// An instruction that is withdrawn leaves what is around it in place, and only one that is there can be.
func TestWithdraw(t *testing.T) {
	a, x := kernel()
	a.Do("bar.sync", Int(0))
	i := a.Last()
	a.Calc(B32, "add.s32", x, Int(1))
	a.Withdraw(i)
	require.Equal(t, "// no bar.sync is needed here\nadd.s32 %r2, %r1, 1;", text(a.Body()))
	require.Panics(t, func() { a.Withdraw(i) })
}

func TestReciprocalsDivide(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 20000 {
		d := uint64(r.Int63n(1<<uint(2+r.Intn(30))) + 3)
		if d&(d-1) == 0 || d >= 1<<31 {
			continue
		}
		m, s := reciprocal(d)
		require.Less(t, m, uint64(1)<<32)
		multiple := uint64(r.Int63n(1<<31)) / d * d
		for _, x := range []uint64{0, d - 1, d, multiple, multiple - 1, 1<<31 - 1, 1 << 31, uint64(r.Int63n(1 << 31))} {
			if x <= 1<<31 {
				require.Equal(t, x/d, x*m>>32>>s, "%d / %d", x, d)
			}
		}
	}
}
