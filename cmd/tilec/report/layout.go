package report

import (
	"fmt"
	"strings"

	"tilec/jit/ir"
	"tilec/jit/layout"
)

const (
	// What is drawn of a tile: its first rows and columns, element by element.
	mostRows, mostColumns = 16, 16
	cellWidth, cellHeight = 36, 17
	// What is drawn of the whole tile by warps: at most so many cells along a side, of which each is as large as the picture's size gives.
	mostCells, warpsSize = 64, 160
	// The names of the axes stand on the left and above.
	layoutLeft, layoutTop = 44, 34
)

// holder is who has an element of a tile: the first register of the first lane of the first warp, and how many threads have a copy.
type holder struct{ warp, lane, register, threads int }

// Layout draws which register of which thread holds which element of a tile of these axes, in their order: rows are the last axis but one, columns
// the last; of the other axes the first positions are drawn. On the left are the first elements, one by one; on the right is the whole tile by warps.
func Layout(l layout.Layout, axes []*ir.Axis) Picture {
	var row, column *ir.Axis
	column = axes[len(axes)-1]
	if len(axes) > 1 {
		row = axes[len(axes)-2]
	}
	rows, columns := 1, max(int(column.Extent), 1)
	if row != nil {
		rows = max(int(row.Extent), 1)
	}
	held := holders(l, axes, row, column, rows, columns)
	shownRows, shownColumns := min(rows, mostRows), min(columns, mostColumns)
	detail := float64(layoutLeft + shownColumns*cellWidth)
	height := layoutTop + shownRows*cellHeight + 8
	cellsDown, cellsAcross := min(rows, mostCells), min(columns, mostCells)
	warps := l.Warps() > 1 && len(held) > 0
	width := detail + 10
	if warps {
		width += layoutLeft + warpsSize
		height = max(height, layoutTop+warpsSize*cellsDown/max(cellsDown, cellsAcross)+8)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="layout" width="%.0f" height="%d" viewBox="0 0 %[1]g %[2]d">`+"\n", width, height)
	text := func(x, y float64, anchor, class, format string, args ...any) {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>`+"\n", x, y, anchor, class, Escape(fmt.Sprintf(format, args...)))
	}
	const axisClass = ` class="axis"`
	text(layoutLeft, 12, "start", axisClass, "%s: the first %d of %d; in a cell lane.register", column.Name, shownColumns, columns)
	for c := range shownColumns {
		text(layoutLeft+(float64(c)+0.5)*cellWidth, layoutTop-6, "middle", axisClass, "%d", c)
	}
	for r := range shownRows {
		y := float64(layoutTop + r*cellHeight)
		if row != nil {
			text(layoutLeft-6, y+cellHeight*0.7, "end", axisClass, "%s %d", row.Name, r)
		}
		for c := range shownColumns {
			h, ok := held[r*columns+c]
			if !ok {
				continue
			}
			x := float64(layoutLeft + c*cellWidth)
			fmt.Fprintf(&b, `<rect x="%.0f" y="%.0f" width="%d" height="%d" fill="%s" data-thread="%d.%d"><title>%s</title></rect>`,
				x, y, cellWidth-1, cellHeight-1, laneColour(h), h.warp, h.lane, Escape(h.words(row, column, r, c)))
			text(x+cellWidth/2, y+cellHeight*0.7, "middle", "", "%d.%d", h.lane, h.register)
		}
	}
	if warps {
		size := float64(warpsSize) / float64(max(cellsDown, cellsAcross))
		high := size
		if cellsDown == 1 {
			high = cellHeight
		}
		left := detail + layoutLeft
		text(left, 12, "start", axisClass, "the tile by warps")
		for r := range cellsDown {
			for c := range cellsAcross {
				if h, ok := held[r*rows/cellsDown*columns+c*columns/cellsAcross]; ok {
					fmt.Fprintf(&b, `<rect x="%.2f" y="%.2f" width="%.2f" height="%.2f" fill="%s" shape-rendering="crispEdges"><title>warp %d</title></rect>`+"\n",
						left+float64(c)*size, layoutTop+float64(r)*high, size, high, warpColour(h.warp, l.Warps()), h.warp)
				}
			}
		}
	}
	b.WriteString("</svg>")
	return Picture{SVG: b.String()}
}

// holders finds who has each element of the tile's first positions along the other axes, by its place in rows.
func holders(l layout.Layout, axes []*ir.Axis, row, column *ir.Axis, rows, columns int) map[int]holder {
	held := map[int]holder{}
	for warp := range l.Warps() {
		for lane := range layout.Lanes {
			for register := range l.Regs() {
				at, inside := 0, true
				for _, a := range axes {
					n := l.RegCoord(register, a) + l.ThreadCoord(lane, warp, a)
					switch a {
					case column:
						at, inside = at+n, inside && n < columns
					case row:
						at, inside = at+n*columns, inside && n < rows
					default:
						inside = inside && n == 0
					}
				}
				if !inside {
					continue
				}
				h, ok := held[at]
				if !ok {
					h = holder{warp: warp, lane: lane, register: register}
				}
				h.threads++
				held[at] = h
			}
		}
	}
	return held
}

// words says who holds the element of a row and a column.
func (h holder) words(row, column *ir.Axis, r, c int) string {
	at := fmt.Sprintf("%s %d", column.Name, c)
	if row != nil {
		at = fmt.Sprintf("%s %d, %s", row.Name, r, at)
	}
	text := fmt.Sprintf("%s: warp %d, lane %d, register %d", at, h.warp, h.lane, h.register)
	if h.threads > 1 {
		text += fmt.Sprintf("; %d threads have it", h.threads)
	}
	return text
}

// laneColour tells lanes apart by their hues, and neighbouring warps by how light they are.
func laneColour(h holder) string {
	return fmt.Sprintf("hsl(%d 65%% %d%%)", h.lane*360/layout.Lanes, 86-10*(h.warp%2))
}

func warpColour(warp, warps int) string {
	return fmt.Sprintf("hsl(%d 60%% %d%%)", warp*360/max(warps, 1), 72-14*(warp%2))
}
