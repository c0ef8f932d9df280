package emu

import "tilec/jit/emu/number"

var convertOps = map[string]operation{
	"cvt": {classConvert, convert},
}

func convert(d *decoder) {
	c := number.Conversion{FTZ: d.has("ftz"), Saturate: d.has("sat"), ReLU: d.has("relu"), Finite: d.has("satfinite")}
	if c.Mode, c.ToInteger = d.rounding("rni", "rzi", "rmi", "rpi"); !c.ToInteger {
		c.Mode, c.Rounds = d.rounding("rn", "rz", "rm", "rp", "rna")
	}
	c.To, c.From = d.typ(), d.typ()
	switch {
	case c.To.Lanes == 2 || c.From.Lanes == 2:
		convertPair(d, c)
		return
	case c.To.Kind == number.KindBits || c.From.Kind == number.KindBits || c.To.Kind == number.KindPred || c.From.Kind == number.KindPred:
		d.fail("cannot convert .%s to .%s", c.From.Name, c.To.Name)
	case c.FTZ && c.To.Name != "f32" && c.From.Name != "f32":
		d.fail(".ftz needs an f32")
	}
	dst, a := d.wideDst(c.To), d.wideSrc(c.From)
	switch {
	case c.To.IsInt() && c.From.IsInt():
		d.map1(dst, a, c.IntToInt)
	case c.To.IsInt():
		if !c.ToInteger {
			d.fail("need one of .rni .rzi .rmi .rpi")
		}
		d.map1(dst, a, c.FloatToInt)
	case c.From.IsInt():
		if !c.Rounds {
			d.fail("need one of .rn .rz .rm .rp")
		}
		d.map1(dst, a, c.IntToFloat)
	default:
		if !c.Rounds && c.To.Format.Mantissa < c.From.Format.Mantissa && !c.ToInteger {
			d.fail("need one of .rn .rz .rm .rp")
		}
		d.map1(dst, a, c.FloatToFloat)
	}
}

// convertPair is cvt with a packed type on one side or both.
func convertPair(d *decoder, c number.Conversion) {
	if !c.Rounds {
		d.fail("need one of .rn .rz")
	}
	to, from := c.To, c.From
	half := to.Bits / 2
	pack := func(hi, lo uint64) uint64 { return hi<<half | lo }
	c.To.Format, c.From.Format = to.Format, from.Format
	c.To.Lanes, c.From.Lanes = 1, 1
	if to.Lanes != 2 || to.IsInt() || from.IsInt() {
		d.fail("cannot convert .%s to .%s", from.Name, to.Name)
	}
	dst := d.wideDst(to)
	if from.Name == "f32" {
		a, b := d.src(from), d.src(from)
		d.map2(dst, a, b, func(a, b uint64) uint64 { return pack(c.FloatToFloat(a), c.FloatToFloat(b)) })
		return
	}
	if from.Lanes != 2 || from.Bits == to.Bits {
		d.fail("cannot convert .%s to .%s", from.Name, to.Name)
	}
	c.From.Bits = from.Bits / 2
	a := d.src(from)
	d.map1(dst, a, func(a uint64) uint64 { return pack(c.FloatToFloat(a>>c.From.Bits), c.FloatToFloat(a)) })
}
