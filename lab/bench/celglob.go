package main

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"github.com/bmatcuk/doublestar/v4"
)

// globFunction gives CEL the globs it does not have.
func globFunction() cel.EnvOption {
	return cel.Function("glob", cel.Overload("glob_string_string", []*cel.Type{cel.StringType, cel.StringType}, cel.BoolType,
		cel.BinaryBinding(func(text, pat ref.Val) ref.Val {
			return types.Bool(doublestar.MatchUnvalidated(string(pat.(types.String)), string(text.(types.String))))
		})))
}
