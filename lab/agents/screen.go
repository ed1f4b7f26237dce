package agents

import (
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"
)

// A screen is a terminal that an agent draws on. It is no emulator: it keeps the text that was written, without
// the sequences that say where and how, which is enough to see which question is shown.
type screen struct {
	master, slave *os.File

	mu   sync.Mutex
	text strings.Builder // without sequences and blanks
	last time.Time       // when something was drawn
	call int             // that the model has asked for last
	from int             // text from here on was drawn after that
	done chan struct{}
}

// sequences are those of a terminal: CSI, OSC, DCS and the short ones.
var sequences = regexp.MustCompile(`\x1b\[[0-9:;<=>?]*[ -/]*[@-~]|\x1b[\]P_^X][^\x07\x1b]*(\x07|\x1b\\)|\x1b[()*+][0-9A-Za-z]|\x1b[,-OQ-WYZa-~\\]`)

// replies are a terminal's answers to questions for its cursor, its kind and its colours.
var replies = []struct{ query, reply string }{
	{"\x1b[6n", "\x1b[1;1R"}, {"\x1b[c", "\x1b[?62;22c"}, {"\x1b[0c", "\x1b[?62;22c"}, {"\x1b[5n", "\x1b[0n"},
	{"\x1b[?u", "\x1b[?0u"},
	{"\x1b]10;?", "\x1b]10;rgb:ffff/ffff/ffff\x1b\\"}, {"\x1b]11;?", "\x1b]11;rgb:0000/0000/0000\x1b\\"},
}

// watch reads the agent's output, answers its questions about the terminal, and copies the output to log.
func (s *screen) watch(log io.Writer) {
	s.done = make(chan struct{})
	_ = s.slave.Close() // the agent has it
	go func() {
		defer close(s.done)
		buf, rest := make([]byte, 1<<16), ""
		for {
			n, err := s.master.Read(buf)
			if n > 0 {
				_, _ = log.Write(buf[:n])
				rest = s.draw(rest + string(buf[:n]))
			}
			if err != nil {
				return
			}
		}
	}()
}

// draw takes output, and returns the end of it where that may be half a sequence.
func (s *screen) draw(raw string) (rest string) {
	if at := strings.LastIndexByte(raw, '\x1b'); at >= 0 && len(raw)-at < 64 &&
		sequences.FindStringIndex(raw[at:]) == nil {
		raw, rest = raw[:at], raw[at:]
	}
	for _, r := range replies {
		if strings.Contains(raw, r.query) {
			_, _ = s.master.WriteString(r.reply)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.WriteString(squeeze(sequences.ReplaceAllString(raw, "")))
	s.last = time.Now()
	return rest
}

// squeeze takes the blanks out of a text: agents draw them by moving the cursor.
func squeeze(text string) string { return strings.Join(strings.Fields(text), "") }

// shows tells whether words were drawn since an offset, and returns the offset behind them. A bar is an or.
func (s *screen) shows(words string, from int) (end int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.text.String()[from:]
	for w := range strings.SplitSeq(words, "|") {
		if at := strings.Index(text, squeeze(w)); at >= 0 {
			return from + at + len(squeeze(w)), true
		}
	}
	return from, false
}

// calls notes that the model is about to ask for a call.
func (s *screen) calls(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.call, s.from = n, s.text.Len()
}

// turn returns the call that the model has asked for last, and the offset of the text that was drawn since.
func (s *screen) turn() (call, from int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.call, s.from
}

// press types keys, once the agent has drawn nothing for a moment: some lose keys that come while they draw.
func (s *screen) press(keys string) {
	for range 50 {
		s.mu.Lock()
		quiet := time.Since(s.last)
		s.mu.Unlock()
		if quiet > 400*time.Millisecond {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	for i, k := range strings.Split(keys, " ") {
		if i > 0 {
			time.Sleep(300 * time.Millisecond)
		}
		_, _ = s.master.WriteString(strings.NewReplacer("ENTER", "\r", "ESC", "\x1b", "DOWN", "\x1b[B").Replace(k))
	}
}

func (s *screen) close() {
	_ = s.master.Close()
	<-s.done
}
