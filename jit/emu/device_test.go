package emu

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tilec/jit/cuda"
)

// Independent evidence: what a GPU gives for the programs of these tests is kept in
// testdata/h200, and the emulator's results are compared with it wherever the tests
// run. With TILEC_TEST_DEVICE=cuda they are compared with the device at hand, and
// with -record what it gives is kept (in $OUT/h200 where OUT is set):
//
//	TILEC_TEST_DEVICE=cuda go test ./jit/emu -record
//
// A fault of a program ends its process's use of the device, so programs run in a
// child process, which is replaced by a new one after a fault: no program suffers
// from another's. A fault's error is kept as NAME.err, results that differ from the
// emulator's as NAME.diff.

var record = flag.Bool("record", false, "keep what the device gives for each program")

// hasDevice says whether programs run on a device too.
func hasDevice() bool { return os.Getenv("TILEC_TEST_DEVICE") == "cuda" }

// A DeviceJob is a launch of the kernel k of a module.
type DeviceJob struct {
	Text                 string
	Grid, Block, Cluster [3]int
	Shared               int // dynamic, in bytes
	Args                 []DeviceArg
}

// A DeviceArg is a parameter: an array in global memory, bytes, or a tensor map.
type DeviceArg struct {
	Array  []byte
	Scalar []byte
	Map    *cuda.TensorMapDesc
	Of     int // of a map: the index of the array
}

// A deviceResult is what the arrays hold afterwards, nil for other arguments.
type deviceResult struct {
	Arrays [][]byte
	Err    string
}

const serveVariable = "TILEC_EMU_DEVICE_PROCESS"

// TestMain makes the test binary serve jobs when it is the child.
func TestMain(m *testing.M) {
	if os.Getenv(serveVariable) != "" {
		serve(os.Stdin, os.Stdout, openDevice())
		return
	}
	code := m.Run()
	device.stop()
	os.Exit(code)
}

// openDevice gives what runs jobs on the first GPU.
func openDevice() func(*DeviceJob) ([][]byte, error) {
	var ctx *cuda.Context
	driver, err := cuda.Open()
	if err == nil {
		ctx, err = driver.Context(0)
	}
	return func(job *DeviceJob) ([][]byte, error) {
		if err != nil {
			return nil, err
		}
		return job.run(ctx)
	}
}

// serve runs jobs until there is none left or one fails.
func serve(in io.Reader, out io.Writer, run func(*DeviceJob) ([][]byte, error)) {
	jobs, results := gob.NewDecoder(in), gob.NewEncoder(out)
	for {
		var job DeviceJob
		if jobs.Decode(&job) != nil {
			return
		}
		arrays, err := run(&job)
		r := deviceResult{Arrays: arrays}
		if err != nil {
			r = deviceResult{Err: err.Error()}
		}
		if results.Encode(r) != nil || err != nil {
			return
		}
	}
}

func (job *DeviceJob) run(ctx *cuda.Context) ([][]byte, error) {
	module, err := ctx.Load([]byte(job.Text), cuda.CompileOptions{})
	if err != nil {
		return nil, err
	}
	defer module.Close()
	f, err := module.Function("k")
	if err != nil {
		return nil, err
	}
	address := make([]cuda.Ptr, len(job.Args))
	params := new(cuda.Params)
	for i, a := range job.Args {
		switch {
		case a.Map != nil:
			desc := *a.Map
			desc.Address = address[a.Of]
			encoded, err := ctx.TensorMap(desc)
			if err != nil {
				return nil, err
			}
			params.TensorMap(&encoded)
		case a.Scalar != nil:
			params.Bytes(a.Scalar, len(a.Scalar))
		default:
			if address[i], err = ctx.Alloc(max(len(a.Array), 16)); err != nil {
				return nil, err
			}
			defer ctx.Free(address[i])
			if len(a.Array) > 0 {
				if err := ctx.CopyToDevice(address[i], a.Array); err != nil {
					return nil, err
				}
			}
			params.Ptr(address[i])
		}
	}
	dim := func(d [3]int) cuda.Dim3 { return cuda.Dim3{X: uint32(d[0]), Y: uint32(d[1]), Z: uint32(d[2])} }
	config := cuda.LaunchConfig{Grid: dim(job.Grid), Block: dim(job.Block), Shared: job.Shared, Cluster: dim(job.Cluster)}
	if err := ctx.DefaultStream().Launch(f, config, params); err != nil {
		return nil, err
	}
	if err := ctx.Synchronize(); err != nil {
		return nil, err
	}
	arrays := make([][]byte, len(job.Args))
	for i, a := range job.Args {
		if len(a.Array) == 0 {
			continue
		}
		arrays[i] = make([]byte, len(a.Array))
		if err := ctx.CopyToHost(arrays[i], address[i]); err != nil {
			return nil, err
		}
	}
	return arrays, nil
}

