module github.com/obstat/obstat/lab/ordinary

go 1.26.0
