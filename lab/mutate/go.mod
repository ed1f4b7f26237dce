module github.com/obstat/obstat/lab/mutate

go 1.26.0
