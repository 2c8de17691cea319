module sepal

go 1.19
