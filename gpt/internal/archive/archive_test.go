package archive

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// fixture is a file of torch.save.
const fixture = "../../torch/testdata/nanogpt.pt"

// wideArchive is an archive of one entry as it would be at 4 GB and more: sizes and places are in the wide fields.
func wideArchive(name, content string, sum uint32) []byte {
	var b []byte
	half := func(n ...uint16) {
		for _, n := range n {
			b = binary.LittleEndian.AppendUint16(b, n)
		}
	}
	word := func(n ...uint32) {
		for _, n := range n {
			b = binary.LittleEndian.AppendUint32(b, n)
		}
	}
	wide := func(n ...uint64) {
		for _, n := range n {
			b = binary.LittleEndian.AppendUint64(b, n)
		}
	}
	word(localRecord)
	half(45, 0, 0, 0, 0)
	word(sum, elsewhere32, elsewhere32)
	half(uint16(len(name)), 3)
	b = append(b, name+"pad"+content...)
	at := len(b)
	word(directoryRecord)
	half(45, 45, 0, 0, 0, 0)
	word(sum, elsewhere32, elsewhere32)
	half(uint16(len(name)), 4+4+4+24, 2, 0, 0)
	word(0, elsewhere32)
	b = append(b, name...)
	half(0x5455, 4) // another field, the time
	word(7)
	half(wideField, 24)
	wide(uint64(len(content)), uint64(len(content)), 0)
	b = append(b, "!!"...) // a comment
	size, end := len(b)-at, len(b)
	word(wideEndRecord)
	wide(44)
	half(45, 45)
	word(0, 0)
	wide(1, 1, uint64(size), uint64(at))
	word(locatorRecord, 0)
	wide(uint64(end))
	word(1)
	word(endRecord)
	half(0, 0, elsewhere16, elsewhere16)
	word(elsewhere32, elsewhere32)
	half(5)
	return append(b, "hello"...)
}

func TestWideArchive(t *testing.T) {
	const sum = 0x9ae0daaf // of "12345678"
	data := wideArchive("x/a", "12345678", sum)
	a, err := Open(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	got, err := a.Entries["x/a"].Read(8)
	require.NoError(t, err)
	require.Equal(t, "12345678", string(got))
	_, err = a.Entries["x/a"].Read(7)
	require.EqualError(t, err, "x/a has 8 bytes, the most that are read are 7")
	data = wideArchive("x/a", "12345678", sum+1)
	a, err = Open(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	_, err = a.Entries["x/a"].Read(8)
	require.EqualError(t, err, "x/a is damaged: the sum of its bytes is 9ae0daaf, required 9ae0dab0")
}

// readAll opens an archive and reads all of it.
func readAll(data []byte) error {
	a, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	for _, e := range a.Entries {
		if _, err := e.Read(1 << 20); err != nil {
			return err
		}
	}
	return nil
}

// An archive that lacks its end or its beginning is refused, wherever it is cut.
func TestArchiveThatIsCut(t *testing.T) {
	whole, err := os.ReadFile(fixture)
	require.NoError(t, err)
	require.NoError(t, readAll(whole))
	for n := range len(whole) {
		require.Error(t, readAll(whole[:n]), "%d bytes of %d", n, len(whole))
		if n > 0 {
			require.Error(t, readAll(whole[n:]), "without the first %d bytes", n)
		}
	}
}

// No archive makes the reader panic or take more memory than the archive has.
func FuzzArchive(f *testing.F) {
	whole, err := os.ReadFile(fixture)
	require.NoError(f, err)
	f.Add(whole)
	f.Add(wideArchive("x/a", "12345678", 0x9ae0daaf))
	f.Fuzz(func(_ *testing.T, data []byte) { _ = readAll(data) })
}
