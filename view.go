package obstat

// The methods that the engine looks for in a view. Package dialect/kit explains them.
type (
	partView interface {
		View
		Command(f *Facts, i int) (qs []Question, ok bool)
		File(f *Facts, tool, path, real string) (qs []Question, ok bool)
	}
	spellingView interface {
		partView
		Spellings(f *Facts, tool, path, real string) (ways [][]Question, ok bool)
	}
	prefixView interface {
		partView
		Begins(f *Facts, prefix string) Question
	}
	effectView interface {
		View
		Unknown(q *Question) bool
		Here(q *Question) bool
		Partly(q *Question) bool
	}
	outliner interface {
		View
		Outline(tool string) []Question
	}
	placer interface {
		View
		HoldsBelow(s Subject) bool
	}
	scratch interface{ Reset() }
)

// A fieldView is the built-in view: one question, whose subjects are the
// input's top-level fields and the input as a whole.
type fieldView struct{ pol *Policy }

// Questions is not used on the hot path; see [walk.builtinView].
func (v fieldView) Questions(f *Facts) ([]Question, error) {
	if err := f.Fault(); err != nil {
		return nil, err
	}
	subjects := append([]Subject{}, f.fields().fields...)
	subjects = append(subjects, Subject{WholeInput, string(f.Call.Input)})
	return []Question{{Tool: f.Call.Tool, Subjects: v.pol.aliases(f.Call, subjects)}}, nil
}

// viewInForce returns the policy's view; the built-in one where it names none.
func (pol *Policy) viewInForce() View {
	if pol.view == nil {
		return fieldView{pol}
	}
	return pol.view
}
