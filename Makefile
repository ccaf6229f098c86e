.PHONY: test lint bench golden run

test: ; go test ./...
lint: ; go tool -modfile=tools/go.mod golangci-lint run ./...
bench: ; go run ./bench
golden: ; go test ./transforms/gmv ./cmd/tidemark -update
run: ; go run ./cmd/tidemark gmv --input examples/orders.ndjson --window 1h --key_field company_id --time_field created_at
