package lsp

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.lsp.dev/jsonrpc2"
)

// TestNotInitialized: nothing is answered before the editor has said who it is, and that is said once.
func TestNotInitialized(t *testing.T) {
	s := begin(t)
	for _, method := range []string{"textDocument/hover", "shutdown", "textDocument/unheardOf"} {
		m := s.request(method, at("file:///nowhere/a.tile", place{}))
		require.NotNil(t, m.Error, method)
		require.Equal(t, -32002, m.Error.Code, method)
	}
	s.open("file:///nowhere/a.tile", "fn f(x) = y\n")
	s.call("initialize", object{"processId": nil, "rootUri": nil, "capabilities": object{}}, nil)
	require.Equal(t, "", s.hover("file:///nowhere/a.tile", place{0, 3}), "what was opened before is not known")
	m := s.request("initialize", object{"processId": nil, "rootUri": nil, "capabilities": object{}})
	require.NotNil(t, m.Error)
	require.Equal(t, -32600, m.Error.Code)
	require.Contains(t, s.log.String(), "textDocument/didOpen")
	s.log.Reset()
	s.leave()
}

// TestCancellation: a request that is taken back while others are answered is not begun.
func TestCancellation(t *testing.T) {
	s := start(t)
	doc := "file:///nowhere/long.tile"
	s.open(doc, longProgram(400))
	params := object{"textDocument": object{"uri": doc}}
	// The first holds the server up; what comes behind it is read meanwhile.
	s.send(object{"id": 100, "method": "textDocument/semanticTokens/full", "params": params})
	for id := 101; id < 110; id++ {
		s.send(object{"id": id, "method": "textDocument/semanticTokens/full", "params": params})
	}
	for id := 101; id < 110; id++ {
		s.notify("$/cancelRequest", object{"id": id})
	}
	s.notify("$/cancelRequest", object{"id": 7777})
	s.notify("$/cancelRequest", object{"id": nil})
	answered, cancelled := 0, 0
	for answered+cancelled < 10 {
		m := s.next()
		switch {
		case m.ID == nil:
		case m.Error != nil:
			require.Equal(t, requestCancelled, m.Error.Code)
			cancelled++
		default:
			answered++
		}
	}
	require.Positive(t, cancelled)
	require.Equal(t, "", s.hover(doc, place{0, 0}))
	s.leave()
	require.Equal(t, jsonrpc2.NewStringID("a"), cancelledID([]byte(`{"id":"a"}`)))
	require.Equal(t, jsonrpc2.NewNumberID(7), cancelledID([]byte(`{"id":7}`)))
	require.False(t, cancelledID([]byte(`[1`)).IsValid())
}

// longProgram is a program of so many kernels, each of 20 lines.
func longProgram(kernels int) string {
	const kernel = `
/// A product.
@sizes(M = 64, N = 64, K = 64, T = f32)
kernel product_NUMBER<T: float>(x: T[M, K], w: T[K, N], eps: f32 = 1e-5) -> y: T[M, N]
    tune BM in {16, 32}
    grid i in M by BM, j in N by BN
{
    // the sum
    let acc = for k in K by BK with total = zeros(f32, i, j) {
        let left = x[i, k]
        let right = w[k, j]
        mma(left, right, total)
    }
    let scaled = acc * eps
    let shifted = scaled + 1
    let positive = max(shifted, 0)
    let root = sqrt(positive)
    let sum2 = root + scaled
    y[i, j] = sum2 as T
}
`
	var b strings.Builder
	for i := range kernels {
		b.WriteString(strings.Replace(kernel, "NUMBER", string(rune('a'+i%26))+strings.Repeat("x", i/26), 1))
	}
	return b.String()
}

// TestNoGrowth: ten thousand edits with questions between them leave the server as large as some hundreds do.
func TestNoGrowth(t *testing.T) {
	s := start(t)
	doc := "file:///nowhere/program.tile"
	s.open(doc, program)
	version := 1
	p := placeOf(t, program, "gelu(|acc")
	edits := func(n int) uint64 {
		for range n {
			version++
			s.edit(doc, version, span{p, p}, "1 + ")
			version++
			s.edit(doc, version, span{p, place{p.Line, p.Character + 4}}, "")
			if version%100 == 1 {
				s.call("textDocument/semanticTokens/full", object{"textDocument": object{"uri": doc}}, nil)
				s.complete(doc, p)
				s.references(doc, p, true)
			}
		}
		s.hover(doc, p)
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	first := edits(500)
	const most = 4 << 20
	require.Less(t, edits(4500), first+most, "after 10,000 edits")
	s.leave()
}
