// Command ordinary runs the commands of a working day twice, bare and as `obstat run` confines them under the preset
// balanced, and tells which work only bare. It owns the table commands.txt and the projects that the table makes; it
// links nothing of obstat and starts its binary, as an agent's hook does.
package main
