// Package tempdir makes directories for temporary files that do not outlive their
// process for long: those of a process that was killed are removed by the next one.
package tempdir