// jobTime is the most that a job may take, the start of the child included.
const jobTime = 30 * time.Second

// A deviceProcess is the child that runs jobs.
type deviceProcess struct {
	mutex   sync.Mutex
	command *exec.Cmd
	in      io.WriteCloser
	stderr  *bytes.Buffer
	jobs    *gob.Encoder
	results *gob.Decoder
}

var device deviceProcess

func (d *deviceProcess) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	command := exec.Command(self, "-test.run", "^$")
	command.Env = append(os.Environ(), serveVariable+"=1")
	d.stderr = new(bytes.Buffer)
	command.Stderr = d.stderr
	in, err := command.StdinPipe()
	if err != nil {
		return err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	d.command, d.in, d.jobs, d.results = command, in, gob.NewEncoder(in), gob.NewDecoder(out)
	return nil
}

func (d *deviceProcess) stop() {
	if d.command == nil {
		return
	}
	d.in.Close()
	late := time.AfterFunc(5*time.Second, func() { d.command.Process.Kill() })
	d.command.Wait()
	late.Stop()
	d.command = nil
}

// do runs a job; after a failure the next job has a new process.
func (d *deviceProcess) do(job *DeviceJob) (arrays [][]byte, err error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.command == nil {
		if err := d.start(); err != nil {
			return nil, err
		}
	}
	process := d.command.Process
	late := time.AfterFunc(jobTime, func() { process.Kill() })
	var r deviceResult
	if err = d.jobs.Encode(job); err == nil {
		err = d.results.Decode(&r)
	}
	switch {
	case !late.Stop():
		err = fmt.Errorf("no result within %v", jobTime)
	case err == nil && r.Err != "":
		err = errors.New(r.Err)
	}
	if err != nil {
		d.stop()
		err = fmt.Errorf("%w\n%s", err, d.stderr)
	}
	return r.Arrays, err
}

// Recordings are the files of what the device gave, by name.
type recordings struct {
	mutex sync.Mutex
	begun map[string]bool
}

var recorded = recordings{begun: map[string]bool{}}

func recordingPath(name, extension string) string {
	dir := testdata()
	if out := os.Getenv("OUT"); out != "" && hasDevice() {
		dir = out
	}
	return filepath.Join(dir, "h200", strings.NewReplacer("/", "-", " ", "_").Replace(name)+extension)
}

// put appends a line to a file, which the first line of a run begins anew.
func (r *recordings) put(t testing.TB, path, line string) {
	t.Helper()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	mode := os.O_APPEND
	if !r.begun[path] {
		mode = os.O_TRUNC
	}
	r.begun[path] = true
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|mode, 0o644)
	require.NoError(t, err)
	_, err = fmt.Fprintln(f, line)
	require.NoError(t, errors.Join(err, f.Close()))
}

// mostHex is how many bytes of a result are kept as they are; of more, the hash is.
const mostHex = 512

func digest(b []byte) string {
	if len(b) <= mostHex {
		return hex.EncodeToString(b)
	}
	sum := sha256.Sum256(b)
	return "sha256 " + hex.EncodeToString(sum[:])
}

