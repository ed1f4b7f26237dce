package opencode

func (l *loader) includes() {}
