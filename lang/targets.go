package lang

import "slices"

// targetNames are the machines that a plan can be for. The planner knows their figures.
var targetNames = []string{"cpu", "sm_80", "sm_86", "sm_89", "sm_90a"}

// TargetNames lists the targets, as `@target(sm_90a, ...)` and `--target` name them.
func TargetNames() []string { return slices.Clone(targetNames) }
