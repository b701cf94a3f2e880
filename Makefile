.DEFAULT_GOAL := help
PY := .venv/bin/python
STAMP := .venv/.ready

$(STAMP): requirements.lock pyproject.toml
	python3 -m venv .venv
	$(PY) -m pip install --quiet --disable-pip-version-check uv
	.venv/bin/uv pip install --quiet --python $(PY) -r requirements.lock
	.venv/bin/uv pip install --quiet --python $(PY) --no-deps -e .
	@touch $@
