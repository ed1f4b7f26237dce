package pattern

// shape promises little: a path may end in a slash and have several in a row.
func (m *minimatch) shape() Shape { return Shape{} }
