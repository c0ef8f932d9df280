package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tilec/gpt"
	"tilec/jit"
	"tilec/lang"
)

// This file is `tilec bench gpt`, which times a language model; benchgptpeer.go has PyTorch beside it.

// benchOptions are the flags of `tilec bench gpt`.
type benchOptions struct {
	// given reports that the command line asks for a row, which is among those by default otherwise.
	given             func(*benchRow) bool
	size, dtype, peer string
	batches, contexts []int
	prompts           []string
}

// The words of --peer.
const (
	peerAuto  = "auto"
	peerTorch = "torch"
	peerNone  = "none"
)

var peerWords = []string{peerAuto, peerTorch, peerNone}

// What a row times.
const (
	timedStep   = "step"
	timedPrompt = "prompt"
	timedText   = "text"
)

// benchRow is something that is timed.
type benchRow struct {
	What      string `json:"what"`
	Sequences int    `json:"sequences"`
	// Tokens is how many each of them has: with the one of a step, in a prompt, before a text.
	Tokens int `json:"tokens"`
	// New is how many a text gets behind its first one.
	New int `json:"new,omitempty"`
	// Temperature is that of a text's choices among all tokens; 0 takes the likeliest.
	Temperature float64 `json:"temperature,omitempty"`
	// US is the median, of a text that of a token.
	US float64 `json:"us"`
	// PeerUS is the same of PyTorch, by its ways.
	PeerUS map[string]float64 `json:"peer_us,omitempty"`
}

// String says what is timed.
func (r *benchRow) String() string {
	switch r.What {
	case timedStep:
		return fmt.Sprintf("a step, batch %d, context %d", r.Sequences, r.Tokens)
	case timedPrompt:
		return fmt.Sprintf("a prompt of %d x %d, all logits", r.Sequences, r.Tokens)
	}
	how := "the likeliest"
	if r.Temperature > 0 {
		how = "by chance"
	}
	return fmt.Sprintf("a token of a text, %s, batch %d", how, r.Sequences)
}

// benched is what --json prints.
type benched struct {
	Size   string      `json:"size"`
	DType  string      `json:"dtype"`
	Device string      `json:"device"`
	Rows   []*benchRow `json:"rows"`
	// Peer is who ran beside, NoPeer why nobody did.
	Peer   string `json:"peer,omitempty"`
	NoPeer string `json:"no_peer,omitempty"`
	// Compared is how many tokens that were chosen as the likeliest were looked at by the peer, and Equal how many are its likeliest too.
	Compared int `json:"compared"`
	Equal    int `json:"equal"`
	// gpu says that the device is one.
	gpu bool
}

func (a *app) benchGPTCommand() *cobra.Command {
	var run runOptions
	var o benchOptions
	cmd := &cobra.Command{
		Use:   "gpt",
		Short: "Time a language model beside PyTorch",
		Long: `Gpt times the network of a GPT-2 or a Llama with random weights, and prints a Markdown table: steps of decoding, prompts with the logits of
all positions, and whole texts. Beside it, where python3 has PyTorch, the same network in PyTorch: run eagerly, by torch.compile, and the faster of
both captured in a CUDA graph by hand, with a cache that stays where it is; of texts Hugging Face's generate too, where transformers is there.
Both have the same weights: the tokens that tilec chooses are looked at by PyTorch too.

Times are medians of runs one behind the other, which find in the caches what fits. A step and a prompt are the network alone, the logits of a prompt in
--dtype. A token of a text has its choice too,
the likeliest one or by chance at the temperature of 'tilec run'; here it is on the host when it is timed, and of PyTorch's captured graph it stays on the device.`,
		Example: `  tilec bench gpt
  tilec bench gpt --size gpt2-medium --batches 1 --contexts 128 --prompts 1x128
  tilec bench gpt --size llama-1b --batches 1,8 --prompts 1x512
  tilec bench gpt --size nano --device cpu --peer none`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rows, err := o.rows()
			if err != nil {
				return usageError{err}
			}
			if run.precision, err = precisionOf(run.precision); err != nil {
				return err
			}
			o.given = func(r *benchRow) bool {
				return cmd.Flags().Changed(map[string]string{timedStep: "contexts", timedPrompt: "prompts", timedText: "batches"}[r.What])
			}
			return a.bench(run, o, rows)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.size, "size", "gpt2", "of the network: "+strings.Join(gpt.Sizes(), ", "))
	f.StringVar(&o.dtype, "dtype", "bf16", "element type that is computed in, and of the weights: f32, bf16 or f16")
	f.IntSliceVar(&o.batches, "batches", []int{1, 8, 32}, "how many sequences a step has")
	f.IntSliceVar(&o.contexts, "contexts", []int{128, 1000}, "how many tokens each sequence of a step has, with the new one")
	f.StringSliceVar(&o.prompts, "prompts", []string{"1x128", "8x128", "1x1024", "8x1024"}, "prompts: how many, and how many tokens each")
	f.StringVar(&o.peer, "peer", peerAuto, "auto: PyTorch where it is there; torch: it must be; none: not asked for")
	f.StringVar(&run.device, "device", "auto", "auto, cpu, cuda or cuda:N")
	precisionFlag(f, &run.precision)
	f.Uint64Var(&run.seed, "seed", 0, "of the random weights")
	a.traceFlag(f, "when tilec loaded, compiled and timed each row, and when the peer ran")
	a.jsonFlag(f, "print one JSON object instead of a table")
	return cmd
}

