package main

import (
	"bytes"
	"fmt"
	"math"

	"tilec/cmd/tilec/report"
	"tilec/jit/plan"
	"tilec/lang/elementary"
)

// This file draws an explanation: on the left what the plan and the next one cost, term by term; on the right where the launch stands
// under the machine's roofline. Both axes of that are logarithmic.

const (
	pictureWidth, pictureHeight = 900, 360
	// The bars have their names on their left.
	barsLeft, barsWidth, barHeight, barGap = 110, 300, 14, 30
	// The roofline's frame.
	roofLeft, roofTop, roofWidth, roofHeight = 520, 60, 340, 240
)

// explanationSVG is a picture of the pages, one below the other.
func explanationSVG(pages []*kernelPage) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="sans-serif" font-size="12">`+"\n", pictureWidth, pictureHeight*len(pages))
	fmt.Fprintln(&b, `<rect width="100%" height="100%" fill="white"/>`)
	for i, p := range pages {
		fmt.Fprintf(&b, `<g transform="translate(0 %d)">`+"\n", i*pictureHeight)
		label(&b, 20, 24, "start", 15, p.Kernel+" on "+p.Target)
		label(&b, 20, 42, "start", 11, p.For)
		p.drawTerms(&b)
		p.drawRoofline(&b)
		fmt.Fprintln(&b, "</g>")
	}
	fmt.Fprintln(&b, "</svg>")
	return b.Bytes()
}

func label(b *bytes.Buffer, x, y float64, anchor string, size int, text string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s" font-size="%d">%s</text>`+"\n", x, y, anchor, size, report.Escape(text))
}

// drawTerms draws a bar for each term, of the plan and of the next one.
func (p *kernelPage) drawTerms(b *bytes.Buffer) {
	if p.Best == nil {
		return
	}
	both := []*plan.Estimate{p.Best}
	colours := []string{"#2166ac", "#b2c4d8"}
	if p.Next != nil {
		both = append(both, p.Next)
	}
	longest := 0.0
	for _, e := range both {
		longest = max(longest, e.Seconds)
	}
	y := 70.0
	bars := func(name string, of func(*plan.Estimate) float64) {
		label(b, barsLeft-8, y+barHeight, "end", 12, name)
		for i, e := range both {
			width := barsWidth * of(e) / longest
			top := y + float64(i)*barHeight*0.9
			fmt.Fprintf(b, `<rect x="%d" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", barsLeft, top, width, barHeight*0.85, colours[i])
			label(b, barsLeft+width+4, top+barHeight*0.75, "start", 10, microseconds(of(e)))
		}
		y += barGap
	}
	bars("all", func(e *plan.Estimate) float64 { return e.Seconds })
	for i, t := range p.Best.Terms {
		bars(t.Name, func(e *plan.Estimate) float64 { return e.Terms[i].Seconds })
	}
	for i, e := range both {
		fmt.Fprintf(b, `<rect x="20" y="%.1f" width="10" height="10" fill="%s"/>`+"\n", y+4+float64(i)*16, colours[i])
		label(b, 36, y+13+float64(i)*16, "start", 11, []string{"planned: ", "next: "}[i]+e.Choice)
	}
}

// log10 is the logarithm to base 10, in bits that do not depend on the processor.
func log10(x float64) float64 { return elementary.Log(x) / math.Ln10 }

// drawRoofline draws the rate that the machine can reach by operations a byte, and where the launch is predicted to be.
func (p *kernelPage) drawRoofline(b *bytes.Buffer) {
	r := p.Roofline
	if r == nil || r.Ridge <= 0 || p.Best == nil {
		return
	}
	peak := float64(r.FLOP) / r.ComputeSeconds
	rate := float64(r.FLOP) / p.Best.Seconds
	low, high := math.Floor(log10(min(r.Intensity, r.Ridge)))-0.5, math.Ceil(log10(max(r.Intensity, r.Ridge)))+0.5
	top := log10(peak) + 0.3
	bottom := min(log10(rate), log10(peak)+low-log10(r.Ridge)) - 0.3
	x := func(intensity float64) float64 { return roofLeft + roofWidth*(log10(intensity)-low)/(high-low) }
	y := func(flops float64) float64 { return roofTop + roofHeight*(top-log10(flops))/(top-bottom) }
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="#999"/>`+"\n", roofLeft, roofTop, roofWidth, roofHeight)
	left, right := elementary.Pow(10, low), elementary.Pow(10, high)
	fmt.Fprintf(b, `<polyline points="%.1f,%.1f %.1f,%.1f %.1f,%.1f" fill="none" stroke="#333" stroke-width="2"/>`+"\n",
		x(left), y(peak*left/r.Ridge), x(r.Ridge), y(peak), x(right), y(peak))
	fmt.Fprintf(b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#b2182b" stroke-dasharray="3 3"/>`+"\n", x(r.Intensity), y(min(peak, peak*r.Intensity/r.Ridge)), x(r.Intensity), y(rate))
	fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="5" fill="#b2182b"/>`+"\n", x(r.Intensity), y(rate))
	beside, anchor := x(r.Intensity)+8, "start"
	if beside > roofLeft+roofWidth/2 { // there is no room on the right
		beside, anchor = x(r.Intensity)-8, "end"
	}
	label(b, beside, y(rate)+4, anchor, 11, fmt.Sprintf("%.3g TFLOP/s, %.0f %%", rate/1e12, 100*r.Part))
	label(b, roofLeft+roofWidth-4, y(peak)-6, "end", 11, fmt.Sprintf("%.3g TFLOP/s", peak/1e12))
	label(b, roofLeft+roofWidth/2, roofTop+roofHeight+32, "middle", 11, fmt.Sprintf("operations a byte: %.3g; the ridge is at %.3g", r.Intensity, r.Ridge))
	for e := math.Ceil(low); e <= high; e++ {
		label(b, x(elementary.Pow(10, e)), roofTop+roofHeight+14, "middle", 10, fmt.Sprintf("%g", elementary.Pow(10, e)))
	}
	label(b, roofLeft, roofTop-8, "start", 12, "roofline: "+r.Bound+" bounds it")
}
