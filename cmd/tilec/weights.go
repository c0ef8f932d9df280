package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"tilec/gpt"
	"tilec/lang"
)

// This file is the flag --weights: the element type of weights that have one of their own.

func (o *generateOptions) weightsFlag(f *pflag.FlagSet) {
	f.StringVar(&o.weights, "weights", "", "element type of the matrices, of a network that gives them one of their own: "+strings.Join(typeNames(gpt.WeightTypes), ", ")+"; --dtype, or what the checkpoint has of 8 bits, when it is left out")
}

// weightsType is the type of --weights; Invalid where it is left out.
func weightsType(name string) (lang.DType, error) {
	for _, d := range gpt.WeightTypes {
		if d.String() == name {
			return d, nil
		}
	}
	if name == "" {
		return lang.Invalid, nil
	}
	return lang.Invalid, fmt.Errorf("--weights is %q, must be one of %s", name, strings.Join(typeNames(gpt.WeightTypes), ", "))
}

func typeNames(types []lang.DType) []string {
	names := make([]string, len(types))
	for i, d := range types {
		names[i] = d.String()
	}
	return names
}
