package ptx

import "tilec/jit/target"

// This file lets a launch begin before the one before it in its program has ended (programmatic dependent launch): the
// time to start the kernel is then not added to that of its program.

// waitForLaunchBefore lets the launch that follows begin, and waits until the launches before have ended and what they
// wrote can be read. The launch that follows waits likewise, so it may begin at once: its blocks take the place that
// those of this one leave.
func (k *kernel) waitForLaunchBefore() {
	if !k.dependent() {
		return
	}
	k.a.Do("griddepcontrol.launch_dependents")
	k.a.Do("griddepcontrol.wait")
}

// dependent reports a kernel that may begin before what it reads is there.
func (k *kernel) dependent() bool { return k.f.Dependent && k.target.Has(target.DependentLaunch) }
