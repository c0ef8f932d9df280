package main

// #define TILEC_NO_PROTOTYPES
// #include "tilec.h"
// #include <stdlib.h>
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"tilec/jit"
	"tilec/jit/cuda"
	"tilec/lang"
)

// This file is the interface of tilec.h. C knows const, which Go's exports do not: so cgo sees its types alone.

// done gives what a function returns to C.
func done(err error, to **C.char) C.int {
	if err == nil {
		return 0
	}
	if to != nil {
		*to = C.CString(text(err))
	}
	return 1
}

var version = C.CString(jit.Version)

//export tilec_version
func tilec_version() *C.char { return version }

//export tilec_open
func tilec_open(name *C.char, opened *C.tilec_device, to **C.char) C.int {
	if name != nil && C.GoString(name) != "cpu" {
		_, _ = cuda.Open() // so that guarded sees which context is current before the device has one
	}
	return done(guarded(func() error {
		if name == nil || opened == nil {
			return errNull
		}
		d, err := openDevice(C.GoString(name))
		if err != nil {
			return err
		}
		*opened = C.tilec_device(table.add(d))
		return nil
	}), to)
}

var errNull = errors.New("an address that is required is null")

//export tilec_device_name
func tilec_device_name(device C.tilec_device, name, to **C.char) C.int {
	return done(guarded(func() error {
		if name == nil {
			return errNull
		}
		d, err := get[jit.Device](uint64(device), "device")
		if err == nil {
			*name = C.CString(d.ID())
		}
		return err
	}), to)
}

//export tilec_load
func tilec_load(device C.tilec_device, name, source *C.char, size C.size_t, loaded *C.tilec_program, to **C.char) C.int {
	return done(guarded(func() error {
		if name == nil || source == nil || loaded == nil {
			return errNull
		}
		d, err := get[jit.Device](uint64(device), "device")
		if err != nil {
			return err
		}
		p, err := loadText(d, C.GoString(name), string(unsafe.Slice((*byte)(unsafe.Pointer(source)), int(size))))
		if err != nil {
			return err
		}
		*loaded = C.tilec_program(table.add(p))
		return nil
	}), to)
}

//export tilec_load_file
func tilec_load_file(device C.tilec_device, path *C.char, loaded *C.tilec_program, to **C.char) C.int {
	return done(guarded(func() error {
		if path == nil || loaded == nil {
			return errNull
		}
		d, err := get[jit.Device](uint64(device), "device")
		if err != nil {
			return err
		}
		p, err := loadFile(d, C.GoString(path))
		if err != nil {
			return err
		}
		*loaded = C.tilec_program(table.add(p))
		return nil
	}), to)
}

//export tilec_functions
func tilec_functions(handle C.tilec_program, list, to **C.char) C.int {
	return done(guarded(func() error {
		if list == nil {
			return errNull
		}
		p, err := get[*program](uint64(handle), "program")
		if err == nil {
			*list = C.CString(names(p))
		}
		return err
	}), to)
}

//export tilec_describe
func tilec_describe(handle C.tilec_program, function *C.char, json, to **C.char) C.int {
	return done(guarded(func() error {
		if function == nil || json == nil {
			return errNull
		}
		p, err := get[*program](uint64(handle), "program")
		if err != nil {
			return err
		}
		d, err := describe(p, C.GoString(function))
		if err == nil {
			*json = C.CString(d)
		}
		return err
	}), to)
}

//export tilec_bind
func tilec_bind(handle C.tilec_program, function *C.char, arguments *C.tilec_tensor, count C.size_t, settings *C.char, made *C.tilec_bound, to **C.char) C.int {
	return done(guarded(func() error {
		if function == nil || made == nil || arguments == nil && count > 0 {
			return errNull
		}
		p, err := get[*program](uint64(handle), "program")
		if err != nil {
			return err
		}
		var given []argument
		for i := range unsafe.Slice(arguments, int(count)) {
			a, err := argumentOf(&unsafe.Slice(arguments, int(count))[i], i)
			if err != nil {
				return err
			}
			given = append(given, a)
		}
		words := ""
		if settings != nil {
			words = C.GoString(settings)
		}
		b, err := bind(p, C.GoString(function), given, words)
		if err != nil {
			return err
		}
		b.show()
		n := table.add(b)
		table.arm(n, b)
		*made = C.tilec_bound(n)
		return nil
	}), to)
}

// mostDimensions is more than any tensor has.
const mostDimensions = 64

