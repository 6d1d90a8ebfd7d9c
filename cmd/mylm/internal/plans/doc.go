// Package plans is what the commands that carry out plans have in common: the flags of a plan
// in progress, and its form for a person.
package plans
