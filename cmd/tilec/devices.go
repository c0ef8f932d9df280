package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tilec/jit"
	"tilec/jit/cuda"
)

func (a *app) devicesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "devices",
		Short: "List the devices that kernels can run on",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return a.devices() },
	}
}

func (a *app) devices() error {
	table := tabwriter.NewWriter(a.stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "DEVICE\tNAME\tUNITS\tMEMORY\tCAPABILITY\tDRIVER")
	cpu := jit.OpenCPU()
	fmt.Fprintf(table, "%s\t%s\t%d cores\t\t\t\n", cpu.ID(), "CPU", cpu.Cores())
	driver, err := cuda.Open()
	if err == nil {
		for _, d := range driver.Devices() {
			fmt.Fprintf(table, "cuda:%d\t%s\t%d SMs\t%.1f GiB\t%d.%d\tCUDA %d.%d\n",
				d.Ordinal, d.Name, d.SMs, float64(d.Memory)/(1<<30), d.Major, d.Minor, driver.Version()/1000, driver.Version()%1000/10)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	switch {
	case err != nil:
		fmt.Fprintf(a.stdout, "no CUDA device: %v\n", err)
	case len(driver.Devices()) == 0:
		fmt.Fprintf(a.stdout, "no CUDA device: the driver (CUDA %d.%d) sees none\n", driver.Version()/1000, driver.Version()%1000/10)
	}
	return nil
}