// argumentOf reads argument number i of C.
func argumentOf(t *C.tilec_tensor, i int) (argument, error) {
	if t.name == nil || t.dtype == nil {
		return argument{}, fmt.Errorf("argument %d has no name or no dtype", i)
	}
	a := argument{name: C.GoString(t.name), scalar: t.rank == C.TILEC_SCALAR_RANK, data: t.data}
	var ok bool
	if a.dtype, ok = lang.ParseDType(C.GoString(t.dtype)); !ok {
		return a, fmt.Errorf("%s: there is no element type %q", a.name, C.GoString(t.dtype))
	}
	if a.scalar {
		return a, nil
	}
	if t.rank < 0 || t.rank > mostDimensions || t.rank > 0 && t.shape == nil {
		return a, fmt.Errorf("%s has the rank %d, or no shape: a tensor has 0 to %d dimensions, and a scalar the rank %d", a.name, int(t.rank), mostDimensions, int(C.TILEC_SCALAR_RANK))
	}
	numbers := func(p *C.int64_t) []int64 {
		out := make([]int64, int(t.rank))
		for i, n := range unsafe.Slice(p, int(t.rank)) {
			out[i] = int64(n)
		}
		return out
	}
	a.shape = numbers(t.shape)
	if t.strides != nil {
		a.strides = numbers(t.strides)
	}
	return a, nil
}

// show makes what C sees of the outputs.
func (b *bound) show() {
	if len(b.outputs) == 0 {
		return
	}
	all := (*C.tilec_tensor)(C.calloc(C.size_t(len(b.outputs)), C.sizeof_tilec_tensor))
	list := unsafe.Slice(all, len(b.outputs))
	for i := range b.outputs {
		o := &b.outputs[i]
		list[i].name, list[i].dtype, list[i].rank = C.CString(o.name), C.CString(o.dtype.String()), C.int32_t(len(o.shape))
		shape := (*C.int64_t)(C.calloc(C.size_t(max(len(o.shape), 1)), 8))
		for j, n := range o.shape {
			unsafe.Slice(shape, len(o.shape))[j] = C.int64_t(n)
		}
		list[i].shape = shape
	}
	b.c = unsafe.Pointer(all)
	b.free = func() {
		for i := range list {
			C.free(unsafe.Pointer(list[i].name))
			C.free(unsafe.Pointer(list[i].dtype))
			C.free(unsafe.Pointer(list[i].shape))
		}
		C.free(unsafe.Pointer(all))
	}
}

//export tilec_output_count
func tilec_output_count(handle C.tilec_bound, count *C.size_t, to **C.char) C.int {
	return done(guarded(func() error {
		if count == nil {
			return errNull
		}
		b, err := get[*bound](uint64(handle), "bound function")
		if err == nil {
			*count = C.size_t(len(b.outputs))
		}
		return err
	}), to)
}

//export tilec_output
func tilec_output(handle C.tilec_bound, number C.size_t, output *C.tilec_tensor, to **C.char) C.int {
	return done(guarded(func() error {
		if output == nil {
			return errNull
		}
		b, err := get[*bound](uint64(handle), "bound function")
		if err != nil {
			return err
		}
		if number >= C.size_t(len(b.outputs)) {
			return fmt.Errorf("there is no output %d: there are %d, counted from 0", uint64(number), len(b.outputs))
		}
		*output = unsafe.Slice((*C.tilec_tensor)(b.c), len(b.outputs))[number]
		return nil
	}), to)
}

// tilecLaunch is tilec_launch for what bare.c leaves to Go.
//
//export tilecLaunch
func tilecLaunch(handle C.tilec_bound, arguments, outputs *unsafe.Pointer, stream unsafe.Pointer, to **C.char) C.int {
	return done(guarded(func() error {
		b, err := get[*bound](uint64(handle), "bound function")
		if err != nil {
			return err
		}
		if arguments == nil && len(b.arguments) > 0 || outputs == nil && len(b.outputs) > 0 {
			return errNull
		}
		return b.run(unsafe.Slice(arguments, len(b.arguments)), unsafe.Slice(outputs, len(b.outputs)), uintptr(stream))
	}), to)
}

// tilecLaunchValues is tilec_launch_block for what bare.c leaves to Go.
//
//export tilecLaunchValues
func tilecLaunchValues(handle C.tilec_bound, values *C.uint64_t, stream unsafe.Pointer, to **C.char) C.int {
	return done(guarded(func() error {
		if values == nil {
			return errNull
		}
		b, err := get[*bound](uint64(handle), "bound function")
		if err != nil {
			return err
		}
		n := len(b.arguments)
		// Memory of C's, whose addresses among it are of C's too: what it says is no pointer to Go.
		at := unsafe.Slice((*unsafe.Pointer)(unsafe.Pointer(values)), n+len(b.outputs))
		arguments := slices.Clone(at[:n])
		for i := range b.arguments {
			if b.arguments[i].scalar {
				arguments[i] = unsafe.Pointer(&at[i])
			}
		}
		return b.run(arguments, at[n:], uintptr(stream))
	}), to)
}

//export tilec_sync
func tilec_sync(handle C.tilec_device, to **C.char) C.int {
	return done(guarded(func() error {
		d, err := get[jit.Device](uint64(handle), "device")
		if err != nil {
			return err
		}
		return d.Sync()
	}), to)
}

//export tilec_close
func tilec_close(handle C.uint64_t, to **C.char) C.int {
	return done(guarded(func() error { return closeHandle(uint64(handle)) }), to)
}

//export tilec_free
func tilec_free(text *C.char) { C.free(unsafe.Pointer(text)) }