// A Compare tells how a result may differ from the device's: nil when it does not.
type Compare func(device, emulated []byte) error

// Same is the comparison of results that have one right value.
func Same(device, emulated []byte) error {
	if bytes.Equal(device, emulated) {
		return nil
	}
	return errors.New("they differ")
}

// Replay compares an emulated result of a program with the device's: with that of
// the job where there is a device, or with what was recorded under the name and key.
// Comparisons other than Same need the bytes: results of at most 512.
func Replay(t testing.TB, name string, job *DeviceJob, keys []string, emulated [][]byte, compare Compare) {
	t.Helper()
	if !hasDevice() {
		kept := readRecording(t, name)
		for i, key := range keys {
			want, ok := kept[key]
			if key == "" || !ok {
				continue // not recorded yet
			}
			if have := digest(emulated[i]); want != have {
				data, err := hex.DecodeString(want)
				if err != nil || compare(data, emulated[i]) != nil {
					t.Errorf("%s: %s is %s, the H200 gave %s", name, key, have, want)
				}
			}
		}
		return
	}
	arrays, err := device.do(job)
	if err != nil {
		t.Errorf("%s on the device: %v", name, err)
		if *record {
			recorded.put(t, recordingPath(name, ".err"), fmt.Sprintf("%s: %v\n%s", strings.Join(keys, " "), err, job.Text))
		}
		return
	}
	for i, key := range keys {
		if key == "" {
			continue
		}
		if *record {
			recorded.put(t, recordingPath(name, ".txt"), key+" "+digest(arrays[i]))
		}
		if err := compare(arrays[i], emulated[i]); err != nil {
			t.Errorf("%s: %s against the device: %v", name, key, err)
			if *record {
				recorded.put(t, recordingPath(name, ".diff"), fmt.Sprintf("%s: %v\ndevice   %x\nemulator %x", key, err, arrays[i], emulated[i]))
			}
		}
	}
}

// readRecording gives what was recorded by key.
func readRecording(t testing.TB, name string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(recordingPath(name, ".txt"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	kept := map[string]string{}
	for line := range strings.Lines(string(text)) {
		key, want, _ := strings.Cut(strings.TrimSpace(line), " ")
		kept[key] = want
	}
	return kept
}

// testdata is where the programs are, whether the test runs in its package's
// folder or in the root, as a test binary that was carried to another machine does.
func testdata() string {
	if _, err := os.Stat("testdata"); err != nil {
		return filepath.Join("jit", "emu", "testdata")
	}
	return "testdata"
}

// Testdata is testdata for the tests outside of the package.
func Testdata() string { return testdata() }

// Jobs and their results reach the other process as they are; the process ends with the first that fails.
func TestServe(t *testing.T) {
	in, jobs := io.Pipe()
	results, out := io.Pipe()
	ended := make(chan bool)
	go func() {
		serve(in, out, func(job *DeviceJob) ([][]byte, error) {
			if job.Shared == 0 {
				return nil, errors.New("a fault")
			}
			return [][]byte{job.Args[0].Array, nil, job.Args[job.Args[1].Of].Array}, nil
		})
		close(ended)
	}()
	encoder, decoder := gob.NewEncoder(jobs), gob.NewDecoder(results)
	var r deviceResult
	desc := &cuda.TensorMapDesc{Type: cuda.TensorFloat16, Dims: []uint64{4}}
	require.NoError(t, encoder.Encode(&DeviceJob{Shared: 1, Args: []DeviceArg{{Array: []byte{1}}, {Of: 2, Map: desc}, {Array: []byte{0, 0}}}}))
	require.NoError(t, decoder.Decode(&r))
	require.Equal(t, []byte{1}, r.Arrays[0])
	require.Empty(t, r.Arrays[1])
	require.Equal(t, []byte{0, 0}, r.Arrays[2])
	require.NoError(t, encoder.Encode(&DeviceJob{}))
	require.NoError(t, decoder.Decode(&r))
	require.Equal(t, "a fault", r.Err)
	<-ended
}
