package backend

import "context"

// This file gives work to a device as a whole: a program that runs again and again on the same arguments is recorded
// once, and on a GPU then costs the host one call, and the device the least that it takes to go from one launch to the next.

// Task is a launch, or memory that is filled, as data.
type Task struct {
	// Exe is launched with Args; nil for memory that is filled.
	Exe  Executable
	Args []Arg
	// Dependent: the kernel waits by itself for what was launched before it (ir.Func.Dependent).
	Dependent bool
	// Memory gets Size bytes of a value, from a byte offset on.
	Memory       *Memory
	Offset, Size int64
	Value        byte
	// Undefined: the memory is not filled, it holds nothing from here on (Device.Undefine).
	Undefined bool
}

// Recorder is a device that can record tasks.
type Recorder interface {
	// Record keeps tasks, which are done in their order at each Replay. Nothing is done yet.
	Record(tasks []Task) (Recording, error)
}

// Capturer is a device that works in a stream of somebody else's, who may be recording what that gets.
type Capturer interface {
	// Capturing reports that what the device is given now is recorded by somebody else, and not done yet: memory that it is about is kept
	// as long as the process, and nothing may wait for it.
	Capturing() bool
}

// Recording is tasks that a device keeps. Their memory must stay where it is.
type Recording interface {
	// Replay does the tasks, behind what the device was given before. A GPU does not wait for them; where a device does, it
	// ends early, with the context's cause, once the context is done.
	Replay(ctx context.Context) error
	Close() error
}

// Do gives a device the task.
func (t *Task) Do(ctx context.Context, d Device) error {
	switch {
	case t.Undefined:
		return d.Undefine(t.Memory, t.Offset, t.Size)
	case t.Exe == nil:
		return d.Fill(t.Memory, t.Offset, t.Size, t.Value)
	}
	return t.Exe.Launch(ctx, t.Args)
}
