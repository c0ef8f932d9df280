package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"tilec/gpt/nanogpt"
	"tilec/jit"
)

// importCommand turns checkpoints of other programs into folders that run takes.
func (a *app) importCommand() *cobra.Command {
	var out string
	var o nanogpt.Options
	cmd := &cobra.Command{
		Use:   "import PATH --out DIR",
		Short: "Turn a checkpoint of nanoGPT or minGPT into a folder that run takes",
		Long: `import reads the weights of a GPT-2 that nanoGPT or minGPT has trained, or a pytorch_model.bin of Hugging Face's GPT-2,
and writes a folder in GPT-2's format, with config.json and model.safetensors. PATH is the file, written by torch.save or in the
safetensors format, or the folder that has it as ckpt.pt, model.pt, pytorch_model.bin or model.safetensors.

Nothing of the file is executed: what is more than tensors, numbers, texts, lists and dictionaries is refused.`,
		Example: `  tilec import out-shakespeare/ckpt.pt --out shakespeare --tokenizer gpt2
  tilec import model.pt --heads 6 --activation gelu_new --out mini`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return usageError{errors.New("give --out, the folder to write")}
			}
			if o.Heads < 0 || o.Heads == 0 && cmd.Flags().Changed("heads") {
				return usageError{fmt.Errorf("--heads is %d, must be 1 or more", o.Heads)}
			}
			writing := a.progress("writing", jit.FormatBytes)
			o.Written = writing.update
			s, err := nanogpt.Import(args[0], out, o)
			writing.clear()
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(importJSON{out, s.Layers, s.Heads, s.Width, s.Context, s.Vocabulary, s.Activation, s.Tied, s.ZeroBiases, s.Tokenizer})
			}
			a.say("%s: %d layers, %d heads, width %d, context %d, vocabulary %d, activation %s", out, s.Layers, s.Heads, s.Width, s.Context, s.Vocabulary, s.Activation)
			if s.ZeroBiases {
				a.say("the source has no biases: they are zeros")
			}
			if s.Tokenizer == "" {
				a.say("there is no tokenizer: put tokenizer.json, or vocab.json and merges.txt, into %s, or import with --tokenizer DIR, of characters the folder that has nanoGPT's meta.pkl", out)
			} else {
				a.say("tokenizer of %s", s.Tokenizer)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&out, "out", "", "the folder to write, which must be new or empty")
	f.IntVar(&o.Heads, "heads", 0, "the number of attention heads, where PATH does not say it")
	f.StringVar(&o.Activation, "activation", "", "the function in the feed-forward layers, as config.json names it: gelu, gelu_new, ...")
	f.StringVar(&o.Tokenizer, "tokenizer", "", "a folder whose tokenizer is copied, or that has nanoGPT's meta.pkl; PATH's folder when it is left out")
	a.jsonFlag(f, "print one JSON object about what was written instead of text")
	return cmd
}

// importJSON is what `tilec import --json` prints: the folder and the model in it. ZeroBiases says that the source has no biases, and Tokenizer is the folder
// from which the tokenizer was copied.
type importJSON struct {
	Folder     string `json:"folder"`
	Layers     int    `json:"layers"`
	Heads      int    `json:"heads"`
	Width      int    `json:"width"`
	Context    int    `json:"context"`
	Vocabulary int    `json:"vocabulary"`
	Activation string `json:"activation"`
	Tied       bool   `json:"tied"`
	ZeroBiases bool   `json:"zero_biases"`
	Tokenizer  string `json:"tokenizer,omitempty"`
}
