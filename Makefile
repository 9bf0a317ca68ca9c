.PHONY: fmt lint type test check real bench

fmt:
	ruff format . && ruff check --fix .

lint:
	ruff format --check . && ruff check .

type:
	mypy

test:
	pytest

check: lint type test

real:
	pytest -m real

bench:
	pytest -m bench -s
