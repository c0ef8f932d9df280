package main

import (
	"errors"
	"fmt"
	"strings"

	"tilec/jit/block"
)

// buildFromBlock makes code of the block program of one kernel or more: all is decided in its text, and nothing of that anew.
func (a *app) buildFromBlock(path string, texts []string, o buildOptions) error {
	form, err := findEmission(o.emit)
	switch {
	case err != nil:
		return usageError{err}
	case form.block == nil:
		return usageError{fmt.Errorf("--emit=%s comes before the block program: from that there are %s", form.name, strings.Join(fromBlock(), ", "))}
	case o.given["precision"]:
		return usageError{errors.New("--precision: the block program says the precision of each product")}
	case o.dumpAfter != "":
		return usageError{errors.New("--dump-after: no pass runs on a block program")}
	case len(texts) > 0:
		return usageError{fmt.Errorf("%s: a block program leaves no size, extent or setting open: change its text", texts[0])}
	}
	text, err := a.readSource(path)
	if err != nil {
		return err
	}
	programs, err := block.ParseAll(path, string(text))
	if err != nil {
		return err
	}
	var units []unit
	for _, p := range programs {
		if o.kernel != "" && p.Func.Name != o.kernel {
			continue
		}
		if o.given["target"] && o.target != p.Target.Name {
			return usageError{fmt.Errorf("--target=%s: the block program of kernel %s is for %s", o.target, p.Func.Name, p.Target.Name)}
		}
		listing, err := form.block(p)
		if err != nil {
			return err
		}
		units = append(units, unitOf(another(units, p.Func.Name), listing, nil))
	}
	if len(units) == 0 {
		return fmt.Errorf("%s: there is no kernel %s: the first is %s", path, o.kernel, programs[0].Func.Name)
	}
	return a.deliver(built{Stage: form.name, Units: units}, o.out)
}

// fromBlock names the forms that a block program can be shown in.
func fromBlock() (names []string) {
	for _, e := range emissions {
		if e.block != nil {
			names = append(names, e.name)
		}
	}
	return names
}
