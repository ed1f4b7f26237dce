module github.com/obstat/obstat/lab/lines

go 1.26.0
