package bench

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// This file has NVIDIA's profiler, ncu, count what a workload does.

// profiled are the metrics that tell what bounds a kernel: how busy which part of a multiprocessor is, and what waits.
var profiled = []string{
	"gpu__time_duration.sum",
	"launch__registers_per_thread",
	"launch__occupancy_limit_registers",
	"launch__occupancy_limit_shared_mem",
	"sm__warps_active.avg.pct_of_peak_sustained_active",
	"smsp__issue_active.avg.pct_of_peak_sustained_active",
	"sm__inst_executed.sum",
	"sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active",
	"sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active",
	"l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed",
	"lts__t_bytes.sum",
	"dram__bytes_read.sum",
	"dram__bytes_write.sum",
	"dram__throughput.avg.pct_of_peak_sustained_elapsed",
	"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",
	"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
	"smsp__average_warps_issue_stalled_no_instruction_per_issue_active.ratio",
}

// ErrNoProfiler is wrapped by the error of [Profile] where there is no ncu.
var ErrNoProfiler = errors.New("there is no ncu in the PATH")

// Profile runs a command line, which launches a workload once, under ncu, and gives its metrics with their units. Of several launches, each has
// its kernel's name before its metrics.
func Profile(ctx context.Context, command ...string) (map[string]string, error) {
	ncu, err := exec.LookPath("ncu")
	if err != nil {
		return nil, fmt.Errorf("%w: it comes with the CUDA toolkit as Nsight Compute", ErrNoProfiler)
	}
	args := append([]string{"--csv", "--page", "raw", "--target-processes", "all", "--metrics", strings.Join(profiled, ",")}, command...)
	out, err := exec.CommandContext(ctx, ncu, args...).Output()
	if err != nil {
		said := strings.TrimSpace(string(out))
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			said += " " + strings.TrimSpace(string(exit.Stderr))
		}
		return nil, fmt.Errorf("ncu: %w: %s", err, oneLine(strings.TrimSpace(said)))
	}
	return readProfile(string(out))
}

// readProfile reads the table that ncu printed among other lines: a row of names, one of units, one for each launch.
func readProfile(text string) (map[string]string, error) {
	at := strings.Index(text, `"ID",`)
	if at < 0 {
		return nil, fmt.Errorf("ncu printed no table: %s", oneLine(strings.TrimSpace(text)))
	}
	table := csv.NewReader(strings.NewReader(text[at:]))
	table.FieldsPerRecord = -1
	rows, err := table.ReadAll()
	if err != nil || len(rows) < 3 {
		return nil, fmt.Errorf("ncu printed a table of %d rows, must be names, units and launches: %v", len(rows), err)
	}
	names, units, launches := rows[0], rows[1], rows[2:]
	kernel := slices.Index(names, "Kernel Name")
	found := map[string]string{}
	for _, launch := range launches {
		for i, name := range names {
			if !slices.Contains(profiled, name) || i >= len(launch) || i >= len(units) {
				continue
			}
			if len(launches) > 1 && kernel >= 0 {
				name = launch[kernel] + ": " + name
			}
			found[name] = strings.TrimSpace(launch[i] + " " + units[i])
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("ncu counted nothing that was asked for")
	}
	return found, nil
}
