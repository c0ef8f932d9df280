package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"tilec/bench"
	"tilec/gpt"
	"tilec/gpt/safetensors"
)

// This file runs PyTorch beside tilec, by a script that Python finds in a temporary folder with the weights.

//go:embed peer_gpt.py
var peerScript []byte

// comparedTokens of a text are looked at by the peer, behind a prompt of comparedFrom.
const (
	comparedFrom   = 16
	comparedTokens = 32
)

// peerJob is what the script is to do.
type peerJob struct {
	Weights string `json:"weights"`
	Device  string `json:"device"`
	DType   string `json:"dtype"`
	// Config is the network's config.json.
	Config map[string]json.RawMessage `json:"config"`
	// TF32: products of f32 may round their operands to it.
	TF32 bool `json:"tf32"`
	// Seconds is about how long to time each way of a row.
	Seconds float64     `json:"seconds"`
	Rows    []*benchRow `json:"rows"`
	// Text is the tokens behind each of which the likeliest one is asked for.
	Text []int32 `json:"text"`
}

// peerLine is a line that the script prints.
type peerLine struct {
	// Missing is why there is no peer.
	Missing string `json:"missing"`
	Peer    string `json:"peer"`
	// NoTransformers is why Hugging Face's library cannot be had.
	NoTransformers string  `json:"no_transformers"`
	Likeliest      []int32 `json:"likeliest"`
	// Row was timed in a way, or Error says why not.
	Row   int     `json:"row"`
	Way   string  `json:"way"`
	US    float64 `json:"us"`
	Error string  `json:"error"`
}

// beside has the peer time the rows, and look at a text that tilec made. Where there is no peer, the result says why.
func (a *app) beside(ctx context.Context, run runOptions, text []int32, result *benched) error {
	python, err := exec.LookPath("python3")
	if err != nil {
		result.NoPeer = "there is no python3 to run PyTorch"
		return nil
	}
	dir, err := os.MkdirTemp("", "tilec-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	script := filepath.Join(dir, "peer.py")
	if err := os.WriteFile(script, peerScript, 0o666); err != nil {
		return err
	}
	c, err := gpt.Random(result.Size, run.seed)
	if err != nil {
		return err
	}
	defer c.Close()
	job := peerJob{
		Weights: filepath.Join(dir, "model.safetensors"), Device: "cpu", DType: result.DType, Config: map[string]json.RawMessage{}, TF32: run.precision == "",
		Seconds: timedFor.Seconds(), Rows: result.Rows, Text: text,
	}
	for _, key := range c.Config.Keys() {
		job.Config[key], _ = c.Config.Value(key)
	}
	if result.gpu {
		job.Device = "cuda"
	}
	err = safetensors.WriteFrom(job.Weights, c.Tensors.Tensors(), nil, func(t safetensors.Tensor) ([]byte, error) {
		t, err := c.Tensors.Tensor(t.Name)
		return t.Data, err
	})
	if err != nil {
		return err
	}
	input, err := json.Marshal(job)
	if err != nil {
		return err
	}
	watch := a.logs.Stopwatch("peer", "torch")
	err = bench.RunScript(ctx, "PyTorch's script", python, script, input, func(out io.Reader) error { return a.readPeer(out, text, result) })
	watch.Lap("all rows")
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case err != nil:
		return err
	case result.Peer == "" && result.NoPeer == "":
		return errors.New("PyTorch's script said nothing")
	}
	return nil
}

// readPeer reads what the script prints.
func (a *app) readPeer(out io.Reader, text []int32, result *benched) error {
	timing := a.progress("timing PyTorch", func(n int64) string { return fmt.Sprint(n) })
	defer timing.clear()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l peerLine
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			continue // some library's
		}
		switch {
		case l.Missing != "":
			result.NoPeer = l.Missing
		case l.Peer != "":
			result.Peer = l.Peer
			if l.NoTransformers != "" {
				a.say("note: texts are not timed beside Hugging Face's generate: %s", l.NoTransformers)
			}
		case l.Likeliest != nil:
			for i := comparedFrom; i < min(len(text), len(l.Likeliest)+1); i++ {
				result.Compared++
				if l.Likeliest[i-1] == text[i] {
					result.Equal++
				}
			}
		case l.Row < 0 || l.Row >= len(result.Rows):
			return fmt.Errorf("PyTorch's script tells of row %d, of %d", l.Row, len(result.Rows))
		case l.Error != "":
			timing.clear()
			a.say("warning: %s: PyTorch, %s: %s", result.Rows[l.Row], l.Way, l.Error)
		default:
			r := result.Rows[l.Row]
			timing.update(int64(l.Row), int64(len(result.Rows)))
			if r.PeerUS == nil {
				r.PeerUS = map[string]float64{}
			}
			if before, ok := r.PeerUS[l.Way]; !ok || l.US < before {
				r.PeerUS[l.Way] = l.US
			}
		}
	}
	return lines.Err()
}

// peerWays are the ways that a peer may have, with the headings of their columns.
var peerWays = []struct{ name, heading string }{
	{"eager", "PyTorch eager"}, {"compiled", "torch.compile"}, {"graph", "in a CUDA graph"}, {"generate", "generate"},
}

// print prints the result as a Markdown table.
func (b *benched) print(w io.Writer) {
	ways := peerWays[:0:0]
	for _, way := range peerWays {
		for _, r := range b.Rows {
			if _, ok := r.PeerUS[way.name]; ok {
				ways = append(ways, way)
				break
			}
		}
	}
	head, rule := fmt.Sprintf("| %s, %s, random weights, on %s; us |", b.Size, b.DType, b.Device)+" tilec |", "|---|---|"
	for _, way := range ways {
		head, rule = head+" "+way.heading+" |", rule+"---|"
	}
	if len(ways) > 0 {
		head, rule = head+" the fastest of these / tilec |", rule+"---|"
	}
	fmt.Fprintf(w, "%s\n%s\n", head, rule)
	for _, r := range b.Rows {
		fmt.Fprintf(w, "| %s | %.1f |", r, r.US)
		best := 0.0
		for _, way := range ways {
			us, ok := r.PeerUS[way.name]
			if !ok {
				fmt.Fprint(w, " |")
				continue
			}
			fmt.Fprintf(w, " %.1f |", us)
			if best == 0 || us < best {
				best = us
			}
		}
		switch {
		case best > 0:
			fmt.Fprintf(w, " %.2f |", best/r.US)
		case len(ways) > 0:
			fmt.Fprint(w, " |")
		}
		fmt.Fprintln(w)
	}
	if b.NoPeer != "" {
		fmt.Fprintf(w, "\nNo peer ran beside: %s.\n", b.NoPeer)
		return
	}
	if b.Peer == "" {
		return // it was interrupted
	}
	fmt.Fprintf(w, "\nThe peer: %s. Of %d tokens that tilec chose as the likeliest, %d are the likeliest of the peer's, which had the same weights.\n", b.Peer, b.Compared, b.Equal)
}
