package race

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// two gives the clocks of two warps that begin together.
func two(time *Timeline) (a, b *Clock) {
	time.Begin()
	a, b = &Clock{}, &Clock{}
	a.Start(time.Tick(), 2, time)
	b.Start(time.Tick(), 2, time)
	return a, b
}

// conflicts collects what a check finds.
func conflicts(check func(found func(Conflict))) (all []Conflict) {
	check(func(c Conflict) { all = append(all, c) })
	return all
}

// TestShared: an access of another warp is ordered by joining its clock after a release, and not before.
func TestShared(t *testing.T) {
	var time Timeline
	a, b := two(&time)
	s := NewShared(16, 2, 0, &time)
	writer, reader := Thread{a, 0, 3}, Thread{b, 1, 7}
	write := func(by Thread, at int, value []byte) []Conflict {
		return conflicts(func(found func(Conflict)) { s.Write(by, at, make([]byte, 1), value, found) })
	}
	read := func(by Thread, at int) []Conflict {
		return conflicts(func(found func(Conflict)) { s.Read(by, at, 1, found) })
	}
	require.Empty(t, write(writer, 4, []byte{1}))
	require.Equal(t, []Conflict{{4, "reads what", 3, "wrote"}}, read(reader, 4))
	require.Empty(t, write(writer, 5, []byte{1}))
	require.Empty(t, write(reader, 5, []byte{0}), "a write of what is there already")
	require.Equal(t, []Conflict{{5, "writes what", 39, "wrote"}}, write(writer, 5, nil))
	require.Empty(t, write(writer, 6, nil))
	a.Release(0, &time)
	require.Len(t, read(reader, 6), 1, "released, but nobody told the reader")
	require.Empty(t, write(writer, 7, nil))
	a.Release(0, &time)
	b.Join(a)
	require.Empty(t, read(reader, 7))
	require.Equal(t, []Conflict{{7, "writes what", 39, "read"}}, write(writer, 7, nil))

	require.Empty(t, conflicts(func(found func(Conflict)) { s.Atomic(writer, 8, 1, true, found) }))
	require.Empty(t, conflicts(func(found func(Conflict)) { s.Atomic(reader, 8, 1, true, found) }), "atomics do not race with each other")
	require.Equal(t, []Conflict{{8, "writes what", 39, "wrote"}}, write(writer, 8, nil))
}

// TestFence: what is known is not fenced, and what is fenced is not known.
func TestFence(t *testing.T) {
	var time Timeline
	a, b := two(&time)
	wrote := a.Stretch
	a.Release(0, &time)
	b.Join(a)
	require.True(t, Thread{b, 1, 0}.After(wrote, 0))
	require.False(t, b.Fenced(wrote, 0))
	b.Fence(1, &time, false)
	require.True(t, b.Fenced(wrote, 0))
	own := a.Stretch
	a.Fence(0, &time, false)
	require.False(t, a.Fenced(own, 0), "other lanes of the warp have not fenced")
	own = a.Stretch
	a.Fence(0, &time, true)
	require.True(t, a.Fenced(own, 0))
	require.False(t, Thread{a, 0, 0}.After(own, 1), "lane 1 has passed no barrier")
}

// TestTrace: threads of a block race at the bytes of a word, those of other blocks do not.
func TestTrace(t *testing.T) {
	var time Timeline
	a, b := two(&time)
	var all Traces
	trace := all.Find("an allocation", 8192)
	require.Same(t, trace, all.Find("an allocation", 8192))
	write := func(by Thread, block, at, n int) []Conflict {
		return conflicts(func(found func(Conflict)) { trace.Write(by, block, at, n, false, found) })
	}
	require.Empty(t, write(Thread{a, 0, 0}, 5, 4094, 4))
	require.Empty(t, write(Thread{b, 1, 0}, 5, 4098, 2), "other bytes of the word")
	require.Empty(t, write(Thread{b, 1, 0}, 6, 4094, 1), "another block")
	require.Empty(t, write(Thread{a, 0, 2}, 5, 0, 4))
	reads := func() []Conflict {
		return conflicts(func(found func(Conflict)) { trace.Read(Thread{b, 1, 0}, 5, 3, 1, found) })
	}
	require.Equal(t, []Conflict{{Does: "reads what", Other: 2, Did: "wrote"}}, reads())
	require.Empty(t, reads(), "told once")
	require.Equal(t, []Conflict{{Does: "writes what", Other: 32, Did: "read"}}, write(Thread{a, 0, 2}, 5, 3, 1))
	require.Equal(t, -1, trace.NoteWriter(5, 100, 4, false))
	require.Equal(t, -1, trace.NoteWriter(5, 100, 4, false))
	require.Equal(t, 5, trace.NoteWriter(6, 103, 1, false))
	require.Equal(t, -1, trace.NoteWriter(5, 200, 4, true))
	require.Equal(t, -1, trace.NoteWriter(6, 200, 4, true), "both are strong")
	require.Equal(t, 6, trace.NoteWriter(7, 200, 1, false), "one is strong")
	require.Equal(t, 7, trace.NoteWriter(6, 200, 1, true), "the other is strong")
}
