module github.com/obstat/obstat/chorusdiscord

go 1.26.0

require (
	github.com/bwmarrin/discordgo v0.29.0
	github.com/gorilla/websocket v1.5.3
	github.com/obstat/obstat v0.0.0
)

require (
	github.com/gofrs/flock v0.13.1 // indirect
	github.com/pelletier/go-toml/v2 v2.4.3 // indirect
	go.starlark.net v0.0.0-20260908191801-89a6a09411d5 // indirect
	golang.org/x/crypto v0.51.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	mvdan.cc/sh/v3 v3.14.1 // indirect
)

replace github.com/obstat/obstat => ../
