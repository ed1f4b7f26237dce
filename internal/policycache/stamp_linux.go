package policycache

import "syscall"

// stampOf returns the stamp of a directory, zero if it has none.
func stampOf(dir string) stamp {
	var st syscall.Stat_t
	if syscall.Stat(dir, &st) != nil {
		return stamp{}
	}
	return stamp{int64(st.Dev), int64(st.Ino), st.Ctim.Nano(), st.Mtim.Nano()}
}
