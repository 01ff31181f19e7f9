module tidemark

go 1.26.8