// rows are what the options ask for.
func (o *benchOptions) rows() (rows []*benchRow, err error) {
	if !slices.Contains(gpt.Sizes(), o.size) {
		return nil, fmt.Errorf("--size is %q, must be one of %s", o.size, strings.Join(gpt.Sizes(), ", "))
	}
	if !slices.Contains(peerWords, o.peer) {
		return nil, fmt.Errorf("--peer is %q, must be %s, %s or %s", o.peer, peerAuto, peerTorch, peerNone)
	}
	if _, err := modelDType(o.dtype); err != nil {
		return nil, err
	}
	for _, batch := range o.batches {
		for _, context := range o.contexts {
			rows = append(rows, &benchRow{What: timedStep, Sequences: batch, Tokens: context})
		}
	}
	for _, text := range o.prompts {
		many, tokens, ok := strings.Cut(text, "x")
		b, err := strconv.Atoi(many)
		n, err2 := strconv.Atoi(tokens)
		if !ok || err != nil || err2 != nil {
			return nil, fmt.Errorf("--prompts has %q, must be how many and how many tokens each, such as 8x128", text)
		}
		rows = append(rows, &benchRow{What: timedPrompt, Sequences: b, Tokens: n})
	}
	for _, batch := range o.batches {
		for _, temperature := range []float64{0, defaultTemperature} {
			rows = append(rows, &benchRow{What: timedText, Sequences: batch, Tokens: 16, New: 64, Temperature: temperature})
		}
	}
	for _, r := range rows {
		if r.Sequences < 1 || r.Tokens < 1 {
			return nil, fmt.Errorf("%s: must have one sequence and one token at least", r)
		}
	}
	return rows, nil
}

// bench times the rows, here and by the peer.
func (a *app) bench(run runOptions, o benchOptions, rows []*benchRow) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the process
	result := &benched{Size: o.size, DType: o.dtype, Rows: rows}
	text, err := a.timeHere(ctx, run, o, result)
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case err != nil:
		return err
	case o.peer == peerNone:
		result.NoPeer = "--peer none"
	default:
		// What was timed before an interrupt is printed.
		if err = a.beside(ctx, run, text, result); err != nil && !errors.Is(err, errInterrupted) {
			return err
		}
	}
	if result.NoPeer != "" && o.peer == peerTorch {
		return fmt.Errorf("--peer torch: %s", result.NoPeer)
	}
	if a.json {
		return errors.Join(err, a.printJSON(result))
	}
	result.print(a.stdout)
	return err
}

