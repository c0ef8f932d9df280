package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tilec/jit"
	"tilec/jit/cuda"
)

func (a *app) devicesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "List the devices that kernels can run on",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return a.devices() },
	}
	a.jsonFlag(cmd.Flags(), "print one JSON object instead of text")
	return cmd
}

// deviceList is what --json prints of `tilec devices`.
type deviceList struct {
	Devices []listedDevice `json:"devices"`
	// NoCUDA is why there is no GPU; empty where there is one.
	NoCUDA string `json:"no_cuda,omitempty"`
	// Driver is the version of CUDA that the driver has; empty without a driver.
	Driver string `json:"driver,omitempty"`
}

// listedDevice is a device. Units are the cores of a CPU, the multiprocessors of a GPU; memory is in bytes.
type listedDevice struct {
	Device     string `json:"device"`
	Name       string `json:"name"`
	Units      int    `json:"units"`
	Memory     uint64 `json:"memory,omitempty"`
	Capability string `json:"capability,omitempty"`
}

// listDevices finds the devices of this machine.
func listDevices() deviceList {
	cpu := jit.OpenCPU()
	l := deviceList{Devices: []listedDevice{{Device: cpu.ID(), Name: "CPU", Units: cpu.Cores()}}}
	driver, err := cuda.Open()
	if err != nil {
		l.NoCUDA = err.Error()
		return l
	}
	l.Driver = cudaVersion(driver)
	for _, d := range driver.Devices() {
		l.Devices = append(l.Devices, listedDevice{fmt.Sprintf("cuda:%d", d.Ordinal), d.Name, d.SMs, d.Memory, fmt.Sprintf("%d.%d", d.Major, d.Minor)})
	}
	if len(driver.Devices()) == 0 {
		l.NoCUDA = fmt.Sprintf("the driver (%s) sees none", l.Driver)
	}
	return l
}

func (a *app) devices() error {
	l := listDevices()
	if a.json {
		return a.printJSON(l)
	}
	table := tabwriter.NewWriter(a.stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "DEVICE\tNAME\tUNITS\tMEMORY\tCAPABILITY\tDRIVER")
	for _, d := range l.Devices {
		if d.Capability == "" {
			fmt.Fprintf(table, "%s\t%s\t%d cores\t\t\t\n", d.Device, d.Name, d.Units)
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%d SMs\t%.1f GiB\t%s\t%s\n", d.Device, d.Name, d.Units, float64(d.Memory)/(1<<30), d.Capability, l.Driver)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if l.NoCUDA != "" {
		fmt.Fprintf(a.stdout, "no CUDA device: %s\n", l.NoCUDA)
	}
	return nil
}
