package emu

var convertOps = map[string]operation{
	"cvt": {classConvert, convert},
}

func convert(d *decoder) {
	c := conversion{ftz: d.has("ftz"), sat: d.has("sat"), relu: d.has("relu"), finite: d.has("satfinite")}
	if c.mode, c.toInteger = d.rounding("rni", "rzi", "rmi", "rpi"); !c.toInteger {
		c.mode, c.rounds = d.rounding("rn", "rz", "rm", "rp", "rna")
	}
	c.to, c.from = d.typ(), d.typ()
	switch {
	case c.to.lanes == 2 || c.from.lanes == 2:
		convertPair(d, c)
		return
	case c.to.kind == kindBits || c.from.kind == kindBits || c.to.kind == kindPred || c.from.kind == kindPred:
		d.fail("cannot convert .%s to .%s", c.from.name, c.to.name)
	case c.ftz && c.to.name != "f32" && c.from.name != "f32":
		d.fail(".ftz needs an f32")
	}
	dst, a := d.wideDst(c.to), d.wideSrc(c.from)
	switch {
	case c.to.isInt() && c.from.isInt():
		d.map1(dst, a, c.intToInt)
	case c.to.isInt():
		if !c.toInteger {
			d.fail("need one of .rni .rzi .rmi .rpi")
		}
		d.map1(dst, a, c.floatToInt)
	case c.from.isInt():
		if !c.rounds {
			d.fail("need one of .rn .rz .rm .rp")
		}
		d.map1(dst, a, c.intToFloat)
	default:
		if !c.rounds && c.to.format.man < c.from.format.man && !c.toInteger {
			d.fail("need one of .rn .rz .rm .rp")
		}
		d.map1(dst, a, c.floatToFloat)
	}
}

// convertPair is cvt with a packed type on one side or both.
func convertPair(d *decoder, c conversion) {
	if !c.rounds {
		d.fail("need one of .rn .rz")
	}
	to, from := c.to, c.from
	half := to.bits / 2
	pack := func(hi, lo uint64) uint64 { return hi<<half | lo }
	c.to.format, c.from.format = to.format, from.format
	c.to.lanes, c.from.lanes = 1, 1
	if to.lanes != 2 || to.isInt() || from.isInt() {
		d.fail("cannot convert .%s to .%s", from.name, to.name)
	}
	dst := d.wideDst(to)
	if from.name == "f32" {
		a, b := d.src(from), d.src(from)
		d.map2(dst, a, b, func(a, b uint64) uint64 { return pack(c.floatToFloat(a), c.floatToFloat(b)) })
		return
	}
	if from.lanes != 2 || from.bits == to.bits {
		d.fail("cannot convert .%s to .%s", from.name, to.name)
	}
	c.from.bits = from.bits / 2
	a := d.src(from)
	d.map1(dst, a, func(a uint64) uint64 { return pack(c.floatToFloat(a>>c.from.bits), c.floatToFloat(a)) })
}
