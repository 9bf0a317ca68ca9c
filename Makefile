.PHONY: fmt lint type test cover check real bench

fmt:
	ruff format . && ruff check --fix .

lint:
	ruff format --check . && ruff check .

type:
	mypy

test:
	pytest -q -n 4 --dist loadfile -m 'not real and not bench and not alone'
	pytest -q -m alone

cover:
	pytest -n 4 --dist loadfile --cov --cov-report=term:skip-covered

check: lint type test

real:
	pytest -m real

bench:
	pytest -m bench -s
