package bench

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"tilec/typecheck/typed"
)

// This file has peers time workloads: scripts of this repository, which the machine's python3 runs in a temporary folder.

//go:embed peers/*.py
var peerScripts embed.FS

// PeerNames are the peers that there are scripts for.
func PeerNames() []string { return []string{"torch", "triton", "cupy"} }

// Peer is one that is to time workloads.
type Peer struct {
	Name string
	// Device is "cuda" or "cpu", Flush how many bytes are overwritten before each run, Budget about how long each workload is timed. After
	// Within no workload begins, and after half of it nothing is compiled.
	Device string
	Flush  int64
	Budget time.Duration
	Within time.Duration
}

// peerJob is the first line that a script reads; each further one is a peerWork.
type peerJob struct {
	Device  string  `json:"device"`
	Flush   int64   `json:"flush"`
	Seconds float64 `json:"seconds"`
	Within  float64 `json:"within"`
	// Normals and Wholes are files with the patterns that data are made of: f32 and u32. Element number e of argument number n is
	// the pattern's (e + n * offset) mod its length.
	Normals string `json:"normals"`
	Wholes  string `json:"wholes"`
	Offset  int    `json:"offset"`
	// Sampled is how many elements of each result are wanted.
	Sampled int `json:"sampled"`
}

type peerWork struct {
	Workload
	Arguments []Argument `json:"arguments"`
}

// peerLine is a line that a script prints.
type peerLine struct {
	// Missing is why there is no peer, Peer what it is.
	Missing string `json:"missing"`
	Peer    string `json:"peer"`
	// Name is a workload that was timed; of Samples, texts stand for what is no number.
	Name    string      `json:"name"`
	Micros  float64     `json:"us"`
	Way     string      `json:"way"`
	Samples [][]element `json:"samples"`
	Error   string      `json:"error"`
}

// element is a number as Python writes it, which may be NaN or Infinity as text.
type element float64

// UnmarshalJSON reads a number, or the text of one.
func (e *element) UnmarshalJSON(text []byte) error {
	switch string(bytes.Trim(text, `"`)) {
	case "nan":
		*e = element(math.NaN())
	case "inf":
		*e = element(math.Inf(1))
	case "-inf":
		*e = element(math.Inf(-1))
	default:
		return json.Unmarshal(text, (*float64)(e))
	}
	return nil
}

// Time has the peer time workloads, and puts what it says beside the results of r. Where there is no such peer, r says why. each is told of
// every workload that is done.
func (p Peer) Time(ctx context.Context, program *typed.Program, all []Workload, r *Run, each func()) error {
	python, err := exec.LookPath("python3")
	if err != nil {
		p.cannot(r, "there is no python3 to run it")
		return nil
	}
	dir, err := os.MkdirTemp("", "tilec-peer-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	input, err := p.input(dir, program, all)
	if err != nil {
		return err
	}
	script := filepath.Join(dir, p.Name+"_peer.py")
	err = RunScript(ctx, "the script of "+p.Name, python, script, input, func(out io.Reader) error { return p.read(out, all, r, each) })
	switch {
	case err != nil:
		return err
	case r.Peers[p.Name] == "" && r.NoPeer[p.Name] == "":
		return fmt.Errorf("the script of %s said nothing", p.Name)
	}
	return nil
}

func (p Peer) cannot(r *Run, why string) {
	if r.NoPeer == nil {
		r.NoPeer = map[string]string{}
	}
	r.NoPeer[p.Name] = why
}

// input puts the scripts and the patterns into a folder, and gives what the script reads.
func (p Peer) input(dir string, program *typed.Program, all []Workload) ([]byte, error) {
	scripts, err := peerScripts.ReadDir("peers")
	if err != nil {
		return nil, err
	}
	for _, s := range scripts {
		text, err := peerScripts.ReadFile("peers/" + s.Name())
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, s.Name()), text, 0o666); err != nil {
			return nil, err
		}
	}
	job := peerJob{p.Device, p.Flush, p.Budget.Seconds(), p.Within.Seconds(), filepath.Join(dir, "normals"), filepath.Join(dir, "wholes"), offset, sampled}
	if err := writePattern(job.Normals, normals()); err != nil {
		return nil, err
	}
	if err := writePattern(job.Wholes, wholes()); err != nil {
		return nil, err
	}
	var input bytes.Buffer
	lines := json.NewEncoder(&input)
	if err := lines.Encode(job); err != nil {
		return nil, err
	}
	for _, w := range all {
		k, err := w.In(program)
		if err != nil {
			return nil, err
		}
		args, err := w.Arguments(k)
		if err != nil {
			return nil, err
		}
		if err := lines.Encode(peerWork{w, args}); err != nil {
			return nil, err
		}
	}
	return input.Bytes(), nil
}

func writePattern(name string, data any) error {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, data); err != nil {
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o666)
}

// read reads what a script prints.
func (p Peer) read(out io.Reader, all []Workload, r *Run, each func()) error {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		var l peerLine
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			continue // some library's
		}
		switch {
		case l.Missing != "":
			p.cannot(r, l.Missing)
			continue
		case l.Peer != "":
			if r.Peers == nil {
				r.Peers = map[string]string{}
			}
			r.Peers[p.Name] = l.Peer
			continue
		case l.Name == "":
			continue
		}
		at := slices.IndexFunc(r.Results, func(x Result) bool { return x.Name == l.Name })
		of := slices.IndexFunc(all, func(w Workload) bool { return w.Name == l.Name })
		if at < 0 || of < 0 {
			return fmt.Errorf("the script of %s tells of a workload %q that it was not given", p.Name, l.Name)
		}
		if l.Error == "" && !(l.Micros > 0) {
			return fmt.Errorf("the script of %s gives %s no time", p.Name, l.Name)
		}
		x := &r.Results[at]
		b := Beside{Peer: p.Name, Micros: l.Micros, Way: l.Way, Error: l.Error}
		if l.Error == "" && x.Samples != nil {
			theirs := make([][]float64, len(l.Samples))
			for i, s := range l.Samples {
				for _, e := range s {
					theirs[i] = append(theirs[i], float64(e))
				}
			}
			b.Difference = worst(x.Samples, theirs)
			b.Differs = b.Difference > all[of].rounding()
			b.Difference = min(b.Difference, math.MaxFloat32) // JSON has no infinity
		}
		x.Beside = append(x.Beside, b)
		each()
	}
	if err := lines.Err(); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		return err
	}
	return nil
}
