//go:build !linux

package main

import "fmt"

func main() { fmt.Println(0) }
