//go:build !linux

package confine

import (
	"context"
	"runtime"
)

// Main runs the part of a confined run that happens in a process of its own. On this system
// there is none, and it returns at once.
func Main() {}

// TakeOut is for workspaces that are written through, which there are none of here.
func TakeOut(root, rel, to, spare string) (string, error) { return "", ErrUnsupported }

func run(context.Context, Profile, Command) (Result, error) { return Result{}, ErrUnsupported }

func probe(context.Context, simulation) Report {
	return Report{Level: LevelNone, Why: "no confinement is known for " + runtime.GOOS}
}

// Recover has nothing to finish on this system.
func Recover(string) ([]Change, error) { return nil, ErrUnsupported }

// Abandoned lists nothing on this system.
func Abandoned(string) []Change { return nil }

// Begun tells that no run has begun.
func Begun(string) bool { return false }

// Left lists nothing on this system.
func Left(string) ([]Kept, error) { return nil, ErrUnsupported }

// Stop has nothing to end on this system.
func Stop(string) error { return ErrUnsupported }

// Layered says that no layers are known on this system.
func Layered(string) error { return ErrUnsupported }

// Gaps has nothing to tell on this system, on which nothing runs confined.
func Gaps(Profile) []Gap { return nil }
