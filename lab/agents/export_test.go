package agents

// ReadPrograms reads the Programs of the cells below the checkout's root, by agent.
func ReadPrograms(root string) (map[string]string, error) {
	list, err := readGzip[map[string]string](programsFile(root))
	if err != nil {
		return nil, err
	}
	return list[0], nil
}