// timeHere times the rows on the device, whose memory is free for the peer behind it, and makes a text for the peer to look at.
func (a *app) timeHere(ctx context.Context, run runOptions, o benchOptions, result *benched) (text []int32, err error) {
	source := generateOptions{random: o.size, dtype: o.dtype, sampling: gpt.Sampling{Seed: run.seed}, given: func(string) bool { return false }}
	model, compiler, err := a.openModel(gpt.ProgramFor(o.size), run, &source)
	if err != nil {
		return nil, err
	}
	defer compiler.Device.Close()
	defer model.Checkpoint.Close()
	defer model.Close()
	if _, emulated := compiler.Device.(*jit.Emulator); emulated {
		return nil, usageError{fmt.Errorf("bench times a GPU or the CPU, and the device is %s", compiler.Device.ID())}
	}
	long := func(r *benchRow) bool { return r.Tokens+r.New > model.Context() }
	if i := slices.IndexFunc(result.Rows, func(r *benchRow) bool { return long(r) && o.given(r) }); i >= 0 {
		return nil, usageError{fmt.Errorf("%s: longer than the context of %s, %d tokens", result.Rows[i], o.size, model.Context())}
	}
	result.Rows = slices.DeleteFunc(result.Rows, long)
	result.Device, result.gpu = compiler.Device.Name(), compiler.Device.Target().IsGPU()
	timing := a.progress("timing tilec", func(n int64) string { return fmt.Sprint(n) })
	defer timing.clear()
	for i, r := range result.Rows {
		timing.update(int64(i), int64(len(result.Rows)))
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		watch := a.logs.Stopwatch("bench", r.String())
		dtype, _ := modelDType(o.dtype) // compared before
		r.US, err = timeRow(ctx, model, compiler.Device, r, dtype)
		watch.Lap("compile and time")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r, err)
		}
	}
	return likeliestText(ctx, model)
}

// timedFor is about how long a row is timed.
const timedFor = 200 * time.Millisecond

// timeRow times a row, in us. The logits of a prompt have the type that is computed in, as PyTorch's have.
func timeRow(ctx context.Context, m *gpt.Model, d jit.Device, r *benchRow, dtype lang.DType) (us float64, err error) {
	var run func() error
	switch r.What {
	case timedText:
		return timeText(ctx, m, r)
	case timedPrompt:
		run, err = m.BindPrompt(r.Sequences, r.Tokens, dtype)
	default:
		run, err = m.BindStep(r.Sequences, r.Tokens)
	}
	if err != nil {
		return 0, err
	}
	t, err := timeRuns(run, d, timedFor)
	return micro(t.median), err
}

// timeText times a token of a text, in us: how far apart those of the last sequence come, once all sequences have a row and are on their way. Of several runs
// the shortest counts, since the first compiles.
func timeText(ctx context.Context, m *gpt.Model, r *benchRow) (us float64, err error) {
	m.ReleaseState()
	before := r.New / 4
	least := time.Duration(0)
	for range 5 {
		var at []time.Time
		sequences := make([]*gpt.Sequence, r.Sequences)
		for i := range sequences {
			sequences[i] = &gpt.Sequence{Prompt: make([]int32, r.Tokens), MaxNewTokens: 1 + r.New, Each: func(int32) (bool, error) {
				if i == len(sequences)-1 {
					at = append(at, time.Now())
				}
				return true, nil
			}}
		}
		if err := m.Continue(ctx, gpt.Batch{Sampling: gpt.Sampling{Temperature: r.Temperature, TopP: 1}, Rows: r.Sequences}, sequences); err != nil {
			return 0, err
		}
		if took := at[len(at)-1].Sub(at[before]); least == 0 || took < least {
			least = took
		}
	}
	return micro(least) / float64(r.New-before), nil
}

// likeliestText is a short text, its prompt first, of which each token is the likeliest.
func likeliestText(ctx context.Context, m *gpt.Model) (text []int32, err error) {
	for i := range int32(comparedFrom) {
		text = append(text, 7*i)
	}
	err = m.Tokens(ctx, slices.Clone(text), comparedTokens, gpt.Sampling{TopP: 1}, func(id int32) (bool, error) {
		text = append(text, id)
		return true, nil
	})
	return text, err
}
