module github.com/obstat/obstat/packaging

go 1.26.0

replace github.com/obstat/obstat => ../
