//go:build unix

package memory_test

import (
	"syscall"
	"testing"
)

// BenchmarkProcess is a process that opens a large memory, searches and ends.
func BenchmarkProcess(b *testing.B) {
	path := largeStore(b)
	for _, task := range []string{"nothing", "open", "search"} {
		b.Run(task, func(b *testing.B) {
			var cpu, peak float64
			for b.Loop() {
				cmd, out := start(b, task, path)
				for out.Scan() {
					b.Fatal(out.Text())
				}
				if err := cmd.Wait(); err != nil {
					b.Fatal(err)
				}
				cpu += float64((cmd.ProcessState.SystemTime() + cmd.ProcessState.UserTime()).Milliseconds())
				if use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
					peak = max(peak, float64(use.Maxrss)/1024)
				}
			}
			b.ReportMetric(cpu/float64(b.N), "cpu-ms/op")
			b.ReportMetric(peak, "peak-MB")
		})
	}
}
