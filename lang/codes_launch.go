package lang

// Errors of a launch: what a call gives does not fit what it calls. They are
// found when shapes and element types are known, before anything runs.
const (
	// resource
	ErrPlan  Code = "E0801" // no plan fits the machine, or a pin is impossible
	ErrLimit Code = "E0802" // a program larger than the compiler takes

	// launch
	ErrArgType    Code = "E0901" // an argument of another kind or element type
	ErrArgShape   Code = "E0902" // shapes that do not fit together
	ErrArgMissing Code = "E0903" // an argument that is needed and not given
	ErrAssert     Code = "E0904" // an assert that failed as a kernel ran
	ErrAssume     Code = "E0905" // an assume that the arguments do not meet
	ErrPosition   Code = "E0906" // more positions than their type counts
)

func init() {
	for code, row := range map[Code]CodeRow{
		ErrPlan: {
			Title: "no plan fits the machine, or a pin is impossible",
			Doc: `The compiler chooses tile extents, warps and stages so that a block fits the
machine. The message says which limit is broken and by how much, stands at the
clause, attribute or value that is at fault, and names a value that fits. Where
shared memory is short, it says what takes it. ` + "`tilec build --emit=plan`" + ` shows the
plan of a kernel, and what became of each pin and hint.`,
		},
		ErrArgType: {
			Title: "an argument of another kind or element type",
			Doc: `Element types are bound by the arguments: two tensors of one type T have the
same one. Convert the argument, or give another.`,
		},
		ErrArgShape: {
			Title: "shapes that do not fit together",
			Doc: `A dimension has one size in a launch. The message names the two parameters
that disagree about it, with both sizes.`,
		},
		ErrArgMissing: {
			Title: "an argument that is needed and not given",
			Doc:   `Parameters without a default, and element types that no argument binds, are given by name.`,
		},
		ErrAssert: {
			Title: "an assert that failed as a kernel ran",
			Doc: `The condition did not hold for the element named, which is the first one, by its
positions along the axes of the grid, in the loops around, and along whole axes, of
the first assert in the kernel that failed. All blocks have run to their end.`,
		},
		ErrAssume: {
			Title: "an assume that the arguments do not meet",
			Doc: `A kernel may rely on what it assumes of dimensions and scalars, so every launch
checks it. Give arguments that meet it, or loosen it.`,
		},
		ErrPosition: {
			Title: "more positions than their type counts",
			Doc: `A dimension may have any number of elements. What a program computes of positions
is i32, as of every i32: ` + "`index(i)`, `i.start` and `i.end`, the position that argmax gives, a\n" +
				"dimension's name" + ` as an integer. Where a launch has a dimension of more than 2147483647
elements, such a value would wrap around, and the launch is refused. Convert the
position itself, which is exact for every size: ` + "`index(i) as i64`" + `. An index, the ends
of a range and the comparison of two positions need no conversion. Sorting, and the
positions of a loop that counts (` + "`for n in N`" + `), have no other type: walk such a dimension
in parts with an axis.`,
		},
	} {
		codeTable[code] = row
	}
}
