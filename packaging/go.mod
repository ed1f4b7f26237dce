module github.com/obstat/obstat/packaging

go 1.26.0

replace github.com/obstat/obstat => ../

require github.com/obstat/obstat v0.0.0-00010101000000-000000000000
